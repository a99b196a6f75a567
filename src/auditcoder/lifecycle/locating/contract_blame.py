"""Contract violations in failing tests, and the function that is to blame for each.

A violated postcondition blames the function that returned. A violated precondition blames the
function that provided the value: the call that returned it, or else the caller that passed it. A
condition that is also violated in a passing test is itself wrong, and blames no function.
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
_COMPATIBLE = {
    "float": frozenset({"int", "bool", "float64", "float32", "int64", "inf"}),
    "complex": frozenset({"int", "float", "bool"}),
    "int": frozenset({"bool", "int64", "int32"}),
    "Sequence": frozenset({"list", "tuple", "str", "range", "bytes", "deque"}),
    "Collection": frozenset({"list", "tuple", "str", "range", "set", "frozenset", "dict", "deque"}),
    "Mapping": frozenset({"dict", "defaultdict", "Counter", "OrderedDict"}),
    "dict": frozenset({"defaultdict", "Counter", "OrderedDict"}),
}
"""Types that are accepted where another type is declared."""
_SCALARS = frozenset({"int", "float", "complex", "bool", "str", "bytes", "None"})
_CONTAINERS = frozenset({"list", "tuple", "dict", "set", "frozenset"})
_MAX_TYPE_LENGTH = 1000
_BUILTIN_NAMES = {
    "List": "list",
    "Tuple": "tuple",
    "Dict": "dict",
    "Set": "set",
    "FrozenSet": "frozenset",
}
_MIN_SECONDS = 0.5
_MIN_BYTES = 1 << 20
"""A failing test that used less time or memory in total did not fail because of it."""


_OWN = frozenset({FeatureKind.WRONG_TYPE, FeatureKind.BROKE_PROMISE, FeatureKind.BROKE_INVARIANT})
"""Breaches that blame a function only if no call made by it had a breach."""


class ContractBreach(NamedTuple):
    """A contract condition that did not hold in one call."""

    call: int
    what: str
    """Identifies the condition, so that breaches of it in other calls can be found."""
    kind: FeatureKind
    provider: str
    """The function to blame; empty if that is the test driver."""
    consumer: str


class ContractMonitor:
    """Finds contract breaches in a trace."""

    def __init__(self, seen: Observation, contracts: Mapping[str, Contract]) -> None:
        self._seen = seen
        self._contracts = contracts
        self._failed = seen.failed_tests
        self._consumers: dict[int, str] = {}
        """The function that first received the result of each call."""
        for call in seen.calls:
            for maker in call.came_from.values():
                self._consumers.setdefault(maker, call.node)

    def breaches(self) -> list[ContractBreach]:
        """Return the breaches in failing tests, of conditions that hold in all passing tests."""
        breaches = [b for n, call in enumerate(self._seen.calls) for b in self._in_call(n, call)]
        wrong = {b.what for b in breaches if self._passes(b.call)}
        kept = [b for b in breaches if self._fails(b.call) and b.what not in wrong]
        affected = {above for b in kept for above in self._above(b.call)}
        return [b for b in kept if b.call not in affected or b.kind not in _OWN]

    def _above(self, number: int) -> Iterator[int]:
        """Yield the calls that were active when a call was made, innermost first."""
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
            return  # a call with invalid arguments is not held to its postconditions
        if call.unsettled:
            what = f"invariants in {call.node}"
            yield ContractBreach(number, what, FeatureKind.BROKE_INVARIANT, call.node, call.node)
        if call.returned is None:
            return
        if call.made and not fits(contract.returns, call.made):
            consumer = self._consumers.get(number) or self._caller(call)
            yield ContractBreach(
                number, f"result of {call.node}", FeatureKind.WRONG_TYPE, call.node, consumer
            )
        for clause in call.broke:
            what = f"ensures {clause} of {call.node}"
            yield ContractBreach(number, what, FeatureKind.BROKE_PROMISE, call.node, call.node)

    def _given(self, number: int, call: TracedCall, contract: Contract) -> list[ContractBreach]:
        """Return the breaches by the arguments of a call."""
        breaches = []
        annotations = {p.name: p.type for p in contract.params}
        for name, shape in call.shapes.items():
            if not fits(annotations.get(name, ""), shape):
                provider = self._provider(call, (name,))
                kind = FeatureKind.PASSED_WRONG_TYPE
                breaches.append(
                    ContractBreach(
                        number, f"type of {name} of {call.node}", kind, provider, call.node
                    )
                )
        for clause in call.refused:
            text = contract.requires[clause].expression if clause < len(contract.requires) else ""
            named = _names_in(text)
            provider = self._provider(call, tuple(n for n in annotations if n in named))
            what = f"requires {clause} of {call.node}"
            breaches.append(
                ContractBreach(number, what, FeatureKind.HANDED_BADLY, provider, call.node)
            )
        return breaches

    def _provider(self, call: TracedCall, names: tuple[str, ...]) -> str:
        makers = [self._seen.calls[call.came_from[n]].node for n in names if n in call.came_from]
        return makers[0] if makers else self._caller(call)

    def _caller(self, call: TracedCall) -> str:
        return "" if call.parent is None else self._seen.calls[call.parent].node


def _names_in(expression: str) -> set[str]:
    tree = parsed(expression.strip())
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} if tree else set()


def features(breaches: list[ContractBreach]) -> Iterator[Feature]:
    """Yield the features that breaches give to each function."""
    for breach in breaches:
        if breach.provider:
            yield Feature(breach.provider, breach.kind)
        if breach.consumer != breach.provider and breach.kind is not FeatureKind.WRONG_TYPE:
            yield Feature(breach.consumer, FeatureKind.GIVEN_BADLY)


def cost_features(seen: Observation) -> Iterator[Feature]:
    """Yield features for functions that took most of the time or memory of failing tests."""
    failed = seen.failed_tests
    calls = [call for call in seen.calls if seen.test_of(call) in failed]
    for kind, own, minimum in (
        (FeatureKind.TOOK_TIME, _seconds(seen, calls), _MIN_SECONDS),
        (FeatureKind.TOOK_MEMORY, _bytes(calls), _MIN_BYTES),
    ):
        total = sum(own.values())
        for node, amount in own.items():
            if total >= minimum and amount > total / 2:
                yield Feature(node, kind, strength=amount / total)


def _seconds(seen: Observation, calls: Iterable[TracedCall]) -> dict[str, float]:
    """Return the own seconds of each function, including calls that were not recorded singly."""
    own: dict[str, float] = {}
    spent = [(call.node, call.own) for call in calls]
    for test in seen.failed_tests & seen.unnoted.keys():
        spent += seen.unnoted[test].items()
    for node, seconds in spent:
        own[node] = own.get(node, 0.0) + max(0.0, seconds)
    return own


def _bytes(calls: Iterable[TracedCall]) -> dict[str, float]:
    """Return the bytes that each function held.

    That is the sum of what its calls left allocated, and the highest amount that one call held
    beyond what it left.
    """
    left: dict[str, float] = {}
    beyond: dict[str, float] = {}
    for call in calls:
        left[call.node] = left.get(call.node, 0.0) + call.left
        beyond[call.node] = max(beyond.get(call.node, 0.0), (call.held or 0) - call.left)
    return {node: max(0.0, amount) + beyond[node] for node, amount in left.items()}


def spectrum(seen: Observation) -> dict[str, SpectrumCounts]:
    """Count in how many failing and passing tests each function ran."""
    ran: dict[str, set[str]] = {test: set() for test in seen.tests}
    for call in seen.calls:
        test = seen.test_of(call)
        if test is not None:
            ran.setdefault(test, set()).add(call.node)
    failing = [nodes for test, nodes in ran.items() if test in seen.failed_tests]
    passing = [nodes for test, nodes in ran.items() if test not in seen.failed_tests]
    return counted(failing, passing)


def spectrum_signs(seen: Observation) -> Iterator[Feature]:
    """Yield features for functions that ran in failing tests, if any test passes."""
    for node, counts in spectrum(seen).items():
        if counts.all_passed and counts.failed:
            yield Feature(node, FeatureKind.RAN_AND_FAILED, strength=ochiai(counts))


@cache
def fits(annotation: str, shape: str) -> bool:
    """Whether a value of type `shape` conforms to `annotation`.

    Both are text and nothing is imported. If that cannot be decided, the value conforms: an
    unknown name may stand for any type.
    """
    if len(annotation) + len(shape) > _MAX_TYPE_LENGTH:
        return True
    declared, actual = _expression(annotation), _expression(shape)
    return declared is None or actual is None or _fits(declared, actual)


def _expression(text: str) -> ast.expr | None:
    tree = parsed(text.strip("\"' "))
    match tree.body if tree else ():
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None


def _fits(declared: ast.expr, actual: ast.expr) -> bool:
    if (choices := _choices(actual)) and len(choices) > 1:
        return all(_fits(declared, choice) for choice in choices)
    return any(_fits_one(choice, actual) for choice in _choices(declared))


def _choices(annotation: ast.expr) -> list[ast.expr]:
    """Return the alternatives of a union type."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_choices(left), *_choices(right)]
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=parts)):
            return [choice for part in parts for choice in _choices(part)]
        case ast.Subscript(value=ast.Name(id="Optional"), slice=part):
            return [*_choices(part), ast.Constant(None)]
        case _:
            return [annotation]


def _fits_one(declared: ast.expr, actual: ast.expr) -> bool:
    expected, seen = _name(declared), _name(actual)
    if expected in _ANYTHING or not (expected in _SCALARS | _CONTAINERS or expected in _COMPATIBLE):
        return True
    if expected != seen and seen not in _COMPATIBLE.get(expected, ()):
        return False
    parts, own = _parts(declared), _parts(actual)
    if not parts or not own or expected not in _CONTAINERS:
        return True
    if expected == "tuple":
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
            return _BUILTIN_NAMES.get(name, name)
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
