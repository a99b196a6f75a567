"""Programs that are one responsibility: they are compiled instead of loaded, and repaired whole."""

from collections.abc import Iterator
from typing import Any

import pytest

from auditcoder.domain.events import Located, RunOutcome, TransactionDecided
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import FilesExample, FilesForm, ProgramForm, StdioExample, Task
from auditcoder.lifecycle.options import Build, Options, Planner
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import FinishedRun, python, run, sandboxed

SUM = Task(
    title="Sum",
    statement="Read two integers, print their sum.",
    form=ProgramForm(),
    examples=(StdioExample(input="1 2\n", output="3\n"),),
)
COPY = Task(
    title="Copy",
    statement="Copy a.txt to b.txt.",
    form=FilesForm(inputs=("a.txt",), artefacts=("b.txt",)),
    examples=(FilesExample(inputs={"a.txt": "x"}, artefacts={"b.txt": "x"}),),
)
RIGHT = python("a, b = map(int, input().split())\nprint(a + b)")
WRONG = python("a, b = map(int, input().split())\nprint(a - b)")
CAUSE = "cause: implementation, because it subtracts\n\n"


def solve(sandbox: Sandbox, task: Task, **replies: str | list[str]) -> FinishedRun:
    options = Options(planner=Planner.TASK, drafts=1, max_repairs=2)
    return run(sandbox, task, replies, options)


@pytest.mark.parametrize(
    ("task", "draft"),
    [(SUM, RIGHT), (COPY, python("open('b.txt', 'w').write(open('a.txt').read())"))],
    ids=["program", "files"],
)
def test_a_script_without_a_main_block_is_not_run_to_be_loaded(
    sandbox: Sandbox, task: Task, draft: str
) -> None:
    finished = solve(sandbox, task, draft=draft)
    assert finished.outcome is RunOutcome.PASSED
    assert [e.verdict for e in finished.checks("loads")] == [Verdict.PASSED]
    assert finished.solution.doubts == ()


@pytest.mark.parametrize(
    "chosen", [{"build": Build.NODE}, {"drafts": 0}, {"build": Build.NODE, "drafts": 0}]
)
def test_a_whole_program_is_drafted_whatever_the_build(
    sandbox: Sandbox, chosen: dict[str, Any]
) -> None:
    finished = run(sandbox, SUM, {"draft": RIGHT}, Options(planner=Planner.TASK, **chosen))
    assert finished.outcome is RunOutcome.PASSED
    assert finished.prompts == ["draft"]


def test_a_program_that_does_not_parse_is_not_loaded(sandbox: Sandbox) -> None:
    finished = solve(
        sandbox, SUM, draft=python("print((\n\ndef f():\n    pass"), repair_whole=RIGHT
    )
    assert not finished.checks("loads")[0].verdict.clean
    assert finished.outcome is RunOutcome.PASSED


def test_the_program_is_written_again_with_its_cause_on_record(sandbox: Sandbox) -> None:
    finished = solve(sandbox, SUM, draft=WRONG, repair_whole=CAUSE + RIGHT)
    assert finished.outcome is RunOutcome.PASSED
    (found,) = finished.all(Located)
    assert found.diagnosis.evidence
    (decided,) = finished.all(TransactionDecided)
    assert decided.reason == "it subtracts"
    assert "found: it subtracts" in finished.graph.by_id[NodeId("S1")].context
    request = finished.request("repair_whole")
    for part in ("print(a - b)", "Input:\n1 2", "Expected:\n3", "Got:\n-1", "`implementation`"):
        assert part in request
    assert "decomposition" not in request


def test_a_repair_that_does_not_help_is_rolled_back(sandbox: Sandbox) -> None:
    finished = solve(sandbox, SUM, draft=WRONG, repair_whole=CAUSE + WRONG)
    assert finished.outcome is RunOutcome.FAILED
    assert "print(a - b)" in finished.program


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()
