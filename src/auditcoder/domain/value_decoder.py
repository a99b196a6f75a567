"""Reads values that a program returned, from text, without running anything."""

import json
from collections import Counter, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

from auditcoder.domain.values import Value

_ALIKE = 500


class Array(Value):
    """A NumPy array: its items in row order."""

    dtype: str
    shape: tuple[int, ...]
    items: tuple[Any, ...]


class Scalar(Value):
    """A single NumPy number."""

    dtype: str
    value: Any


class Opaque(Value):
    """An object that has no plain form: it equals nothing but its like."""

    type: str
    repr: str
    why: str = ""


class _Unhashable(list[Any]):
    """Stands for a set or dictionary key that only the candidate's own types could hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return 0


def read(text: str) -> Any:
    """Return the value that `text` describes; raise ValueError if it describes none."""
    try:
        return _value(json.loads(text))
    except (TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a value: {error}") from error


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if len(plain) != 1:
        raise ValueError("not a value: one kind is expected")
    ((kind, content),) = plain.items()
    if kind not in _KINDS:
        raise ValueError(f"not a value: there is no kind {kind!r}")
    return _KINDS[kind](content)


def _key(plain: Any) -> Any:
    value = _value(plain)
    try:
        hash(value)
    except TypeError:
        return _Unhashable([value])
    return value


def _keys(plain: list[Any]) -> list[Any]:
    """Read keys; refuse such as were chosen to make a table of them slow."""
    keys = [_key(item) for item in plain]
    if keys and max(Counter(map(hash, keys)).values()) > _ALIKE:
        raise ValueError("not a value: too many keys have one hash")
    return keys


def _number(plain: Any, kinds: tuple[type, ...]) -> Any:
    value = _value(plain)
    if type(value) not in kinds:
        raise TypeError("another kind of number is expected")
    return value


def _two(parts: list[Any], kinds: tuple[type, ...]) -> tuple[Any, Any]:
    first, second = parts
    return _number(first, kinds), _number(second, kinds)


def _decimal(text: str) -> Any:
    if not isinstance(text, str):
        raise TypeError("a decimal is text")
    number = Decimal(text)
    return Opaque(type="decimal.Decimal", repr=text) if number.is_snan() else number


_KINDS: dict[str, Any] = {
    "int": lambda text: int(text, 16),
    "float": float,
    "complex": lambda parts: complex(*_two(parts, (int, float))),
    "text": lambda text: bytes.fromhex(text).decode("utf-8", "surrogatepass"),
    "bytes": bytes.fromhex,
    "tuple": lambda items: tuple(_value(item) for item in items),
    "set": lambda items: set(_keys(items)),
    "frozenset": lambda items: frozenset(_keys(items)),
    "deque": lambda items: deque(_value(item) for item in items),
    "dict": lambda pairs: dict(
        zip(_keys([key for key, _ in pairs]), [_value(value) for _, value in pairs], strict=True)
    ),
    "decimal": lambda text: _decimal(text),
    "fraction": lambda parts: Fraction(*_two(parts, (int,))),
    "range": lambda ends: range(*(_number(end, (int,)) for end in ends)),
    "array": lambda array: Array(
        dtype=array["dtype"],
        shape=tuple(array["shape"]),
        items=tuple(_value(item) for item in array["items"]),
    ),
    "scalar": lambda scalar: Scalar(dtype=scalar["dtype"], value=_value(scalar["value"])),
    "object": lambda described: Opaque(**described),
}
