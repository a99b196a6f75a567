"""What every model does, whoever answers."""

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
    """A structured answer."""

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
    """Answer for those who have no model of their own."""
    if "colour" in request.messages[1].text:
        return '```json\n{"colour": "blue", "reason": "air scatters short waves"}\n```'
    return "Hello"


class ModelConformance:
    """Subclass it and give a `model`."""

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

    def test_an_answer_is_text_with_an_end_and_a_cost(self, model: Model) -> None:
        reply = model.complete(HELLO)
        assert reply.text.strip()
        assert reply.finish is FinishReason.STOP
        assert reply.usage.calls == 1
        assert reply.usage.completion_tokens > 0 or reply.usage.unmeasured == 1
        assert reply.usage.cached_tokens <= reply.usage.prompt_tokens
        assert reply.usage.unpriced == (0 if model.traits.price else 1)
        assert reply.model
        assert reply.seconds >= 0

    def test_its_name_is_stable(self, model: Model) -> None:
        assert model.name
        assert model.name == model.name.strip()

    def test_a_prompt_takes_no_more_tokens_than_was_said(self, model: Model) -> None:
        assert model.complete(HELLO).usage.prompt_tokens <= HELLO.at_most_tokens()

    def test_several_threads_may_ask_at_once(self, model: Model) -> None:
        with ThreadPoolExecutor(3) as pool:
            replies = list(pool.map(model.complete, [HELLO] * 3))
        assert all(reply.text.strip() for reply in replies)

    def test_a_structured_answer_is_validated(self, client: ModelClient) -> None:
        assert client.ask(SKY).value.colour in {"blue", "red"}

    def test_what_was_asked_and_answered_is_on_record(
        self, client: ModelClient, model: Model, store: SqliteStore
    ) -> None:
        said = client.ask(GREETING)
        raw = take(store, RUN)
        event = raw.events()[said.seq]
        assert isinstance(event, ReplyRecorded)
        assert event.request == digest_of(
            msgspec.json.decode(raw.blob(event.request), type=Request)
        )
        assert raw.blob(event.reply).decode() == said.reply.text
        assert (event.usage, event.finish) == (said.reply.usage, said.reply.finish.value)
        assert event.model
        assert verify_run(store, RUN).holds

    def test_a_record_replays_without_the_model(
        self, client: ModelClient, store: SqliteStore
    ) -> None:
        questions: tuple[ModelQuestion[Any], ...] = (GREETING, SKY, GREETING)
        said = [client.ask(question) for question in questions]
        again = ModelClient(
            ReplayModel(store, RUN), started(SqliteStore(":memory:")), _open_purse()
        )
        assert [again.ask(question).reply for question in questions] == [
            answered.reply for answered in said
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


def _open_purse() -> BudgetLedger:
    return BudgetLedger(Budget(), None)


class RealModelConformance(ModelConformance):
    """What a model does besides that decodes tokens itself."""

    def test_an_answer_is_cut_at_the_longest_allowed(self, model: Model) -> None:
        story = (SHARED, Message(speaker=Speaker.USER, text="Count from 1 to 100."))
        reply = model.complete(Request(messages=story, max_tokens=8, temperature=0.0))
        assert reply.finish is FinishReason.LENGTH
        assert reply.usage.completion_tokens <= 8

    def test_an_answer_ends_at_a_stop_text(self, model: Model) -> None:
        count = (SHARED, Message(speaker=Speaker.USER, text="Count: 1, 2, 3, 4, 5, 6, 7, 8"))
        reply = model.complete(Request(messages=count, max_tokens=60, temperature=0.0, stop=("5",)))
        assert "5" not in reply.text

    def test_a_schema_holds_even_a_model_that_would_rather_talk(self, model: Model) -> None:
        schema = JsonValue(Sky).schema
        talk = (SHARED, Message(speaker=Speaker.USER, text="Write a haiku about rivers."))
        reply = model.complete(
            Request(messages=talk, max_tokens=120, temperature=0.0, schema=schema)
        )
        if reply.finish is FinishReason.STOP:
            msgspec.json.decode(reply.text, type=Sky)
        else:
            assert reply.text.lstrip().startswith("{")

    def test_a_prompt_that_does_not_fit_is_refused_as_such(self, model: Model) -> None:
        long = (SHARED, Message(speaker=Speaker.USER, text="word " * 60_000))
        with pytest.raises(ModelMisconfigured) as refused:
            model.complete(Request(messages=long, max_tokens=8, temperature=0.0))
        assert refused.value.code == "model.too-long"
