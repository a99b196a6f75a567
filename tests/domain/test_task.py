"""The task: its four forms and examples keep their identity when they are written and read."""

import msgspec
import pytest

from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
    example_check,
)
from auditcoder.domain.values import encode

FORMS: list[tuple[Form, str]] = [
    (ProgramForm(), "program"),
    (FunctionForm(entry="f", signature="def f(x: int) -> int"), "function"),
    (ClassForm(name="C", skeleton="class C: ..."), "class"),
    (FilesForm(inputs=("a.csv",), artefacts=("b.csv",)), "files"),
]
EXAMPLES: list[tuple[Example, str]] = [
    (StdioExample(input="1\n", output="2\n"), "stdio"),
    (CallExample(arguments="1, k=2", result="3"), "call"),
    (CodeExample(code="assert True"), "code"),
    (FilesExample(inputs={"a": "1"}, artefacts={"b": "2"}), "files"),
]


@pytest.mark.parametrize(("form", "tag"), FORMS)
def test_a_form_is_read_back_by_its_tag(form: Form, tag: str) -> None:
    task = Task(title="t", statement="s", form=form)
    written = encode(task)
    assert msgspec.json.decode(written)["form"]["type"] == tag
    assert msgspec.json.decode(written, type=Task) == task


@pytest.mark.parametrize(("example", "tag"), EXAMPLES)
def test_an_example_is_read_back_by_its_tag(example: Example, tag: str) -> None:
    task = Task(title="t", statement="s", form=ProgramForm(), examples=(example,))
    written = encode(task)
    assert msgspec.json.decode(written)["examples"][0]["type"] == tag
    assert msgspec.json.decode(written, type=Task) == task


def test_a_task_has_no_field_for_hidden_tests() -> None:
    assert set(Task.__struct_fields__) == {
        "title",
        "statement",
        "form",
        "examples",
        "limits",
        "visible_tests",
        "source",
    }
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(
            {"title": "t", "statement": "s", "form": {"type": "program"}, "hidden": []}, Task
        )


def test_unset_limits_are_unknown() -> None:
    assert (Limits().seconds, Limits().memory_mb) == (None, None)


def test_example_checks_are_numbered_from_one() -> None:
    assert [example_check(n) for n in (1, 2, 10)] == ["example-1", "example-2", "example-10"]
