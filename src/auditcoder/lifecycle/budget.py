"""What may be spent. A call that could exceed it is not made."""

import threading

from auditcoder.domain.errors import BudgetExceeded
from auditcoder.domain.request import Price, Request
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Value


class Budget(Value):
    """The most that a run may use; None for no limit."""

    tokens: int | None = None
    usd: float | None = None


class Reservation(Value):
    """The most that one call can cost."""

    tokens: int
    usd: float


class BudgetLedger:
    """Keeps a budget. Safe to share between threads: what is asked for is set aside first."""

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
        """Set aside what a call can cost at most, or raise BudgetExceeded."""
        most = self._most(prompt_tokens, completion_tokens)
        with self._lock:
            self._refuse("tokens", self._budget.tokens, self._tokens, most.tokens)
            self._refuse("usd", self._budget.usd, self._usd, most.usd)
            self._tokens += most.tokens
            self._usd += most.usd
        return most

    @staticmethod
    def _refuse(unit: str, budget: float | None, spent: float, most: float) -> None:
        if budget is not None and not spent + most <= budget:  # nor with what is no number
            raise BudgetExceeded(
                f"budget.{unit}",
                f"the budget is {budget:g} {unit}; {spent:g} are spent or set aside,"
                f" and the next call could cost {most:g}",
                "the record is whole; resume it with a larger budget",
            )

    def charge(self, request: Request, usage: Usage) -> None:
        """Count what a call cost for which nothing was set aside, such as before a resumption."""
        most = self._most(request.at_most_tokens(), request.max_tokens)
        self._count(most, usage, Reservation(tokens=0, usd=0.0))

    def settle(self, most: Reservation, usage: Usage) -> None:
        """Put back what a call did not cost."""
        self._count(most, usage, most)

    def _most(self, prompt_tokens: int, completion_tokens: int) -> Reservation:
        usd = self._price.most(prompt_tokens, completion_tokens) if self._price else 0.0
        return Reservation(tokens=prompt_tokens + completion_tokens, usd=usd)

    def _count(self, most: Reservation, usage: Usage, set_aside: Reservation) -> None:
        """Count a call. What nobody measured counts at its most."""
        with self._lock:
            self._tokens += usage.tokens + usage.unmeasured * most.tokens - set_aside.tokens
            self._usd += usage.usd + usage.unpriced * most.usd - set_aside.usd
