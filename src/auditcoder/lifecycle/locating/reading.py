"""Reading an observation: from what was seen to signs for and against each function."""

import ast
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.binding import parse
from auditcoder.lifecycle.locating.signs import Kind, Sign
from auditcoder.lifecycle.locating.watching import Call, Observation, Opened, Step

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


class Reader:
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

    def signs(self) -> Iterator[Sign]:
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

    def _call(self, number: int) -> Call:
        return self._seen.calls[number]

    def _node(self, number: int) -> str:
        return self._call(number).node

    def _asked(self, number: int, line: Statement) -> set[str]:
        """Return what a step asks for its answer: functions, or attributes if it calls none."""
        called = {self._node(n) for n in self._direct(number)}
        return called or {f".{name}" for name in line.attributes}

    def _made(self, number: int, step: Step, line: Statement) -> list[int]:
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

    def _fine(self, number: int, step: Step, line: Statement) -> Iterator[Sign]:
        made = self._made(number, step, line)
        part = {self._node(n) for n in (*self._direct(number), *made)}
        below = (b for n in made for b in self._all_below(n))
        under = {self._node(n) for n in (*self._of_step.get(number, ()), *below)} - part
        for kind, nodes in (
            (Kind.FINE, part),
            (Kind.FINE_UNDER, under),
            (Kind.FINE_WROTE, {self._node(n) for n in self._writers(number, line)}),
        ):
            for node in nodes:
                yield Sign(node, kind, strength=1 / _FEW)

    def _failing(self, number: int, step: Step, line: Statement, *, first: bool) -> Iterator[Sign]:
        made = self._made(number, step, line)
        direct = self._direct(number)
        called = [n for n in direct if not _constructs(self._node(n))] or direct
        yield from self._from_values(step, called, made, first)
        yield from self._from_state(number, line, made, first, alone=not (called or step.frames))
        yield from self._since_fine(number, line, first)
        for call in self._of_step.get(number, ()):
            if self._call(call).returned == "None":
                yield Sign(self._node(call), Kind.RETURNED_NOTHING, first)

    def _since_fine(self, number: int, line: Statement, first: bool) -> Iterator[Sign]:
        """Follow what changed since the same question was answered right."""
        asked = self._asked(number, line)
        right = [self._was_fine[one] for one in asked if one in self._was_fine]
        if not right:
            return
        for node in asked & set(self._was_fine):
            yield Sign(node, Kind.WAS_FINE, first)
        between = [n for step in range(max(right) + 1, number) for n in self._of_step.get(step, ())]
        wrote = {self._node(n) for n in between if self._call(n).wrote}
        called = {self._node(n) for n in between if self._call(n).parent is None}
        for node in wrote or called:
            yield Sign(node, Kind.SINCE_FINE, first)

    def _from_values(
        self, step: Step, called: list[int], made: list[int], first: bool
    ) -> Iterator[Sign]:
        """Follow what the step called, and the values that it saw."""
        if step.lacks:
            yield Sign(step.lacks, Kind.LACKED, first)
        if step.names:
            yield Sign(step.names, Kind.MISCALLED, first)
        if step.frames:
            yield from _along(step, first)
        elif called:
            for call in called[:-1]:
                yield Sign(self._node(call), Kind.CALLED, first)
            yield from self._came_from(called[-1], Kind.ANSWERED, Kind.UNDER, first)
        for call in made:
            if step.frames or called:
                yield Sign(self._node(call), Kind.MADE_TOO, first)
            else:
                yield from self._came_from(call, Kind.MADE, Kind.MADE_UNDER, first)

    def _from_state(
        self, number: int, line: Statement, made: list[int], first: bool, *, alone: bool
    ) -> Iterator[Sign]:
        """Follow what the step read: attributes, files, and whatever was done last."""
        writers = self._writers(number, line)
        if alone and not made:
            if self._before:
                yield Sign(self._before, Kind.RECENT, first)
                if self._before not in {self._node(n) for n in writers}:
                    yield Sign(self._before, Kind.LEFT_ALONE, first)
            for node in {self._node(n) for n in writers}:
                yield Sign(node, Kind.WROTE_ALONE, first)
        for node in {self._node(n) for n in writers}:
            yield Sign(node, Kind.WROTE, first)
        files = self._file_writers(number, made)
        for node in {self._node(n) for n in files}:
            yield Sign(node, Kind.WROTE_FILE, first)
        for node in self._above(writers | files):
            yield Sign(node, Kind.HAD_IT_WRITTEN, first)
        if self._before:
            yield Sign(self._before, Kind.BEFORE, first)

    def _came_from(self, number: int, own: Kind, under: Kind, first: bool) -> Iterator[Sign]:
        """Point to a call, and to whoever below it made the very value that it returned."""
        call = self._call(number)
        yield Sign(call.node, own, first)
        below = [n for n in self._all_below(number) if self._node(n) != call.node]
        same = [n for n in below if self._call(n).returned == call.returned != "None"]
        if same:
            yield Sign(call.node, Kind.HANDED_ON, first)
            yield Sign(self._node(same[-1]), Kind.CAME_THROUGH, first)
        else:
            for node in {self._node(n) for n in below}:
                yield Sign(node, under, first)

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


def _along(step: Step, first: bool) -> Iterator[Sign]:
    """Point along a traceback."""
    innermost = step.frames[-1][0]
    yield Sign(innermost, Kind.RAISED, first)
    for node in {name for name, _ in step.frames} - {innermost}:
        yield Sign(node, Kind.PASSED_ON, first)
