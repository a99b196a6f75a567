"""Whether a value has the type that a contract names. Both are texts; nothing is imported for it.

What cannot be told fits: an unknown name may stand for anything.
"""

import ast
from functools import cache

from auditcoder.domain.binding import parsed

_ANYTHING = frozenset({"Any", "object", "TypeVar", ""})
_ALSO = {
    "float": frozenset({"int", "bool", "float64", "float32", "int64", "inf"}),
    "complex": frozenset({"int", "float", "bool"}),
    "int": frozenset({"bool", "int64", "int32"}),
    "Sequence": frozenset({"list", "tuple", "str", "range", "bytes", "deque"}),
    "Collection": frozenset({"list", "tuple", "str", "range", "set", "frozenset", "dict", "deque"}),
    "Mapping": frozenset({"dict", "defaultdict", "Counter", "OrderedDict"}),
    "dict": frozenset({"defaultdict", "Counter", "OrderedDict"}),
}
"""Types that may stand where another is named."""
_PLAIN = frozenset({"int", "float", "complex", "bool", "str", "bytes", "None"})
_HOLDING = frozenset({"list", "tuple", "dict", "set", "frozenset"})
_LONGEST = 1000
_LOWER = {"List": "list", "Tuple": "tuple", "Dict": "dict", "Set": "set", "FrozenSet": "frozenset"}


@cache
def fits(annotation: str, shape: str) -> bool:
    """Whether a value of type `shape` may stand where `annotation` is promised."""
    if len(annotation) + len(shape) > _LONGEST:
        return True
    promised, found = _expression(annotation), _expression(shape)
    return promised is None or found is None or _fits(promised, found)


def _expression(text: str) -> ast.expr | None:
    tree = parsed(text.strip("\"' "))
    match tree.body if tree else ():
        case [ast.Expr(value=value)]:
            return value
        case _:
            return None


def _fits(promised: ast.expr, found: ast.expr) -> bool:
    if (choices := _choices(found)) and len(choices) > 1:
        return all(_fits(promised, choice) for choice in choices)
    return any(_fits_one(choice, found) for choice in _choices(promised))


def _choices(annotation: ast.expr) -> list[ast.expr]:
    """Return the types of which one will do."""
    match annotation:
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return [*_choices(left), *_choices(right)]
        case ast.Subscript(value=ast.Name(id="Union"), slice=ast.Tuple(elts=parts)):
            return [choice for part in parts for choice in _choices(part)]
        case ast.Subscript(value=ast.Name(id="Optional"), slice=part):
            return [*_choices(part), ast.Constant(None)]
        case _:
            return [annotation]


def _fits_one(promised: ast.expr, found: ast.expr) -> bool:
    wanted, seen = _name(promised), _name(found)
    if wanted in _ANYTHING or not (wanted in _PLAIN | _HOLDING or wanted in _ALSO):
        return True
    if wanted != seen and seen not in _ALSO.get(wanted, ()):
        return False
    parts, own = _parts(promised), _parts(found)
    if not parts or not own or wanted not in _HOLDING:
        return True
    if wanted == "tuple":
        if len(parts) == 2 and isinstance(parts[1], ast.Constant):  # tuple[int, ...]
            return all(_fits(parts[0], part) for part in own)
        if len(parts) != len(own):
            return False
    return all(map(_fits, parts, own))


def _name(annotation: ast.expr) -> str:
    match annotation:
        case ast.Subscript(value=value):
            return _name(value)
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return _LOWER.get(name, name)
        case ast.Constant(value=None):
            return "None"
        case _:
            return ""


def _parts(annotation: ast.expr) -> list[ast.expr]:
    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=parts)):
            return parts
        case ast.Subscript(slice=part):
            return [part]
        case _:
            return []
