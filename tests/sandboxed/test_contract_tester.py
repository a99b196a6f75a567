"""Promises are tested with the arguments as they were before the call."""

from typing import Any

import pytest

from auditcoder.sandboxed import contract_tester

check: Any = contract_tester._audit
holds: Any = contract_tester._audit_holds


def test_the_result_and_the_arguments_are_names_of_a_promise() -> None:
    promises = ["result == x + 1", "x == 1", "result == x"]
    assert check(lambda x: x + 1, (1,), (["x"], [], promises)) == [True, True, False]


def test_a_condition_holds_fails_or_cannot_be_evaluated() -> None:
    assert holds("[n]", {"n": 1}) is True
    assert holds("all(k < n for k in range(2))", {"n": 1}) is False
    assert holds("1 / 0", {}) is None
    assert holds("not an expression", {}) is None
    assert holds("1 == 2, 'equal'", {}) is None


@pytest.mark.parametrize("refused", ["x > 0", "x / 0 > 1", "result == 0"])
def test_arguments_that_a_requirement_does_not_admit_are_not_tried(refused: str) -> None:
    def never(_: int) -> int:
        raise AssertionError

    assert check(never, (0,), (["x"], ["x == 0", refused], ["True"])) == []


def test_a_requirement_cannot_mention_the_result_even_if_the_program_has_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(contract_tester, "result", 0, raising=False)
    assert check(lambda x: x, (0,), (["x"], ["result == 0"], ["True"])) == []
    assert check(lambda x: x, (1,), (["x"], ["x"], ["result"])) == [True]


def test_an_error_of_the_function_is_raised() -> None:
    def fail(_: object) -> None:
        raise StopIteration

    with pytest.raises(StopIteration):
        check(fail, (0,), (["x"], [], ["True"]))


def test_arguments_that_do_not_match_the_parameters_are_not_tried() -> None:
    assert check(lambda x: x, (0,), (["self", "x"], [], ["True"])) == []


def test_a_function_that_changes_its_argument_does_not_change_the_promises() -> None:
    assert check(lambda x: x.pop(), ([1, 2],), (["x"], [], ["result == x[-1]"])) == [True]
