"""What decides how a function or class behaves, as facts that can be read again and compared.

Data is left out: caches, registries, counters and arguments may change. So are changes that the
standard library makes lazily.
"""

import functools
import sys
import types
from collections.abc import Callable, Set
from typing import Any, NamedTuple

Fact = tuple[Callable[[Any], Any], Any, Any, str]
"""How to read a value, with which argument, the value, and what changed if it is another one."""

MISSING = object()
BINDING = "binding"
"""The change of a name that is bound to something else."""
MADE_BY_PYTHON = frozenset({"__annotate__", "__annotate_func__", "__annotations__"})
_MOST_WRAPPERS = 8
_LRU_CACHE = type(functools.lru_cache(print))
_PARTS: dict[type, tuple[str, ...]] = {
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    types.MethodType: ("__func__",),
    property: ("fget", "fset", "fdel"),
    functools.partial: ("func", "args", "keywords"),
    functools.partialmethod: ("func", "args", "keywords"),
    functools.cached_property: ("func",),
    functools.singledispatchmethod: ("dispatcher", "func"),
    _LRU_CACHE: ("__wrapped__",),
}
"""The attributes of objects of the library that decide what calling them does."""
_bases_of = type.__dict__["__bases__"].__get__


class State(NamedTuple):
    """What a name is bound to, and the facts that decide what that does."""

    value: Any = MISSING
    facts: tuple[Fact, ...] = ()
    code: frozenset[str] | None = None
    """If it is a class: the names of its attributes that are code."""


def state_of(space: Any, key: str, *, defined: bool, module: object, members: Set[str]) -> State:
    """Return the state of a name in a namespace.

    A name that no definition binds is compared only if it is bound to code: data may change.
    `members` are attributes of a class that have states of their own.
    """
    value = space.get(key, MISSING)
    # `isinstance` would ask the value, which can be of any class.
    is_compared = defined or issubclass(type(value), types.ModuleType) or is_code(value)
    if not is_compared or (value is MISSING and not defined):
        return State(value)
    facts: list[Fact] = [(space.get, key, None if value is MISSING else value, BINDING)]
    if not issubclass(type(value), type):
        _add_parts(value, "", facts, set())
        return State(value, tuple(facts))
    if not defined and vars(value).get("__module__") != module:
        return State(value, tuple(facts))
    code = _add_class(value, members, facts)
    return State(value, tuple(facts), code)


def changes_of(state: State) -> set[str]:
    """Return what differs from the state now: the binding, or parts of the value."""
    changes = {what for read, key, value, what in state.facts if read(key) is not value}
    if BINDING in changes:
        return {BINDING}
    if state.code is not None:
        changes.update(
            f"attribute {name}"
            for name, value in list(vars(state.value).items())
            if name not in state.code
            and is_code(value)
            and name not in MADE_BY_PYTHON
            and _hides(state.value, name, value)
        )
    return changes


def is_code(value: object) -> bool:
    """Whether a value can be called or decides what reading an attribute does."""
    return callable(value) or _defines(type(value), "__get__")


def _defines(kind: type, name: str) -> bool:
    """Whether a class has an attribute, without asking its metaclass."""
    return any(name in vars(base) for base in kind.__mro__)


def _add_class(kind: type, members: Set[str], facts: list[Fact]) -> frozenset[str]:
    """Add the facts of a class; return the names of its attributes that are code."""
    space = vars(kind)
    facts.append((_bases_of, kind, kind.__bases__, "bases"))
    facts.append((type, kind, type(kind), "metaclass"))
    seen: set[int] = set()
    code = set()
    placeholder = _placeholder()
    for name, value in list(space.items()):
        if not is_code(value) or name in MADE_BY_PYTHON or value is placeholder:
            continue
        if isinstance(value, type) and name[:2] != "__":  # such as the type of an attribute
            continue
        code.add(name)
        if name not in members:
            where = f"attribute {name}"
            facts.append((space.get, name, value, where))
            _add_parts(value, where, facts, seen)
    return frozenset(code)


def _hides(kind: type, name: str, value: object) -> bool:
    """Whether a new attribute of a class changes what its code does.

    It does if it is found before an attribute of the instance or a method of a base class. Other
    new attributes are data and callbacks, which parts of a program may share.
    """
    found = (vars(base).get(name, MISSING) for base in kind.__mro__[1:])
    without = (MISSING, _placeholder())
    inherited = next((each for each in found if all(each is not no for no in without)), MISSING)
    if value is inherited or value is _placeholder():
        return False
    special = name.startswith("__") and name.endswith("__")
    data = _defines(type(value), "__set__") or _defines(type(value), "__delete__")
    return special or data or (inherited is not MISSING and is_code(inherited))


def _placeholder() -> object:
    """Return the method that `typing` replaces when a protocol's class is first instantiated."""
    return getattr(sys.modules.get("typing"), "_no_init_or_replace_init", MISSING)


def _content(place: tuple[types.FunctionType, int]) -> Any:
    """Return what a function's closure contains at an index."""
    function, index = place
    try:
        return (function.__closure__ or ())[index].cell_contents
    except ValueError:  # it is empty
        return MISSING


def _add_parts(value: Any, where: str, facts: list[Fact], seen: set[int], depth: int = 0) -> None:
    """Add the facts of a function, or of an object of the library that wraps one."""
    if depth > _MOST_WRAPPERS or id(value) in seen:
        return
    kind = type(value)
    if kind is types.FunctionType:
        seen.add(id(value))
        _add_function(value, where, facts, seen, depth)
    for attribute in _PARTS.get(kind, ()):
        seen.add(id(value))
        part = getattr(value, attribute, MISSING)
        if part is MISSING:
            continue
        facts.append((_read(value, attribute), attribute, part, f"{where} {attribute}"))
        for each in part if isinstance(part, tuple) else (part,):
            _add_parts(each, where, facts, seen, depth + 1)


def _read(value: Any, attribute: str) -> Callable[[str], Any]:
    """Return how to read an attribute again; one that can be deleted is in a dictionary."""
    if attribute in getattr(value, "__dict__", ()):
        return lambda name: vars(value).get(name, MISSING)
    return value.__getattribute__  # type: ignore[no-any-return]


def _add_function(
    function: types.FunctionType, where: str, facts: list[Fact], seen: set[int], depth: int
) -> None:
    read = function.__getattribute__
    keywords: dict[str, Any] | None = function.__kwdefaults__
    facts.append((read, "__code__", function.__code__, f"{where} code"))
    facts.append((read, "__defaults__", function.__defaults__, f"{where} defaults"))
    facts.append((read, "__kwdefaults__", keywords, f"{where} defaults"))
    if keywords:
        facts += [(keywords.get, key, each, f"{where} defaults") for key, each in keywords.items()]
    for index in range(len(function.__closure__ or ())):
        content = _content((function, index))
        if content is not MISSING and is_code(content):
            facts.append((_content, (function, index), content, f"{where} closure"))
            _add_parts(content, where, facts, seen, depth + 1)
    attributes = function.__dict__
    if attributes and "__wrapped__" in attributes:
        wrapped = attributes["__wrapped__"]
        facts.append((_read(function, "__wrapped__"), "__wrapped__", wrapped, f"{where} wrapped"))
        _add_parts(wrapped, where, facts, seen, depth + 1)


def functions_behind(fact: Fact) -> list[types.FunctionType]:
    """Return the functions that may legally change what a fact says, since it is about them.

    A function may change its closure, and a descriptor may replace itself by its value.
    """
    _, key, value, _ = fact
    holder = key[0] if isinstance(key, tuple) else value
    if isinstance(holder, types.FunctionType):
        return [holder]
    return [each for each in vars(type(holder)).values() if isinstance(each, types.FunctionType)]
