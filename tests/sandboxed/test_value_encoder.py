"""Values are encoded as JSON whose kinds name what JSON itself lacks."""

import json
from collections import deque
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from auditcoder.sandboxed.value_encoder import encode


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, None),
        (True, True),
        (7, 7),
        (1.5, 1.5),
        ("text", "text"),
        ([1, [2]], [1, [2]]),
        ((1, 2), {"tuple": [1, 2]}),
        ({1: "a"}, {"dict": [[1, "a"]]}),
        (frozenset([3]), {"frozenset": [3]}),
        (deque([1]), {"deque": [1]}),
        (b"\x00\xff", {"bytes": "00ff"}),
        (1 << 60, {"int": hex(1 << 60)}),
        (float("inf"), {"float": "inf"}),
        (1 + 2j, {"complex": [1.0, 2.0]}),
        (Decimal("1.10"), {"decimal": "1.10"}),
        (Fraction(1, 3), {"fraction": [1, 3]}),
        (range(3), {"range": [0, 3, 1]}),
        ("\ud800", {"text": "eda080"}),
    ],
)
def test_each_kind_of_value_has_one_form(value: object, written: object) -> None:
    assert json.loads(encode(value)) == written


def test_a_subclass_is_written_as_its_base() -> None:
    class Shout(str):
        __slots__ = ()

        def __str__(self) -> str:
            return "other"

    assert json.loads(encode(Shout("plain"))) == "plain"


def test_a_value_without_a_kind_is_described() -> None:
    described = json.loads(encode(object()))["object"]
    assert described["type"] == "builtins.object"
    assert described["repr"].startswith("<object object")


def test_a_repr_that_raises_is_not_an_error() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    assert json.loads(encode(Broken()))["object"]["repr"] == "<no repr: ValueError>"


def test_a_value_that_contains_itself_is_cut_off() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "too deep" in encode(endless)
