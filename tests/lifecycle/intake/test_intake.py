"""A user's text becomes a task; ambiguous parts are left out."""

from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    Limits,
    ProgramForm,
    Task,
)
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.intake.front_matter import LONGEST
from tests.support.campaigns import CampaignSize, sized


def _refused(text: str, code: str, **more: Any) -> str:
    with pytest.raises(TaskInvalid) as invalid:
        make_task(text, **more)
    assert invalid.value.code == code
    assert invalid.value.advice
    return str(invalid.value)


def test_a_short_text_is_a_program_task() -> None:
    task = make_task("  Read two numbers.\r\nPrint their sum. \n")
    assert task == Task(
        title="Read two numbers.",
        statement="Read two numbers.\nPrint their sum.",
        form=ProgramForm(),
    )


def test_front_matter_sets_the_fields_of_the_task() -> None:
    task = make_task(
        '+++\ntitle = "Sum"\nform = "function"\nsignature = "def add(a: int, b: int) -> int:"\n'
        'seconds = 2\nmemory_mb = 64\nsource = "mine/1"\n'
        '[[examples]]\narguments = "1, 2"\nresult = "3"\nexplanation = "plain"\n'
        '[[examples]]\ncall = "add(b=1, a=0)"\nresult = "1"\n'
        '[[examples]]\ncode = "assert add(0, 0) == 0"\n'
        "+++\n\nAdd two numbers.\n"
    )
    assert task.form == FunctionForm(entry="add", signature="def add(a: int, b: int) -> int")
    assert (task.title, task.statement, task.source) == ("Sum", "Add two numbers.", "mine/1")
    assert task.limits == Limits(seconds=2.0, memory_mb=64)
    assert task.examples == (
        CallExample(arguments="1, 2", result="3", explanation="plain"),
        CallExample(arguments="b=1, a=0", result="1"),
        CodeExample(code="assert add(0, 0) == 0"),
    )


def test_options_of_the_user_overrule_the_front_matter() -> None:
    text = '+++\ntitle = "A"\nform = "class"\nclass = "C"\nseconds = 9\n+++\nWrite it.'
    options = TaskOptions(title="B", entry="g", form="function", seconds=1.0, source="s")
    task = make_task(text, options)
    assert (task.title, task.form, task.source) == ("B", FunctionForm(entry="g"), "s")
    assert task.limits.seconds == 1.0
    signed = '+++\nentry = "f"\nsignature = "f(a)"\n+++\nWrite it.'
    assert make_task(signed, TaskOptions(entry="g")).form == FunctionForm(entry="g")
    assert make_task(signed, TaskOptions(signature="g(x)")).form == FunctionForm(
        entry="g", signature="def g(x)"
    )


def test_a_files_task_has_names_and_texts() -> None:
    task = make_task(
        "+++\nartefacts = ['b.txt']\n[[examples]]\ninputs = {'a.txt' = '1'}\n"
        "artefacts = {'b.txt' = '2'}\n+++\nCopy."
    )
    example = FilesExample(inputs={"a.txt": "1"}, artefacts={"b.txt": "2"})
    assert task.form == FilesForm(inputs=("a.txt",), artefacts=("b.txt",))
    assert task.examples == (example,)
    bare = make_task("Copy.", TaskOptions(artefacts=("b",)), inputs={"a": "1"})
    assert bare.form == FilesForm(inputs=("a",), artefacts=("b",))
    assert bare.examples == (FilesExample(inputs={"a": "1"}, artefacts={}),)


FRAGMENTS = [
    "+++\n", "---\n", "title = 'x'\n", "form = 'function'\n", "entry = 'f'\n", "[[examples]]\n",
    "# Sum\n", "-----Examples-----\n", "Input\n", "Output:\n", "Sample Input 1\n", "### Example\n",
    "**Input**", "```\n", "```python\n", "1 2\n", "\n", ">>> f(1)\n", "f([1]) == ", "2\n",
    "def f(x):", "class C:\n", "    def m(self): ...\n", "    pass\n", "'''", '"', "`f(a)`",
    "Write ", "\\", "\r\n", "Note\n", "assert ", "(", ")", "{", "=>", "\ufeff", "\x0c",
]  # fmt: skip


@given(
    st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=20)), max_size=25).map("".join),
    st.sampled_from([None, "program", "function", "class", "files"]),
    st.sampled_from([None, "f"]),
)
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_any_text_is_a_task_or_is_refused(text: str, form: str | None, entry: str | None) -> None:
    try:
        task = make_task(text, TaskOptions(form=form, entry=entry))
    except TaskInvalid:
        return
    assert task.title
    assert task.statement
    assert msgspec.convert(msgspec.to_builtins(task), Task) == task


HOSTILE_LENGTH = CampaignSize(LONGEST // 20, LONGEST)
"""Characters of a hostile text. Work that is quadratic in the longest would take hours."""


@pytest.mark.parametrize(
    "unit",
    [
        "Input\n", "Input\n1\nOutput\n2\n", ">>> f(", ">>> f(\n", 'f("', 'f("\\', "f(1) = 2\n",
        "```\n", "Write `f(1)` ", "# ", "**Input** ", "-", "{[", "- ", "'''", "1+",
    ],
)  # fmt: skip
@sized("length", HOSTILE_LENGTH)
def test_a_long_hostile_text_is_read_to_its_end(unit: str, length: int) -> None:
    text = ("Examples\n" + unit * length)[:length]
    for entry in (None, "f"):
        assert make_task(text, TaskOptions(entry=entry)).statement in text
