"""Evaluates the clauses of a program's functions while it runs: contracts and invariants."""

import copy
import time
import types
from typing import Any

_INVARIANTS = "invariants"
_MOST_EVALUATED = 300
"""Calls of one function whose clauses are evaluated."""
_SLOW = 0.05
"""Seconds: after a clause that took longer, no clause of that function is evaluated again."""


class ContractEvaluator:
    """Finds the clauses that a call breaks: `requires` at its start, `ensures` at its end."""

    def __init__(
        self,
        clauses: dict[str, dict[str, list[str]]],
        invariants: list[str],
        space: dict[str, Any],
    ) -> None:
        self._space = space
        self._invariants = [self._compiled(text) for text in invariants]
        self._violating: dict[int, object] = {}
        """Objects with broken invariants by identity, kept alive so that none is reused."""
        self._evaluated: dict[str, int] = {}
        self._known = {
            (node, which): [self._compiled(text) for text in texts]
            for node, own in clauses.items()
            for which, texts in own.items()
        }
        self._promising = {node for (node, _), own in self._known.items() if own}

    def kept_for(self, node: str, given: dict[str, Any]) -> dict[str, Any] | None:
        """Return a copy of a call's arguments if its clauses are evaluated; else None.

        A clause sees a copy only: it could change or use up the original.
        """
        self._evaluated[node] = self._evaluated.get(node, 0) + 1
        if self._evaluated[node] > _MOST_EVALUATED or node not in self._promising:
            return None
        if any(hasattr(value, "__next__") for value in given.values()):
            return None
        copied: dict[str, Any] | None = self._copied(node, given)
        return copied

    def _copied(self, node: str, value: Any) -> Any:
        """Return a deep copy; if that is slow, stop evaluating for this function."""
        began = time.perf_counter()
        try:
            return copy.deepcopy(value)
        except Exception:  # the candidate's own copy methods may fail
            return None
        finally:
            if time.perf_counter() - began > _SLOW:
                self._evaluated[node] = _MOST_EVALUATED

    def broken(self, node: str, which: str, names: dict[str, Any]) -> list[int]:
        """Return the numbers of the clauses that do not hold; one that raises does not count."""
        known = self._known.get((node, which), [])
        began = time.perf_counter()
        found = [n for n, clause in enumerate(known) if self._holds(clause, names) is False]
        if time.perf_counter() - began > _SLOW:
            self._evaluated[node] = _MOST_EVALUATED
        return found

    def unsettled(self, owner: object) -> bool:
        """Whether an object breaks an invariant now and was not known to do so before."""
        count = self._evaluated[_INVARIANTS] = self._evaluated.get(_INVARIANTS, 0) + 1
        if not self._invariants or id(owner) in self._violating or count > _MOST_EVALUATED:
            return False
        names = {"self": self._copied(_INVARIANTS, owner)}
        if names["self"] is None:
            return False
        broken = any(self._holds(clause, names) is False for clause in self._invariants)
        if broken:
            self._violating[id(owner)] = owner
        return broken

    def _holds(self, clause: types.CodeType | None, names: dict[str, Any]) -> bool | None:
        try:
            return None if clause is None else bool(eval(clause, {**self._space, **names}))  # noqa: S307
        except Exception:  # it does not apply to these values
            return None

    @staticmethod
    def _compiled(text: str) -> types.CodeType | None:
        try:
            return compile(text.strip(), "promise", "eval", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None
