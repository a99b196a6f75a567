"""Decodes the encoded values that a program returned, without running any code.

Size and work are bounded, since a program could return a value that takes hours to decode.
"""

import json
from collections import Counter, deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

from auditcoder.domain.python_names import (
    BUILTINS,
    MAX_COLLISIONS,
    is_identifier,
    on_a_fresh_stack,
)
from auditcoder.domain.values import Value, nests_deeper
from auditcoder.sandboxed.result_comparison import same_value

_FEW_COLLISIONS = 20
"""Number of keys with one hash that is allowed whatever their size."""
_MAX_COMPARED = 2_000
"""Maximum number of keys with one hash, times the number of values in the largest of them."""

_MAX_DEPTH = 310
"""Maximum depth of the JSON text: the sandbox encodes 100 levels, each in up to three."""
_MAX_ITEMS = 5_000_000
"""Maximum number of values, including those inside others."""
_MAX_DIGITS = 1_000_000
"""Maximum number of hexadecimal digits of an integer; reading and comparing them is linear."""
_MAX_SLOW_DIGITS = 20_000
"""Maximum number of digits where arithmetic is not linear: in fractions and decimals."""
_MAX_RANGE_BITS = 64
"""Maximum size of the numbers of a range; its length is a quotient of them."""


class Array(Value):
    """A NumPy array, with its items in row-major order."""

    dtype: str
    shape: tuple[int, ...]
    items: tuple[Any, ...]


class Scalar(Value):
    """A NumPy scalar that is no number, such as a date; numbers are decoded as Python's."""

    dtype: str
    value: Any


class Opaque(Value):
    """An object without a plain representation; it equals only objects with the same fields."""

    type: str
    repr: str
    why: str = ""


class Instance(Value, eq=False):
    """An object that compares its fields, such as a dataclass; floats need only be close."""

    module: str
    name: str
    """The qualified name of its class."""
    fields: tuple[tuple[str, Any], ...]
    """The compared fields with their values."""

    def __eq__(self, other: object) -> bool:
        """Whether the other object is of the same class and has the same fields."""
        if not isinstance(other, Instance):
            return NotImplemented
        same = (self.module, self.name) == (other.module, other.name)
        return same and same_value(dict(self.fields), dict(other.fields))

    def __hash__(self) -> int:
        return hash((self.module, self.name, *(_content_hash(value) for _, value in self.fields)))

    def __repr__(self) -> str:
        """Return a call of its class, as a program would write it."""
        fields = ", ".join(f"{name}={value!r}" for name, value in self.fields)
        return _called(self.module, self.name, f"({fields})")


class Member(Value):
    """A member of an enumeration."""

    module: str
    kind: str
    """The qualified name of its class."""
    name: str

    def __repr__(self) -> str:
        """Return the member as a program would write it."""
        return _called(self.module, self.kind, f".{self.name}")


def _called(module: str, name: str, rest: str) -> str:
    """Return an expression with a class of a program; it never reads as a literal."""
    plain = name.rpartition("<locals>.")[2]
    usual = all(map(is_identifier, plain.split("."))) and plain not in BUILTINS
    return f"{plain}{rest}" if usual else f"<{module}.{name}{rest}>"


class _Unhashable(list[Any]):
    """A set or dictionary key whose type is hashable only in the candidate."""

    def __init__(self, value: Any) -> None:
        super().__init__([value])
        self._hash = _content_hash(value)

    def __hash__(self) -> int:  # type: ignore[override]
        return self._hash


def _content_hash(value: Any) -> int:
    """Return a hash that is the same for equal values, of hashable types or not."""
    if isinstance(value, list | tuple | deque) and not isinstance(value, _Unhashable):
        return hash((type(value), *map(_content_hash, value)))
    if isinstance(value, dict):
        return hash(frozenset((hash(key), _content_hash(item)) for key, item in value.items()))
    if isinstance(value, set | frozenset):
        return hash(frozenset(map(hash, value)))
    try:
        return hash(value)
    except TypeError:  # an array of lists, for example
        return 0


def read(text: str) -> Any:
    """Return the value that `text` encodes, or raise ValueError."""
    if nests_deeper(text.encode("utf-8", "surrogatepass"), _MAX_DEPTH):
        raise ValueError(f"not a value: more than {_MAX_DEPTH} levels")
    try:
        return on_a_fresh_stack(lambda: _decoded(text))
    except (TypeError, LookupError, ArithmeticError, RecursionError) as error:
        raise ValueError(f"not a value: {error}") from error


def _decoded(text: str) -> Any:
    plain = json.loads(text)
    if _count(plain) > _MAX_ITEMS:
        raise ValueError(f"not a value: more than {_MAX_ITEMS:,} items")
    return _value(plain)


def _count(plain: Any) -> int:
    """Count the values in a JSON document."""
    waiting, found = [plain], 0
    while waiting:
        inner = waiting.pop()
        found += 1
        if isinstance(inner, list):
            waiting += inner
        elif isinstance(inner, dict):
            waiting += inner.values()
    return found


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
        return _Unhashable(value)
    return value


def _keys(plain: list[Any]) -> list[Any]:
    """Decode keys; reject them if too many have the same hash."""
    keys = [_key(item) for item in plain]
    hashes = [hash(key) for key in keys]
    counts = Counter(hashes)
    if keys and max(counts.values()) > _FEW_COLLISIONS:
        for item, own in zip(plain, hashes, strict=True):
            count = counts[own]
            compared = count * _count(item) if count > _FEW_COLLISIONS else 0
            if count > MAX_COLLISIONS or compared > _MAX_COMPARED:
                raise ValueError("not a value: too many keys have one hash")
    return keys


def _number(plain: Any, kinds: tuple[type, ...]) -> Any:
    value = _value(plain)
    if type(value) not in kinds:
        raise TypeError("another kind of number is expected")
    return value


def _integer(text: Any) -> int:
    if not isinstance(text, str) or len(text) > _MAX_DIGITS:
        raise ValueError(f"not a value: an integer is text of at most {_MAX_DIGITS:,} digits")
    return int(text, 16)


def _fraction(parts: Any) -> Fraction:
    numerator, denominator = _two(parts, (int,))
    if max(numerator.bit_length(), denominator.bit_length()) > 4 * _MAX_SLOW_DIGITS:
        raise ValueError("not a value: a fraction of integers that are too long")
    return Fraction(numerator, denominator)


def _two(parts: list[Any], kinds: tuple[type, ...]) -> tuple[Any, Any]:
    first, second = parts
    return _number(first, kinds), _number(second, kinds)


def _range(ends: list[int]) -> Any:
    if max(end.bit_length() for end in ends) > _MAX_RANGE_BITS:
        return Opaque(type="builtins.range", repr=f"range({', '.join(map(hex, ends))})")
    return range(*ends)


def _decimal(text: str) -> Any:
    if not isinstance(text, str):
        raise TypeError("a decimal is text")
    if len(text) > _MAX_SLOW_DIGITS:
        raise ValueError("not a value: a decimal with too many digits")
    number = Decimal(text)
    return Opaque(type="decimal.Decimal", repr=text) if number.is_snan() else number


def _instance(module: str, name: str, names: list[str], values: list[Any]) -> Instance:
    _refuse_other_than_texts(module, name, *names)
    fields = zip(names, map(_value, values), strict=True)
    return Instance(module=module, name=name, fields=tuple(fields))


def _member(module: str, kind: str, name: str) -> Member:
    _refuse_other_than_texts(module, kind, name)
    return Member(module=module, kind=kind, name=name)


def _refuse_other_than_texts(*parts: object) -> None:
    if not all(isinstance(part, str) for part in parts):
        raise TypeError("a name is text")


_KINDS: dict[str, Any] = {
    "int": _integer,
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
    "fraction": _fraction,
    "range": lambda ends: _range([_number(end, (int,)) for end in ends]),
    "array": lambda array: Array(
        dtype=array["dtype"],
        shape=tuple(array["shape"]),
        items=tuple(_value(item) for item in array["items"]),
    ),
    "scalar": lambda scalar: Scalar(dtype=scalar["dtype"], value=_value(scalar["value"])),
    "object": lambda described: Opaque(**described),
    "instance": lambda parts: _instance(*parts),
    "member": lambda parts: _member(*parts),
}
