"""Finds out whether a program replaced code that judges it.

A snapshot of modules and classes is compared with their later state: which objects their names are
bound to, and the code, defaults and closure of each function. A change that is undone before the
comparison is not found.
"""

import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

_Function = tuple[Any, Any, Any, Any, tuple[Any, ...], tuple[Any, ...]]
"""A function, its code, defaults, keyword defaults as a dictionary and as items, and cells."""


class Snapshot(NamedTuple):
    """The state of code that judges. It holds tuples only, which no program can change."""

    entries: tuple[tuple[Any, str, Any, str], ...] = ()
    """Namespace, name and value, and how a message calls it."""
    functions: tuple[tuple[_Function, str], ...] = ()
    classes: tuple[tuple[type, tuple[type, ...], frozenset[str], frozenset[str]], ...] = ()
    """Class, bases, its own names, and those that an added name would hide."""
    lists: tuple[tuple[list[Any], tuple[tuple[int, Any], ...], str], ...] = ()
    """A list, its numbered elements, and how a message calls it. Others may be appended."""

    def __add__(self, other: tuple[Any, ...]) -> "Snapshot":
        """Join two snapshots."""
        return Snapshot(*(one + more for one, more in zip(self, other, strict=True)))


class Tampering(Exception):
    """The program replaced code that judges it."""


def take_snapshot(
    holders: Iterable[Any], *, names: frozenset[str] | None = None, cells: bool = True
) -> Snapshot:
    """Return the callables and descriptors of modules and classes, and of the modules' classes.

    `names` selects entries, without the modules' classes. Without `cells`, variables of closures
    may change.
    """
    entries, functions, classes = [], [], []
    for holder in holders if names else _with_classes(holders):
        namespace = holder.__dict__
        for name, value in list(namespace.items()):
            if (names is None or name in names) and _runs(value):
                label = f"{holder.__name__}.{name}"
                entries.append((namespace, name, value, label))
                functions += [(_state(each, cells=cells), label) for each in functions_of(value)]
        if isinstance(holder, type):
            inherited = frozenset(n for base in holder.__mro__[1:] for n in base.__dict__)
            own = frozenset(namespace)
            classes.append((holder, holder.__bases__, own, inherited))
    return Snapshot(tuple(entries), tuple(functions), tuple(classes))


def used_snapshot(holders: Iterable[Any], used: frozenset[str], depth: int = 2) -> Snapshot:
    """Return what some names mean in modules, and what the functions and classes found use in turn.

    Included are constants at the first level only, classes if a program can change them, also those
    of the modules that have an attribute of such a name, and never hooks that programs may replace.
    What is used is looked for down to `depth` levels.
    """
    holders = tuple(holders)
    entries: dict[tuple[int, str], tuple[Any, str, Any, str]] = {}
    kinds: dict[type, None] = {}
    functions: dict[types.FunctionType, str] = {}
    left = [(vars(holder), holder.__name__, used, 0) for holder in holders]
    for kind in _with_classes(holders):
        if isinstance(kind, type) and not used.isdisjoint(vars(kind)):
            functions.update((f, kind.__name__) for f in _of_class(kind, kinds))
    for namespace, label, names, level in left:
        for name in names & namespace.keys():
            value, key = namespace[name], (id(namespace), name)
            is_module = isinstance(value, types.ModuleType)
            kept = is_module or _runs(value) or (level == 0 and isinstance(value, _CONSTANT))
            if not kept or key in entries or f"{label}.{name}" in _HOOKS:
                continue
            entries[key] = (namespace, name, value, f"{label}.{name}")
            if is_module:
                left.append((vars(value), value.__name__, names, level))
                continue
            found = list(functions_of(getattr(value, "_implementation", value)))
            if isinstance(value, type) and level < depth:
                found += _of_class(value, kinds)
            for function in found:
                if function not in functions and level < depth:
                    left.append(
                        (function.__globals__, function.__module__, _names(function), level + 1)
                    )
                functions[function] = f"{label}.{name}"
    return Snapshot(
        tuple(entries.values()),
        tuple((_state(each, cells=False), label) for each, label in functions.items()),
    ) + take_snapshot(kinds, cells=False)


def _of_class(value: type, kinds: dict[type, None]) -> list[types.FunctionType]:
    """Note a class and its bases that are not known yet; return the functions of those."""
    new = [kind for kind in value.__mro__ if kind not in kinds and not kind.__flags__ & _IMMUTABLE]
    kinds.update(dict.fromkeys(new))
    return [f for kind in new for each in vars(kind).values() for f in functions_of(each)]


def _names(function: types.FunctionType) -> frozenset[str]:
    codes = [function.__code__]
    for code in codes:
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return frozenset(name for code in codes for name in code.co_names)


def import_snapshot() -> Snapshot:
    """Return how modules are found: what finds them first must stay, others may be appended."""
    finders = [finder for finder in sys.meta_path if isinstance(finder, type)]
    lists: dict[str, list[Any]] = {"meta_path": sys.meta_path, "path_hooks": sys.path_hooks}
    return Snapshot(
        entries=tuple((vars(sys), name, found, f"sys.{name}") for name, found in lists.items()),
        lists=tuple((found, tuple(enumerate(found)), f"sys.{n}") for n, found in lists.items()),
    ) + take_snapshot(finders, names=frozenset({"find_spec"}))


def function_snapshot(function: Callable[..., Any]) -> Snapshot:
    """Return the state of one function."""
    states = ((_state(each, cells=True), each.__qualname__) for each in functions_of(function))
    return Snapshot(functions=tuple(states))


def module_snapshot(names: Iterable[str]) -> Snapshot:
    """Return which modules are imported under these names."""
    loaded = sys.modules
    return Snapshot(entries=tuple((loaded, n, loaded[n], n) for n in names if n in loaded))


def _with_classes(holders: Iterable[Any]) -> Iterator[Any]:
    """Yield the holders, and the classes that the modules among them define."""
    for holder in holders:
        yield holder
        if isinstance(holder, types.ModuleType) and holder.__name__ != "builtins":
            for value in list(vars(holder).values()):
                if isinstance(value, type) and value.__module__ == holder.__name__:
                    yield value


def _runs(value: object) -> bool:
    return callable(value) or isinstance(value, classmethod | staticmethod | property)


def functions_of(value: Any, seen: frozenset[int] = frozenset()) -> Iterator[types.FunctionType]:
    """Yield the functions of a callable or descriptor, with those that its closures call."""
    if id(value) in seen:
        return
    seen |= {id(value)}
    inner: list[Any] = []
    if isinstance(value, types.FunctionType):
        yield value
        inner = [c for cell in value.__closure__ or () for c in _contents(cell)]
        inner.append(value.__dict__.get("__wrapped__"))
    elif isinstance(value, classmethod | staticmethod | types.MethodType):
        inner = [value.__func__]
    elif isinstance(value, property):
        inner = [value.fget, value.fset, value.fdel]
    for each in inner:
        yield from functions_of(each, seen)


def _state(function: types.FunctionType, *, cells: bool) -> _Function:
    keywords = function.__kwdefaults__
    closure = function.__closure__ if cells else None
    return (
        function,
        function.__code__,
        function.__defaults__,
        keywords,
        tuple((keywords or {}).items()),
        tuple((cell, content) for cell in closure or () for content in _contents(cell)),
    )


def _contents(cell: types.CellType) -> tuple[Any, ...]:
    try:
        return (cell.cell_contents,)
    except ValueError:  # it is empty
        return ()


_CONSTANT = (int, float, complex, str, bytes, tuple, frozenset)
_IMMUTABLE = 1 << 8
"""The flag of types whose attributes cannot be replaced."""
_HOOKS = frozenset(
    {
        *("warnings.showwarning", "warnings.formatwarning", "warnings._showwarnmsg_impl"),
        *("sys.excepthook", "sys.unraisablehook", "sys.displayhook", "threading.excepthook"),
        *("logging._loggerClass", "logging._logRecordFactory"),
    }
)
"""What programs may replace; `catch_warnings` does so, too."""
PYTHONS_OWN = frozenset(
    {"__annotations__", "__annotations_cache__", "__annotate_func__", "__slotnames__"}
)
"""Names that Python adds to a class when they are read, or when an object of it is copied."""

# Those who execute the code of `_compare` give it these names.
snapshot = Snapshot()
gettrace = sys.gettrace


def _compare() -> None:  # noqa: C901 - one code object, which calls nothing that can be replaced
    """Raise if anything changed. It uses only what is executed with it, and no built-in names."""
    for namespace, name, value, label in snapshot.entries:
        if namespace.get(name) is not value:
            raise Tampering(f"the program replaced {label}")
    for (function, code, defaults, keywords, items, cells), label in snapshot.functions:
        if (
            function.__code__ is not code
            or function.__defaults__ is not defaults
            or function.__kwdefaults__ is not keywords
        ):
            raise Tampering(f"the program replaced the code of {label}")
        for name, value in items:
            if keywords.get(name) is not value:
                raise Tampering(f"the program replaced a default of {label}")
        for cell, content in cells:
            if cell.cell_contents is not content:
                raise Tampering(f"the program replaced a variable of {label}")
    for kind, bases, own, hidden in snapshot.classes:
        if kind.__bases__ is not bases:
            raise Tampering(f"the program replaced the bases of {kind.__name__}")
        for name in kind.__dict__:
            if name not in own and (
                name in hidden or (name[:2] == "__" and name not in PYTHONS_OWN)
            ):
                raise Tampering(f"the program added {name} to {kind.__name__}")
    for found, elements, label in snapshot.lists:
        for number, element in elements:
            for each in (*found[number : number + 1], None)[:1]:
                if each is not element:
                    raise Tampering(f"the program replaced an element of {label}")
    if snapshot.entries and gettrace() is not None:
        raise Tampering("the program traces what judges it")


COMPARISON = _compare.__code__
"""Code that compares `snapshot` with the present state, and raises `Tampering`.

Execute it with the globals `snapshot`, `gettrace`, `Tampering` and `PYTHONS_OWN`. Unlike a
function, code cannot be changed, so what holds it on the evaluation stack runs what it holds.
"""


def check_unchanged(taken: Snapshot) -> None:
    """Raise if anything differs from the snapshot."""
    exec(  # noqa: S102 - our own code
        COMPARISON,
        {
            "snapshot": taken,
            "gettrace": gettrace,
            "Tampering": Tampering,
            "PYTHONS_OWN": PYTHONS_OWN,
        },
    )
