"""A watched function behaves as before, and its broken promises are collected."""

from collections.abc import Iterator
from typing import Any

import pytest

from auditcoder.sandboxed import contract_monitor

watch: Any = contract_monitor._audit_watch


@pytest.fixture(autouse=True)
def broken() -> Iterator[set[int]]:
    contract_monitor._audit_broken.clear()
    yield contract_monitor._audit_broken
    contract_monitor._audit_broken.clear()


def double(x: int) -> int:
    """Double it."""
    return x * 2


def test_a_promise_that_holds_leaves_no_trace(broken: set[int]) -> None:
    watched = watch(double, 0, lambda result, x: result == 2 * x)
    assert (watched(3), watched.__doc__, broken) == (6, "Double it.", set())


def test_a_broken_promise_or_one_that_raises_is_collected(broken: set[int]) -> None:
    assert watch(double, 0, lambda result, x: result == x)(3) == 6
    assert watch(double, 1, lambda result, x: result.missing)(x=3) == 6
    assert broken == {0, 1}


def test_a_promise_sees_the_arguments_from_before_the_call(broken: set[int]) -> None:
    watched = watch(list.pop, 0, lambda result, items: items[-1] == result)
    assert watched([1, 2]) == 2
    assert broken == set()


def test_an_exception_of_the_function_passes_through() -> None:
    with pytest.raises(TypeError):
        watch(double, 0, lambda result, x: True)()
