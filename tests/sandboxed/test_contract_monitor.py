"""A watched function behaves as before, and its broken promises are collected."""

from collections.abc import Iterator
from typing import Any

import pytest

from auditcoder.sandboxed import contract_monitor

promise: Any = contract_monitor._audit_promise
example: Any = contract_monitor._audit_example


@pytest.fixture(autouse=True)
def broken() -> Iterator[set[int]]:
    contract_monitor._audit_broken.clear()
    yield contract_monitor._audit_broken
    contract_monitor._audit_broken.clear()


def double(x: int) -> int:
    """Double it."""
    return x * 2


def test_a_promise_that_holds_leaves_no_trace(broken: set[int]) -> None:
    watched = promise(double, 0, ["x"], "result == 2 * x")
    assert (watched(3), watched.__doc__, broken) == (6, "Double it.", set())


def test_a_broken_promise_or_one_that_raises_is_collected(broken: set[int]) -> None:
    assert promise(double, 0, ["x"], "result == x")(3) == 6
    assert promise(double, 1, ["x"], "result.missing")(x=3) == 6
    assert broken == {0, 1}


def test_a_promise_sees_the_arguments_from_before_the_call(broken: set[int]) -> None:
    watched = promise(list.pop, 0, ["items"], "items[-1] == result")
    assert watched([1, 2]) == 2
    assert broken == set()


def test_an_example_is_compared_only_for_its_own_arguments(broken: set[int]) -> None:
    watched = example(double, 0, "3", "7")
    assert (watched(4), watched(x=3), broken) == (8, 6, set())
    assert (watched(3), broken) == (6, {0})


def test_an_example_with_the_expected_result_leaves_no_trace(broken: set[int]) -> None:
    assert example(divmod, 0, "7, 2", "(3, 1)")(7, 2) == (3, 1)
    assert broken == set()


def test_an_exception_of_the_function_passes_through() -> None:
    with pytest.raises(TypeError):
        promise(double, 0, ["x"], "True")()
