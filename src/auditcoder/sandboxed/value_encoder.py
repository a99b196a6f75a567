"""Encodes values as JSON that can be read without running anything.

JSON's own types are written as they are. Any other value is an object with one key, its kind. A
subclass is written as its base type. An object that compares its fields, as a dataclass does, is
written with them, and a member of an enumeration with its name; a value without a kind is described
by its type and `repr`. The decoder is `auditcoder.domain.value_decoder`.
"""

import json
import sys
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

_WIDE = 1 << 53
_DEEP = 100
_LONG = 10_000
_PYTHON_NUMBERS: dict[str, Any] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
"""How a NumPy scalar becomes a Python number, by kind: users expect them to be equal."""
_GENERATED = "<string>"
"""The file of methods that `dataclasses` generates."""
_CONTAINERS: tuple[tuple[str, Any], ...] = (
    ("tuple", tuple),
    ("set", set),
    ("frozenset", frozenset),
    ("deque", deque),
)


def encode(value: object) -> str:
    """Encode a value; one that cannot be encoded is described."""
    try:
        return json.dumps(_plain(value, 0), allow_nan=False)
    except MemoryError:
        raise
    except Exception as error:  # a container may raise while it is read
        return json.dumps(_described(value, f"unreadable: {type(error).__name__}"))


def _plain(value: Any, depth: int, outer: tuple[int, ...] = ()) -> Any:
    """Return a value for JSON; `outer` has the identities of the objects that it is in."""
    if depth > _DEEP:
        return _described(value, "too deep")
    if value is None or value is True or value is False:
        return value
    if type(value).__module__ == "numpy" and (array := _array(value, depth)) is not None:
        return array
    if isinstance(value, int | float | complex | str):
        return _number_or_text(value)
    if isinstance(value, bytes | bytearray):
        return {"bytes": bytes(value).hex()}
    if isinstance(value, dict):
        pairs = list(dict.items(value))
        return {"dict": [[_plain(item, depth + 1, outer) for item in pair] for pair in pairs]}
    for kind, base in _CONTAINERS:
        if isinstance(value, base):
            return {kind: [_plain(item, depth + 1, outer) for item in list(base.__iter__(value))]}
    if isinstance(value, list):
        return [_plain(item, depth + 1, outer) for item in list(list.__iter__(value))]
    return _other(value, depth, outer)


def _other(value: Any, depth: int, outer: tuple[int, ...]) -> Any:
    if isinstance(value, Decimal):
        return {"decimal": Decimal.__str__(value)}
    if isinstance(value, Fraction):
        numerator, denominator = Fraction.as_integer_ratio(value)
        return {"fraction": [_number_or_text(numerator), _number_or_text(denominator)]}
    if isinstance(value, range):
        return {"range": [_plain(n, 0) for n in (value.start, value.stop, value.step)]}
    if id(value) in outer:
        return _described(value, "inside itself")
    kind = type(value)
    if (names := _compared_fields(kind)) is not None:
        inside = (*outer, id(value))
        fields = [_plain(getattr(value, name), depth + 1, inside) for name in names]
        return {"instance": [kind.__module__, kind.__qualname__, names, fields]}
    if (name := _member_name(value)) is not None:
        return {"member": [kind.__module__, kind.__qualname__, name]}
    return _described(value, "")


def _compared_fields(kind: type) -> list[str] | None:
    """Return the fields that objects of a dataclass compare; None if they compare otherwise."""
    dataclasses = sys.modules.get("dataclasses")
    code = getattr(kind.__eq__, "__code__", None)
    if dataclasses is None or not dataclasses.is_dataclass(kind):
        return None
    if code is None or code.co_filename != _GENERATED:
        return None
    return [field.name for field in dataclasses.fields(kind) if field.compare]


def _member_name(value: Any) -> str | None:
    """Return the name of a member of an enumeration; None if it is none, or compares otherwise."""
    enum: Any = sys.modules.get("enum")
    if enum is None or not isinstance(value, enum.Enum):
        return None
    name = value.name
    compares: Any = type(value).__eq__
    return name if isinstance(name, str) and compares is object.__eq__ else None


def _number_or_text(value: Any) -> Any:
    if isinstance(value, str):
        text = str.__str__(value)
        return text if _is_text(text) else {"text": text.encode("utf-8", "surrogatepass").hex()}
    if isinstance(value, int):
        number = int.__int__(value)
        return number if abs(number) < _WIDE else {"int": hex(number)}
    if isinstance(value, float):
        plain = float.__float__(value)
        finite = plain == plain and plain not in (float("inf"), float("-inf"))
        return plain if finite else {"float": repr(plain)}
    return {"complex": [_number_or_text(value.real), _number_or_text(value.imag)]}


def _is_text(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _array(value: Any, depth: int) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if isinstance(value, numpy.ndarray):
        items = [_plain(item, depth + 1) for item in value.ravel().tolist()]
        return {"array": {"dtype": str(value.dtype), "shape": list(value.shape), "items": items}}
    if isinstance(value, numpy.generic):
        if convert := _PYTHON_NUMBERS.get(value.dtype.kind):
            return _plain(convert(value), depth)
        return {"scalar": {"dtype": str(value.dtype), "value": _plain(value.item(), depth + 1)}}
    return None


def _described(value: object, why: str) -> dict[str, Any]:
    kind = type(value)
    try:
        text = repr(value)[:_LONG]
    except Exception as error:
        text = f"<no repr: {type(error).__name__}>"
    text = text.encode("utf-8", "backslashreplace").decode()
    described = {"type": f"{kind.__module__}.{kind.__qualname__}", "repr": text}
    return {"object": {**described, "why": why} if why else described}
