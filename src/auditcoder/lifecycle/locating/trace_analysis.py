"""Reading an observation: from what was seen to signs for and against each function."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.python_names import parse
from auditcoder.lifecycle.locating import contract_blame, program_outline
from auditcoder.lifecycle.locating.contract_blame import ContractBreach, ContractMonitor
from auditcoder.lifecycle.locating.features import Feature, FeatureKind
from auditcoder.lifecycle.locating.trace_run import (
    NOTHING,
    FailingRun,
    Observation,
    Opened,
    TracedCall,
    TracedStep,
    watch,
)
from auditcoder.lifecycle.ports import Sandbox

_FEW = 4
"""So many fine steps speak as much for a function as more do."""


class Statement(NamedTuple):
    """What a statement of the driver names."""

    used: frozenset[str]
    stored: frozenset[str]
    attributes: frozenset[str]
    asserts: bool


_BLANK = Statement(frozenset(), frozenset(), frozenset(), False)


def statements(driver: str) -> dict[int, Statement]:
    """Return what the statement in each line names."""
    found: dict[int, Statement] = {}
    for node in ast.walk(parse(driver)):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            found[node.lineno] = _statement(node)
    return found


def _statement(node: ast.stmt) -> Statement:
    used: set[str] = set()
    stored: set[str] = set()
    attributes: set[str] = set()
    for part in _own_parts(node):
        if isinstance(part, ast.Name):
            (used if isinstance(part.ctx, ast.Load) else stored).add(part.id)
        elif isinstance(part, ast.Attribute):
            attributes.add(part.attr)
            if isinstance(part.value, ast.Name) and part.value.id == "self":
                (used if isinstance(part.ctx, ast.Load) else stored).add(f"self.{part.attr}")
    asserts = isinstance(node, ast.Assert) or any(a.startswith("assert") for a in attributes)
    return Statement(frozenset(used), frozenset(stored), frozenset(attributes), asserts)


def _own_parts(node: ast.stmt) -> Iterator[ast.AST]:
    """Yield the parts of a statement, without the statements inside of it."""
    for field in ast.iter_child_nodes(node):
        if not isinstance(field, ast.stmt):
            yield from ast.walk(field)


class TraceAnalyser:
    """Goes through the steps of an observation in their order, and says what each points to."""

    def __init__(self, seen: Observation, driver: str, reads: Mapping[str, frozenset[str]]) -> None:
        self._seen = seen
        self._lines = statements(driver)
        self._reads = reads
        """The attributes that each function's code reads."""
        self._below: dict[int, list[int]] = {}
        self._of_step: dict[int, list[int]] = {}
        for number, call in enumerate(seen.calls):
            self._of_step.setdefault(call.step, []).append(number)
            if call.parent is not None:
                self._below.setdefault(call.parent, []).append(number)
        self._opened: dict[int, list[Opened]] = {}
        self._opened_by: dict[int | None, list[Opened]] = {}
        for opened in seen.files:
            self._opened.setdefault(opened.step, []).append(opened)
            self._opened_by.setdefault(opened.call, []).append(opened)
        self._wrote: dict[str, int] = {}
        """The call that changed each attribute last."""
        self._wrote_file: dict[str, int] = {}
        """The call that wrote each file last."""
        self._defined: dict[str, int] = {}
        """The step that gave each name its value."""
        self._was_fine: dict[str, int] = {}
        """The step that last found right what a function or an attribute says, in this test."""
        self._test = ""
        self._before = ""
        self._unbound: set[str] = set()
        self._failed: set[int] = set()

    def signs(self) -> Iterator[Feature]:
        """Yield what every step says."""
        for number, step in enumerate(self._seen.steps):
            line = self._lines.get(step.line, _BLANK)
            if step.test in self._seen.unsure:
                self._remember(number)
                continue
            if step.test != self._test:
                self._test, self._was_fine = step.test, {}
            if step.fine:
                self._unbound -= line.stored
                if line.asserts and step.line not in self._failed:
                    yield from self._fine(number, step, line)
                if line.asserts:
                    self._was_fine |= dict.fromkeys(self._asked(number, line), number)
            else:
                follows = bool(line.used & self._unbound)
                self._unbound |= line.stored
                if not follows and step.line not in self._failed:
                    self._failed.add(step.line)
                    yield from self._failing(number, step, line, first=len(self._failed) == 1)
            self._defined |= dict.fromkeys(line.stored, number)
            self._remember(number)

    def _direct(self, number: int) -> list[int]:
        return [n for n in self._of_step.get(number, ()) if self._call(n).parent is None]

    def _call(self, number: int) -> TracedCall:
        return self._seen.calls[number]

    def _node(self, number: int) -> str:
        return self._call(number).node

    def _asked(self, number: int, line: Statement) -> set[str]:
        """Return what a step asks for its answer: functions, or attributes if it calls none."""
        called = {self._node(n) for n in self._direct(number)}
        return called or {f".{name}" for name in line.attributes}

    def _made(self, number: int, step: TracedStep, line: Statement) -> list[int]:
        """Return the earlier calls that made the values which a step sees."""
        found: dict[int, None] = {}
        traced = set()
        for source in step.sources:
            earlier = [n for n in source.calls if self._call(n).step != number]
            if earlier and not source.text.startswith("self.assert"):
                found[earlier[0] if source.same else earlier[-1]] = None
                traced.add(source.text)
        # A value that nobody returned as it is still comes from the step that named it.
        for name in sorted(line.used - traced):
            called = self._direct(self._defined.get(name, number))
            calls = [n for n in called if not _constructs(self._node(n))]
            if name in self._defined and calls:
                found[calls[-1]] = None
        return list(found)

    def _writers(self, number: int, line: Statement) -> set[int]:
        """Return the calls that wrote last the attributes which a step, or what it calls, reads."""
        wanted = set(line.attributes)
        for call in self._of_step.get(number, ()):
            wanted |= self._reads.get(self._node(call), frozenset())
        return {self._wrote[name] for name in wanted if name in self._wrote}

    def _file_writers(self, number: int, made: list[int]) -> set[int]:
        """Return the calls that wrote last the files that a step or its values were read from."""
        opened = [*self._opened.get(number, ())]
        opened += [one for call in made for one in self._opened_by.get(call, ())]
        return {
            self._wrote_file[one.path]
            for one in opened
            if not one.writing and one.path in self._wrote_file
        }

    def _above(self, calls: set[int]) -> set[str]:
        """Return who called these, directly or through others."""
        found = set()
        for call in calls:
            above = self._call(call).parent
            while above is not None:
                found.add(self._node(above))
                above = self._call(above).parent
        return found - {self._node(call) for call in calls}

    def _fine(self, number: int, step: TracedStep, line: Statement) -> Iterator[Feature]:
        made = self._made(number, step, line)
        part = {self._node(n) for n in (*self._direct(number), *made)}
        below = (b for n in made for b in self._all_below(n))
        under = {self._node(n) for n in (*self._of_step.get(number, ()), *below)} - part
        for kind, nodes in (
            (FeatureKind.FINE, part),
            (FeatureKind.FINE_UNDER, under),
            (FeatureKind.FINE_WROTE, {self._node(n) for n in self._writers(number, line)}),
        ):
            for node in nodes:
                yield Feature(node, kind, strength=1 / _FEW)

    def _failing(
        self, number: int, step: TracedStep, line: Statement, *, first: bool
    ) -> Iterator[Feature]:
        made = self._made(number, step, line)
        direct = self._direct(number)
        called = [n for n in direct if not _constructs(self._node(n))] or direct
        yield from self._from_values(step, called, made, first)
        yield from self._from_state(number, line, made, first, alone=not (called or step.frames))
        yield from self._since_fine(number, line, first)
        for call in self._of_step.get(number, ()):
            if self._call(call).returned == "None":
                yield Feature(self._node(call), FeatureKind.RETURNED_NOTHING, first)

    def _since_fine(self, number: int, line: Statement, first: bool) -> Iterator[Feature]:
        """Follow what changed since the same question was answered right."""
        asked = self._asked(number, line)
        right = [self._was_fine[one] for one in asked if one in self._was_fine]
        if not right:
            return
        for node in asked & set(self._was_fine):
            yield Feature(node, FeatureKind.WAS_FINE, first)
        between = [n for step in range(max(right) + 1, number) for n in self._of_step.get(step, ())]
        wrote = {self._node(n) for n in between if self._call(n).wrote}
        called = {self._node(n) for n in between if self._call(n).parent is None}
        for node in wrote or called:
            yield Feature(node, FeatureKind.SINCE_FINE, first)

    def _from_values(
        self, step: TracedStep, called: list[int], made: list[int], first: bool
    ) -> Iterator[Feature]:
        """Follow what the step called, and the values that it saw."""
        if step.lacks:
            yield Feature(step.lacks, FeatureKind.LACKED, first)
        if step.names:
            yield Feature(step.names, FeatureKind.MISCALLED, first)
        if step.frames:
            yield from _along(step, first)
        elif called:
            for call in called[:-1]:
                yield Feature(self._node(call), FeatureKind.CALLED, first)
            yield from self._came_from(called[-1], FeatureKind.ANSWERED, FeatureKind.UNDER, first)
        for call in made:
            if step.frames or called:
                yield Feature(self._node(call), FeatureKind.MADE_TOO, first)
            else:
                yield from self._came_from(call, FeatureKind.MADE, FeatureKind.MADE_UNDER, first)

    def _from_state(
        self, number: int, line: Statement, made: list[int], first: bool, *, alone: bool
    ) -> Iterator[Feature]:
        """Follow what the step read: attributes, files, and whatever was done last."""
        writers = self._writers(number, line)
        if alone and not made:
            if self._before:
                yield Feature(self._before, FeatureKind.RECENT, first)
                if self._before not in {self._node(n) for n in writers}:
                    yield Feature(self._before, FeatureKind.LEFT_ALONE, first)
            for node in {self._node(n) for n in writers}:
                yield Feature(node, FeatureKind.WROTE_ALONE, first)
        for node in {self._node(n) for n in writers}:
            yield Feature(node, FeatureKind.WROTE, first)
        files = self._file_writers(number, made)
        for node in {self._node(n) for n in files}:
            yield Feature(node, FeatureKind.WROTE_FILE, first)
        for node in self._above(writers | files):
            yield Feature(node, FeatureKind.HAD_IT_WRITTEN, first)
        if self._before:
            yield Feature(self._before, FeatureKind.BEFORE, first)

    def _came_from(
        self, number: int, own: FeatureKind, under: FeatureKind, first: bool
    ) -> Iterator[Feature]:
        """Point to a call, and to whoever below it made the very value that it returned."""
        call = self._call(number)
        yield Feature(call.node, own, first)
        below = [n for n in self._all_below(number) if self._node(n) != call.node]
        same = [n for n in below if self._call(n).returned == call.returned != "None"]
        if same:
            yield Feature(call.node, FeatureKind.HANDED_ON, first)
            yield Feature(self._node(same[-1]), FeatureKind.CAME_THROUGH, first)
        else:
            for node in {self._node(n) for n in below}:
                yield Feature(node, under, first)

    def _all_below(self, number: int) -> Iterator[int]:
        waiting = list(self._below.get(number, ()))
        while waiting:
            below = waiting.pop(0)
            yield below
            waiting[:0] = self._below.get(below, ())

    def _remember(self, number: int) -> None:
        """Take in what a step changed, for those that follow."""
        for call in self._of_step.get(number, ()):
            self._wrote |= dict.fromkeys(self._call(call).wrote, call)
        for opened in self._opened.get(number, ()):
            if opened.writing:
                if opened.call is None:  # the step itself
                    self._wrote_file.pop(opened.path, None)
                else:
                    self._wrote_file[opened.path] = opened.call
        called = [n for n in self._direct(number) if not _constructs(self._node(n))]
        if called:
            self._before = self._node(called[-1])
        elif self._direct(number) and not self._before:
            self._before = self._node(self._direct(number)[-1])


def _constructs(node: str) -> bool:
    return node.endswith("__init__")


def _along(step: TracedStep, first: bool) -> Iterator[Feature]:
    """Point along a traceback."""
    innermost = step.frames[-1][0]
    yield Feature(innermost, FeatureKind.RAISED, first)
    for node in {name for name, _ in step.frames} - {innermost}:
        yield Feature(node, FeatureKind.PASSED_ON, first)


class TraceEvidence(NamedTuple):
    """What one watched run showed."""

    seen: Observation
    signs: tuple[Feature, ...]
    breaches: tuple[ContractBreach, ...] = ()


def collect_evidence(sandbox: Sandbox, failing: FailingRun) -> TraceEvidence:
    """Drive a program through what it fails at, once, and read everything that this shows."""
    seen = watch(sandbox, failing.program, failing.functions, failing.trial)
    seen = seen.forgiving(seen.failed_tests & failing.trial.passing)
    if seen == NOTHING or seen.passes:
        return TraceEvidence(seen, ())  # nothing fails, or nothing was seen: that points to nobody
    outlined = program_outline.outline(failing.program)
    reads = {name: one.reads for name, one in outlined.items()}
    called = None if seen.cut else {call.node for call in seen.calls}
    breaches = ContractMonitor(seen, failing.contracts).breaches()
    found = [
        *TraceAnalyser(seen, failing.trial.driver, reads).signs(),
        *program_outline.signs(outlined, failing.functions, called),
        *contract_blame.signs(breaches),
        *contract_blame.cost_signs(seen),
        *contract_blame.spectrum_signs(seen),
        *([Feature(failing.root, FeatureKind.ROOT)] if failing.root else []),
    ]
    return TraceEvidence(seen, tuple(_qualified(found, failing.functions)), tuple(breaches))


def _qualified(found: Iterable[Feature], functions: Iterable[str]) -> Iterator[Feature]:
    """Give a bare name, as an error has it, to the method that is called so."""
    known = {name.rpartition(".")[2]: name for name in functions}
    return (sign._replace(node=known.get(sign.node, sign.node)) for sign in found)
