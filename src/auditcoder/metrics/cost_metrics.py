"""What runs cost: by scope, by the path of a repair, by phase, by role.

`bill` divides one run's calls as finely as anyone asks; `add_up` goes through any number of bills
once and keeps sums alone. Every table is a sum over the same lines, so each accounts for all of
it. The definitions are those of the paper's appendix H, with what docs/reference/metrics.md
settles. Tokens that a server did not report are unknown: they are carried along as `unmeasured`
calls, beside which every number of tokens is a lower bound.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import TypeVar

from msgspec.structs import replace

from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Count, Phase, Scope, Usage
from auditcoder.domain.values import Digest, RunId, Value
from auditcoder.metrics.trace_metrics import OwnedLine, Path, admitted, attempts, lines


class Bill(Value):
    """What one run's calls cost."""

    run: RunId
    head: Digest
    finished: bool
    """Whether the run came to an end; else it may cost more yet."""
    repaired: bool
    """Whether it failed at first and its locator was asked."""
    attempts: dict[str, int] = {}
    """How many, by path."""
    lines: tuple[OwnedLine, ...] = ()


def bill(trace: Trace) -> Bill:
    """Write the bill of one run."""
    return Bill(
        run=trace.run,
        head=trace.head.digest,
        finished=trace.finish is not None,
        repaired=admitted(trace),
        attempts=dict(Counter(path.value for path, _ in attempts(trace))),
        lines=lines(trace),
    )


class Course(Value):
    """What attempts of one path cost."""

    runs: Count = 0
    """Runs with such an attempt; a run can have attempts of several paths."""
    attempts: Count = 0
    usage: Usage = Usage()

    @property
    def per_attempt(self) -> float | None:
        """Tokens an attempt; None if there was none."""
        return _each(self.usage.tokens, self.attempts)


class Module(Value):
    """What one role cost."""

    role: str
    usage: Usage
    per_call: float | None
    """Tokens a measured call: an unmeasured one did not cost nothing."""
    share: float | None
    """Of all tokens that were measured."""


class CostSummary(Value):
    """What a set of runs cost. Every division accounts for all of `total`."""

    runs: Count
    """What `per_task` divides by: every run, unfinished ones too, since they cost as well."""
    unfinished: Count
    repaired: Count
    """What `per_repair` divides by: runs that failed at first and whose locator was asked."""
    total: Usage
    scopes: dict[str, Usage]
    paths: dict[str, Course]
    """How the repair scope divides."""
    phases: dict[str, dict[str, Usage]]
    """By scope, then by phase."""
    families: dict[str, Usage]
    """The phases, both scopes together."""
    roles: dict[str, Usage]

    @property
    def exact(self) -> bool:
        """Whether every call's tokens are known; else tokens are at least what is said."""
        return not self.total.unmeasured

    @property
    def priced(self) -> bool:
        """Whether every call's price is known; else money is at least what is said."""
        return not self.total.unpriced

    def share(self, usage: Usage) -> float | None:
        """Return the share of all measured tokens, from unrounded totals."""
        return _each(usage.tokens, self.total.tokens)

    def per_task(self, usage: Usage) -> float | None:
        """Return tokens a run, whether or not it had any such call."""
        return _each(usage.tokens, self.runs)

    @property
    def per_repair(self) -> float | None:
        """Tokens of the repair scope, a run that came to repair."""
        return _each(self.scopes[Scope.REPAIR.value].tokens, self.repaired)

    def modules(self, most: int | None = None) -> tuple[Module, ...]:
        """Return the roles that cost most tokens, all of them unless told how many."""
        ordered = sorted(self.roles.items(), key=lambda item: (-item[1].tokens, item[0]))
        return tuple(
            Module(
                role=role,
                usage=usage,
                per_call=_each(usage.tokens, usage.calls - usage.unmeasured),
                share=self.share(usage),
            )
            for role, usage in ordered[:most]
        )


def _each(part: int, whole: int) -> float | None:
    return part / whole if whole > 0 else None


def add_up(bills: Iterable[Bill]) -> CostSummary:
    """Go through the bills once, keeping sums alone."""
    tally = CostTally()
    for one in bills:
        tally.add(one)
    return tally.cost()


class _Sum:
    """A usage while it is being added up; money exactly, so that the order does not matter."""

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
_Cell = tuple[Scope, Phase, str, Path | None]


class CostTally:
    """A cost under way. Its size depends on how many roles there are, not on how many runs."""

    def __init__(self) -> None:
        self._runs = self._unfinished = self._repaired = 0
        self._attempts: Counter[str] = Counter()
        self._takers: Counter[str] = Counter()
        self._cells: dict[_Cell, _Sum] = {}

    def add(self, one: Bill) -> None:
        """Add one run."""
        self._runs += 1
        self._unfinished += not one.finished
        self._repaired += one.repaired
        self._attempts.update(one.attempts)
        self._takers.update(one.attempts.keys())
        for line in one.lines:
            cell = (line.scope, line.phase, line.role, line.path)
            self._cells.setdefault(cell, _Sum()).add(line.usage)

    def cost(self) -> CostSummary:
        """Return what was added up so far."""
        scopes: dict[Scope, _Sum] = {}
        paths: dict[Path, _Sum] = {}
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
                path.value: Course(
                    runs=self._takers[path.value],
                    attempts=self._attempts[path.value],
                    usage=_at(paths, path),
                )
                for path in Path
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
