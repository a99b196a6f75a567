"""Token and cost budgets of a run. A call that could exceed the budget is not made."""

import threading

from auditcoder.domain.errors import BudgetExceeded
from auditcoder.domain.request import Price, Request
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Value


class Budget(Value):
    """The maximum tokens and cost of a run; None means no limit."""

    tokens: int | None = None
    usd: float | None = None


class Reservation(Value):
    """The maximum tokens and cost of one call."""

    tokens: int
    usd: float


class BudgetLedger:
    """Tracks the spent and reserved part of a budget. Safe to share between threads.

    The maximum cost of a call is reserved before the call is made.
    """

    def __init__(self, budget: Budget, price: Price | None) -> None:
        if budget.usd is not None and price is None:
            raise BudgetExceeded(
                "budget.unpriced",
                "--budget-usd needs a known price for this model",
                "use --budget-tokens, or set the model's price in the configuration",
            )
        self._budget = budget
        self._price = price
        self._lock = threading.Lock()
        self._tokens = 0
        self._usd = 0.0

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> Reservation:
        """Reserve the maximum cost of a call, or raise BudgetExceeded."""
        most = self._maximum(prompt_tokens, completion_tokens)
        with self._lock:
            self._check("tokens", self._budget.tokens, self._tokens, most.tokens)
            self._check("usd", self._budget.usd, self._usd, most.usd)
            self._tokens += most.tokens
            self._usd += most.usd
        return most

    @staticmethod
    def _check(unit: str, budget: float | None, spent: float, most: float) -> None:
        if budget is not None and not spent + most <= budget:  # also rejects NaN
            raise BudgetExceeded(
                f"budget.{unit}",
                f"the budget is {budget:g} {unit}; {spent:g} are spent or set aside,"
                f" and the next call could cost {most:g}",
                "the record is complete; resume the run with a larger budget",
            )

    def affordable(self, prompt_tokens: int) -> int | None:
        """Return the tokens that a reply to such a prompt may have; None if there is no limit."""
        with self._lock:
            tokens, usd = self._tokens, self._usd
        limits = []
        if self._budget.tokens is not None:
            limits.append(self._budget.tokens - tokens - prompt_tokens)
        if self._budget.usd is not None and self._price is not None and self._price.completion:
            left = self._budget.usd - usd - self._price.most(prompt_tokens, 0)
            limits.append(int(left / self._price.completion * 1e6))
        return min(limits, default=None)

    def charge(self, request: Request, usage: Usage) -> None:
        """Add the cost of a call without a reservation, such as one made before a resumption."""
        most = self._maximum(request.at_most_tokens(), request.max_tokens)
        self._count(most, usage, Reservation(tokens=0, usd=0.0))

    def settle(self, most: Reservation, usage: Usage) -> None:
        """Replace a call's reservation by its actual cost."""
        self._count(most, usage, most)

    def _maximum(self, prompt_tokens: int, completion_tokens: int) -> Reservation:
        usd = self._price.most(prompt_tokens, completion_tokens) if self._price else 0.0
        return Reservation(tokens=prompt_tokens + completion_tokens, usd=usd)

    def _count(self, most: Reservation, usage: Usage, reserved: Reservation) -> None:
        """Add the cost of a call; an unmeasured or unpriced call counts with its maximum."""
        with self._lock:
            self._tokens += usage.tokens + usage.unmeasured * most.tokens - reserved.tokens
            self._usd += usage.usd + usage.unpriced * most.usd - reserved.usd
