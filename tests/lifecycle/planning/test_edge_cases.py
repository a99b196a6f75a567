"""Edge cases are asked for once, before the code, and become generated checks."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.brief import PlannedCheck
from auditcoder.domain.events import BriefCommitted, CheckDropped, CodeWritten, RunOutcome
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.task import CallExample, Example, FunctionForm, StdioExample, Task
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.options import AutoSwitch
from auditcoder.lifecycle.planning.edge_cases import MOST, PREFIX, CaseLines
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import ADDS, CLASS, FUNCTION, READS, SKETCH, TASK
from tests.support.scripted_runs import FinishedRun, python, run, sandboxed
from tests.support.sketched_runs import sketching

ON = sketching(edge_cases=AutoSwitch.ON)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def read(text: str, task: Task = TASK, finish: FinishReason = FinishReason.STOP) -> list[Example]:
    return list(CaseLines(task).read(Reply(text=text, finish=finish, usage=Usage())))


def planned(finished: FinishedRun) -> list[PlannedCheck]:
    (event,) = finished.all(BriefCommitted)
    return [c for c in event.brief.requirements.checks if c.id.startswith(PREFIX)]


class TestLines:
    def test_a_line_is_a_call_a_result_and_a_reason(self) -> None:
        (case,) = read(r"solve('1 2\n3') == '6'  # print their sum")
        assert case == StdioExample(input="1 2\n3", output="6", explanation="print their sum")

    def test_bullets_code_marks_and_arrows_are_accepted(self) -> None:
        cases = read("- solve('') == '0'\n2. `solve('4') -> '4'`  # one\n* solve('5') → '5'")
        assert [c.input for c in cases if isinstance(c, StdioExample)] == ["", "4", "5"]

    def test_a_function_is_called_by_its_name(self) -> None:
        (case,) = read("twice_and_one(-1) == -1 # negative # numbers", FUNCTION)
        expected = CallExample(arguments="-1", result="-1", explanation="negative # numbers")
        assert case == expected

    @pytest.mark.parametrize(
        "line",
        [
            "The empty input.",
            "solve('4') == 4",
            "solve('4')",
            "solve(open('x').read()) == ''",
            "other('4') == '4'",
            f"solve({'4' * 3000!r}) == '4'",
            "solve('4' == '4'",
        ],
    )
    def test_other_lines_are_skipped(self, line: str) -> None:
        assert len(read(f"{line}\nsolve('1') == '1'")) == 1

    def test_a_line_that_was_cut_off_is_skipped(self) -> None:
        text = "solve('1') == '1'\nsolve('2') == '2"
        assert len(read(text, finish=FinishReason.LENGTH)) == 1
        assert read("solve('2') == '21'", finish=FinishReason.LENGTH) == []


class TestPlanning:
    def test_cases_are_fixed_before_the_code_and_run_on_the_program(self, sandbox: Sandbox) -> None:
        said = {
            "sketch": SKETCH,
            "edge_cases": "solve('-1 1') == '0'  # their sum",
            "joint": python(READS + ADDS),
        }
        finished = run(sandbox, TASK, said, ON)
        assert finished.prompts == ["sketch", "edge_cases", "joint"]
        kinds = [type(event) for event in finished.raw.events()]
        assert kinds.index(BriefCommitted) < kinds.index(CodeWritten)
        (check,) = planned(finished)
        assert (check.trust, check.description) == (Trust.GENERATED, "their sum")
        (seen,) = finished.checks(PREFIX)
        assert seen.verdict is Verdict.PASSED

    def test_a_case_that_an_example_contradicts_is_dropped(self, sandbox: Sandbox) -> None:
        said = {
            "sketch": SKETCH,
            "edge_cases": "solve('1 2 3') == '7'\nsolve('2') == '2'\nsolve('2 ') == '3'",
            "joint": python(READS + ADDS),
        }
        finished = run(sandbox, TASK, said, ON)
        assert finished.outcome is RunOutcome.PASSED
        examples = [c.example for c in planned(finished)]
        assert examples == [
            StdioExample(input="1 2 3", output="7"),
            StdioExample(input="2", output="2"),
        ]
        (dropped,) = finished.all(CheckDropped)
        assert dropped.reason == "example-1 gives the same input another answer"

    def test_the_number_of_cases_is_bounded(self, sandbox: Sandbox) -> None:
        lines = "\n".join(f"solve('{n}') == '{n}'" for n in range(20))
        said = {"sketch": SKETCH, "edge_cases": lines, "joint": python(READS + ADDS)}
        assert len(planned(run(sandbox, TASK, said, ON))) == MOST

    def test_a_reply_without_cases_plans_none(self, sandbox: Sandbox) -> None:
        said = {"sketch": SKETCH, "edge_cases": "None.", "joint": python(READS + ADDS)}
        finished = run(sandbox, TASK, said, ON)
        assert finished.outcome is RunOutcome.PASSED
        assert planned(finished) == []

    def test_none_are_asked_for_by_default_if_the_model_costs_nothing(
        self, sandbox: Sandbox
    ) -> None:
        said = {"sketch": SKETCH, "joint": python(READS + ADDS)}
        assert run(sandbox, TASK, said).prompts == ["sketch", "joint"]

    def test_none_are_asked_for_a_class(self, sandbox: Sandbox) -> None:
        methods = "class Tally:\n    def up(self):\n        return 1\n"
        finished = run(sandbox, CLASS, {"methods": python(methods)}, ON)
        assert "edge_cases" not in finished.prompts


def test_a_function_without_a_signature_has_cases_too() -> None:
    task = Task(title="", statement="", form=FunctionForm(entry="twice"))
    assert len(read("twice(2) == 4", task)) == 1
