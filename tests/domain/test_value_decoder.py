"""Values from the sandbox are decoded unchanged, and decoding executes no code."""

import contextlib
import importlib.util
import json
import math
from collections import Counter, OrderedDict, deque, namedtuple
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import auditcoder.sandboxed
from auditcoder.domain import value_decoder
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.value_decoder import Opaque, read
from auditcoder.sandboxed.result_comparison import same_value


def _load_encoder() -> ModuleType:
    """Load the encoder as the sandbox does: by itself."""
    path = Path(auditcoder.sandboxed.__file__).parent / "value_encoder.py"
    spec = importlib.util.spec_from_file_location("encoding_inside", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


encode = _load_encoder().encode

ATOMS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters())
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
)
KEYS = st.none() | st.integers() | st.text() | st.tuples(st.integers(), st.text())
VALUES: st.SearchStrategy[Any] = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner)
        | st.tuples(inner, inner)
        | st.dictionaries(KEYS, inner)
        | st.sets(KEYS)
        | st.frozensets(KEYS)
        | st.lists(inner).map(deque)
    ),
    max_leaves=20,
)


@given(VALUES)
def test_an_encoded_value_is_decoded_unchanged(value: object) -> None:
    found = read(encode(value))
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize("number", [math.inf, -math.inf, 10**400, -(2**60), 2**53, -0.0])
def test_numbers_that_json_lacks_are_decoded_unchanged(number: float) -> None:
    assert repr(read(encode(number))) == repr(number)


def test_nan_is_decoded_as_nan() -> None:
    assert math.isnan(read(encode(math.nan)))


def test_unpaired_surrogates_are_decoded_unchanged() -> None:
    assert read(encode("a\ud800b")) == "a\ud800b"


Point = namedtuple("Point", "x y")


class _Misleading(int):
    def __repr__(self) -> str:
        return "something else"

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Point(1, 2), (1, 2)),
        (OrderedDict(a=1), {"a": 1}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (_Misleading(7), 7),
        (True, True),
        (bytearray(b"x"), b"x"),
        (range(1, 9, 2), range(1, 9, 2)),
        (Decimal("1.50"), Decimal("1.50")),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_a_subclass_is_decoded_as_its_base_type(value: object, plain: object) -> None:
    assert read(encode(value)) == plain
    assert type(read(encode(value))) is type(plain)


class _AlwaysEqual:
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "42"


def test_an_object_that_claims_to_equal_everything_is_opaque() -> None:
    found = read(encode(_AlwaysEqual()))
    assert isinstance(found, Opaque)
    assert found.repr == "42"


class _Hostile:
    def __repr__(self) -> str:
        raise SystemError("no")


class _Endless(list[int]):
    def __iter__(self) -> Any:
        while True:
            yield 1


def test_values_that_misbehave_are_described_safely() -> None:
    assert isinstance(read(encode(_Hostile())), Opaque)
    assert read(encode(_Endless([1, 2]))) == [1, 2]
    loop: list[Any] = []
    loop.append(loop)
    assert "too deep" in encode(loop)


@pytest.mark.parametrize(
    "text",
    ["", "{", "nonsense", '{"tuple": 3}', '{"a": 1, "b": 2}', '{"unknown": 1}', '{"int": "zz"}',
     '{"object": {"evil": 1}}', '{"instance": ["m", 1, [], []]}', '{"member": [1, "C", "A"]}',
     '{"instance": ["m", "C", ["x"], []]}', '{"array": {}}', '{"fraction": "1/0"}', "[" * 100_000,
     '{"fraction": ["1e300000000", null]}', '{"fraction": [{"decimal": "1e50000000"}, null]}',
     '{"fraction": []}', '{"fraction": [1, 0]}', '{"complex": []}', '{"complex": "ab"}',
     '{"range": ["a"]}', '{"decimal": 5}'],
)  # fmt: skip
def test_text_that_encodes_no_value_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        read(text)


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_decoded_or_refused_with_a_value_error(plain: object) -> None:
    with contextlib.suppress(ValueError):
        read(json.dumps(plain))


HUGE = hex(1 << 30_000_000)


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"int": HUGE}),
        json.dumps({"fraction": [{"int": HUGE}, {"int": HUGE[:-1] + "1"}]}),
        json.dumps({"fraction": [{"int": "0x" + "f" * 30_000}, {"int": "0x" + "7" * 29_999}]}),
        json.dumps({"decimal": "1" * 30_000}),
        json.dumps({"int": 7}),
        json.dumps([0] * 5_000_001),
        json.dumps({"tuple": [{"tuple": [0] * 3_000_000}, {"tuple": [0] * 3_000_000}]}),
    ],
    ids=[
        "integer",
        "fraction of huge integers",
        "fraction",
        "decimal",
        "not text",
        "items",
        "items inside",
    ],
)
def test_a_value_that_would_take_long_to_decode_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a value"):
        read(text)


def test_values_of_ordinary_size_are_within_the_bounds() -> None:
    large = 1 << 1_000_000
    assert read(json.dumps({"int": hex(large)})) == large
    small = Fraction(1 << 70_000, 3)
    assert read(encode(small)) == small
    assert len(read(encode(list(range(500_000))))) == 500_000


@pytest.mark.parametrize("bits", [65, 3_000_000])
def test_a_range_of_numbers_beyond_64_bits_is_opaque(bits: int) -> None:
    ends = [0, 1 << (bits - 1), 3]
    found = read(json.dumps({"range": [{"int": hex(end)} for end in ends]}))
    assert found == Opaque(
        type="builtins.range", repr=f"range({', '.join(hex(end) for end in ends)})"
    )


SAME_HASH = (1 << 61) - 1
"""The hashes of integers that differ by a multiple of it are equal."""


@pytest.mark.parametrize("kind", ["tuple", "list"])
def test_many_large_keys_with_one_hash_are_refused(kind: str) -> None:
    """A table compares them in pairs, item by item."""
    rows = [[0] * 1000 + [{"int": hex(n * SAME_HASH)}] for n in range(100)]
    keys = [{"tuple": row} for row in rows] if kind == "tuple" else rows
    with pytest.raises(ValueError, match="one hash"):
        read(json.dumps({"dict": [[key, 0] for key in keys]}))


def test_small_keys_with_one_hash_are_decoded() -> None:
    value = {1 << n: n for n in range(3000)}
    assert read(encode(value)) == value


def test_keys_that_are_hashable_only_in_the_program_are_rarely_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compared = 0

    def equal(one: list[Any], other: object) -> bool:
        nonlocal compared
        compared += 1
        return list.__eq__(one, other)

    monkeypatch.setattr(value_decoder._Unhashable, "__eq__", equal)
    text = json.dumps({"dict": [[[0] * 1000 + [n], n] for n in range(500)]})
    assert len(read(text)) == 500
    assert compared == 0


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("[1, 2]", "[1.0, 2]"),
        ('{"dict": [[1, [2]], [3, 4]]}', '{"dict": [[3, 4], [1, [2]]]}'),
        ('{"set": [1, 2]}', '{"set": [2, 1]}'),
        ('{"tuple": [[1], {"deque": [2]}]}', '{"tuple": [[1], {"deque": [2.0]}]}'),
        ('{"dict": [[{"dict": [[1, 2]]}, 0]]}', '{"dict": [[{"dict": [[1.0, 2]]}, 0]]}'),
    ],
)
def test_equal_keys_that_are_hashable_only_in_the_program_are_found(one: str, other: str) -> None:
    first, second = (read(f'{{"dict": [[{key}, 0]]}}') for key in (one, other))
    assert first == second
    assert first.keys() == second.keys()


@pytest.mark.parametrize(
    "wrap",
    [
        lambda inner: [inner],
        lambda inner: (inner, 1),
        lambda inner: {1: inner},
        lambda inner: deque([inner]),
        lambda inner: frozenset([inner]),
        lambda inner: OrderedDict([(1, inner)]),
    ],
)
def test_values_are_decoded_up_to_a_depth_that_no_python_limits(wrap: Callable[[Any], Any]) -> None:
    value: Any = 1
    for _ in range(100):
        value = wrap(value)
    text = encode(value)
    assert "too deep" not in text
    assert read(text) == value
    assert "too deep" in encode(wrap(value))


@pytest.mark.parametrize("levels", [311, 1000, 5000, 100_000])
def test_text_that_is_nested_more_deeply_is_refused(levels: int) -> None:
    for before, after in (("[", "]"), ('{"tuple":', "}"), ('{"dict":[[1,', "]]}")):
        with pytest.raises(ValueError, match="levels"):
            read(before * levels + "1" + after * levels)


@dataclass(frozen=True)
class Place:
    x: float
    y: float = 0.0
    label: str = field(default="", compare=False)


class Color(Enum):
    RED = "red"
    BLUE = "blue"


def test_a_dataclass_is_decoded_as_an_object_that_compares_its_fields() -> None:
    found = read(encode([Place(0.1 + 0.2, label="a"), Color.RED]))
    assert same_value(read(encode([Place(0.3, label="b"), Color.RED])), found)
    assert not same_value(read(encode([Place(0.4), Color.RED])), found)
    assert not same_value(read(encode([Place(0.3), Color.BLUE])), found)
    assert repr(read(encode([Place(1.0), Color.RED]))) == "[Place(x=1.0, y=0.0), Color.RED]"


def test_objects_of_other_classes_differ_although_their_fields_are_equal() -> None:
    kinds = [make_dataclass(name, ["x"]) for name in ("A", "B")]
    one, other = (read(encode(kind(1))) for kind in kinds)
    assert one == one
    assert one != other
    assert one != 1


def test_an_object_is_found_as_a_key() -> None:
    found = read(encode({Place(1.0): "a", Color.RED: "b"}))
    assert found == read(encode({Color.RED: "b", Place(1.0): "a"}))


@pytest.mark.parametrize("name", ["set", "1", "", "a b", "x.<locals>.set", "\ud800"])
def test_the_text_of_an_object_is_never_that_of_a_literal(name: str) -> None:
    parts: list[Any] = ["program", name, [], []]
    for text in (json.dumps({"instance": parts}), json.dumps({"member": ["program", name, "5"]})):
        with pytest.raises(LITERAL_ERRORS):
            literal_value(repr(read(text)))
