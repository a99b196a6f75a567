"""Asking: every answer is on record and paid for, a bad one is asked for once more."""

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


def asked(text: str) -> Request:
    message = Message(speaker=Speaker.USER, text=text)
    return Request(messages=(message,), max_tokens=50, temperature=0.0)


class Desk:
    """A scripted model, a record, and someone who asks."""

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
        purse = BudgetLedger(budget or Budget(), price)
        self.client = ModelClient(self.model, started(self.store), purse, retry_policy, waiting)

    def replies(self) -> list[ReplyRecorded]:
        assert verify_run(self.store, RUN).holds
        return [e for e in take(self.store, RUN).events() if isinstance(e, ReplyRecorded)]


class TestARejectedReply:
    def test_is_recorded_billed_and_asked_for_again_with_the_error_quoted(self) -> None:
        desk = Desk("no json here", '{"steps": ["a"]}')
        assert desk.client.ask(question(JsonValue(Plan))).value == Plan(["a"])
        first, second = desk.replies()
        assert first.rejected.startswith("it is not JSON")
        assert second.rejected == ""
        again = desk.model.asked[1].messages
        assert [message.speaker for message in again] == [
            Speaker.USER,
            Speaker.ASSISTANT,
            Speaker.USER,
        ]
        assert again[1].text == "no json here"
        assert first.rejected in again[2].text
        assert total(e.usage for e in (first, second)).calls == 2

    def test_is_asked_for_once_more_and_not_again(self) -> None:
        desk = Desk("bad", "worse", '{"steps": []}')
        with pytest.raises(ReplyUnusable) as unusable:
            desk.client.ask(question(JsonValue(Plan)))
        assert unusable.value.code == "reply.unusable"
        assert len(desk.model.asked) == 2
        assert all(event.rejected for event in desk.replies())

    def test_is_quoted_only_in_part_if_it_is_long(self) -> None:
        desk = Desk("x" * 100_000, '{"steps": []}')
        desk.client.ask(question(JsonValue(Plan)))
        assert len(desk.model.asked[1].messages[1].text) < 3000

    @pytest.mark.parametrize(
        ("finish", "why"),
        [
            (FinishReason.LENGTH, "cut off"),
            (FinishReason.REPEATED, "repeated itself"),
            (FinishReason.REFUSED, "refused"),
        ],
    )
    def test_an_answer_that_did_not_end_well_is_rejected(
        self, finish: FinishReason, why: str
    ) -> None:
        cut = Reply(text='{"steps": []}', finish=finish, usage=Usage(calls=1))
        desk = Desk(cut, '{"steps": []}')
        desk.client.ask(question(JsonValue(Plan)))
        assert why in desk.replies()[0].rejected


def down(retry_after: float | None = None, *, billed: bool = False) -> ModelUnavailable:
    return ModelUnavailable("model.server", "down", retry_after=retry_after, billed=billed)


class TestPatience:
    def test_waits_double_and_vary_and_are_on_record(self) -> None:
        desk = Desk(down(), down(), down(), "fine")
        assert desk.client.ask(question(FreeText())).value == "fine"
        assert desk.slept == [0.75, 1.5, 3.0]
        (event,) = desk.replies()
        assert [attempt.waited for attempt in event.attempts] == desk.slept

    def test_the_servers_own_wish_comes_first(self) -> None:
        desk = Desk(down(7.0), down(-3.0), "fine")
        desk.client.ask(question(FreeText()))
        assert desk.slept == [7.0, 0.0]

    def test_a_wish_for_too_long_a_wait_ends_it(self) -> None:
        desk = Desk(down(3600.0), "fine")
        with pytest.raises(ModelUnavailable):
            desk.client.ask(question(FreeText()))
        assert desk.slept == []

    def test_attempts_are_bounded_and_all_are_told_and_billed(self) -> None:
        desk = Desk(*[down(billed=True)] * 9, retry_policy=RetryPolicy(attempts=3))
        with pytest.raises(ModelUnavailable):
            desk.client.ask(question(FreeText()))
        (event,) = desk.replies()
        assert [attempt.billed for attempt in event.attempts] == [True] * 3
        assert (event.usage.calls, event.usage.unmeasured) == (3, 3)
        assert event.finish == "failed"

    def test_what_will_not_pass_is_not_tried_again(self) -> None:
        desk = Desk(ModelMisconfigured("model.key", "no key"), "fine")
        with pytest.raises(ModelMisconfigured):
            desk.client.ask(question(FreeText()))
        assert len(desk.model.asked) == 1

    def test_attempts_that_were_billed_are_kept_whatever_ends_them(self) -> None:
        desk = Desk(down(billed=True), ModelMisconfigured("model.key", "no key"))
        with pytest.raises(ModelMisconfigured):
            desk.client.ask(question(FreeText()))
        (event,) = desk.replies()
        assert event.usage.unmeasured == 1
        assert event.rejected == "model.key: no key"

    def test_a_budget_bounds_attempts_that_were_billed(self) -> None:
        desk = Desk(*[down(billed=True)] * 5, budget=Budget(tokens=200))
        with pytest.raises(BudgetExceeded):
            desk.client.ask(question(FreeText(), "short"))
        assert len(desk.model.asked) == 2
        (event,) = desk.replies()
        assert event.usage.unmeasured == 2
        assert event.rejected.startswith("budget.tokens")

    @pytest.mark.parametrize(
        ("error", "code"), [(KeyboardInterrupt(), "interrupted"), (OSError("x"), "internal")]
    )
    def test_a_call_that_was_broken_off_is_on_record_and_billed(
        self, error: BaseException, code: str
    ) -> None:
        def broken(_: Request) -> str:
            raise error

        desk = Desk(broken, budget=Budget(tokens=150))
        with pytest.raises(type(error)):
            desk.client.ask(question(FreeText(), "short"))
        (event,) = desk.replies()
        assert (event.attempts[0].problem, event.usage.unmeasured) == (code, 1)
        with pytest.raises(BudgetExceeded):
            desk.client.ask(question(FreeText(), "short"))


def test_halves_of_characters_are_marked_once_and_for_all() -> None:
    desk = Desk("a\ud800b", '{"steps": ["c\udfffd"]}')
    value = desk.client.ask(question(JsonValue(Plan), "what of \udc00?")).value
    assert value == Plan(["c?d"])
    assert "a?b" in desk.model.asked[1].messages[1].text
    assert len(desk.replies()) == 2


def test_the_request_does_not_depend_on_the_model() -> None:
    first, second = (
        Desk('{"steps": []}'),
        Desk('{"steps": []}', price=Price(prompt=1, completion=1)),
    )
    for desk in (first, second):
        desk.client.ask(question(JsonValue(Plan)))
    assert first.model.asked == second.model.asked


class TestBudget:
    def test_stops_before_the_call_that_would_exceed_it(self) -> None:
        desk = Desk("one two", "three", budget=Budget(tokens=150))
        ask = question(FreeText(), "short")
        desk.client.ask(ask)
        most = desk.model.asked[0].at_most_tokens() + 50
        assert most <= 150 - 3
        desk.client.ask(ask)
        with pytest.raises(BudgetExceeded) as over:
            Desk(budget=Budget(tokens=most - 1)).client.ask(ask)
        assert over.value.code == "budget.tokens"

    def test_money_is_kept_to(self) -> None:
        price = Price(prompt=1e6, completion=2e6)  # a dollar a token in, two out
        desk = Desk("one two", budget=Budget(usd=500.0), price=price)
        desk.client.ask(question(FreeText(), "short"))
        with pytest.raises(BudgetExceeded) as over:
            Desk("x", budget=Budget(usd=50.0), price=price).client.ask(
                question(FreeText(), "short")
            )
        assert over.value.code == "budget.usd"

    def test_what_nobody_measured_counts_at_its_most(self) -> None:
        purse = BudgetLedger(Budget(tokens=1000), None)
        most = purse.reserve(300, 100)
        purse.settle(most, Usage(calls=1, unmeasured=1))
        with pytest.raises(BudgetExceeded, match="400 are spent"):
            purse.reserve(601, 0)

    def test_a_failed_call_is_settled(self) -> None:
        refused = ModelMisconfigured("model.key", "no key")
        desk = Desk(refused, "fine", budget=Budget(tokens=150))
        with pytest.raises(ModelMisconfigured):
            desk.client.ask(question(FreeText(), "short"))
        assert desk.client.ask(question(FreeText(), "short")).value == "fine"

    def test_what_was_spent_before_counts(self) -> None:
        purse = BudgetLedger(Budget(tokens=1000), None)
        purse.charge(asked("short"), Usage(calls=1, prompt_tokens=900))
        with pytest.raises(BudgetExceeded):
            purse.reserve(101, 0)

    def test_what_nobody_measured_before_counts_at_its_most_in_money_too(self) -> None:
        price = Price(prompt=1.0, completion=2.0)
        lost = Usage(calls=1, unmeasured=1, unpriced=1)
        request = asked("short")
        most = price.most(request.at_most_tokens(), request.max_tokens)
        purse = BudgetLedger(Budget(usd=1.5 * most), price)
        purse.charge(request, lost)
        with pytest.raises(BudgetExceeded, match="usd"):
            purse.reserve(request.at_most_tokens(), request.max_tokens)

    @given(
        st.integers(0, 2000),
        st.lists(st.tuples(st.integers(0, 300), st.integers(0, 300), st.integers(0, 600))),
    )
    def test_no_order_of_calls_exceeds_it(
        self, budget: int, calls: list[tuple[int, int, int]]
    ) -> None:
        purse, spent = BudgetLedger(Budget(tokens=budget), None), 0
        for prompt, completion, used in calls:
            try:
                most = purse.reserve(prompt, completion)
            except BudgetExceeded:
                continue
            really = min(used, prompt + completion)
            purse.settle(most, Usage(calls=1, prompt_tokens=really))
            spent += really
        assert spent <= budget

    def test_threads_cannot_spend_the_same_tokens_twice(self) -> None:
        purse, barrier = BudgetLedger(Budget(tokens=1000), None), threading.Barrier(8)

        def spend(_: int) -> int:
            barrier.wait()
            try:
                purse.reserve(200, 100)
            except BudgetExceeded:
                return 0
            return 1

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(spend, range(8))) == 3


def test_a_request_is_named_by_what_it_is() -> None:
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
