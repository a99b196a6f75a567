"""Finds out whether one part of a program replaced the code of another part at run time.

The owner of a name may bind it to anything. Everybody else must leave it bound to what it was, with
the same code and defaults, and nobody may replace built-in names. What is suspicious at the end of
a run is attributed in a second one, which compares after every step. A replacement that is undone
before the end is not found.
"""

import builtins
import operator
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .change_tracer import Place, trace_changes
from .code_state import (
    BINDING,
    MADE_BY_PYTHON,
    MISSING,
    Fact,
    State,
    changes_of,
    functions_behind,
    state_of,
)
from .exception_report import PROGRAM, TESTS

Found = Callable[[str, str, int, bool], None]
"""Is told a name, what of it changed, the line that did it or 0, and whether that is legal."""
_FUNCTION = 1
"""The flag of code objects that are functions, and not bodies of classes."""
_MOST_WRAPPERS = 8
_NONE: frozenset[str] = frozenset()
_ATTRIBUTES = ("__func__", "fget", "fset", "fdel", "func", "__wrapped__")
"""Where decorators of the library keep the function that they wrap."""
TEXT = "text"
"""The change of a name that its owner's text does not explain."""
_BUILT_IN = "built-in"
"""The change of a built-in name, for all parts of the program."""
_SET_BY_PYTHON = frozenset({"_"})
"""Built-in names that the library may set: the last result, or a function that translates."""


class OwnedName(NamedTuple):
    """A function, class or method of the program or another global name, and its owner."""

    path: tuple[str, ...]
    owner: str
    """Empty for an import that nodes share."""
    plain: bool
    """Whether it is bound to what its definition makes, by nothing else."""
    defaults: list[str]
    """If it is plain: how its defaults are written, or nothing for those that are no constants."""
    wrappers: list[str]
    """The owners of its decorators, whose code may wrap it."""
    defined: bool
    """Whether a definition binds it, rather than an assignment or import."""


class CodeIntegrity:
    """Compares what the names of a program are bound to with its text, and with earlier."""

    def __init__(self, owned: dict[str, Any] | None, namespace: dict[str, Any]) -> None:
        owned = owned or {"lines": [], "units": []}
        self._owners = {
            line: owner for first, last, owner in owned["lines"] for line in range(first, last + 1)
        }
        self._names = [OwnedName(tuple(name.split(".")), *parts) for name, *parts in owned["units"]]
        self._members: dict[tuple[str, ...], set[str]] = {}
        for name in self._names:
            self._members.setdefault(name.path[:-1], set()).add(_key(name))
        self._namespace = namespace
        self._defined: dict[str, set[types.CodeType]] = {}
        self._sources: dict[types.CodeType, str] = {}
        """The file that each code object of the program and its tests was compiled from."""
        self._builtins = dict(vars(builtins)) if self._names else {}
        self._loaded: list[State] | None = None
        self._tracing: _Attribution | None = None

    @property
    def violated(self) -> bool:
        """Whether the traced run found a replacement and the line that did it."""
        return self._tracing is not None and self._tracing.violated

    def expect(self, program: types.CodeType) -> None:
        """Take the functions that the program's text defines as expected."""
        if self._names:
            for code in _codes(program):
                self._defined.setdefault(code.co_qualname, set()).add(code)
                self._sources[code] = PROGRAM

    def remember(self) -> None:
        """Remember what every name is bound to, after the program was loaded."""
        self._loaded = self.states()
        if self._tracing is not None:
            self._tracing.watch_loaded()

    def replaced(self) -> list[tuple[str, str]]:
        """Return the names whose code may have been replaced by others, and what changed."""
        found = []
        for index, name in enumerate(self._names):
            changes = changes_of(self._loaded[index]) if self._loaded else set()
            if name.defined and not self._is_explained(name):
                changes.add(TEXT)
            found += [(".".join(name.path), change) for change in sorted(changes)]
        return found + [(name, _BUILT_IN) for name in self.replaced_builtins()]

    def replaced_builtins(self) -> list[str]:
        """Return the built-in names that were replaced, or hidden by a new global name."""
        names: set[str] = set()
        now = vars(builtins)
        known = self._builtins
        if len(now) != len(known) or not all(map(operator.is_, now.values(), known.values())):
            names.update(n for n, v in known.items() if now.get(n, MISSING) is not v)
        own = self._members.get((), _NONE)
        hidden = self._namespace.keys() & known.keys()
        names.update(n for n in hidden if n not in own and n[:2] != "__")
        return sorted(names - _SET_BY_PYTHON)

    def _is_explained(self, name: OwnedName) -> bool:
        """Whether the text explains what a name is bound to now, or it was not reached."""
        space = self._space(name)
        value = MISSING if space is None else space.get(_key(name), MISSING)
        return (value is MISSING and self._loaded is None) or self.is_own(name, value)

    def is_own(self, name: OwnedName, value: Any) -> bool:
        """Whether the text of its owner explains what a name is bound to."""
        qualified = ".".join(name.path)
        defined = self._defined.get(qualified, set())
        if isinstance(value, type):
            bodies = [code for code in defined if not code.co_flags & _FUNCTION]
            own = bool(bodies) and value.__qualname__ == qualified
            return own and not (name.plain and _has_added_methods(value, bodies))
        if name.plain:
            if isinstance(value, staticmethod | classmethod):  # Python wraps `__new__`, for example
                value = value.__func__
            if not isinstance(value, types.FunctionType) or value.__code__ not in defined:
                return False
            own = value.__globals__ is self._namespace
            return own and _has_defaults(value, name.defaults)
        owners = {name.owner, *name.wrappers}
        return all(self._may_wrap(each.__code__, owners) for each in _functions(value))

    def _may_wrap(self, code: types.CodeType, owners: set[str]) -> bool:
        """Whether code belongs to one of these owners or to the library."""
        if code.co_filename == PROGRAM:
            return code in self._sources and self._owners.get(code.co_firstlineno) in owners
        return not code.co_filename.startswith("<") or code.co_filename.startswith("<frozen")

    def states(self) -> list[State]:
        """Return the states of all names."""
        return [self.state(name) for name in self._names]

    def state(self, name: OwnedName) -> State:
        """Return what a name is bound to, and the facts that decide what that does."""
        space = self._space(name)
        if space is None:
            return State()
        return state_of(
            space,
            _key(name),
            defined=name.defined,
            module=self._namespace.get("__name__"),
            members=self._members.get(name.path, _NONE),
        )

    def _space(self, name: OwnedName) -> Any:
        """Return the namespace that a name is in; None if its class is gone."""
        space: Any = self._namespace
        for part in name.path[:-1]:
            holder = space.get(part)
            if not isinstance(holder, type):
                return None
            space = vars(holder)
        return space

    def owner(self, line: int) -> str:
        """Return the owner of a line; empty for lines that no node owns."""
        owner: str = self._owners.get(line, "")
        return owner

    def may_change(self, name: OwnedName, facts: list[Fact]) -> set[str]:
        """Return the owners that may make a change: also those of code that changes itself."""
        codes = [each.__code__ for fact in facts for each in functions_behind(fact)]
        behind = {self.owner(code.co_firstlineno) for code in codes if code in self._sources}
        return {name.owner, *name.wrappers, *behind}

    def trace(self, tests: types.CodeType | None, found: Found) -> None:
        """Compare after every step of the program and its tests from now on."""
        for code in _codes(tests) if tests else ():
            self._sources.setdefault(code, TESTS)
        self._tracing = _Attribution(self, self._names, self._namespace, found)
        trace_changes(self._sources, self._tracing.is_unchanged, self._tracing.attribute)

    def finish(self) -> None:
        """Report changes since the last step of a traced run."""
        if self._tracing is not None and not self._tracing.is_unchanged():
            self._tracing.attribute(None)


class _Attribution:
    """Reports who changed what in a traced run."""

    def __init__(
        self,
        program: CodeIntegrity,
        names: list[OwnedName],
        namespace: dict[str, Any],
        found: Found,
    ) -> None:
        self._program = program
        self._names = names
        self._namespace = namespace
        self._found = found
        self._is_loaded = False
        self._reported: set[tuple[str, str, int, bool]] = set()
        self._replaced_builtins: set[str] = set()
        self.violated = False
        self._watch()

    def watch_loaded(self) -> None:
        """Compare with what the names are bound to now, after the program was loaded."""
        self._is_loaded = True
        self._watch()

    def _watch(self) -> None:
        self._states = self._program.states()
        self._facts = [fact for state in self._states for fact in state.facts]
        kinds = [s.value for s in self._states if s.code is not None]
        self._sizes = [(space, len(space)) for space in (self._namespace, *map(vars, kinds))]
        self._builtins = list(vars(builtins).values())

    def is_unchanged(self) -> bool:
        """Whether nothing seems to have changed since the last attribution; this is fast."""
        for read, key, value, _ in self._facts:
            if read(key) is not value:
                return False
        for space, size in self._sizes:
            if len(space) != size:
                return False
        return list(vars(builtins).values()) == self._builtins

    def attribute(self, place: Place | None) -> None:
        """Report what changed and whether the place that changed it is the owner's."""
        before = self._states
        self._watch()
        for name, old, new in zip(self._names, before, self._states, strict=True):
            if old.value is MISSING:
                if new.facts and new.value is not MISSING:
                    self._attribute_binding(name, new, place)
                continue
            changes = changes_of(old)
            if not changes and old.facts and new.value is not old.value:
                changes = {BINDING}  # the class of a method was replaced
            if changes:
                facts = [fact for fact in old.facts if fact[3] in changes]
                own = self._is_own(place, self._program.may_change(name, facts))
                self._report(name, changes, place, own=own)
                if own:
                    self._report_text(name, new)
        replaced = set(self._program.replaced_builtins())
        for builtin in sorted(replaced - self._replaced_builtins):
            own = place is not None and place.file == TESTS
            self._tell(builtin, _BUILT_IN, place, own=own)
        self._replaced_builtins = replaced

    def _attribute_binding(self, name: OwnedName, new: State, place: Place | None) -> None:
        """Report the first binding of a name."""
        # The class statement binds methods, and another node may own it.
        nested = len(name.path) > 1
        own = self._is_own(place, self._program.may_change(name, []))
        if own or nested or place is None:
            self._report_text(name, new)
        if not nested or self._is_loaded:
            self._report(name, {BINDING}, place, own=own)

    def _is_own(self, place: Place | None, owners: set[str]) -> bool:
        """Whether an owner or a test is at a place."""
        if place is None:
            return False
        return place.file == TESTS or self._program.owner(place.line) in owners

    def _report(
        self, name: OwnedName, changes: set[str], place: Place | None, *, own: bool
    ) -> None:
        # Before the program is loaded, only what others do counts.
        if self._is_loaded or (place is not None and not own):
            for change in sorted(changes):
                self._tell(".".join(name.path), change, place, own=own)

    def _report_text(self, name: OwnedName, state: State) -> None:
        """Report as legal that the owner bound a name to something that its text does not show."""
        if name.defined and not self._program.is_own(name, state.value):
            self._tell(".".join(name.path), TEXT, None, own=True)

    def _tell(self, name: str, change: str, place: Place | None, *, own: bool) -> None:
        line = 0 if place is None or place.file != PROGRAM else place.line
        self.violated = self.violated or (line > 0 and not own)
        told = (name, change, line, own)
        if told not in self._reported:
            self._reported.add(told)
            self._found(*told)


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _functions(value: Any, depth: int = 0) -> Iterator[types.FunctionType]:
    """Yield a function and those that it is known to wrap."""
    if depth > _MOST_WRAPPERS:
        return
    if isinstance(value, types.FunctionType):
        yield value
    for attribute in _ATTRIBUTES:
        inner = _attribute(value, attribute)
        if inner is not None:
            yield from _functions(inner, depth + 1)


def _attribute(value: Any, name: str) -> Any:
    """Return an attribute of a function or of an object of the library, without the program's."""
    if type(value).__module__ in {"builtins", "functools"}:
        return getattr(value, name, None)
    return None


def _has_added_methods(kind: type, bodies: list[types.CodeType]) -> bool:
    """Whether a plain class has special methods that its body does not bind."""
    if type(kind) is not type or kind.__bases__ != (object,):
        return False
    bound = {name for body in bodies for name in body.co_names} | MADE_BY_PYTHON
    return any(n[:2] == "__" and _is_method(v) and n not in bound for n, v in vars(kind).items())


def _has_defaults(function: types.FunctionType, written: list[str]) -> bool:
    keywords = function.__kwdefaults__ or {}
    values = (*(function.__defaults__ or ()), *keywords.values())
    return len(values) == len(written) and all(
        not text or (type(value).__module__ == "builtins" and repr(value) == text)
        for value, text in zip(values, written, strict=True)
    )


def _is_method(value: object) -> bool:
    return callable(value) or isinstance(value, classmethod | staticmethod | property)


def _key(name: OwnedName) -> str:
    """Return a name as its class knows it: private names contain that of the class."""
    last = name.path[-1]
    private = len(name.path) > 1 and last.startswith("__") and not last.endswith("__")
    return f"_{name.path[-2].lstrip('_')}{last}" if private else last
