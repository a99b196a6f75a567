"""Derives features for and against each function from the trace of a failing program."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.python_names import parse
from auditcoder.lifecycle.locating import contract_blame, program_outline
from auditcoder.lifecycle.locating.contract_blame import ContractBreach, ContractMonitor
from auditcoder.lifecycle.locating.features import Feature, FeatureKind
from auditcoder.lifecycle.locating.trace_run import (
    NO_OBSERVATION,
    FailingRun,
    FileAccess,
    Observation,
    TracedCall,
    TracedStep,
    run_traced,
)
from auditcoder.lifecycle.ports import Sandbox

_FULL_STRENGTH_STEPS = 4
"""Number of passing steps from which a feature has its full strength."""


class Statement(NamedTuple):
    """The names that occur in a statement of the driver."""

    used: frozenset[str]
    stored: frozenset[str]
    attributes: frozenset[str]
    asserts: bool


_NO_STATEMENT = Statement(frozenset(), frozenset(), frozenset(), False)


def statements(driver: str) -> dict[int, Statement]:
    """Return the statements of the driver by line number."""
    lines: dict[int, Statement] = {}
    for node in ast.walk(parse(driver)):
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            lines[node.lineno] = _statement(node)
    return lines


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
    """Yield the nodes of a statement, except nested statements."""
    for field in ast.iter_child_nodes(node):
        if not isinstance(field, ast.stmt):
            yield from ast.walk(field)


class TraceAnalyser:
    """Derives features from the steps of an observation, in order."""

    def __init__(self, seen: Observation, driver: str, reads: Mapping[str, frozenset[str]]) -> None:
        self._seen = seen
        self._lines = statements(driver)
        self._reads = reads
        """The attributes that occur in each function's code."""
        self._callees: dict[int, list[int]] = {}
        self._calls_of_step: dict[int, list[int]] = {}
        for number, call in enumerate(seen.calls):
            self._calls_of_step.setdefault(call.step, []).append(number)
            if call.parent is not None:
                self._callees.setdefault(call.parent, []).append(number)
        self._opened: dict[int, list[FileAccess]] = {}
        self._opened_by: dict[int | None, list[FileAccess]] = {}
        for opened in seen.files:
            self._opened.setdefault(opened.step, []).append(opened)
            self._opened_by.setdefault(opened.call, []).append(opened)
        self._writer: dict[str, int] = {}
        """The call that changed each attribute last."""
        self._file_writer: dict[str, int] = {}
        """The call that wrote each file last."""
        self._defining_step: dict[str, int] = {}
        """The step that last assigned each name."""
        self._last_correct: dict[str, int] = {}
        """The last step of this test whose assertion on a function or an attribute passed."""
        self._test = ""
        self._last_called = ""
        self._undefined: set[str] = set()
        """Names that a failing step should have assigned."""
        self._failed: set[int] = set()
        """Lines that have failed."""

    def features(self) -> Iterator[Feature]:
        """Yield the features of every step."""
        for number, step in enumerate(self._seen.steps):
            line = self._lines.get(step.line, _NO_STATEMENT)
            if step.test in self._seen.unsure:
                self._update(number)
                continue
            if step.test != self._test:
                self._test, self._last_correct = step.test, {}
            if step.fine:
                self._undefined -= line.stored
                if line.asserts and step.line not in self._failed:
                    yield from self._from_passing(number, step, line)
                if line.asserts:
                    self._last_correct |= dict.fromkeys(self._queried(number, line), number)
            else:
                follows = bool(line.used & self._undefined)
                self._undefined |= line.stored
                if not follows and step.line not in self._failed:
                    self._failed.add(step.line)
                    yield from self._from_failing(number, step, line, first=len(self._failed) == 1)
            self._defining_step |= dict.fromkeys(line.stored, number)
            self._update(number)

    def _direct_calls(self, number: int) -> list[int]:
        return [n for n in self._calls_of_step.get(number, ()) if self._call(n).parent is None]

    def _call(self, number: int) -> TracedCall:
        return self._seen.calls[number]

    def _node(self, number: int) -> str:
        return self._call(number).node

    def _queried(self, number: int, line: Statement) -> set[str]:
        """Return the functions that a step calls; if there are none, the attributes it reads."""
        called = {self._node(n) for n in self._direct_calls(number)}
        return called or {f".{name}" for name in line.attributes}

    def _producers(self, number: int, step: TracedStep, line: Statement) -> list[int]:
        """Return the earlier calls that returned the values which a step reads."""
        producers: dict[int, None] = {}
        traced = set()
        for source in step.sources:
            earlier = [n for n in source.calls if self._call(n).step != number]
            if earlier and not source.text.startswith("self.assert"):
                producers[earlier[0] if source.same else earlier[-1]] = None
                traced.add(source.text)
        # A value that no call returned is attributed to the step that assigned its name.
        for name in sorted(line.used - traced):
            called = self._direct_calls(self._defining_step.get(name, number))
            calls = [n for n in called if not _is_constructor(self._node(n))]
            if name in self._defining_step and calls:
                producers[calls[-1]] = None
        return list(producers)

    def _writers(self, number: int, line: Statement) -> set[int]:
        """Return the calls that last wrote the attributes which a step or its callees read."""
        wanted = set(line.attributes)
        for call in self._calls_of_step.get(number, ()):
            wanted |= self._reads.get(self._node(call), frozenset())
        return {self._writer[name] for name in wanted if name in self._writer}

    def _file_writers(self, number: int, producers: list[int]) -> set[int]:
        """Return the calls that last wrote the files which a step or its producers read."""
        opened = [*self._opened.get(number, ())]
        opened += [one for call in producers for one in self._opened_by.get(call, ())]
        return {
            self._file_writer[one.path]
            for one in opened
            if not one.writing and one.path in self._file_writer
        }

    def _callers(self, calls: set[int]) -> set[str]:
        """Return the direct and indirect callers of some calls."""
        callers = set()
        for call in calls:
            above = self._call(call).parent
            while above is not None:
                callers.add(self._node(above))
                above = self._call(above).parent
        return callers - {self._node(call) for call in calls}

    def _from_passing(self, number: int, step: TracedStep, line: Statement) -> Iterator[Feature]:
        producers = self._producers(number, step, line)
        direct = {self._node(n) for n in (*self._direct_calls(number), *producers)}
        below = (b for n in producers for b in self._descendants(n))
        under = {self._node(n) for n in (*self._calls_of_step.get(number, ()), *below)} - direct
        for kind, nodes in (
            (FeatureKind.FINE, direct),
            (FeatureKind.FINE_UNDER, under),
            (FeatureKind.FINE_WROTE, {self._node(n) for n in self._writers(number, line)}),
        ):
            for node in nodes:
                yield Feature(node, kind, strength=1 / _FULL_STRENGTH_STEPS)

    def _from_failing(
        self, number: int, step: TracedStep, line: Statement, *, first: bool
    ) -> Iterator[Feature]:
        producers = self._producers(number, step, line)
        direct = self._direct_calls(number)
        called = [n for n in direct if not _is_constructor(self._node(n))] or direct
        yield from self._from_values(step, called, producers, first)
        yield from self._from_state(
            number, line, producers, first, alone=not (called or step.frames)
        )
        yield from self._since_correct(number, line, first)
        for call in self._calls_of_step.get(number, ()):
            if self._call(call).returned == "None":
                yield Feature(self._node(call), FeatureKind.RETURNED_NOTHING, first)

    def _since_correct(self, number: int, line: Statement, first: bool) -> Iterator[Feature]:
        """Yield features of what changed since the same query was answered correctly."""
        queried = self._queried(number, line)
        correct = [self._last_correct[one] for one in queried if one in self._last_correct]
        if not correct:
            return
        for node in queried & set(self._last_correct):
            yield Feature(node, FeatureKind.WAS_FINE, first)
        between = [
            n for step in range(max(correct) + 1, number) for n in self._calls_of_step.get(step, ())
        ]
        wrote = {self._node(n) for n in between if self._call(n).wrote}
        called = {self._node(n) for n in between if self._call(n).parent is None}
        for node in wrote or called:
            yield Feature(node, FeatureKind.SINCE_FINE, first)

    def _from_values(
        self, step: TracedStep, called: list[int], producers: list[int], first: bool
    ) -> Iterator[Feature]:
        """Yield features of the calls of a step and of the values that it read."""
        if step.lacks:
            yield Feature(step.lacks, FeatureKind.LACKED, first)
        if step.names:
            yield Feature(step.names, FeatureKind.MISCALLED, first)
        if step.frames:
            yield from _from_traceback(step, first)
        elif called:
            for call in called[:-1]:
                yield Feature(self._node(call), FeatureKind.CALLED, first)
            yield from self._came_from(called[-1], FeatureKind.ANSWERED, FeatureKind.UNDER, first)
        for call in producers:
            if step.frames or called:
                yield Feature(self._node(call), FeatureKind.MADE_TOO, first)
            else:
                yield from self._came_from(call, FeatureKind.MADE, FeatureKind.MADE_UNDER, first)

    def _from_state(
        self, number: int, line: Statement, producers: list[int], first: bool, *, alone: bool
    ) -> Iterator[Feature]:
        """Yield features of what a step read, attributes or files, and of the last call before."""
        writers = self._writers(number, line)
        if alone and not producers:
            if self._last_called:
                yield Feature(self._last_called, FeatureKind.RECENT, first)
                if self._last_called not in {self._node(n) for n in writers}:
                    yield Feature(self._last_called, FeatureKind.LEFT_ALONE, first)
            for node in {self._node(n) for n in writers}:
                yield Feature(node, FeatureKind.WROTE_ALONE, first)
        for node in {self._node(n) for n in writers}:
            yield Feature(node, FeatureKind.WROTE, first)
        files = self._file_writers(number, producers)
        for node in {self._node(n) for n in files}:
            yield Feature(node, FeatureKind.WROTE_FILE, first)
        for node in self._callers(writers | files):
            yield Feature(node, FeatureKind.HAD_IT_WRITTEN, first)
        if self._last_called:
            yield Feature(self._last_called, FeatureKind.BEFORE, first)

    def _came_from(
        self, number: int, own: FeatureKind, under: FeatureKind, first: bool
    ) -> Iterator[Feature]:
        """Yield features of a call, and of the call below it that returned the same value."""
        call = self._call(number)
        yield Feature(call.node, own, first)
        below = [n for n in self._descendants(number) if self._node(n) != call.node]
        same = [n for n in below if self._call(n).returned == call.returned != "None"]
        if same:
            yield Feature(call.node, FeatureKind.HANDED_ON, first)
            yield Feature(self._node(same[-1]), FeatureKind.CAME_THROUGH, first)
        else:
            for node in {self._node(n) for n in below}:
                yield Feature(node, under, first)

    def _descendants(self, number: int) -> Iterator[int]:
        waiting = list(self._callees.get(number, ()))
        while waiting:
            below = waiting.pop(0)
            yield below
            waiting[:0] = self._callees.get(below, ())

    def _update(self, number: int) -> None:
        """Record what a step changed, for the analysis of later steps."""
        for call in self._calls_of_step.get(number, ()):
            self._writer |= dict.fromkeys(self._call(call).wrote, call)
        for opened in self._opened.get(number, ()):
            if opened.writing:
                if opened.call is None:  # the step itself
                    self._file_writer.pop(opened.path, None)
                else:
                    self._file_writer[opened.path] = opened.call
        called = [n for n in self._direct_calls(number) if not _is_constructor(self._node(n))]
        if called:
            self._last_called = self._node(called[-1])
        elif self._direct_calls(number) and not self._last_called:
            self._last_called = self._node(self._direct_calls(number)[-1])


def _is_constructor(node: str) -> bool:
    return node.endswith("__init__")


def _from_traceback(step: TracedStep, first: bool) -> Iterator[Feature]:
    """Yield features of the functions in a traceback."""
    innermost = step.frames[-1][0]
    yield Feature(innermost, FeatureKind.RAISED, first)
    for node in {name for name, _ in step.frames} - {innermost}:
        yield Feature(node, FeatureKind.PASSED_ON, first)


class TraceEvidence(NamedTuple):
    """The trace of one run, with the features and breaches derived from it."""

    seen: Observation
    features: tuple[Feature, ...]
    breaches: tuple[ContractBreach, ...] = ()


def collect_evidence(sandbox: Sandbox, failing: FailingRun) -> TraceEvidence:
    """Trace a failing program once and derive all features from the trace."""
    seen = run_traced(sandbox, failing.program, failing.functions, failing.trial)
    seen = seen.forgiving(seen.failed_tests & failing.trial.passing)
    if seen == NO_OBSERVATION or seen.passes:
        return TraceEvidence(seen, ())  # without a recorded failure there are no features
    outlines = program_outline.outline(failing.program)
    reads = {name: one.reads for name, one in outlines.items()}
    called = None if seen.cut else {call.node for call in seen.calls}
    breaches = ContractMonitor(seen, failing.contracts).breaches()
    features = [
        *TraceAnalyser(seen, failing.trial.driver, reads).features(),
        *program_outline.outline_features(outlines, failing.functions, called),
        *contract_blame.features(breaches),
        *contract_blame.cost_features(seen),
        *contract_blame.spectrum_signs(seen),
        *([Feature(failing.root, FeatureKind.ROOT)] if failing.root else []),
    ]
    return TraceEvidence(seen, tuple(_qualified(features, failing.functions)), tuple(breaches))


def _qualified(features: Iterable[Feature], functions: Iterable[str]) -> Iterator[Feature]:
    """Replace bare names, as errors contain them, by the qualified names of methods."""
    known = {name.rpartition(".")[2]: name for name in functions}
    return (f._replace(node=known.get(f.node, f.node)) for f in features)
