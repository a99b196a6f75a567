"""Values: they are frozen, and equal values have one encoding and one digest."""

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.values import (
    Value,
    digest,
    digest_of,
    encode,
    is_run_id,
    nests_deeper,
    printable_json,
    whole,
)


class Point(Value):
    """A value with one required and one optional field."""

    x: int
    label: str = ""


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Point(x=1).x = 2


def test_fields_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        Point(1)


def test_defaults_are_not_written() -> None:
    assert encode(Point(x=1)) == b'{"x":1}'
    assert encode(Point(x=1, label="a")) == b'{"x":1,"label":"a"}'


def test_a_later_optional_field_leaves_the_digest_alone() -> None:
    class Later(Value):
        x: int
        label: str = ""
        colour: str = "red"

    assert digest_of(Later(x=1)) == digest_of(Point(x=1))


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"x":1,"y":2}', type=Point)


@given(st.dictionaries(st.text(max_size=3), st.integers(-9, 9), max_size=5))
def test_the_order_of_keys_does_not_change_the_encoding(mapping: dict[str, int]) -> None:
    backwards = dict(reversed(mapping.items()))
    assert encode(mapping) == encode(backwards)
    assert digest_of(mapping) == digest_of(backwards)


def test_the_order_of_a_set_does_not_change_the_encoding() -> None:
    assert encode({"b", "a", "c"}) == encode(frozenset(("c", "b", "a"))) == b'["a","b","c"]'


def test_a_digest_is_sha_256_in_hexadecimal() -> None:
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert digest(b"") == empty
    assert digest_of("") == digest(b'""')


@pytest.mark.parametrize("text", ["a", "0", "a-run", "2026.01_x", "x" * 128])
def test_a_plain_name_can_name_a_run(text: str) -> None:
    assert is_run_id(text)


@pytest.mark.parametrize(
    "text", ["", "-flag", ".hidden", "a/b", "a b", "a\n", "é", "x" * 129, "$(x)", "\x1b[2J"]
)
def test_a_name_with_shell_or_path_characters_cannot_name_a_run(text: str) -> None:
    assert not is_run_id(text)


@given(st.text(alphabet=st.characters(exclude_categories=()), max_size=20))
def test_repaired_text_can_always_be_encoded(text: str) -> None:
    repaired = whole(text)
    assert repaired.encode("utf-8").decode("utf-8") == repaired
    assert len(repaired) == len(text)


def test_only_surrogates_are_replaced() -> None:
    assert whole("a\ud800é😀") == "a?é😀"


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("1", 0),
        ("[]", 1),
        ("[[], {}, [{}]]", 3),
        ('["[[[", "]]", "\\"[[["]', 1),
        ('{"{": {"a\\\\": [1]}}', 3),
        ("[]" * 100, 1),
        ("[" * 5000, 5000),
    ],
)
def test_the_depth_of_json_is_found_without_decoding_it(text: str, depth: int) -> None:
    assert not nests_deeper(text.encode(), depth)
    assert depth == 0 or nests_deeper(text.encode(), depth - 1)


JSON = st.recursive(
    st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)


def json_depth(value: object) -> int:
    match value:
        case dict():
            return 1 + max(map(json_depth, value.values()), default=0)
        case list():
            return 1 + max(map(json_depth, value), default=0)
    return 0


@given(JSON, st.booleans())
def test_the_depth_found_is_that_of_the_value(value: object, ascii_only: bool) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    depth = json_depth(value)
    assert not nests_deeper(text, depth)
    assert depth == 0 or nests_deeper(text, depth - 1)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_json_stays_the_same_value_when_it_is_made_printable(text: str) -> None:
    encoded = msgspec.json.encode({"text": text}).decode()
    shown = printable_json(encoded)
    assert shown.isprintable()
    assert json.loads(shown) == {"text": text}


def test_printable_characters_of_json_are_left_as_they_are() -> None:
    text = json.dumps({"name": "Zoë 漢 😀", "list": [1]}, ensure_ascii=False, indent=2)
    assert printable_json(text) == text
    assert printable_json("\u202e\x9b\x7f\U000e0001\ud800") == (
        "\\u202e\\u009b\\u007f\\udb40\\udc01\\ud800"
    )
