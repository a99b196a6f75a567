"""Specification of the task forms: the root function, the given code and the shown examples."""

import ast

import pytest

from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.task_forms import (
    contract_of,
    given_code,
    is_stub,
    root_of,
    shown_examples,
    stub_text,
)

FUNCTION = FunctionForm(entry="f", signature="def f(x: int) -> str:")


def task(form: ProgramForm | FilesForm | FunctionForm | ClassForm, *examples: Example) -> Task:
    return Task(title="T", statement="Do it.", form=form, examples=examples)


def function(source: str) -> ast.FunctionDef:
    found = ast.parse(source).body[0]
    assert isinstance(found, ast.FunctionDef)
    return found


def test_the_root_of_a_program_maps_its_input_to_its_output() -> None:
    root = root_of(task(ProgramForm()))
    assert root.asked == "solve(data: str) -> str"
    assert "print(solve(sys.stdin.read()" in root.main


def test_the_root_of_a_files_task_names_the_files() -> None:
    root = root_of(task(FilesForm(inputs=("a.csv",), artefacts=("b.csv", "c.csv"))))
    assert root.about == (
        "`solve` reads a.csv from the current folder and writes b.csv, c.csv there."
    )


def test_the_root_of_a_function_task_has_its_signature_and_no_main_block() -> None:
    root = root_of(task(FUNCTION))
    assert (root.asked, root.main, root.fixed) == ("f(x: int) -> str", "", True)


def test_a_function_without_a_signature_leaves_its_parameters_open() -> None:
    root = root_of(task(FunctionForm(entry="f", signature="")))
    assert (root.asked, root.fixed) == ("f", False)


def test_a_contract_has_the_positional_parameters_of_its_function() -> None:
    found = contract_of(function("def f(a, /, b: int, *, c=1) -> list[int]: ..."))
    params = (Param(name="a"), Param(name="b", type="int"))
    assert found == Contract(name="f", params=params, returns="list[int]")


@pytest.mark.parametrize(
    ("statement", "given"),
    [
        ("import os\nfrom re import *\n'text'\ndef f(): ...\nx = 1\n", "import os\n"),
        ("def help(): return 1\n", "def help():\n    return 1\n"),
        ("def f(): ...\n", ""),
        ("Write a function.", ""),
    ],
)
def test_given_code_is_what_stands_before_the_entry(statement: str, given: str) -> None:
    assert given_code(statement, "f") == given


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("'''Text.'''", True),
        ("pass", True),
        ("raise NotImplementedError", True),
        ("raise NotImplementedError('later')", True),
        ("raise ValueError", False),
        ("'''Text.'''; return 1", False),
    ],
)
def test_a_stub_has_no_statement_that_does_something(body: str, expected: bool) -> None:
    assert is_stub(function(f"def f():\n    {body}")) is expected


@pytest.mark.parametrize("docstring", ["One line.", "First.\n\nexample: f(1) == 1"])
def test_a_stub_is_written_with_its_header_and_docstring(docstring: str) -> None:
    written = function(stub_text(Contract(name="f", returns="int").header(), docstring))
    assert ast.get_docstring(written) == docstring
    assert is_stub(written)


def test_examples_are_shown_unless_the_statement_has_them_or_they_are_long() -> None:
    shown = StdioExample(input="1\n", output="2\n")
    known = StdioExample(input="Do", output="it")
    long = StdioExample(input="1" * 900, output="2")
    expected = "Example input:\n1\nExample output:\n2"
    assert shown_examples(task(ProgramForm(), known, long, shown)) == expected


def test_no_more_than_four_examples_are_shown() -> None:
    calls = [CallExample(arguments=f"{n}0", result="1") for n in range(6)]
    lines = shown_examples(task(FUNCTION, *calls)).split("\n\n")
    assert lines == [f"Example: f({n}0) == 1" for n in range(4)]


def test_an_example_of_a_class_is_shown_as_code() -> None:
    form = ClassForm(name="A", skeleton="class A: ...")
    text = shown_examples(task(form, CodeExample(code="assert A()\n")))
    assert text == "Example of its use:\nassert A()"
