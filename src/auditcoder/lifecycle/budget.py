"""What may be spent. A call that could exceed it is not made."""

import threading

from auditcoder.domain.errors import BudgetExceeded
from auditcoder.domain.request import Price
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Value


class Budget(Value):
    """The most that a run may use; None for no limit."""

    tokens: int | None = None
    usd: float | None = None


class Reserved(Value):
    """The most that one call can cost."""

    tokens: int
    usd: float


class Purse:
    """Keeps a budget. Safe to share between threads: what is asked for is set aside first."""

    def __init__(self, budget: Budget, price: Price | None) -> None:
        if budget.usd is not None and price is None:
            raise BudgetExceeded(
                "budget.unpriced",
                "a budget in money was given, and nobody knows what this model costs",
                "give a budget in tokens, or the model's price in the configuration",
            )
        self._budget = budget
        self._price = price
        self._lock = threading.Lock()
        self._tokens = 0
        self._usd = 0.0

    def reserve(self, prompt_tokens: int, completion_tokens: int) -> Reserved:
        """Set aside what a call can cost at most, or raise BudgetExceeded."""
        usd = self._price.most(prompt_tokens, completion_tokens) if self._price else 0.0
        most = Reserved(tokens=prompt_tokens + completion_tokens, usd=usd)
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

    def charge(self, tokens: int, usd: float) -> None:
        """Count what was spent elsewhere, such as before a resumption."""
        with self._lock:
            self._tokens += tokens
            self._usd += usd

    def settle(self, most: Reserved, usage: Usage) -> None:
        """Put back what a call did not cost. What nobody measured counts at its most."""
        tokens = usage.tokens + usage.unmeasured * most.tokens
        usd = usage.usd + usage.unpriced * most.usd
        with self._lock:
            self._tokens += tokens - most.tokens
            self._usd += usd - most.usd
