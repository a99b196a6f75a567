"""Contracts at run time: who broke a promise in a failing case, and who is to blame for it.

An assurance that does not hold blames who returned. A requirement that does not hold blames who
provided the value: the call that made it, or else whoever passed it on. A promise that is broken
in a case that comes out right is itself wrong, and blames nobody.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.binding import parsed
from auditcoder.domain.contract import Contract
from auditcoder.lifecycle.locating.annotations import fits
from auditcoder.lifecycle.locating.signs import Kind, Sign
from auditcoder.lifecycle.locating.spectra import Counts, counted, ochiai
from auditcoder.lifecycle.locating.watching import Call, Observation

_LONG = 0.5
_MUCH = 1 << 20
"""Seconds, and bytes where memory ran out: what took less did not fail because of it."""


_OWN = frozenset({Kind.WRONG_TYPE, Kind.BROKE_PROMISE, Kind.BROKE_INVARIANT})
"""What a function is blamed for only if nothing went wrong below it."""


class Breach(NamedTuple):
    """A promise that did not hold in one call."""

    call: int
    what: str
    """Names the promise, to find it again in other calls."""
    kind: Kind
    provider: str
    """Who is to blame; empty where that is the driver itself."""
    consumer: str


class Blaming:
    """Looks for broken promises in what was seen."""

    def __init__(self, seen: Observation, contracts: Mapping[str, Contract]) -> None:
        self._seen = seen
        self._contracts = contracts
        self._failed = seen.failed_tests
        self._takers: dict[int, str] = {}
        """Who was first given what each call made."""
        for call in seen.calls:
            for maker in call.came_from.values():
                self._takers.setdefault(maker, call.node)

    def breaches(self) -> list[Breach]:
        """Return the breaches in failing cases, of promises that are kept where it is right."""
        found = [b for n, call in enumerate(self._seen.calls) for b in self._in_call(n, call)]
        wrong = {b.what for b in found if self._passes(b.call)}
        kept = [b for b in found if self._fails(b.call) and b.what not in wrong]
        misled = {above for b in kept for above in self._above(b.call)}
        return [b for b in kept if b.call not in misled or b.kind not in _OWN]

    def _above(self, number: int) -> Iterator[int]:
        """Yield the calls in which a call was made."""
        above = self._seen.calls[number].parent
        while above is not None:
            yield above
            above = self._seen.calls[above].parent

    def _fails(self, number: int) -> bool:
        return self._seen.test_of(self._seen.calls[number]) in self._failed

    def _passes(self, number: int) -> bool:
        test = self._seen.test_of(self._seen.calls[number])
        return test not in self._failed | self._seen.unsure

    def _in_call(self, number: int, call: Call) -> Iterator[Breach]:
        contract = self._contracts.get(call.node)
        if contract is None:
            return
        given = self._given(number, call, contract)
        yield from given
        if given:
            return  # who was given the wrong thing is not held to what it makes of it
        if call.unsettled:
            what = f"invariants in {call.node}"
            yield Breach(number, what, Kind.BROKE_INVARIANT, call.node, call.node)
        if call.returned is None:
            return
        if call.made and not fits(contract.returns, call.made):
            taker = self._takers.get(number) or self._caller(call)
            yield Breach(number, f"result of {call.node}", Kind.WRONG_TYPE, call.node, taker)
        for clause in call.broke:
            what = f"ensures {clause} of {call.node}"
            yield Breach(number, what, Kind.BROKE_PROMISE, call.node, call.node)

    def _given(self, number: int, call: Call, contract: Contract) -> list[Breach]:
        """Return what a call was given against its contract."""
        found = []
        annotations = {p.name: p.type for p in contract.params}
        for name, shape in call.shapes.items():
            if not fits(annotations.get(name, ""), shape):
                who = self._provider(call, (name,))
                kind = Kind.PASSED_WRONG_TYPE
                found.append(Breach(number, f"type of {name} of {call.node}", kind, who, call.node))
        for clause in call.refused:
            text = contract.requires[clause].expression if clause < len(contract.requires) else ""
            named = _names_in(text)
            who = self._provider(call, tuple(n for n in annotations if n in named))
            what = f"requires {clause} of {call.node}"
            found.append(Breach(number, what, Kind.HANDED_BADLY, who, call.node))
        return found

    def _provider(self, call: Call, names: tuple[str, ...]) -> str:
        makers = [self._seen.calls[call.came_from[n]].node for n in names if n in call.came_from]
        return makers[0] if makers else self._caller(call)

    def _caller(self, call: Call) -> str:
        return "" if call.parent is None else self._seen.calls[call.parent].node


def _names_in(expression: str) -> set[str]:
    tree = parsed(expression.strip())
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} if tree else set()


def signs(breaches: list[Breach]) -> Iterator[Sign]:
    """Say what the breaches show of each function."""
    for breach in breaches:
        if breach.provider:
            yield Sign(breach.provider, breach.kind)
        if breach.consumer != breach.provider and breach.kind is not Kind.WRONG_TYPE:
            yield Sign(breach.consumer, Kind.GIVEN_BADLY)


def cost_signs(seen: Observation) -> Iterator[Sign]:
    """Say where the time and the memory of failing cases went, where it was much."""
    failed = seen.failed_tests
    calls = [call for call in seen.calls if seen.test_of(call) in failed]
    for kind, own, much in (
        (Kind.TOOK_TIME, _seconds(seen, calls), _LONG),
        (Kind.TOOK_MEMORY, _bytes(calls), _MUCH),
    ):
        total = sum(own.values())
        for node, amount in own.items():
            if total >= much and amount > total / 2:
                yield Sign(node, kind, strength=amount / total)


def _seconds(seen: Observation, calls: Iterable[Call]) -> dict[str, float]:
    """Return how long each function took, without what it called; also in calls not noted."""
    own: dict[str, float] = {}
    spent = [(call.node, call.own) for call in calls]
    for test in seen.failed_tests & seen.unnoted.keys():
        spent += seen.unnoted[test].items()
    for node, seconds in spent:
        own[node] = own.get(node, 0.0) + max(0.0, seconds)
    return own


def _bytes(calls: Iterable[Call]) -> dict[str, float]:
    """Return what each function held: what its calls left, and the most that one had beyond it."""
    left: dict[str, float] = {}
    beyond: dict[str, float] = {}
    for call in calls:
        left[call.node] = left.get(call.node, 0.0) + call.left
        beyond[call.node] = max(beyond.get(call.node, 0.0), (call.held or 0) - call.left)
    return {node: max(0.0, amount) + beyond[node] for node, amount in left.items()}


def spectrum(seen: Observation) -> dict[str, Counts]:
    """Count in how many failing and passing cases each function ran."""
    ran: dict[str, set[str]] = {test: set() for test in seen.tests}
    for call in seen.calls:
        test = seen.test_of(call)
        if test is not None:
            ran.setdefault(test, set()).add(call.node)
    failing = [nodes for test, nodes in ran.items() if test in seen.failed_tests]
    passing = [nodes for test, nodes in ran.items() if test not in seen.failed_tests]
    return counted(failing, passing)


def spectrum_signs(seen: Observation) -> Iterator[Sign]:
    """Say which functions ran in failing cases rather than in passing ones, if any passes."""
    for node, counts in spectrum(seen).items():
        if counts.all_passed and counts.failed:
            yield Sign(node, Kind.RAN_AND_FAILED, strength=ochiai(counts))
