"""A recorded function behaves as before, and the arguments of its calls are kept as text."""

from collections.abc import Iterator
from typing import Any

import pytest

from auditcoder.sandboxed import argument_recorder

record: Any = argument_recorder._audit_arguments


@pytest.fixture(autouse=True)
def seen() -> Iterator[list[str]]:
    argument_recorder._audit_seen.clear()
    yield argument_recorder._audit_seen
    argument_recorder._audit_seen.clear()


def take(items: list[int], count: int = 1) -> list[int]:
    """Take some."""
    return [items.pop(0) for _ in range(count)]


class Unwritable:
    def __repr__(self) -> str:
        raise ValueError


def test_arguments_are_recorded_in_order_and_as_before_the_call(seen: list[str]) -> None:
    recorded = record(take, 9, 99)
    assert recorded([1, 2]) == [1]
    assert recorded(count=2, items=[3, 4]) == [3, 4]
    assert recorded.__doc__ == "Take some."
    assert seen == ["[1, 2], 1", "[3, 4], 2"]


def test_equal_calls_are_recorded_once(seen: list[str]) -> None:
    recorded = record(take, 9, 99)
    recorded([1])
    recorded([1])
    assert seen == ["[1], 1"]


def test_their_number_and_length_are_bounded(seen: list[str]) -> None:
    recorded = record(len, 2, 9)
    for value in ("a" * 20, "b", "c", "d"):
        assert recorded(value) == len(value)
    assert seen == ["'b'", "'c'"]


def test_a_value_without_a_text_is_left_out(seen: list[str]) -> None:
    assert record(bool, 9, 99)(Unwritable()) is True
    assert seen == []


def test_a_call_that_does_not_fit_raises_as_before() -> None:
    with pytest.raises(TypeError, match="items"):
        record(take, 9, 99)()
