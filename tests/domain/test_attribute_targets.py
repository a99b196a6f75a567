"""The fast check never misses an attribute that is set."""

import ast

import pytest

from auditcoder.domain.attribute_targets import may_set_attributes

SETTING = [
    "f.a = 1",
    "del f.a\n(x)",
    "(f.a # (\n) = 1",
    "(f. # c\n a) = 1",
    "f.\\\na = 1",
    "f . a = 1",
    "for f.a in x: pass",
    "with x as f.a: pass",
    "f.a, b = x",
    "[f.a] = x",
    "f.a: int = 1",
    "f.a += 1",
    "f.b.a = 1",
    "f(x).a = 1",
    "del f.a",
    "f.\N{SCRIPT CAPITAL P} = 1",
]


@pytest.mark.parametrize("source", SETTING)
def test_the_fast_check_never_misses_an_attribute_that_is_set(source: str) -> None:
    attributes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Attribute)]
    assert any(not isinstance(attribute.ctx, ast.Load) for attribute in attributes)
    assert may_set_attributes(source)


def test_most_code_needs_no_walk() -> None:
    assert not may_set_attributes("def f(xs):\n    xs.append(1.5)\n    return xs.table[0].get(2)\n")
