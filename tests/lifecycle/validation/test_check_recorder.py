"""Checks have stable ids, and what they observe is recorded as evidence."""

from collections.abc import Iterator
from typing import cast

import pytest

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Frame, Trust, Verdict
from auditcoder.domain.execution import (
    PROGRAM_FILE,
    Ending,
    ExecutionOutcome,
    FunctionUse,
    Raised,
)
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import (
    VERDICTS,
    CheckObservation,
    node_check,
    owned_frames,
    owner,
    record,
    who_ran,
)
from tests.support.checked_programs import WrittenFunction, written_program

NODE = NodeId("S1")
FUNCTION = WrittenFunction(Contract(name="f", params=()), "def f():\n    return 1\n")
ROOT_CODE = "def solve(data: str) -> str:\n    return str(f())\n"
CHECK = node_check(NODE, "example", CheckKind.EXAMPLE, requirement="f() == 1", given="")


@pytest.fixture(name="context")
def _context() -> Iterator[RunContext]:
    with written_program(cast("Sandbox", None), [FUNCTION], ROOT_CODE) as context:
        yield context


def line_of(context: RunContext, text: str) -> int:
    """Return the number of the program's line that holds a text."""
    return next(n for n, line in enumerate(context.program.split("\n"), 1) if text in line)


def use(name: str, line: int, calls: int) -> FunctionUse:
    return FunctionUse(name=name, line=line, calls=calls, seconds=0.0, own_seconds=0.0)


class TestCheckIds:
    def test_a_check_without_a_requirement_is_named_by_its_node(self) -> None:
        check = node_check(NODE, "compile", CheckKind.COMPILE)
        assert (check.id, check.trust) == ("S1.compile", Trust.DERIVED)

    def test_checks_that_demand_something_else_have_other_ids(self) -> None:
        demands = [("a", "1", "2"), ("b", "1", "2"), ("a", "2", "2"), ("a", "1", "3")]
        ids = {
            node_check(NODE, "example", CheckKind.EXAMPLE, requirement=r, given=g, expected=e).id
            for r, g, e in demands
        }
        assert len(ids) == 4
        assert all(i.startswith("S1.example-") for i in ids)

    def test_the_id_of_a_check_never_changes(self) -> None:
        check = node_check(
            NODE, "example", CheckKind.EXAMPLE, requirement="f(1) == 2", given="1", expected="2"
        )
        assert check.id == "S1.example-99b9d8"


class TestRecord:
    def test_an_observation_is_recorded_as_evidence(self, context: RunContext) -> None:
        outcome = ExecutionOutcome(
            ending=Ending.OK, sandbox="box", seconds=0.5, stderr=b"warned \xff", exit_code=0
        )
        seen = CheckObservation(Verdict.FAILED, "it is 2", "2", outcome)
        evidence = record(context, CHECK, lambda: seen)
        text = context.recorder.text
        assert (evidence.verdict, evidence.message) == (Verdict.FAILED, "it is 2")
        assert evidence.observed is not None
        assert text(evidence.observed) == "2"
        assert evidence.errors is not None
        assert text(evidence.errors) == "warned \N{REPLACEMENT CHARACTER}"
        assert (evidence.judge, evidence.milliseconds, evidence.exit_code) == ("box", 500.0, 0)
        assert evidence.against == context.recorder.ledger.working.code[NODE].digest
        standing = context.recorder.ledger.working.evidence[CHECK.id]
        assert context.recorder.history.evidence(standing.seq) == evidence

    def test_messages_and_outputs_are_bounded(self, context: RunContext) -> None:
        ended = ExecutionOutcome(ending=Ending.OK, sandbox="box", exit_code=0)
        seen = CheckObservation(Verdict.FAILED, "m" * 5000, "o" * 200_000, ended, judge="me")
        evidence = record(context, CHECK, lambda: seen)
        assert len(evidence.message) == 2000
        assert evidence.observed is not None
        assert len(context.recorder.text(evidence.observed)) == 100_000
        assert evidence.judge == "me"

    def test_a_clue_is_kept_whole(self, context: RunContext) -> None:
        clue = node_check(NODE, "watched", CheckKind.CLUE, requirement="it does not point to it")
        seen = CheckObservation(Verdict.FAILED, "", "o" * 200_000, judge="me")
        evidence = record(context, clue, lambda: seen)
        assert evidence.observed is not None
        assert len(context.recorder.text(evidence.observed)) == 200_000


class TestOwners:
    def test_each_line_of_the_program_has_the_node_that_wrote_it(self, context: RunContext) -> None:
        working = context.recorder.ledger.working
        assert owner(working, line_of(context, "return 1")) == NODE
        assert owner(working, line_of(context, "return str(f())")) == ROOT
        assert owner(working, 10_000) is None

    def test_frames_of_the_program_name_their_nodes(self, context: RunContext) -> None:
        line = line_of(context, "return 1")
        frames = (
            Frame(function="f", line=line, file=PROGRAM_FILE),
            Frame(function="loads", line=line, file="json"),
        )
        raised = Raised(exception="E", message="", frames=frames)
        working = context.recorder.ledger.working
        assert [f.node for f in owned_frames(raised, working)] == [NODE, None]
        assert owned_frames(None, working) == ()

    def test_the_nodes_that_ran_are_those_whose_functions_were_called(
        self, context: RunContext
    ) -> None:
        working = context.recorder.ledger.working
        functions = (
            use("f", line_of(context, "def f"), 0),
            use("solve", line_of(context, "def solve"), 2),
        )
        watched = ExecutionOutcome(ending=Ending.OK, sandbox="box", functions=functions)
        assert who_ran(watched, working) == (ROOT,)
        assert who_ran(ExecutionOutcome(ending=Ending.OK, sandbox="box"), working) is None


def test_every_ending_has_a_verdict() -> None:
    assert set(VERDICTS) == set(Ending)
    assert [ending for ending, v in VERDICTS.items() if v is Verdict.PASSED] == [Ending.OK]
