"""Given examples have the form of the task and do not contradict each other."""

from typing import Any

import pytest

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
)
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.intake.example_checks import examples_of, fitting, found_in, merged


def _calls(statement: str, entry: str = "f") -> list[tuple[str, str]]:
    examples = make_task(statement, TaskOptions(entry=entry)).examples
    return [(e.arguments, e.result) for e in examples if isinstance(e, CallExample)]


def _refused(text: str, code: str, **more: Any) -> str:
    with pytest.raises(TaskInvalid) as invalid:
        make_task(text, **more)
    assert invalid.value.code == code
    assert invalid.value.advice
    return str(invalid.value)


def test_given_examples_overrule_those_found_in_the_statement() -> None:
    statement = "f(1) == 2\nf(3) == 4\nf( 3 ) == 5\nf(6) == 7\nf(6)==7\n"
    assert _calls(statement) == [("1", "2"), ("6", "7")]
    given_one = (CallExample(arguments="(1)", result="9"),)
    task = make_task(statement, TaskOptions(entry="f"), given_one)
    assert task.examples == (*given_one, CallExample(arguments="6", result="7"))


@pytest.mark.parametrize(
    ("form", "first", "same", "other"),
    [
        (
            "program",
            StdioExample(input="1\n", output="2\n"),
            StdioExample(input="1", output="2  \n\n"),
            StdioExample(input="1\n", output="3\n"),
        ),
        (
            "function",
            CallExample(arguments="1,[2]", result="'a'"),
            CallExample(arguments="1, [2]", result='"a"'),
            CallExample(arguments="1, [2,]", result="'b'"),
        ),
        (
            "files",
            FilesExample(inputs={"a": "1"}, artefacts={"b": "2"}),
            FilesExample(inputs={"a": "1"}, artefacts={"b": "2"}, explanation="again"),
            FilesExample(inputs={"a": "1"}, artefacts={"b": "3"}),
        ),
    ],
)
def test_given_examples_may_repeat_but_not_contradict(
    form: str, first: Example, same: Example, other: Example
) -> None:
    options = TaskOptions(form=form, entry="f" if form == "function" else None)
    assert make_task("Do.", options, (first, same)).examples == (first,)
    why = _refused("Do.", "task.contradiction", options=options, examples=(first, same, other))
    assert "1 and 3" in why


def test_an_example_must_be_of_the_form() -> None:
    _refused("Do.", "task.example", examples=(CallExample(arguments="", result="1"),))


FUNCTION = FunctionForm(entry="f")


def test_tables_become_examples_of_the_form() -> None:
    tables = [
        {"arguments": " 1 ", "result": "2", "explanation": "so"},
        {"call": "f(3, x=4)", "result": "5"},
        {"code": "assert f(1)"},
    ]
    assert examples_of(tables, FUNCTION, "the file") == (
        CallExample(arguments="1", result="2", explanation="so"),
        CallExample(arguments="3, x=4", result="5"),
        CodeExample(code="assert f(1)"),
    )
    files = FilesForm(inputs=("a",), artefacts=())
    assert examples_of([{"inputs": {"a": "1"}}], files, "the file") == (
        FilesExample(inputs={"a": "1"}, artefacts={}),
    )


@pytest.mark.parametrize(
    ("form", "table", "why"),
    [
        (ProgramForm(), {}, "it has nothing"),
        (ProgramForm(), {"input": "1"}, "it has input"),
        (ClassForm(name="C", skeleton=""), {"input": "", "output": ""}, "it has input, output"),
        (FUNCTION, {"call": "g(1)", "result": "1"}, "call of f"),
        (FUNCTION, {"code": "if"}, "not Python"),
        (FUNCTION, {"speed": 1}, "speed"),
        (FUNCTION, 3, "object"),
    ],
)
def test_a_table_of_another_form_is_refused_with_its_place(
    form: Form, table: object, why: str
) -> None:
    with pytest.raises(TaskInvalid, match=f"^example 1 of the file .*{why}") as invalid:
        examples_of([table], form, "the file")
    assert invalid.value.code == "task.example"
    assert "it may have an explanation" in invalid.value.advice


def test_examples_of_the_right_kind_fit() -> None:
    given_one = (CodeExample(code="assert True"),)
    assert fitting(given_one, FUNCTION) == given_one
    with pytest.raises(TaskInvalid, match="example 1"):
        fitting(given_one, ProgramForm())


def test_examples_are_found_only_for_programs_and_functions() -> None:
    statement = "f(1) == 2\n\nSample Input\n1\nSample Output\n2\n"
    assert found_in(statement, FUNCTION) == [CallExample(arguments="1", result="2")]
    assert found_in(statement, ProgramForm()) == [StdioExample(input="1\n", output="2\n")]
    assert found_in(statement, FilesForm(inputs=(), artefacts=())) == []


def test_found_examples_that_contradict_each_other_are_left_out() -> None:
    one = StdioExample(input="1", output="2")
    other = StdioExample(input="1\n", output="3")
    third = StdioExample(input="4", output="5")
    assert merged((), [one, other, third]) == (third,)
    assert merged((one,), [other, third]) == (one, third)
