"""The model client: each reply is recorded and billed, a rejected one is requested once more."""

import threading
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.adapters.models.scripted import Line, ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import (
    BudgetExceeded,
    ModelMisconfigured,
    ModelUnavailable,
    ReplyUnusable,
)
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.request import (
    FREE,
    FinishReason,
    Message,
    Price,
    Reply,
    Request,
    Speaker,
    Traits,
)
from auditcoder.domain.usage import Phase, Usage, total
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.model_client import ModelClient, ModelQuestion
from auditcoder.lifecycle.response_formats import FreeText, JsonValue
from auditcoder.lifecycle.retry_policy import Backoff, RetryPolicy
from auditcoder.lifecycle.token_limits import ReplyRoom
from tests.support.record_builders import RUN, started
from tests.support.records import take


class Plan(msgspec.Struct, forbid_unknown_fields=True):
    steps: list[str]
    cost: int = 1


def question(shape: object, text: str = "Plan it.") -> ModelQuestion[object]:
    return ModelQuestion(
        messages=(Message(speaker=Speaker.USER, text=text),),
        shape=shape,  # type: ignore[arg-type]
        role="planner",
        phase=Phase.PLANNING,
        max_tokens=50,
    )


def request_for(text: str) -> Request:
    message = Message(speaker=Speaker.USER, text=text)
    return Request(messages=(message,), max_tokens=50, temperature=0.0)


class ClientSetup:
    """A model client with a scripted model, a record and recorded waits."""

    def __init__(
        self,
        *lines: Line,
        budget: Budget | None = None,
        price: Price = FREE,
        retry_policy: RetryPolicy | None = None,
    ) -> None:
        self.model = ScriptedModel(lines, Traits(price=price))
        self.store = SqliteStore(":memory:")
        self.slept: list[float] = []
        waiting = Backoff(sleep=self.slept.append, chance=lambda: 0.5)
        ledger = BudgetLedger(budget or Budget(), price)
        self.client = ModelClient(self.model, started(self.store), ledger, retry_policy, waiting)

    def replies(self) -> list[ReplyRecorded]:
        assert verify_run(self.store, RUN).holds
        return [e for e in take(self.store, RUN).events() if isinstance(e, ReplyRecorded)]


class TestRejectedReply:
    def test_a_rejected_reply_is_recorded_billed_and_requested_again_with_the_error(self) -> None:
        setup = ClientSetup("no json here", '{"steps": ["a"]}')
        assert setup.client.ask(question(JsonValue(Plan))).value == Plan(["a"])
        first, second = setup.replies()
        assert first.rejected.startswith("it is not JSON")
        assert second.rejected == ""
        again = setup.model.asked[1].messages
        assert [message.speaker for message in again] == [
            Speaker.USER,
            Speaker.ASSISTANT,
            Speaker.USER,
        ]
        assert again[1].text == "no json here"
        assert first.rejected in again[2].text
        assert total(e.usage for e in (first, second)).calls == 2

    def test_a_rejected_reply_is_requested_again_only_once(self) -> None:
        setup = ClientSetup("bad", "worse", '{"steps": []}')
        with pytest.raises(ReplyUnusable) as unusable:
            setup.client.ask(question(JsonValue(Plan)))
        assert unusable.value.code == "reply.unusable"
        assert len(setup.model.asked) == 2
        assert all(event.rejected for event in setup.replies())

    def test_a_long_rejected_reply_is_quoted_in_part(self) -> None:
        setup = ClientSetup("x" * 100_000, '{"steps": []}')
        setup.client.ask(question(JsonValue(Plan)))
        assert len(setup.model.asked[1].messages[1].text) < 3000

    @pytest.mark.parametrize(
        ("finish", "why"),
        [
            (FinishReason.LENGTH, "cut off"),
            (FinishReason.REPEATED, "repeated itself"),
            (FinishReason.REFUSED, "refused"),
        ],
    )
    def test_a_reply_that_did_not_finish_normally_is_rejected(
        self, finish: FinishReason, why: str
    ) -> None:
        cut = Reply(text='{"steps": []}', finish=finish, usage=Usage(calls=1))
        setup = ClientSetup(cut, '{"steps": []}')
        setup.client.ask(question(JsonValue(Plan)))
        assert why in setup.replies()[0].rejected


def unavailable(retry_after: float | None = None, *, billed: bool = False) -> ModelUnavailable:
    return ModelUnavailable("model.server", "down", retry_after=retry_after, billed=billed)


class TestRetries:
    def test_waits_double_with_jitter_and_are_recorded(self) -> None:
        setup = ClientSetup(unavailable(), unavailable(), unavailable(), "fine")
        assert setup.client.ask(question(FreeText())).value == "fine"
        assert setup.slept == [0.75, 1.5, 3.0]
        (event,) = setup.replies()
        assert [attempt.waited for attempt in event.attempts] == setup.slept

    def test_the_wait_that_the_server_asks_for_is_used(self) -> None:
        setup = ClientSetup(unavailable(7.0), unavailable(-3.0), "fine")
        setup.client.ask(question(FreeText()))
        assert setup.slept == [7.0, 0.0]

    def test_a_requested_wait_that_is_too_long_ends_the_retries(self) -> None:
        setup = ClientSetup(unavailable(3600.0), "fine")
        with pytest.raises(ModelUnavailable):
            setup.client.ask(question(FreeText()))
        assert setup.slept == []

    def test_attempts_are_bounded_recorded_and_billed(self) -> None:
        setup = ClientSetup(*[unavailable(billed=True)] * 9, retry_policy=RetryPolicy(attempts=3))
        with pytest.raises(ModelUnavailable):
            setup.client.ask(question(FreeText()))
        (event,) = setup.replies()
        assert [attempt.billed for attempt in event.attempts] == [True] * 3
        assert (event.usage.calls, event.usage.unmeasured) == (3, 3)
        assert event.finish == "failed"

    def test_a_permanent_error_is_not_retried(self) -> None:
        setup = ClientSetup(ModelMisconfigured("model.key", "no key"), "fine")
        with pytest.raises(ModelMisconfigured):
            setup.client.ask(question(FreeText()))
        assert len(setup.model.asked) == 1

    def test_billed_attempts_are_recorded_whatever_error_ends_the_retries(self) -> None:
        setup = ClientSetup(unavailable(billed=True), ModelMisconfigured("model.key", "no key"))
        with pytest.raises(ModelMisconfigured):
            setup.client.ask(question(FreeText()))
        (event,) = setup.replies()
        assert event.usage.unmeasured == 1
        assert event.rejected == "model.key: no key"

    def test_a_budget_bounds_billed_attempts(self) -> None:
        setup = ClientSetup(*[unavailable(billed=True)] * 5, budget=Budget(tokens=200))
        with pytest.raises(BudgetExceeded):
            setup.client.ask(question(FreeText(), "short"))
        assert len(setup.model.asked) == 2
        (event,) = setup.replies()
        assert event.usage.unmeasured == 2
        assert event.rejected.startswith("budget.tokens")

    @pytest.mark.parametrize(
        ("error", "code"), [(KeyboardInterrupt(), "interrupted"), (OSError("x"), "internal")]
    )
    def test_an_interrupted_call_is_recorded_and_billed(
        self, error: BaseException, code: str
    ) -> None:
        def fail(_: Request) -> str:
            raise error

        setup = ClientSetup(fail, budget=Budget(tokens=150))
        with pytest.raises(type(error)):
            setup.client.ask(question(FreeText(), "short"))
        (event,) = setup.replies()
        assert (event.attempts[0].problem, event.usage.unmeasured) == (code, 1)
        with pytest.raises(BudgetExceeded):
            setup.client.ask(question(FreeText(), "short"))


def test_unpaired_surrogates_are_replaced_in_requests_and_replies() -> None:
    setup = ClientSetup("a\ud800b", '{"steps": ["c\udfffd"]}')
    value = setup.client.ask(question(JsonValue(Plan), "what of \udc00?")).value
    assert value == Plan(["c?d"])
    assert "a?b" in setup.model.asked[1].messages[1].text
    assert len(setup.replies()) == 2


def test_the_request_does_not_depend_on_the_model() -> None:
    first, second = (
        ClientSetup('{"steps": []}'),
        ClientSetup('{"steps": []}', price=Price(prompt=1, completion=1)),
    )
    for setup in (first, second):
        setup.client.ask(question(JsonValue(Plan)))
    assert first.model.asked == second.model.asked


class TestBudget:
    def test_a_call_that_could_exceed_the_budget_is_not_made(self) -> None:
        setup = ClientSetup("one two", "three", budget=Budget(tokens=150))
        ask = question(FreeText(), "short")
        setup.client.ask(ask)
        most = setup.model.asked[0].at_most_tokens() + 50
        assert most <= 150 - 3
        setup.client.ask(ask)
        with pytest.raises(BudgetExceeded) as over:
            ClientSetup(budget=Budget(tokens=most - 1)).client.ask(ask)
        assert over.value.code == "budget.tokens"

    def test_a_budget_in_dollars_is_enforced(self) -> None:
        price = Price(prompt=1e6, completion=2e6)  # dollars per token: 1 prompt, 2 reply
        setup = ClientSetup("one two", budget=Budget(usd=500.0), price=price)
        setup.client.ask(question(FreeText(), "short"))
        with pytest.raises(BudgetExceeded) as over:
            ClientSetup("x", budget=Budget(usd=50.0), price=price).client.ask(
                question(FreeText(), "short")
            )
        assert over.value.code == "budget.usd"

    def test_an_unmeasured_call_counts_at_its_maximum(self) -> None:
        ledger = BudgetLedger(Budget(tokens=1000), None)
        most = ledger.reserve(300, 100)
        ledger.settle(most, Usage(calls=1, unmeasured=1))
        with pytest.raises(BudgetExceeded, match="400 are spent"):
            ledger.reserve(601, 0)

    def test_a_failed_call_releases_its_reservation(self) -> None:
        refused = ModelMisconfigured("model.key", "no key")
        setup = ClientSetup(refused, "fine", budget=Budget(tokens=150))
        with pytest.raises(ModelMisconfigured):
            setup.client.ask(question(FreeText(), "short"))
        assert setup.client.ask(question(FreeText(), "short")).value == "fine"

    def test_the_usage_of_an_earlier_call_counts(self) -> None:
        ledger = BudgetLedger(Budget(tokens=1000), None)
        ledger.charge(request_for("short"), Usage(calls=1, prompt_tokens=900))
        with pytest.raises(BudgetExceeded):
            ledger.reserve(101, 0)

    def test_an_earlier_unmeasured_call_counts_at_its_maximum_cost(self) -> None:
        price = Price(prompt=1.0, completion=2.0)
        lost = Usage(calls=1, unmeasured=1, unpriced=1)
        request = request_for("short")
        most = price.most(request.at_most_tokens(), request.max_tokens)
        ledger = BudgetLedger(Budget(usd=1.5 * most), price)
        ledger.charge(request, lost)
        with pytest.raises(BudgetExceeded, match="usd"):
            ledger.reserve(request.at_most_tokens(), request.max_tokens)

    @given(
        st.integers(0, 2000),
        st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 600))),
    )
    def test_no_sequence_of_calls_exceeds_the_budget(
        self, budget: int, calls: list[tuple[int, int, int]]
    ) -> None:
        ledger, spent = BudgetLedger(Budget(tokens=budget), None), 0
        for prompt, completion, used in calls:
            try:
                most = ledger.reserve(prompt, completion)
            except BudgetExceeded:
                continue
            actual = min(used, prompt + completion)
            ledger.settle(most, Usage(calls=1, prompt_tokens=actual))
            spent += actual
        assert spent <= budget

    def test_threads_cannot_spend_the_same_tokens_twice(self) -> None:
        ledger, barrier = BudgetLedger(Budget(tokens=1000), None), threading.Barrier(8)

        def spend(_: int) -> int:
            barrier.wait()
            try:
                ledger.reserve(200, 100)
            except BudgetExceeded:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(spend, range(8))) == 3


def test_the_digest_of_a_request_depends_on_its_content() -> None:
    message = Message(speaker=Speaker.USER, text="hi")
    request = Request(messages=(message,), max_tokens=5, temperature=0.0)
    again = msgspec.json.decode(msgspec.json.encode(request), type=Request)
    assert again.digest == request.digest
    other = msgspec.structs.replace(request, temperature=0.1)
    assert other.digest != request.digest


@pytest.mark.parametrize("temperature", [0, 0.0, -0.0, False])
def test_equal_requests_have_equal_digests(temperature: float) -> None:
    message = Message(speaker=Speaker.USER, text="hi")
    one = Request(messages=(message,), max_tokens=5, temperature=0.0, seed=0)
    other = Request(
        messages=[message],  # type: ignore[arg-type]
        max_tokens=5.0,  # type: ignore[arg-type]
        temperature=temperature,
        seed=False,
        stop=[],  # type: ignore[arg-type]
    )
    assert one == other
    assert one.digest == other.digest


ROOM = ReplyRoom(tokens=50, least=20, most=150, option="--max-reply-tokens")


def cut(text: str = "half", tokens: int = 0) -> Reply:
    usage = Usage(calls=1, completion_tokens=tokens, unmeasured=0 if tokens else 1)
    return Reply(text=text, finish=FinishReason.LENGTH, usage=usage, model="x")


def test_a_cut_reply_of_unknown_length_is_requested_with_more_room() -> None:
    setup = ClientSetup(cut(), cut(), "whole")
    asked = question(FreeText())._replace(room=ROOM)
    assert setup.client.ask(asked).value == "whole"
    assert [request.max_tokens for request in setup.model.asked] == [50, 100, 150]
    assert len({request.messages for request in setup.model.asked}) == 1
    assert setup.client.cut == ()


def test_a_reply_that_stays_cut_names_the_option() -> None:
    setup = ClientSetup(*[cut(tokens=n) for n in (50, 100, 150)])
    with pytest.raises(ReplyUnusable, match="cut at 150 tokens: raise --max-reply-tokens"):
        setup.client.ask(question(FreeText())._replace(room=ROOM))
    assert setup.client.cut == ("the reply was cut at 150 tokens: raise --max-reply-tokens",)
    assert len(setup.replies()) == 3


def test_a_model_that_does_not_use_more_room_is_not_given_more() -> None:
    setup = ClientSetup(cut(tokens=40), cut(tokens=40))
    with pytest.raises(ReplyUnusable, match="the model had ended it after 40"):
        setup.client.ask(question(FreeText())._replace(room=ROOM))


def test_a_fixed_limit_is_explained_and_requested_once_more() -> None:
    setup = ClientSetup(cut(tokens=50), cut(tokens=50))
    fixed = ReplyRoom(50, 50, 50, "--code-tokens")
    with pytest.raises(ReplyUnusable, match="cut at 50 tokens: raise --code-tokens"):
        setup.client.ask(question(FreeText())._replace(room=fixed))
    assert len(setup.model.asked) == 2
    assert setup.model.asked[0].messages != setup.model.asked[1].messages


@pytest.mark.parametrize(("tokens", "allowed"), [(1000, 50), (76, 36), (60, 20)])
def test_a_budget_lowers_the_room_but_not_below_the_least(tokens: int, allowed: int) -> None:
    setup = ClientSetup("whole", budget=Budget(tokens=tokens))
    assert request_for("Plan it.").at_most_tokens() == 40
    setup.client.ask(question(FreeText())._replace(room=ROOM))
    assert setup.model.asked[0].max_tokens == allowed


def test_a_budget_that_does_not_leave_the_least_room_stops_the_call() -> None:
    setup = ClientSetup("whole", budget=Budget(tokens=59))
    with pytest.raises(BudgetExceeded):
        setup.client.ask(question(FreeText())._replace(room=ROOM))
    assert setup.model.asked == []
