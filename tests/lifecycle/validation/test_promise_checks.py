"""Promises are checked on inputs of the example runs first; what fails only elsewhere is weak."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.events import Adjudicated, CheckDropped, Ruling, RunOutcome
from auditcoder.domain.evidence import Evidence, Verdict
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.validation.input_generator import inputs_for
from auditcoder.lifecycle.validation.promise_checks import UNLIKE, _Envelope, held_before, is_weak
from tests.support.addition_runs import ADDS, READ, READS, SOLVE, program, promising
from tests.support.scripted_runs import FinishedRun, ScriptedReplies, python, run, sandboxed, stub

TASK = program(("1 2 3\n", "6\n"), ("4\n", "4\n"))


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def solved(sandbox: Sandbox, *facts: str, adds: str = ADDS) -> FinishedRun:
    replies: ScriptedReplies = {"sketch": promising(*facts), "joint": python(READS + adds)}
    return run(sandbox, TASK, replies)


def promise(finished: FinishedRun) -> Evidence:
    (seen,) = finished.checks("S2.ensures")
    return seen


def test_a_promise_that_holds_counts_the_inputs_of_the_example_runs(sandbox: Sandbox) -> None:
    seen = promise(solved(sandbox, "ensures: result == sum(numbers)"))
    assert seen.verdict is Verdict.PASSED
    assert seen.message.startswith("held for ")


def test_inputs_of_the_example_runs_can_be_the_only_ones_admitted(sandbox: Sandbox) -> None:
    seen = promise(
        solved(sandbox, "requires: numbers == [1, 2, 3]", "ensures: result == sum(numbers)")
    )
    assert seen.verdict is Verdict.PASSED
    assert seen.message.startswith("held for 1 of ")


def test_a_promise_that_fails_only_for_unlike_inputs_is_dropped_and_nothing_else_changes(
    sandbox: Sandbox,
) -> None:
    finished = solved(sandbox, "ensures: result > 0")
    assert finished.outcome is RunOutcome.PASSED
    seen = promise(finished)
    assert seen.verdict is Verdict.FAILED
    assert is_weak(seen)
    assert held_before(seen) == 2
    (ruling,) = finished.all(Adjudicated)
    assert (ruling.ruling, ruling.check) == (Ruling.CHECK_WRONG, seen.check)
    assert [o.source for o in ruling.opinions] == ["example runs"]
    (dropped,) = finished.all(CheckDropped)
    assert UNLIKE in dropped.reason
    assert finished.history == ()
    assert finished.solution.doubts == ()
    assert finished.prompts == ["sketch", "joint"], "nobody is asked"


def test_a_promise_that_fails_for_an_admitted_input_like_the_examples_stays_a_doubt(
    sandbox: Sandbox,
) -> None:
    contract = Contract(name="add_up", params=(Param(name="numbers", type="list[int]"),))
    like = _Envelope(("[1, 2, 3]", "[4]"))
    row = next(r for r in inputs_for(replace(contract, returns="int")) if like.covers(r))
    finished = solved(sandbox, "requires: numbers", f"ensures: numbers != {row}")
    seen = promise(finished)
    assert seen.verdict is Verdict.FAILED
    assert not is_weak(seen)
    assert [d.check for d in finished.solution.doubts] == [seen.check]


def test_a_node_that_no_example_reaches_has_no_inputs_of_example_runs(sandbox: Sandbox) -> None:
    idle = stub("idle(x: int) -> int", "Do it.", "ensures: result > x")
    add = stub("add_up(numbers: list[int]) -> int", "Add.", "uses: idle")
    replies: ScriptedReplies = {
        "sketch": python(READ + idle + add + SOLVE),
        "joint": python(READS + ADDS + "def idle(x):\n    return abs(x)\n"),
    }
    finished = run(sandbox, TASK, replies)
    (seen,) = [e for e in finished.checks("S") if e.requirement == "result > x"]
    assert seen.verdict is Verdict.FAILED
    assert (is_weak(seen), held_before(seen)) == (True, 0)
    assert [d.check for d in finished.solution.doubts] == [seen.check]


def test_more_inputs_are_generated_where_the_requirements_admit_few(sandbox: Sandbox) -> None:
    facts = ("requires: len(numbers) == 2 and numbers[0] == numbers[1]", "ensures: result != 1")
    finished = solved(sandbox, *facts)
    seen = promise(finished)
    assert seen.verdict is Verdict.PASSED
    contract = Contract(name="add_up", params=(Param(name="numbers", type="list[int]"),))
    rows = inputs_for(replace(contract, returns="int"))
    admitted = [r for r in rows if len(set(eval(r))) == 1 and len(eval(r)) == 2]
    held = int(seen.message.split()[2])
    assert held > len(admitted)


class TestEnvelope:
    def test_numbers_between_known_ones_and_known_texts_are_covered(self) -> None:
        envelope = _Envelope(("[1, 5], 'a'", "[], 'b'"))
        assert envelope.covers("[2, 3, 4], 'b'")
        assert envelope.covers("[], 'a'")
        assert not envelope.covers("[0], 'a'")
        assert not envelope.covers("[6], 'a'")
        assert not envelope.covers("[1], 'c'")

    def test_an_empty_container_is_covered_only_if_one_was_seen(self) -> None:
        assert not _Envelope(("[1]",)).covers("[]")
        assert _Envelope(("{}",)).covers("{}")

    def test_without_known_inputs_every_input_is_covered(self) -> None:
        assert _Envelope(()).covers("-1")

    def test_truth_values_are_no_numbers(self) -> None:
        assert not _Envelope(("0, 1",)).covers("True, 1")
        assert _Envelope(("True,",)).covers("True")
