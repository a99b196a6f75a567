"""Describes values of a traced program: a short text, the type, the approximate size."""

import reprlib
import sys
from typing import Any

_SHORT = 200
"""Characters of a value's text that are kept by default."""
_ITEMS = 20
"""Items of a collection whose types are reported."""
_SAMPLED = 100
"""Items of a collection that are measured to estimate the size of all."""


def brief(value: object, size: int = _SHORT) -> str:
    """Return a value's `repr`, shortened; the cost does not grow with the size of the value."""
    writer = reprlib.Repr()
    writer.maxlevel, writer.maxstring, writer.maxother, writer.maxlong = 5, size, size, size
    most = size // 10
    if isinstance(value, bytes | bytearray):
        value = value[:size]
    writer.maxlist = writer.maxtuple = writer.maxset = writer.maxfrozenset = most
    writer.maxdict = writer.maxdeque = writer.maxarray = most
    try:
        text = writer.repr(value)
    except Exception as error:  # an object's own repr is the candidate's code
        return f"<{type(error).__name__} in its repr>"
    return text if len(text) <= size else f"{text[:size]}…"


def is_plain(value: object) -> bool:
    """Whether a value has no identity of its own: equal ones may be one object by chance."""
    return isinstance(value, bool | int | float | str | bytes | type(None))


def is_uninformative(value: object) -> bool:
    """Whether a value is so common that finding an equal one proves nothing."""
    return value is None or (isinstance(value, bool | int) and value in {0, 1}) or value in (
        "", b"", [], {}, (),
    )  # fmt: skip


def shape(value: object, depth: int = 3) -> str:
    """Return the type of a value as an annotation; the built-in base class, if it has one."""
    bases = (base for base in type(value).__mro__ if base.__module__ == "builtins")
    name = next((base.__name__ for base in bases if base is not object), type(value).__name__)
    if value is None or depth == 0:
        return "None" if value is None else name
    if isinstance(value, tuple):
        parts = [shape(part, depth - 1) for part in value[:_ITEMS]]
        return f"{name}[{', '.join(parts)}]" if parts else name
    if isinstance(value, dict):
        keys, values = list(value)[:_ITEMS], list(value.values())[:_ITEMS]
        return f"{name}[{_any_of(keys, depth)}, {_any_of(values, depth)}]" if keys else name
    if isinstance(value, list | set | frozenset):
        items = [item for item, _ in zip(value, range(_ITEMS), strict=False)]
        return f"{name}[{_any_of(items, depth)}]" if items else name
    return name


def _any_of(items: list[Any], depth: int) -> str:
    return " | ".join(sorted({shape(item, depth - 1) for item in items}))


def weight(value: object) -> int:
    """Estimate the bytes that a value takes, with the items that it holds."""
    if isinstance(value, list | tuple | set | frozenset | dict) and len(value):
        inner = value.values() if isinstance(value, dict) else value
        items = [item for item, _ in zip(inner, range(_SAMPLED), strict=False)]
        sampled = sum(map(sys.getsizeof, items)) * len(value) // len(items)
        return sys.getsizeof(value) + sampled
    return sys.getsizeof(value)
