"""The budget ledger: reservations, charges and refusals."""

import pytest

from auditcoder.domain.errors import BudgetExceeded
from auditcoder.domain.request import FREE, Message, Price, Request, Speaker
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.budget import Budget, BudgetLedger


def used(tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=tokens)


def test_a_call_that_fits_is_reserved() -> None:
    reservation = BudgetLedger(Budget(tokens=100), None).reserve(60, 40)
    assert (reservation.tokens, reservation.usd) == (100, 0.0)


def test_a_call_that_could_exceed_the_budget_is_refused() -> None:
    ledger = BudgetLedger(Budget(tokens=100), None)
    with pytest.raises(BudgetExceeded, match="the budget is 100 tokens") as caught:
        ledger.reserve(60, 41)
    assert caught.value.code == "budget.tokens"


def test_a_reservation_counts_until_it_is_settled() -> None:
    ledger = BudgetLedger(Budget(tokens=100), None)
    first = ledger.reserve(50, 10)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(30, 11)
    ledger.settle(first, used(20))
    assert ledger.reserve(40, 40).tokens == 80


def test_a_refused_call_reserves_nothing() -> None:
    ledger = BudgetLedger(Budget(tokens=10), None)
    with pytest.raises(BudgetExceeded):
        ledger.reserve(10, 1)
    assert ledger.reserve(5, 5).tokens == 10


def test_a_call_without_measured_usage_counts_at_its_maximum() -> None:
    ledger = BudgetLedger(Budget(tokens=100), None)
    ledger.settle(ledger.reserve(50, 10), Usage(calls=1, unmeasured=1))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(30, 11)
    assert ledger.reserve(30, 10).tokens == 40


def test_an_earlier_call_is_charged_without_a_reservation() -> None:
    ledger = BudgetLedger(Budget(tokens=100), None)
    message = Message(speaker=Speaker.USER, text="Hi")
    request = Request(messages=(message,), max_tokens=5, temperature=0.0)
    ledger.charge(request, used(90))
    with pytest.raises(BudgetExceeded):
        ledger.reserve(6, 5)
    assert ledger.reserve(5, 5).tokens == 10


def test_a_run_without_limits_is_never_refused() -> None:
    assert BudgetLedger(Budget(), None).reserve(10**9, 10**9).tokens == 2 * 10**9


def test_a_limit_in_dollars_needs_a_price() -> None:
    with pytest.raises(BudgetExceeded, match="--budget-usd needs a known price") as caught:
        BudgetLedger(Budget(usd=1.0), None)
    assert caught.value.code == "budget.unpriced"
    assert BudgetLedger(Budget(usd=1.0), FREE).reserve(10, 10).usd == 0.0


@pytest.mark.parametrize(
    ("budget", "left"),
    [
        (Budget(), None),
        (Budget(tokens=1000), 900),
        (Budget(usd=0.001), 450),
        (Budget(tokens=300, usd=0.001), 200),
        (Budget(tokens=50), -50),
    ],
)
def test_a_reply_may_have_the_tokens_that_the_budget_leaves(
    budget: Budget, left: int | None
) -> None:
    assert BudgetLedger(budget, Price(prompt=1, completion=2)).affordable(100) == left
