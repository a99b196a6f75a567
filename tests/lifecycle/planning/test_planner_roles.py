"""Role answers become the brief; the task's own facts come first."""

import json

import pytest

from auditcoder.domain.brief import DataRange
from auditcoder.domain.contract import CostBudget
from auditcoder.domain.request import FinishReason, Reply
from auditcoder.domain.task import (
    CallExample,
    FilesForm,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.planning.planner_roles import (
    Constraints,
    EnoughCases,
    Parsing,
    PlannedCase,
    PlannedCases,
    PlanningNotes,
    Selection,
    Thinking,
    examples_of,
    has_data,
    parsed_of,
    staged_brief,
)
from auditcoder.lifecycle.response_formats import FormatMismatch
from tests.support.staged_plans import (
    FUNCTION,
    TASK,
    planned,
)


class TestLimits:
    def test_limits_out_of_range_are_left_unset(self) -> None:
        parsing = {"memory_limit_mb": 1e300, "time_limit_seconds": 0}
        parsed = planned(FUNCTION, parser=parsing).brief.parsed
        assert parsed.limits == Limits()


def cases(*pairs: tuple[str, str]) -> tuple[PlannedCase, ...]:
    return tuple(PlannedCase(input=a, expected_output=b, description=a) for a, b in pairs)


class TestExamples:
    def test_program_cases_end_with_one_line_ending(self) -> None:
        found = examples_of(ProgramForm(), cases(("1 2\n\n", "3"), ("", "0")))
        assert [e for e, _ in found] == [
            StdioExample(input="1 2\n", output="3\n"),
            StdioExample(input="", output="0\n"),
        ]

    def test_a_program_case_without_an_output_is_left_out(self) -> None:
        assert examples_of(ProgramForm(), cases(("1", " "))) == ()

    def test_the_first_case_of_an_input_is_kept(self) -> None:
        found = examples_of(ProgramForm(), cases(("1", "a"), ("1\n", "b")))
        assert [e for e, _ in found] == [StdioExample(input="1\n", output="a\n")]

    def test_at_most_ten_cases_are_kept(self) -> None:
        assert len(examples_of(ProgramForm(), cases(*((str(n), "x") for n in range(12))))) == 10

    @pytest.mark.parametrize(
        ("given_in", "out", "call"),
        [
            ("f(1, [2])", "3", ("1, [2]", "3")),
            ("1,[2]", "( 3 )", ("1, [2]", "3")),
            ("x=1", "None", ("x=1", "None")),
            ("", "0", ("", "0")),
            ("**{'x': 1}", "0", None),
            ("range(3)", "0", None),
            ("1", "print()", None),
            ("1", "", None),
            ("...", "0", None),
            ("1", "[...]", None),
            ("1)(2", "0", None),
        ],
    )
    def test_function_cases_are_literal_calls(
        self, given_in: str, out: str, call: tuple[str, str] | None
    ) -> None:
        found = examples_of(FunctionForm(entry="f"), cases((given_in, out)))
        assert [e for e, _ in found] == (
            [CallExample(arguments=call[0], result=call[1])] if call else []
        )

    def test_forms_without_textual_tests_have_no_cases(self) -> None:
        form = FilesForm(inputs=("a",), artefacts=("b",))
        assert not has_data(form)
        assert examples_of(form, cases(("1", "2"))) == ()


class TestEnoughCases:
    def reply(self, count: int) -> Reply:
        cases = [{"input": str(n), "expected_output": "x"} for n in range(count)]
        text = json.dumps({"edge_cases": cases})
        return Reply(text=text, finish=FinishReason.STOP, usage=Usage(), model="m")

    def test_too_few_cases_are_refused_once(self) -> None:
        answer = EnoughCases(ProgramForm())
        with pytest.raises(FormatMismatch, match="1 of its 1 edge cases can be used"):
            answer.read(self.reply(1))
        assert answer.found is not None
        assert len(answer.read(self.reply(2)).edge_cases) == 2

    def test_three_usable_cases_are_enough(self) -> None:
        assert len(EnoughCases(ProgramForm()).read(self.reply(3)).edge_cases) == 3

    def test_a_form_without_textual_tests_needs_no_cases(self) -> None:
        form = FilesForm(inputs=("a",), artefacts=("b",))
        assert EnoughCases(form).read(self.reply(0)).edge_cases == ()

    def test_a_reply_that_is_not_json_is_not_the_best_answer_so_far(self) -> None:
        answer = EnoughCases(ProgramForm())
        with pytest.raises(FormatMismatch):
            answer.read(Reply(text="no", finish=FinishReason.STOP, usage=Usage(), model="m"))
        assert answer.found is None


class TestParsedProblem:
    def test_the_task_overrules_the_parser(self) -> None:
        parsing = Parsing(time_limit_seconds=9, sample_cases=cases(("1", "2")))
        parsed = parsed_of(TASK, parsing)
        assert (parsed.title, parsed.limits.seconds) == (TASK.title, 20.0)
        assert parsed.samples == TASK.examples

    def test_the_parser_fills_in_what_the_task_does_not_state(self) -> None:
        task = Task(title="", statement="S", form=ProgramForm())
        ranges = (DataRange(variable="n", minimum=1, maximum=2), DataRange(variable=" "))
        parsing = Parsing(
            memory_limit_mb=64.5,
            data_ranges=ranges,
            sample_cases=cases(("1", "2"), ("3", "")),
        )
        parsed = parsed_of(task, parsing)
        assert (parsed.title, parsed.limits) == ("", Limits(memory_mb=64))
        assert parsed.ranges == ranges[:1]
        assert parsed.samples == (StdioExample(input="1\n", output="2\n"),)

    @pytest.mark.parametrize("seconds", [0, -1, 3601, 1e300])
    def test_a_limit_out_of_range_is_ignored(self, seconds: float) -> None:
        task = Task(title="T", statement="S", form=ProgramForm())
        assert parsed_of(task, Parsing(time_limit_seconds=seconds)).limits == Limits()


class TestBrief:
    def test_samples_of_the_parser_are_checks_only_where_the_task_has_none(self) -> None:
        tests = PlannedCases(edge_cases=cases(("7", "8")))
        parsing = Parsing(sample_cases=cases(("5", "6")))
        notes = PlanningNotes(parser=parsing, test_case_analyzer=tests)
        bare = Task(title="T", statement="S", form=ProgramForm())
        assert [c.description for c in staged_brief(bare, notes).requirements.checks] == ["5", "7"]
        assert [c.description for c in staged_brief(TASK, notes).requirements.checks][1:] == ["7"]

    def test_the_strategy_is_the_summary_where_there_are_no_parts(self) -> None:
        notes = PlanningNotes(
            thinker=Thinking(summary="One pass."),
            constraint_analyzer=Constraints(time="about O(n)", space="O(1)", reasoning="small"),
            algorithm_selector=Selection(reasoning=("", "a set")),
        )
        approach = staged_brief(TASK, notes).approach
        assert approach.strategy == "One pass."
        assert approach.cost == CostBudget(time="O(n)", space="O(1)")
        assert approach.reasoning == ("small", "a set")
