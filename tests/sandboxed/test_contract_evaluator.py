"""Promises are evaluated on copies, and only a promise that is false is broken."""

from typing import Any

from auditcoder.sandboxed.contract_evaluator import ContractEvaluator


def evaluator(*ensures: str, invariants: tuple[str, ...] = ()) -> ContractEvaluator:
    return ContractEvaluator({"f": {"ensures": list(ensures)}}, list(invariants), {"limit": 3})


def test_the_numbers_of_broken_promises_are_returned() -> None:
    promises = evaluator("result > 0", "result < limit", "result == x")
    assert promises.broken("f", "ensures", {"result": 5, "x": 5}) == [1]


def test_a_promise_that_raises_or_cannot_be_compiled_is_not_broken() -> None:
    promises = evaluator("result.missing", "result ==", "")
    assert promises.broken("f", "ensures", {"result": 5}) == []


def test_arguments_are_copied_before_the_call_changes_them() -> None:
    given: dict[str, Any] = {"items": [1]}
    kept = evaluator("True").kept_for("f", given)
    given["items"].append(2)
    assert kept == {"items": [1]}


def test_nothing_is_copied_for_functions_without_promises_or_with_iterators() -> None:
    assert evaluator("True").kept_for("other", {"x": 1}) is None
    assert evaluator("True").kept_for("f", {"x": iter([1])}) is None


def test_promises_of_one_function_are_evaluated_a_limited_number_of_times() -> None:
    promises = evaluator("True")
    kept = [promises.kept_for("f", {"x": 1}) for _ in range(400)]
    assert sum(copy is not None for copy in kept) <= 300
    assert kept[-1] is None


class Account:
    def __init__(self, balance: int) -> None:
        self.balance = balance


def test_a_broken_invariant_is_reported_once_per_object() -> None:
    promises = evaluator(invariants=("self.balance >= 0",))
    good, bad = Account(1), Account(-1)
    assert [promises.unsettled(o) for o in (good, bad, bad)] == [False, True, False]
