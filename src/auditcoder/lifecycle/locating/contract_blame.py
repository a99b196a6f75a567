"""Contracts at run time: who broke a promise in a failing case, and who is to blame for it.

An assurance that does not hold blames who returned. A requirement that does not hold blames who
provided the value: the call that made it, or else whoever passed it on. A promise that is broken
in a case that comes out right is itself wrong, and blames nobody.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from auditcoder.domain.contract import Contract
from auditcoder.domain.python_names import parsed
from auditcoder.lifecycle.locating.features import Feature, FeatureKind, SpectrumCounts
from auditcoder.lifecycle.locating.sbfl import counted, ochiai
from auditcoder.lifecycle.locating.trace_run import Observation, TracedCall

_ANYTHING = frozenset({"Any", "object", "TypeVar", ""})
_ALSO = {
    "float": frozenset({"int", "bool", "float64", "float32", "int64", "inf"}),
    "complex": frozenset({"int", "float", "bool"}),
    "int": frozenset({"bool", "int64", "int32"}),
    "Sequence": frozenset({"list", "tuple", "str", "range", "bytes", "deque"}),
    "Collection": frozenset({"list", "tuple", "str", "range", "set", "frozenset", "dict", "deque"}),
    "Mapping": frozenset({"dict", "defaultdict", "Counter", "OrderedDict"}),
    "dict": frozenset({"defaultdict", "Counter", "OrderedDict"}),
}
"""Types that may stand where another is named."""
_PLAIN = frozenset({"int", "float", "complex", "bool", "str", "bytes", "None"})
_HOLDING = frozenset({"list", "tuple", "dict", "set", "frozenset"})
_LONGEST = 1000
_LOWER = {"List": "list", "Tuple": "tuple", "Dict": "dict", "Set": "set", "FrozenSet": "frozenset"}
_LONG = 0.5
_MUCH = 1 << 20
"""Seconds, and bytes where memory ran out: what took less did not fail because of it."""


_OWN = frozenset({FeatureKind.WRONG_TYPE, FeatureKind.BROKE_PROMISE, FeatureKind.BROKE_INVARIANT})
"""What a function is blamed for only if nothing went wrong below it."""


class ContractBreach(NamedTuple):
    """A promise that did not hold in one call."""

    call: int
    what: str
    """Names the promise, to find it again in other calls."""
    kind: FeatureKind
    provider: str
    """Who is to blame; empty where that is the driver itself."""
    consumer: str


class ContractMonitor:
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

    def breaches(self) -> list[ContractBreach]:
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

    def _in_call(self, number: int, call: TracedCall) -> Iterator[ContractBreach]:
        contract = self._contracts.get(call.node)
        if contract is None:
            return
        given = self._given(number, call, contract)
        yield from given
        if given:
            return  # who was given the wrong thing is not held to what it makes of it
        if call.unsettled:
            what = f"invariants in {call.node}"
            yield ContractBreach(number, what, FeatureKind.BROKE_INVARIANT, call.node, call.node)
        if call.returned is None:
            return
        if call.made and not fits(contract.returns, call.made):
            taker = self._takers.get(number) or self._caller(call)
            yield ContractBreach(
                number, f"result of {call.node}", FeatureKind.WRONG_TYPE, call.node, taker
            )
        for clause in call.broke:
            what = f"ensures {clause} of {call.node}"
            yield ContractBreach(number, what, FeatureKind.BROKE_PROMISE, call.node, call.node)

    def _given(self, number: int, call: TracedCall, contract: Contract) -> list[ContractBreach]:
        """Return what a call was given against its contract."""
        found = []
        annotations = {p.name: p.type for p in contract.params}
        for name, shape in call.shapes.items():
            if not fits(annotations.get(name, ""), shape):
                who = self._provider(call, (name,))
                kind = FeatureKind.PASSED_WRONG_TYPE
                found.append(
                    ContractBreach(number, f"type of {name} of {call.node}", kind, who, call.node)
                )
        for clause in call.refused:
            text = contract.requires[clause].expression if clause < len(contract.requires) else ""
            named = _names_in(text)
            who = self._provider(call, tuple(n for n in annotations if n in named))
            what = f"requires {clause} of {call.node}"
            found.append(ContractBreach(number, what, FeatureKind.HANDED_BADLY, who, call.node))
        return found

    def _provider(self, call: TracedCall, names: tuple[str, ...]) -> str:
        makers = [self._seen.calls[call.came_from[n]].node for n in names if n in call.came_from]
        return makers[0] if makers else self._caller(call)

    def _caller(self, call: TracedCall) -> str:
        return "" if call.parent is None else self._seen.calls[call.parent].node


def _names_in(expression: str) -> set[str]:
    tree = parsed(expression.strip())
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} if tree else set()


def signs(breaches: list[ContractBreach]) -> Iterator[Feature]:
    """Say what the breaches show of each function."""
    for breach in breaches:
        if breach.provider:
            yield Feature(breach.provider, breach.kind)
        if breach.consumer != breach.provider and breach.kind is not FeatureKind.WRONG_TYPE:
            yield Feature(breach.consumer, FeatureKind.GIVEN_BADLY)


def cost_signs(seen: Observation) -> Iterator[Feature]:
    """Say where the time and the memory of failing cases went, where it was much."""
    failed = seen.failed_tests
    calls = [call for call in seen.calls if seen.test_of(call) in failed]
    for kind, own, much in (
        (FeatureKind.TOOK_TIME, _seconds(seen, calls), _LONG),
        (FeatureKind.TOOK_MEMORY, _bytes(calls), _MUCH),
    ):
        total = sum(own.values())
        for node, amount in own.items():
            if total >= much and amount > total / 2:
                yield Feature(node, kind, strength=amount / total)


def _seconds(seen: Observation, calls: Iterable[TracedCall]) -> dict[str, float]:
    """Return how long each function took, without what it called; also in calls not noted."""
    own: dict[str, float] = {}
    spent = [(call.node, call.own) for call in calls]
    for test in seen.failed_tests & seen.unnoted.keys():
        spent += seen.unnoted[test].items()
    for node, seconds in spent:
        own[node] = own.get(node, 0.0) + max(0.0, seconds)
    return own


def _bytes(calls: Iterable[TracedCall]) -> dict[str, float]:
    """Return what each function held: what its calls left, and the most that one had beyond it."""
    left: dict[str, float] = {}
    beyond: dict[str, float] = {}
    for call in calls:
        left[call.node] = left.get(call.node, 0.0) + call.left
        beyond[call.node] = max(beyond.get(call.node, 0.0), (call.held or 0) - call.left)
    return {node: max(0.0, amount) + beyond[node] for node, amount in left.items()}


def spectrum(seen: Observation) -> dict[str, SpectrumCounts]:
    """Count in how many failing and passing cases each function ran."""
    ran: dict[str, set[str]] = {test: set() for test in seen.tests}
    for call in seen.calls:
        test = seen.test_of(call)
        if test is not None:
            ran.setdefault(test, set()).add(call.node)
    failing = [nodes for test, nodes in ran.items() if test in seen.failed_tests]
    passing = [nodes for test, nodes in ran.items() if test not in seen.failed_tests]
    return counted(failing, passing)


def spectrum_signs(seen: Observation) -> Iterator[Feature]:
    """Say which functions ran in failing cases rather than in passing ones, if any passes."""
    for node, counts in spectrum(seen).items():
        if counts.all_passed and counts.failed:
            yield Feature(node, FeatureKind.RAN_AND_FAILED, strength=ochiai(counts))


@cache
def fits(annotation: str, shape: str) -> bool:
    """Whether a value of type `shape` conforms to `annotation`.

    Both are text and nothing is imported. What cannot be decided conforms: an unknown name may
    stand for any type.
    """
    if len(annotation) + len(shape) > _LONGEST:
        return True
    promised, found = _expression(annotation), _expression(shape)
    return promised is None or found is None or _fits(promised, found)


def _expression(text: str) -> ast.expr | None:
    tree = parsed(text.strip("\"' "))
    match tree.body if tree else ():
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None


def _fits(promised: ast.expr, found: ast.expr) -> bool:
    if (choices := _choices(found)) and len(choices) > 1:
        return all(_fits(promised, choice) for choice in choices)
    return any(_fits_one(choice, found) for choice in _choices(promised))


def _choices(annotation: ast.expr) -> list[ast.expr]:
    """Return the types of which one will do."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_choices(left), *_choices(right)]
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=parts)):
            return [choice for part in parts for choice in _choices(part)]
        case ast.Subscript(value=ast.Name(id="Optional"), slice=part):
            return [*_choices(part), ast.Constant(None)]
        case _:
            return [annotation]


def _fits_one(promised: ast.expr, found: ast.expr) -> bool:
    wanted, seen = _name(promised), _name(found)
    if wanted in _ANYTHING or not (wanted in _PLAIN | _HOLDING or wanted in _ALSO):
        return True
    if wanted != seen and seen not in _ALSO.get(wanted, ()):
        return False
    parts, own = _parts(promised), _parts(found)
    if not parts or not own or wanted not in _HOLDING:
        return True
    if wanted == "tuple":
        if len(parts) == 2 and isinstance(parts[1], ast.Constant):  # tuple[int, ...]
            return all(_fits(parts[0], part) for part in own)
        if len(parts) != len(own):
            return False
    return all(map(_fits, parts, own))


def _name(annotation: ast.expr) -> str:
    match annotation:
        case ast.Subscript(value=value):
            return _name(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return _LOWER.get(name, name)
        case ast.Constant(value=None):
            return "None"
        case _:
            return ""


def _parts(annotation: ast.expr) -> list[ast.expr]:
    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return parts
        case ast.Subscript(slice=part):
            return [part]
        case _:
            return []
