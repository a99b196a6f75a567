"""Collectors: traced failures, checks known to pass, and substituted implementations."""

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from auditcoder.domain.contract import Clause, Contract
from auditcoder.domain.execution import Execution, ExecutionOutcome, RunFiles
from auditcoder.domain.task import (
    CallExample,
)
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.substitution import SubstitutedProgram, run_substitutions
from auditcoder.lifecycle.locating.test_driver import trace_plan_of
from auditcoder.lifecycle.locating.trace_analysis import collect_evidence
from auditcoder.lifecycle.locating.trace_run import ContractExpressions, FailingRun, TracePlan
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.sandboxed import tracer
from tests.support.failing_programs import (
    CASES,
    GOOD,
    GRAPH,
    MAIN,
    kinds,
    looked,
    task,
)
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_name_that_is_missing_points_to_the_method_that_should_have_it(sandbox: Sandbox) -> None:
    program = "class Box:\n    def get(self):\n        return self.take()\n"
    trial = TracePlan("b = Box()\nassert b.get() == 1\n")
    found = collect_evidence(sandbox, FailingRun(program, ("Box.get", "Box.take"), trial))
    assert {FeatureKind.LACKED, FeatureKind.ABSENT} <= kinds(found, "Box.take")


def test_who_is_called_in_a_way_that_it_cannot_be_is_named(sandbox: Sandbox) -> None:
    found = looked(sandbox, GOOD.replace("def total(numbers)", "def total()"), task(CASES[0]))
    assert FeatureKind.MISCALLED in kinds(found, "total")
    assert FeatureKind.RAISED in kinds(found, "main")


def test_what_is_taken_at_import_counts_too(sandbox: Sandbox) -> None:
    program = "TABLE = bytearray(200 << 20)\n" + GOOD
    found = looked(sandbox, program, task(CASES[0], memory_mb=128), memory_ran_out=True)
    assert found.seen.loads.startswith("MemoryExceeded")


def test_who_catches_it_and_goes_on_does_not_pass(sandbox: Sandbox) -> None:
    stubborn = """
    kept = []
    while True:
        try:
            while True: kept.append(bytes(4096))
        except Exception:
            pass
"""
    program = GOOD.replace("    result = 0\n", stubborn)
    found = looked(sandbox, program, task(CASES[0], seconds=1, memory_mb=64), memory_ran_out=True)
    assert not found.seen.passes


def test_a_program_that_leaves_no_memory_is_heard_of_all_the_same(sandbox: Sandbox) -> None:
    greedy = "    while True: KEPT.append(bytes(4096))\n"
    program = "KEPT = []\n" + GOOD.replace("    result = 0\n", greedy)
    found = looked(sandbox, program, task(CASES[0], memory_mb=128), memory_ran_out=True)
    assert {FeatureKind.RAISED, FeatureKind.TOOK_MEMORY} <= kinds(found, "total")


REMEMBERS = """
SEEN = []

def main(text):
    SEEN.append(text)
    return 0 if text == "bad" else len(SEEN)
"""
CASE_BY_CASE = (
    CallExample(arguments="'a'", result="1"),
    CallExample(arguments="'b'", result="1"),
    CallExample(arguments="'bad'", result="1"),
)


class TestCasesThatAreKnownToPass:
    """Each was checked in a process of its own, where nothing is left of the others."""

    def failing(self, *passed: int) -> FailingRun:
        asked = task(*CASE_BY_CASE)
        trial = trace_plan_of(asked, asked.examples, GRAPH, passed)
        assert trial is not None
        return FailingRun(REMEMBERS, ("main",), trial)

    def test_are_not_taken_for_failing_where_they_are_driven_together(
        self, sandbox: Sandbox
    ) -> None:
        unknown = collect_evidence(sandbox, self.failing())
        assert unknown.seen.failed_tests == {"Examples.test_2", "Examples.test_3"}
        known = collect_evidence(sandbox, self.failing(0, 1))
        assert known.seen.failed_tests == {"Examples.test_3"}

    def test_do_not_speak_for_what_is_promised_either(self, sandbox: Sandbox) -> None:
        """There, it is broken by what other cases left behind."""
        promised = {"main": ContractExpressions(ensures=("result == 1",))}
        ensures = (Clause(expression="result == 1"),)
        contract = Contract(name="main", params=MAIN.params, returns="int", ensures=ensures)
        known = self.failing(0, 1)
        trial = known.trial._replace(promises=promised)
        found = collect_evidence(sandbox, known._replace(trial=trial, contracts={"main": contract}))
        assert FeatureKind.BROKE_PROMISE in kinds(found, "main")

    def test_do_not_keep_another_implementation_from_healing(self, sandbox: Sandbox) -> None:
        mended = SubstitutedProgram(
            "main", REMEMBERS.replace('0 if text == "bad"', '1 if text == "bad"')
        )
        assert not run_substitutions(sandbox, self.failing(), [mended]).swapped["main"].healed
        found = run_substitutions(sandbox, self.failing(0, 1), [mended])
        assert (found.swapped["main"].healed, found.swapped["main"].harmed) == (1, 0)


class Moody:
    """A sandbox in which a program is in a bad mood for so many runs of some kind."""

    def __init__(self, sandbox: Sandbox, moods: Iterable[bool]) -> None:
        self._sandbox, self._moods = sandbox, iter(moods)
        self.kind = sandbox.kind

    def run(self, execution: Execution) -> ExecutionOutcome:
        action = execution.action
        assert isinstance(action, RunFiles)
        program = action.inputs[tracer.PROGRAM]
        if next(self._moods, False):
            program = program.replace(b"MOOD = 0", b"MOOD = 1")
        inputs = {**action.inputs, tracer.PROGRAM: program}
        return self._sandbox.run(
            msgspec.structs.replace(
                execution, action=msgspec.structs.replace(action, inputs=inputs)
            )
        )

    def close(self) -> None:
        """Leave the sandbox to its owner."""


@pytest.mark.parametrize("bad_again", [False, True])
def test_what_heals_is_believed_only_if_the_program_itself_still_fails(
    sandbox: Sandbox, bad_again: bool
) -> None:
    """Both pass in a good mood: the first run fails, the try passes, and once more is decisive."""
    moody = "MOOD = 0\n" + GOOD.replace("return result", "return result + MOOD")
    trial = trace_plan_of(task(*CASES), CASES, GRAPH)
    assert trial is not None
    other = SubstitutedProgram("read", moody.replace("int(word)", "int(word) + 0"))
    failing = FailingRun(moody, ("read", "total", "main"), trial)
    found = run_substitutions(Moody(sandbox, [True, False, bad_again]), failing, [other])
    assert found.passes == (not bad_again)
    assert bool(found.swapped) == bad_again
