"""Promises are tested with the arguments as they were before the call."""

from typing import Any

import pytest

from auditcoder.sandboxed import contract_tester

check: Any = contract_tester._audit
holds: Any = contract_tester._audit_holds


def always(_: tuple[Any, ...]) -> bool:
    return True


def test_the_result_and_the_arguments_are_passed_to_the_promises() -> None:
    assert check(lambda x: x + 1, (1,), always, lambda result, given: [result, given]) == [2, (1,)]


def test_a_condition_holds_fails_or_cannot_be_evaluated() -> None:
    assert holds(lambda: [1]) is True
    assert holds(lambda: 0) is False
    assert holds(lambda: 1 / 0) is None


def test_arguments_that_are_not_admitted_are_not_tried() -> None:
    def never(_: int) -> int:
        raise AssertionError

    for refused in (False, None):
        assert check(never, (0,), lambda _, said=refused: said, lambda *_: [True]) == []


def test_an_error_of_the_function_or_of_a_promise_is_raised() -> None:
    def fail(*_: object) -> list[bool]:
        raise StopIteration

    with pytest.raises(StopIteration):
        check(fail, (0,), always, lambda *_: [True])
    with pytest.raises(StopIteration):
        check(lambda x: x, (0,), always, fail)


def test_a_function_that_changes_its_argument_does_not_change_the_promises() -> None:
    promises = lambda result, given: [result == given[0][-1]]  # noqa: E731
    assert check(lambda x: x.pop(), ([1, 2],), always, promises) == [True]
