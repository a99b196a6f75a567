"""Conformance suite of the model port."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from auditcoder.adapters.models.replay import ReplayModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import BudgetExceeded, ModelMisconfigured
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.request import FinishReason, Message, Request, Speaker
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import digest_of
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.model_client import ModelClient, ModelQuestion
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.response_formats import FreeText, JsonValue
from tests.support.record_builders import RUN, started
from tests.support.records import take

SHARED = Message(speaker=Speaker.SYSTEM, text="You are a terse assistant.")


class Sky(msgspec.Struct, forbid_unknown_fields=True):
    """The expected structured reply."""

    colour: Literal["blue", "red"]
    reason: str


GREETING = ModelQuestion(
    messages=(SHARED, Message(speaker=Speaker.USER, text="Say hello in one word.")),
    shape=FreeText(),
    role="greeter",
    phase=Phase.PLANNING,
    max_tokens=24,
)

SKY = ModelQuestion(
    messages=(
        SHARED,
        Message(
            speaker=Speaker.USER, text="Which colour has the sky at noon, and why, in five words?"
        ),
    ),
    shape=JsonValue(Sky),
    role="observer",
    phase=Phase.PLANNING,
    max_tokens=120,
)

HELLO = Request(messages=GREETING.messages, max_tokens=24, temperature=0.0)


def answer(request: Request) -> str:
    """Return a reply to a question of this suite, for a scripted model or server."""
    if "colour" in request.messages[1].text:
        return '```json\n{"colour": "blue", "reason": "air scatters short waves"}\n```'
    return "Hello"


class ModelConformance:
    """The suite; a subclass provides the fixture `model`."""

    @pytest.fixture
    def model(self) -> Any:
        raise NotImplementedError

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SqliteStore]:
        store = SqliteStore(tmp_path / "runs.db")
        yield store
        store.close()

    @pytest.fixture
    def client(self, model: Model, store: SqliteStore) -> ModelClient:
        return ModelClient(model, started(store), BudgetLedger(Budget(), model.traits.price))

    def test_a_reply_has_text_a_finish_reason_and_usage(self, model: Model) -> None:
        reply = model.complete(HELLO)
        assert reply.text.strip()
        assert reply.finish is FinishReason.STOP
        assert reply.usage.calls == 1
        assert reply.usage.completion_tokens > 0 or reply.usage.unmeasured == 1
        assert reply.usage.cached_tokens <= reply.usage.prompt_tokens
        assert reply.usage.unpriced == (0 if model.traits.price else 1)
        assert reply.model
        assert reply.seconds >= 0

    def test_the_model_has_a_name(self, model: Model) -> None:
        assert model.name
        assert model.name == model.name.strip()

    def test_the_prompt_tokens_do_not_exceed_the_estimate(self, model: Model) -> None:
        assert model.complete(HELLO).usage.prompt_tokens <= HELLO.at_most_tokens()

    def test_several_threads_may_send_requests_at_once(self, model: Model) -> None:
        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(model.complete, [HELLO] * 3))
        assert all(reply.text.strip() for reply in replies)

    def test_a_structured_reply_is_validated(self, client: ModelClient) -> None:
        assert client.ask(SKY).value.colour in {"blue", "red"}

    def test_the_request_and_the_reply_are_recorded(
        self, client: ModelClient, model: Model, store: SqliteStore
    ) -> None:
        answered = client.ask(GREETING)
        raw = take(store, RUN)
        event = raw.events()[answered.seq]
        assert isinstance(event, ReplyRecorded)
        assert event.request == digest_of(
            msgspec.json.decode(raw.blob(event.request), type=Request)
        )
        assert raw.blob(event.reply).decode() == answered.reply.text
        assert (event.usage, event.finish) == (answered.reply.usage, answered.reply.finish.value)
        assert event.model
        assert verify_run(store, RUN).holds

    def test_a_record_replays_without_the_model(
        self, client: ModelClient, store: SqliteStore
    ) -> None:
        questions: tuple[ModelQuestion[Any], ...] = (GREETING, SKY, GREETING)
        originals = [client.ask(question) for question in questions]
        again = ModelClient(
            ReplayModel(store, RUN), started(SqliteStore(":memory:")), _unlimited_budget()
        )
        assert [again.ask(question).reply for question in questions] == [
            original.reply for original in originals
        ]
        with pytest.raises(ModelMisconfigured) as miss:
            again.ask(GREETING)
        assert miss.value.code == "replay.miss"

    def test_a_call_that_could_exceed_the_budget_is_not_made(
        self, model: Model, store: SqliteStore
    ) -> None:
        recorder = started(store)
        before = recorder.head
        client = ModelClient(model, recorder, BudgetLedger(Budget(tokens=20), model.traits.price))
        with pytest.raises(BudgetExceeded) as refused:
            client.ask(GREETING)
        assert refused.value.code == "budget.tokens"
        assert recorder.head == before


def _unlimited_budget() -> BudgetLedger:
    return BudgetLedger(Budget(), None)


class RealModelConformance(ModelConformance):
    """Further requirements on a model that generates tokens itself."""

    def test_a_reply_is_cut_at_the_token_limit(self, model: Model) -> None:
        story = (SHARED, Message(speaker=Speaker.USER, text="Count from 1 to 100."))
        reply = model.complete(Request(messages=story, max_tokens=8, temperature=0.0))
        assert reply.finish is FinishReason.LENGTH
        assert reply.usage.completion_tokens <= 8

    def test_a_reply_ends_before_a_stop_text(self, model: Model) -> None:
        count = (SHARED, Message(speaker=Speaker.USER, text="Count: 1, 2, 3, 4, 5, 6, 7, 8"))
        reply = model.complete(Request(messages=count, max_tokens=60, temperature=0.0, stop=("5",)))
        assert "5" not in reply.text

    def test_a_schema_constrains_the_reply_to_an_unrelated_prompt(self, model: Model) -> None:
        schema = JsonValue(Sky).schema
        talk = (SHARED, Message(speaker=Speaker.USER, text="Write a haiku about rivers."))
        reply = model.complete(
            Request(messages=talk, max_tokens=120, temperature=0.0, schema=schema)
        )
        if reply.finish is FinishReason.STOP:
            msgspec.json.decode(reply.text, type=Sky)
        else:
            assert reply.text.lstrip().startswith("{")

    def test_a_prompt_that_exceeds_the_context_window_is_refused(self, model: Model) -> None:
        long = (SHARED, Message(speaker=Speaker.USER, text="word " * 60_000))
        with pytest.raises(ModelMisconfigured) as refused:
            model.complete(Request(messages=long, max_tokens=8, temperature=0.0))
        assert refused.value.code == "model.too-long"
