"""The cost of runs by scope, repair path, phase and role.

`bill` splits the cost of one run's calls by all of these; `add_up` makes one pass over any number
of bills and keeps only sums. Every table sums the same lines, so each has the same total. The
definitions are those of the paper's appendix H, with the choices in docs/reference/metrics.md.
Tokens that a server did not report are unknown: such calls are counted as `unmeasured`, and the
token totals are then lower bounds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec.structs import replace

from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Count, Phase, Scope, Usage
from auditcoder.domain.values import Digest, RunId, Value
from auditcoder.metrics.trace_metrics import (
    CostLine,
    RepairPath,
    attempts,
    cost_lines,
    needs_repair,
)


class Bill(Value):
    """The cost of one run's calls."""

    run: RunId
    head: Digest
    finished: bool
    """Whether the run has finished; otherwise its cost may still grow."""
    repaired: bool
    """Whether its first program failed and was diagnosed."""
    attempts: dict[str, int] = {}
    """Number of repair attempts, by path."""
    lines: tuple[CostLine, ...] = ()


def bill(trace: Trace) -> Bill:
    """Return the bill of one run."""
    return Bill(
        run=trace.run,
        head=trace.head.digest,
        finished=trace.finish is not None,
        repaired=needs_repair(trace),
        attempts=dict(Counter(path.value for path, _ in attempts(trace))),
        lines=cost_lines(trace),
    )


class PathCost(Value):
    """The cost of repair attempts of one path."""

    runs: Count = 0
    """Number of runs with such an attempt; a run can have attempts of several paths."""
    attempts: Count = 0
    usage: Usage = Usage()

    @property
    def per_attempt(self) -> float | None:
        """Tokens per attempt; None if there was none."""
        return _quotient(self.usage.tokens, self.attempts)


class RoleCost(Value):
    """The cost of one role."""

    role: str
    usage: Usage
    per_call: float | None
    """Tokens per measured call; unmeasured calls are excluded, since their tokens are unknown."""
    share: float | None
    """The share of all measured tokens."""


class CostSummary(Value):
    """The cost of a set of runs. Every breakdown adds up to `total`."""

    runs: Count
    """The denominator of `per_task`: all runs, including unfinished ones."""
    unfinished: Count
    repaired: Count
    """The denominator of `per_repair`: runs whose first program failed and was diagnosed."""
    total: Usage
    scopes: dict[str, Usage]
    paths: dict[str, PathCost]
    """The repair scope by path."""
    phases: dict[str, dict[str, Usage]]
    """By scope, then by phase."""
    families: dict[str, Usage]
    """By phase, both scopes together."""
    roles: dict[str, Usage]

    @property
    def exact(self) -> bool:
        """Whether every call's tokens are known; otherwise the tokens are lower bounds."""
        return not self.total.unmeasured

    @property
    def priced(self) -> bool:
        """Whether every call's price is known; otherwise the cost is a lower bound."""
        return not self.total.unpriced

    def share(self, usage: Usage) -> float | None:
        """Return the share of all measured tokens; None if there are none."""
        return _quotient(usage.tokens, self.total.tokens)

    def per_task(self, usage: Usage) -> float | None:
        """Return tokens per run, including runs without such a call."""
        return _quotient(usage.tokens, self.runs)

    @property
    def per_repair(self) -> float | None:
        """Tokens of the repair scope per repaired run."""
        return _quotient(self.scopes[Scope.REPAIR.value].tokens, self.repaired)

    def modules(self, most: int | None = None) -> tuple[RoleCost, ...]:
        """Return the roles by descending tokens, at most `most` of them."""
        ordered = sorted(self.roles.items(), key=lambda item: (-item[1].tokens, item[0]))
        return tuple(
            RoleCost(
                role=role,
                usage=usage,
                per_call=_quotient(usage.tokens, usage.calls - usage.unmeasured),
                share=self.share(usage),
            )
            for role, usage in ordered[:most]
        )


def _quotient(part: int, whole: int) -> float | None:
    return part / whole if whole > 0 else None


def add_up(bills: Iterable[Bill]) -> CostSummary:
    """Return the cost of many runs, in one pass that keeps only sums."""
    tally = CostTally()
    for one in bills:
        tally.add(one)
    return tally.cost()


class _Sum:
    """Accumulates usage; money as exact fractions, so that the order does not matter."""

    def __init__(self) -> None:
        self.usage = Usage()
        self.usd = Fraction()

    def add(self, usage: Usage) -> None:
        self.usage += usage
        self.usd += Fraction(usage.usd)

    def merge(self, other: "_Sum") -> None:
        self.usage += other.usage
        self.usd += other.usd


_Key = TypeVar("_Key")
_Cell = tuple[Scope, Phase, str, RepairPath | None]


class CostTally:
    """Accumulates a cost summary. Its size depends on the number of roles, not of runs."""

    def __init__(self) -> None:
        self._runs = self._unfinished = self._repaired = 0
        self._attempts: Counter[str] = Counter()
        self._runs_by_path: Counter[str] = Counter()
        self._cells: dict[_Cell, _Sum] = {}

    def add(self, one: Bill) -> None:
        """Add one run."""
        self._runs += 1
        self._unfinished += not one.finished
        self._repaired += one.repaired
        self._attempts.update(one.attempts)
        self._runs_by_path.update(one.attempts.keys())
        for line in one.lines:
            cell = (line.scope, line.phase, line.role, line.path)
            self._cells.setdefault(cell, _Sum()).add(line.usage)

    def cost(self) -> CostSummary:
        """Return the cost of the runs added so far."""
        scopes: dict[Scope, _Sum] = {}
        paths: dict[RepairPath, _Sum] = {}
        phases: dict[tuple[Scope, Phase], _Sum] = {}
        families: dict[Phase, _Sum] = {}
        roles: dict[str, _Sum] = {}
        everything = _Sum()
        for (scope, phase, role, path), cell in self._cells.items():
            everything.merge(cell)
            _into(scopes, scope, cell)
            _into(phases, (scope, phase), cell)
            _into(families, phase, cell)
            _into(roles, role, cell)
            if path is not None:
                _into(paths, path, cell)
        return CostSummary(
            runs=self._runs,
            unfinished=self._unfinished,
            repaired=self._repaired,
            total=_usage(everything),
            scopes={scope.value: _at(scopes, scope) for scope in Scope},
            paths={
                path.value: PathCost(
                    runs=self._runs_by_path[path.value],
                    attempts=self._attempts[path.value],
                    usage=_at(paths, path),
                )
                for path in RepairPath
            },
            phases={
                scope.value: {phase.value: _at(phases, (scope, phase)) for phase in Phase}
                for scope in Scope
            },
            families={phase.value: _at(families, phase) for phase in Phase},
            roles={role: _usage(roles[role]) for role in sorted(roles)},
        )


def _into(sums: dict[_Key, _Sum], key: _Key, cell: _Sum) -> None:
    sums.setdefault(key, _Sum()).merge(cell)


def _at(sums: Mapping[_Key, _Sum], key: _Key) -> Usage:
    return _usage(sums[key]) if key in sums else Usage()


def _usage(sums: _Sum) -> Usage:
    return replace(sums.usage, usd=float(sums.usd))
