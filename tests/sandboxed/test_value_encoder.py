"""Values are encoded as JSON whose kinds name what JSON itself lacks."""

import json
from collections import deque
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple

import pytest

from auditcoder.sandboxed.value_encoder import encode


class Color(Enum):
    RED = "red"


class Level(IntEnum):
    HIGH = 2


class Pair(NamedTuple):
    x: int
    y: int


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


@dataclass
class Shape:
    name: str
    parts: list["Shape"] = field(default_factory=list)
    color: Color | None = None
    drawn: int = field(default=0, compare=False)
    KINDS: ClassVar[int] = 3


def test_a_dataclass_is_written_with_the_fields_that_it_compares() -> None:
    value = json.loads(encode(Shape("a", [Shape("b")], Color.RED)))
    inner = ["name", "parts", "color"]
    assert value["instance"][1:] == [
        "Shape",
        inner,
        [
            "a",
            [{"instance": [__name__, "Shape", inner, ["b", [], None]]}],
            {"member": [__name__, "Color", "RED"]},
        ],
    ]


def test_a_value_that_is_a_text_or_number_is_written_as_one() -> None:
    assert [json.loads(encode(value)) for value in (Level.HIGH, Pair(1, 2))] == [
        2,
        {"tuple": [1, 2]},
    ]


@dataclass
class Alike:
    x: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)


@dataclass(eq=False)
class Unlike:
    x: int


@pytest.mark.parametrize("value", [Alike(1), Unlike(1), Alike, Color])
def test_an_object_that_compares_otherwise_is_described(value: object) -> None:
    assert set(json.loads(encode(value))) == {"object"}


def test_an_object_inside_itself_is_described() -> None:
    chain = [Shape(str(number)) for number in range(30)]
    for one, next_one in pairwise(chain):  # each knows its neighbours
        one.parts.append(next_one)
        next_one.parts.append(one)
    assert encode(chain[0]).count("inside itself") == 29


def test_a_value_that_contains_itself_is_cut_off() -> None:
    endless: list[Any] = []
    endless.append(endless)
    assert "too deep" in encode(endless)
