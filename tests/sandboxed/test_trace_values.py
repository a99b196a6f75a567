"""Values of a traced program are described in few words, whatever their size."""

import pytest

from auditcoder.sandboxed.trace_values import brief, is_plain, is_uninformative, shape, weight


def test_a_short_value_is_its_repr() -> None:
    assert brief([1, "a", None]) == "[1, 'a', None]"


def test_a_long_value_is_cut_off() -> None:
    assert len(brief(list(range(1_000_000)))) <= 201
    assert len(brief("x" * 1_000_000)) <= 201


def test_a_repr_that_raises_is_named() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise KeyError

    assert "KeyError in its repr" in brief(Broken()) or "Broken" in brief(Broken())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, "int"),
        (None, "None"),
        ([1, 2], "list[int]"),
        ([1, "a"], "list[int | str]"),
        ((1, "a"), "tuple[int, str]"),
        ({"a": [1]}, "dict[str, list[int]]"),
        ([], "list"),
        ({1.5}, "set[float]"),
    ],
)
def test_a_type_is_written_as_an_annotation(value: object, expected: str) -> None:
    assert shape(value) == expected


def test_a_subclass_has_the_type_of_its_base() -> None:
    class Mine(list[int]):
        pass

    assert shape(Mine([1])) == "list[int]"


def test_only_values_without_identity_are_plain() -> None:
    assert is_plain(1)
    assert is_plain("a")
    assert not is_plain([])


@pytest.mark.parametrize(
    ("value", "uninformative"), [(0, True), ("", True), (None, True), (7, False)]
)
def test_common_values_are_uninformative(value: object, uninformative: bool) -> None:
    assert is_uninformative(value) is uninformative


def test_a_collection_weighs_more_than_its_items_alone() -> None:
    assert weight(["x" * 1000] * 10) > 10_000
    assert weight("x" * 1000) < 2000
