"""Generates small inputs for a function from its parameter types and the data ranges."""

import ast
import random
from collections.abc import Iterable, Mapping
from typing import Any

from auditcoder.domain.brief import DataRange
from auditcoder.domain.contract import Contract
from auditcoder.domain.python_names import expression
from auditcoder.domain.values import digest

COUNT = 24
_MAX_NUMBER = 10
_MAX_SIZE = 5
_LETTERS = "abcAB 01"


class UnknownType(Exception):
    """No values can be generated for a type."""


def inputs_for(
    contract: Contract, ranges: Iterable[DataRange] = (), count: int = COUNT
) -> tuple[str, ...]:
    """Return argument lists as Python text; deterministic for a contract, smallest values first.

    There are at most `count`. Empty if the type of a parameter is unknown.
    """
    known = {r.variable: r for r in ranges}
    chance = random.Random(int(digest(contract.header().encode())[:12], 16))  # noqa: S311
    params = [p for p in contract.params if p.name != "self"]
    if not params:
        return ()
    try:
        kinds = [expression(p.type) for p in params]
        rows = [
            tuple(
                _value(kind, chance, size, known.get(p.name))
                for kind, p in zip(kinds, params, strict=True)
            )
            for size in [0, 1, *(chance.randint(1, _MAX_SIZE) for _ in range(count - 2))]
        ]
    except (
        UnknownType,
        SyntaxError,
        TypeError,
        ValueError,
        RecursionError,
    ):  # no values can be generated for a type
        return ()
    return tuple(dict.fromkeys(", ".join(map(repr, row)) for row in rows))


def _value(kind: ast.expr, chance: random.Random, size: int, bound: DataRange | None) -> Any:
    match kind:
        case ast.Name(id="int"):
            return _integer(chance, size, bound)
        case ast.Name(id="float"):
            return round(chance.uniform(-_MAX_NUMBER, _MAX_NUMBER), 2) if size else 0.0
        case ast.Name(id="str"):
            return "".join(chance.choice(_LETTERS) for _ in range(size))
        case ast.Name(id="bool"):
            return chance.random() < 0.5
        case ast.Constant(value=None):
            return None
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            return _value(chance.choice([left, right]), chance, size, bound)
        case ast.Name(id="list" | "List"):
            return [_integer(chance, 2, bound) for _ in range(size)]
        case ast.Subscript(value=ast.Name(id=name), slice=inner):
            return _container(name.lower(), inner, chance, size, bound)
        case _:
            raise UnknownType


def _container(
    name: str, inner: ast.expr, chance: random.Random, size: int, bound: DataRange | None
) -> Any:
    parts = inner.elts if isinstance(inner, ast.Tuple) else [inner]
    deeper = min(size, 3)

    def make(kind: ast.expr) -> Any:
        return _value(kind, chance, deeper, bound)

    match name, parts:
        case "list" | "sequence" | "iterable", [item]:
            return [make(item) for _ in range(size)]
        case "set", [item]:
            return {make(item) for _ in range(size)} or frozenset()
        case "dict", [key, value]:
            return {make(key): make(value) for _ in range(size)}
        case "tuple", [item, ast.Constant(value=value)] if value is Ellipsis:
            return tuple(make(item) for _ in range(size))
        case "tuple", _:
            return tuple(make(item) for item in parts)
        case "optional", [item]:
            return make(item) if chance.random() < 0.8 else None
        case _:
            raise UnknownType


def _integer(chance: random.Random, size: int, bound: DataRange | None) -> int:
    low, high = -_MAX_NUMBER // 2 if size else 0, _MAX_NUMBER if size > 1 else 1
    if bound is not None:
        low = int(bound.minimum) if bound.minimum is not None else low
        most = int(bound.maximum) if bound.maximum is not None else low + _MAX_NUMBER
        high = min(most, low + _MAX_NUMBER)
    return chance.randint(min(low, high), max(low, high))


def sized(contract: Contract) -> str:
    """Return an expression in `n` for arguments of size n; empty if no parameter has a size."""
    sizes: Mapping[str, str] = {
        "list[int]": "[(i * 7919) % 1009 for i in range(n)]",
        "list[float]": "[(i * 7919) % 1009 / 7 for i in range(n)]",
        "list[str]": "['w' + str((i * 7919) % 1009) for i in range(n)]",
        "str": "''.join('abcdefgh'[(i * 5) % 8] for i in range(n))",
    }
    others = {"int": "3", "float": "1.5", "bool": "True"}
    parts, grows = [], False
    for param in contract.params:
        kind = param.type.replace("List", "list").replace(" ", "")
        if kind in sizes:
            parts.append(sizes[kind])
            grows = True
        elif kind in others:
            parts.append(others[kind])
        else:
            return ""
    return ", ".join(parts) if grows else ""
