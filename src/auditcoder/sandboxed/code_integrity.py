"""Finds out whether one part of a program replaced the code of another part at run time.

The owner of a name may bind it to anything. Everybody else must leave it bound to what it was, with
the same code and defaults. What is suspicious at the end of a run is attributed in a second one,
which compares after every line. A replacement that is undone before the end is not found.
"""

import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .exception_report import PROGRAM, TESTS

Found = Callable[[str, int], None]
"""Is told a name whose code was replaced, and the line that did it."""
_MISSING = object()
_FUNCTION = 1
"""The flag of code objects that are functions, and not bodies of classes."""
_TRACE_DEPTH = 10
_MOST_WRAPPERS = 8
_MADE_BY_PYTHON = frozenset({"__annotate__", "__annotate_func__"})
_ATTRIBUTES = ("__func__", "fget", "fset", "fdel", "func", "__wrapped__")
"""Where decorators of the library keep the function that they wrap."""


class OwnedName(NamedTuple):
    """A function, class or method of the program, and its owner."""

    path: tuple[str, ...]
    owner: str
    plain: bool
    """Whether it is bound to what its definition makes, by nothing else."""
    defaults: list[str]
    """If it is plain: how its defaults are written, or nothing for those that are no constants."""
    wrappers: list[str]
    """The owners of its decorators, whose code may wrap it."""


class CodeIntegrity:
    """Compares what the names of a program are bound to with its text, and with earlier."""

    def __init__(self, owned: dict[str, Any] | None, namespace: dict[str, Any]) -> None:
        owned = owned or {"lines": [], "units": []}
        self._owners = {
            line: owner for first, last, owner in owned["lines"] for line in range(first, last + 1)
        }
        self._names = [OwnedName(tuple(name.split(".")), *parts) for name, *parts in owned["units"]]
        self._namespace = namespace
        self._defined: dict[str, set[types.CodeType]] = {}
        self._sources: dict[types.CodeType, str] = {}
        """The file that each code object of the program and its tests was compiled from."""
        self._loaded: list[tuple[Any, ...]] | None = None
        self.violated = False
        """Whether the traced run found a replacement."""

    def expect(self, program: types.CodeType) -> None:
        """Take the functions that the program's text defines as expected."""
        if self._names:
            for code in _codes(program):
                self._defined.setdefault(code.co_qualname, set()).add(code)
                self._sources[code] = PROGRAM

    def remember(self) -> None:
        """Remember what every name is bound to, after the program was loaded."""
        self._loaded = [self._state(name) for name in self._names]

    def replaced(self) -> list[str]:
        """Return the names whose code may have been replaced by others than their owners."""
        states = [self._state(name) for name in self._names]
        before = self._loaded or states
        return [
            ".".join(name.path)
            for name, state, earlier in zip(self._names, states, before, strict=True)
            if not self._is_own(name, state[0]) or not _same(state, earlier)
        ]

    def _is_own(self, name: OwnedName, value: Any) -> bool:
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

    def _state(self, name: OwnedName) -> tuple[Any, ...]:
        """Return what a name is bound to, and the parts that decide what that does."""
        space = self._space(name)
        value = _MISSING if space is None else space.get(self._key(name), _MISSING)
        if value is _MISSING:
            return (_MISSING,)
        if isinstance(value, type):
            special = (v for n, v in list(vars(value).items()) if n[:2] == "__" and _is_code(v))
            return (value, value.__bases__, *special)
        return (value, *(part for each in _functions(value) for part in _parts(each)))

    def _space(self, name: OwnedName) -> Any:
        """Return the namespace that a name is in; None if its class is gone."""
        space: Any = self._namespace
        for part in name.path[:-1]:
            holder = space.get(part)
            if not isinstance(holder, type):
                return None
            space = vars(holder)
        return space

    @staticmethod
    def _key(name: OwnedName) -> str:
        """Return a name as its class knows it: private names contain that of the class."""
        last = name.path[-1]
        private = len(name.path) > 1 and last.startswith("__") and not last.endswith("__")
        return f"_{name.path[-2].lstrip('_')}{last}" if private else last

    def _attribute(
        self, states: list[tuple[Any, ...]], last: tuple[str, int], found: Found
    ) -> None:
        """Report the names that others than their owners changed, and update the states."""
        file, line = last
        for index, name in enumerate(self._names):
            state, before = self._state(name), states[index]
            if _same(state, before):
                continue
            states[index] = state
            # The class statement binds methods, and another node may own it.
            bound = len(name.path) > 1 and before[0] is _MISSING
            if not bound and file == PROGRAM and self._owners.get(line) != name.owner:
                self.violated = True
                found(".".join(name.path), line)

    def _watched(self) -> tuple[list[Any], list[Any], list[Any]]:
        """Return entries of namespaces, states of functions, and sizes of classes."""
        entries, functions, sizes = [], [], []
        for name in self._names:
            space = self._space(name)
            if space is None:
                continue
            value = space.get(self._key(name), _MISSING)
            entries.append((space, self._key(name), value))
            for each in _functions(value):
                keywords = each.__kwdefaults__
                functions.append((each, each.__code__, each.__defaults__, keywords))
                entries += [(keywords, key, default) for key, default in (keywords or {}).items()]
            if isinstance(value, type):
                sizes.append((value, value.__bases__, vars(value), len(vars(value))))
                special = (n for n in vars(value) if n[:2] == "__")
                entries += [(vars(value), n, vars(value)[n]) for n in special]
        return entries, functions, sizes

    def trace(self, tests: types.CodeType | None, found: Found) -> None:
        """Compare after every line of the program and its tests from now on."""
        for code in _codes(tests) if tests else ():
            self._sources.setdefault(code, TESTS)
        states = [self._state(name) for name in self._names]
        watched = self._watched()
        files: dict[int, tuple[types.CodeType, str]] = {}
        last = (PROGRAM, 0)

        def file_of(code: types.CodeType) -> str:
            # A file name could be claimed, and finding an equal code object takes long.
            if id(code) not in files:
                files[id(code)] = (code, self._sources.get(code, ""))
            return files[id(code)][1]

        def compare(frame: types.FrameType | None, event: str, _: object) -> Any:
            nonlocal last, watched
            if not _unchanged(*watched):
                watched = self._watched()
                self._attribute(states, last, found)
            if event == "return" and frame is not None:
                frame = frame.f_back
            while frame is not None and not file_of(frame.f_code):
                frame = frame.f_back
            if frame is not None:
                last = (file_of(frame.f_code), frame.f_lineno)
            return compare

        def enter(frame: types.FrameType, event: str, argument: object) -> Any:
            return compare(frame, event, argument) if file_of(frame.f_code) else None

        sys.setrecursionlimit(sys.getrecursionlimit() + _TRACE_DEPTH)
        threading.settrace(enter)
        sys.settrace(enter)


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


def _parts(function: types.FunctionType) -> tuple[Any, ...]:
    keywords = function.__kwdefaults__
    return (function, function.__code__, function.__defaults__, *(keywords or {}).values())


def _has_added_methods(kind: type, bodies: list[types.CodeType]) -> bool:
    """Whether a plain class has special methods that its body does not bind."""
    if type(kind) is not type or kind.__bases__ != (object,):
        return False
    bound = {name for body in bodies for name in body.co_names} | _MADE_BY_PYTHON
    return any(n[:2] == "__" and _is_code(v) and n not in bound for n, v in vars(kind).items())


def _has_defaults(function: types.FunctionType, written: list[str]) -> bool:
    keywords = function.__kwdefaults__ or {}
    values = (*(function.__defaults__ or ()), *keywords.values())
    return len(values) == len(written) and all(
        not text or (type(value).__module__ == "builtins" and repr(value) == text)
        for value, text in zip(values, written, strict=True)
    )


def _is_code(value: object) -> bool:
    return callable(value) or isinstance(value, classmethod | staticmethod | property)


def _unchanged(entries: list[Any], functions: list[Any], classes: list[Any]) -> bool:
    for space, key, value in entries:
        if space.get(key, _MISSING) is not value:
            return False
    for function, code, defaults, keywords in functions:
        if function.__code__ is not code or function.__defaults__ is not defaults:
            return False
        if function.__kwdefaults__ is not keywords:
            return False
    for kind, bases, space, size in classes:
        if kind.__bases__ is not bases or len(space) != size:
            return False
    return True


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
