"""Collectors: traced failures, checks known to pass, and substituted implementations."""

from collections.abc import Iterable, Iterator

import msgspec
import pytest

from auditcoder.domain.contract import Clause, Contract
from auditcoder.domain.execution import Execution, ExecutionOutcome, RunFiles
from auditcoder.domain.task import (
    CallExample,
)
from auditcoder.lifecycle.locating.check_driver import trace_plan_of
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.substitution import SubstitutedProgram, run_substitutions
from auditcoder.lifecycle.locating.trace_analysis import collect_evidence
from auditcoder.lifecycle.locating.trace_run import ContractExpressions, FailingRun, TracePlan
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.sandboxed import tracer
from tests.support.failing_programs import (
    CASES,
    GOOD,
    GRAPH,
    MAIN,
    collect,
    kinds,
    task,
)
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_missing_attribute_points_to_the_method_of_that_name(sandbox: Sandbox) -> None:
    program = "class Box:\n    def get(self):\n        return self.take()\n"
    trial = TracePlan("b = Box()\nassert b.get() == 1\n")
    found = collect_evidence(sandbox, FailingRun(program, ("Box.get", "Box.take"), trial))
    assert {FeatureKind.LACKED, FeatureKind.ABSENT} <= kinds(found, "Box.take")


def test_a_function_called_with_wrong_arguments_is_named(sandbox: Sandbox) -> None:
    found = collect(sandbox, GOOD.replace("def total(numbers)", "def total()"), task(CASES[0]))
    assert FeatureKind.MISCALLED in kinds(found, "total")
    assert FeatureKind.RAISED in kinds(found, "main")


def test_memory_allocated_at_import_counts_toward_the_limit(sandbox: Sandbox) -> None:
    program = "TABLE = bytearray(200 << 20)\n" + GOOD
    found = collect(sandbox, program, task(CASES[0], memory_mb=128), memory_ran_out=True)
    assert found.seen.loads.startswith("MemoryExceeded")


def test_a_program_that_catches_memory_errors_and_continues_does_not_pass(sandbox: Sandbox) -> None:
    stubborn = """
    kept = []
    while True:
        try:
            while True: kept.append(bytes(4096))
        except Exception:
            pass
"""
    program = GOOD.replace("    result = 0\n", stubborn)
    found = collect(sandbox, program, task(CASES[0], seconds=1, memory_mb=64), memory_ran_out=True)
    assert not found.seen.passes


def test_a_program_that_exhausts_the_memory_is_still_reported(sandbox: Sandbox) -> None:
    greedy = "    while True: KEPT.append(bytes(4096))\n"
    program = "KEPT = []\n" + GOOD.replace("    result = 0\n", greedy)
    found = collect(sandbox, program, task(CASES[0], memory_mb=128), memory_ran_out=True)
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


class TestChecksKnownToPass:
    """Each passed in its own process, without state left behind by the other checks."""

    def failing_run(self, *passed: int) -> FailingRun:
        asked = task(*CASE_BY_CASE)
        trial = trace_plan_of(asked, asked.examples, GRAPH, passed)
        assert trial is not None
        return FailingRun(REMEMBERS, ("main",), trial)

    def test_known_passing_checks_do_not_fail_when_traced_together(self, sandbox: Sandbox) -> None:
        unknown = collect_evidence(sandbox, self.failing_run())
        assert unknown.seen.failed_tests == {"Examples.test_2", "Examples.test_3"}
        known = collect_evidence(sandbox, self.failing_run(0, 1))
        assert known.seen.failed_tests == {"Examples.test_3"}

    def test_known_passing_checks_do_not_excuse_a_violated_clause(self, sandbox: Sandbox) -> None:
        """In the shared process, state that other checks left behind breaks the promise."""
        promised = {"main": ContractExpressions(ensures=("result == 1",))}
        ensures = (Clause(expression="result == 1"),)
        contract = Contract(name="main", params=MAIN.params, returns="int", ensures=ensures)
        known = self.failing_run(0, 1)
        trial = known.trial._replace(promises=promised)
        found = collect_evidence(sandbox, known._replace(trial=trial, contracts={"main": contract}))
        assert FeatureKind.BROKE_PROMISE in kinds(found, "main")

    def test_known_passing_checks_do_not_prevent_a_substitute_from_passing(
        self, sandbox: Sandbox
    ) -> None:
        mended = SubstitutedProgram(
            "main", REMEMBERS.replace('0 if text == "bad"', '1 if text == "bad"')
        )
        assert not run_substitutions(sandbox, self.failing_run(), [mended]).swapped["main"].healed
        found = run_substitutions(sandbox, self.failing_run(0, 1), [mended])
        assert (found.swapped["main"].healed, found.swapped["main"].harmed) == (1, 0)


class FlakySandbox:
    """A sandbox that enables a program's fault in the runs that `faulty` marks."""

    def __init__(self, sandbox: Sandbox, faulty: Iterable[bool]) -> None:
        self._sandbox, self._faulty = sandbox, iter(faulty)
        self.kind = sandbox.kind

    def run(self, execution: Execution) -> ExecutionOutcome:
        action = execution.action
        assert isinstance(action, RunFiles)
        program = action.inputs[tracer.PROGRAM]
        if next(self._faulty, False):
            program = program.replace(b"MOOD = 0", b"MOOD = 1")
        inputs = {**action.inputs, tracer.PROGRAM: program}
        return self._sandbox.run(
            msgspec.structs.replace(
                execution, action=msgspec.structs.replace(action, inputs=inputs)
            )
        )

    def close(self) -> None:
        """Leave the sandbox to its owner."""


@pytest.mark.parametrize("fails_again", [False, True])
def test_a_substitute_counts_only_if_the_original_program_still_fails(
    sandbox: Sandbox, fails_again: bool
) -> None:
    """The original fails, the substitute passes, and a second run of the original decides."""
    flaky = "MOOD = 0\n" + GOOD.replace("return result", "return result + MOOD")
    trial = trace_plan_of(task(*CASES), CASES, GRAPH)
    assert trial is not None
    other = SubstitutedProgram("read", flaky.replace("int(word)", "int(word) + 0"))
    failing = FailingRun(flaky, ("read", "total", "main"), trial)
    found = run_substitutions(FlakySandbox(sandbox, [True, False, fails_again]), failing, [other])
    assert found.passes == (not fails_again)
    assert bool(found.swapped) == fails_again
