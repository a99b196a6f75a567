"""A user's text becomes a task: what it says is taken, what is in doubt is left out."""

import time
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.intake.matter import LONGEST


def _calls(statement: str, entry: str = "f") -> list[tuple[str, str]]:
    examples = make_task(statement, TaskOptions(entry=entry)).examples
    return [(e.arguments, e.result) for e in examples if isinstance(e, CallExample)]


def _pairs(statement: str) -> list[tuple[str, str]]:
    examples = make_task(statement, TaskOptions(form="program")).examples
    return [(e.input, e.output) for e in examples if isinstance(e, StdioExample)]


def _refused(text: str, code: str, **more: Any) -> str:
    with pytest.raises(TaskInvalid) as invalid:
        make_task(text, **more)
    assert invalid.value.code == code
    assert invalid.value.advice
    return str(invalid.value)


def test_a_few_words_are_a_program() -> None:
    task = make_task("  Read two numbers.\r\nPrint their sum. \n")
    assert task == Task(
        title="Read two numbers.",
        statement="Read two numbers.\nPrint their sum.",
        form=ProgramForm(),
    )


def test_front_matter_says_what_it_says() -> None:
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


def test_what_the_user_says_wins() -> None:
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


@pytest.mark.parametrize(
    ("matter", "code", "why"),
    [
        ("title = ", "task.front-matter", "Invalid value"),
        ("titel = 'x'", "task.front-matter", "titel"),
        ("seconds = 'long'", "task.front-matter", "seconds"),
        ("x = " + "[" * 5000, "task.front-matter", "front matter"),
        ("inputs = 3", "task.front-matter", "inputs"),
        ("artefacts = ['../x']", "task.front-matter", "'../x'"),
        ("seconds = -1", "task.limits", "-1"),
        ("seconds = nan", "task.limits", "nan"),
        ("form = 'poem'", "task.form", "poem"),
        ("form = 'program'\nentry = 'f'", "task.form", "function"),
        ("signature = 'f(a)'\nclass = 'C'", "task.form", "class"),
        ("form = 'function'", "task.signature", "does not say which"),
        ("signature = 'f(a'", "task.signature", "f(a"),
        ("signature = 'x = 1'", "task.signature", "x = 1"),
        ("signature = 'f(a)'\nentry = 'g'", "task.signature", "f, and the entry is g"),
        ("entry = 'class'", "task.signature", "'class'"),
        ("form = 'class'", "task.skeleton", "a class"),
        ("class = 'C'\nskeleton = 'class D: pass'", "task.skeleton", "the class C"),
        ("form = 'files'\ninputs = 'there'", "task.unreadable", "folder"),
        ("form = 'program'\n[[examples]]\narguments = '1'\nresult = '1'", "task.example", "1 of"),
        ("entry = 'f'\n[[examples]]\narguments = '1)(2'\nresult = '1'", "task.example", "1)(2"),
        ("entry = 'f'\n[[examples]]\narguments = '1'\nresult = '='", "task.example", "result '='"),
        ("entry = 'f'\n[[examples]]\ncall = 'g(1)'\nresult = '1'", "task.example", "call of f"),
        ("entry = 'f'\n[[examples]]\ncode = 'if'", "task.example", "not Python"),
        ("form = 'program'\n[[examples]]\ninput = 1\noutput = ''", "task.example", "input"),
        ("form = 'files'\n[[examples]]\ninputs = {'/x' = ''}", "task.example", "'/x'"),
    ],
)
def test_what_is_wrong_in_front_matter_is_said(matter: str, code: str, why: str) -> None:
    assert why in _refused(f"+++\n{matter}\n+++\nDo it.", code)


def test_what_is_no_text_is_refused() -> None:
    _refused("", "task.empty")
    _refused("+++\ntitle = 'x'\n+++\n \n", "task.empty")
    _refused("a\0b", "task.encoding")
    _refused("a\ud800b", "task.encoding")
    _refused("+++\ntitle = 'x'\nDo it.", "task.front-matter")
    assert f"{LONGEST:,}" in _refused("x" * 10_000_000, "task.too-large")


def test_yaml_is_told_from_a_rule() -> None:
    with pytest.raises(TaskInvalid, match="YAML") as invalid:
        make_task("---\ntitle: Sum\n---\nAdd.")
    assert "TOML between two lines +++" in invalid.value.advice
    assert make_task("---\nAdd two numbers.\n---\nPlease.").form == ProgramForm()


@pytest.mark.parametrize(
    ("statement", "title"),
    [
        ("# The sum #\n\nAdd.", "The sum"),
        ("Add them. Print it.\n### Input\nTwo.\n### Sample Output 1:\n3", "Add them."),
        ("Add them up! Then stop.", "Add them up!"),
        ("```\n# no heading\n```\nAdd\nthem.\n\nThen stop.", "Add them."),
        ("words " * 40, "words " * 12 + "words…"),
        ("w" * 100, "w" * 78 + "…"),
        ("def f(x):\n    '''Add.'''", "f"),
        ("***", "***"),
    ],
)
def test_a_title_is_found(statement: str, title: str) -> None:
    assert make_task(statement).title == title


PROMPT = '''import math


def helper(x):
    return x


def f(xs: "list", n=1) -> int:
    """Do it.

    >>> f([1])
    1
    """
'''


@pytest.mark.parametrize(
    ("statement", "signature"),
    [
        (PROMPT, "def f(xs: 'list', n=1) -> int"),
        ("Do:\n```python\ndef f(a,\n  b):\n    raise NotImplementedError\n```", "def f(a, b)"),
        ("As here:\n\n```py\nasync def f(a):\n```", "async def f(a)"),
        ("Write a function `f(a, b)` that adds.", "def f(a, b)"),
        ("Implement `def f(a: int) -> int:`.", "def f(a: int) -> int"),
        ("Write `f(text: str) -> bool`.", "def f(text: str) -> bool"),
    ],
)
def test_a_function_that_is_asked_for_is_found(statement: str, signature: str) -> None:
    form = FunctionForm(entry="f", signature=signature)
    assert make_task(statement).form == form
    assert make_task(statement, TaskOptions(entry="f")).form == form
    assert make_task(statement, TaskOptions(entry="g")).form == FunctionForm(entry="g")


@pytest.mark.parametrize(
    "statement",
    [
        "Write a program that works like `f(a)`.",
        "The helper `f(a)` is given. Write more.",
        "Write what `f(1)` gives.",
        "For instance:\n```python\ndef f(a):\n    return a\n```",
        "Use this:\n```c\nint f(int a);\n```",
    ],
)
def test_a_function_that_is_not_asked_for_is_none(statement: str) -> None:
    assert make_task(statement).form == ProgramForm()


SKELETON = '''class Stack:
    """A stack.

    >>> Stack().size()
    0
    """

    def __init__(self):
        self.items = []

    def size(self) -> int:
        """Count them."""

    @staticmethod
    def kind():
        ...'''


def test_a_class_with_stubs_is_a_skeleton_and_its_doctests_are_no_examples() -> None:
    form = ClassForm(name="Stack", skeleton=SKELETON)
    for statement in (SKELETON, f"Complete it.\n\n```python\n{SKELETON}\n```\nThanks."):
        task = make_task(statement)
        assert (task.form, task.examples) == (form, ())
    named = f"+++\nform = 'class'\nentry = 'Stack'\n+++\n```python\n{SKELETON}\n```"
    assert make_task(named).form == form
    unfinished = "```python\nclass C:\n    def f(self, x):\n```"
    skeleton = "class C:\n    def f(self, x):\n        ..."
    assert make_task(unfinished).form == ClassForm(name="C", skeleton=skeleton)
    complete = "```python\nclass C:\n    def f(self):\n        return 1\n```"
    assert make_task(complete).form == ProgramForm()
    assert isinstance(make_task(complete, TaskOptions(form="class")).form, ClassForm)


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


ONE = [("1 2\n", "3\n")]
TWO = [*ONE, ("4 5\n\n6\n", "9\n")]


@pytest.mark.parametrize(
    ("sample", "found"),
    [
        ("-----Examples-----\nInput\n1 2\n\nOutput\n3\n\nInput\n4 5\n\n6\n\nOutput\n9\n", TWO),
        (
            "-----Sample Input-----\n1 2\n\n-----Sample Output-----\n3\n\n-----Note-----\nIt is 3.",
            ONE,
        ),
        ("Sample Input 1:\n1 2\nSample Output 1:\n3\n\nThis is the sum of the two.\n", ONE),
        ("### Sample Input\n\n```\n1 2\n```\n\n### Sample Output\n\n```\n3\n```\nIt is 3.", ONE),
        ("## Example\n### Input\n1 2\n### Output\n3\n### Explanation\n1 + 2", ONE),
        ("## Example 1\n\n**Input:**\n~~~text\n1 2\n~~~\n**Output:**\n~~~\n3\n~~~\n", ONE),
        ("**Example**\n**Input**\n1 2\n**Output**\n3\n**Scoring**\nAll.", ONE),
        ("Example:\nInput: 1 2\nOutput: 3\nExplanation: they add up", ONE),
        ("Example\n\nInput: `1 2`\n\nOutput: `3`", ONE),
        ("Example\n```\nInput:\n1 2\nOutput:\n3\n```\nThat is all.", ONE),
        ("Examples\ninputCopy\n1 2\noutputCopy\n3\nNote\nFine.", ONE),
        ("Example\n\nInput:\n\n    1 2\n\nOutput:\n\n    3\n", ONE),
        # What may be something else is left out.
        ("## Input\n1 2\n## Output\n3", []),
        ("-----Examples-----\nNone.\n-----Input-----\nA number.\n-----Output-----\nAnother.", []),
        ("Example\nInput: n = 3\nOutput: 4", []),
        ("Example\nInput: 3\n1 2 3\nOutput: 6", []),
        ("Example\nInput\n1\nOutput\n2\nbecause the number is one more than that.", []),
        ("Example\nInput\nThe first line has the number of cases.\nOutput\n3", []),
        ("Sample Input 1\n1\nSample Output 2\n2", []),
        ("Sample Input\n1\nSample Input\n2\n", []),
        ("Sample Input\n1\nNote\nSample Output\n2\n", []),
        ("Sample Input\n```\n1\nSample Output\n2\n", []),
        ("For example, if n = 3, the output is 4.", []),
    ],
)
def test_samples_of_a_program_are_found(sample: str, found: list[tuple[str, str]]) -> None:
    description = "Add.\n\n-----Input-----\n\nTwo numbers.\n\n-----Output-----\n\nTheir sum.\n\n"
    assert _pairs(sample) == found
    assert _pairs(description + sample) == found


def test_a_drawing_is_not_taken_for_a_heading() -> None:
    drawing = "# # #\n# . #\n**.**\n"
    assert _pairs(f"Sample Input\n{drawing}\nSample Output\n{drawing}") == [(drawing, drawing)]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        (">>> f(1, [2])\n3", ("1, [2]", "3")),
        ("    >>> f('a')  # why\n    {'b':\n     1}\n    \"\"\"", ("'a'", "{'b':\n1}")),
        (">>> f(1) == 2\nTrue", ("1", "2")),
        (">>> f(1) == 2\n>>> g()", ("1", "2")),
        ("f(1, 2) == 3", ("1, 2", "3")),
        ("* f([-1]) -> 2.5", ("[-1]", "2.5")),
        ("1. f([1]) => {1: 'a'}  # so", ("[1]", "{1: 'a'}")),
        ('f("a)") ➞ "b("', ('"a)"', '"b("')),
        ("f(1) = 3", ("1", "3")),
        ("f(1) returns 3.", ("1", "3")),
        ("f() should return None", ("", "None")),
        ("`f(n=1)` returns `'x'`.", ("n=1", "'x'")),
        ("For example: f(True) ==> (1, 2)", ("True", "(1, 2)")),
        ("assert f(1) == (2, 3), 'no'", ("1", "(2, 3)")),
        ("f([[1],\n   [2]]) == [\n  1,\n  2]", ("[[1],\n   [2]]", "[\n  1,\n  2]")),
    ],
)
def test_calls_with_results_are_found(line: str, found: tuple[str, str]) -> None:
    assert _calls(f"Do this:\n{line}\n\nThat is all.") == [found]
    assert _calls(f"def f(*a):\n    '''Do this:\n\n{line}\n\n    '''") == [found]


@pytest.mark.parametrize(
    "line",
    [
        "not f(1) == 2",
        "If f(1) == 2 then stop",
        "len(f(1)) == 2",
        "f(1) + f(2) == 3",
        "x.f(1) == 2",
        "ff(1) == 2",
        "f(1) != 2",
        "f(1) >= 2",
        "f(x) == 2",
        "f(g(1)) == 2",
        "f(*[1]) == 2",
        "f(...) == 2",
        "f(1) == ...",
        "f(1) == x",
        "f(1) == 1 + 1",
        "f(1) == 2 or 3",
        "f(1) returns 1, 2",
        "f(1) returns 1\nor 2",
        "f(1) returns (1, 2), 3",
        "f(1) => ('a')",
        "f(1) => true",
        "f(1) returns 3, because it does",
        "f('\\\\n') == 1",
        "f({[]}) == 1",
        "f(1",
        "f('1) == 2",
        ">>> f(1)\n",
        ">>> f(1)\nTraceback (most recent call last):",
        ">>> f(1) == 2\nFalse",
        ">>> f(1); f(2)\n3",
        "f(0) = 1\nf(n) = f(n - 1) + 1",
        "For example, if n = 3, f gives 4.",
        "f(" + "-" * 3000 + "1) == 1",
    ],
)
def test_a_call_in_doubt_is_no_example(line: str) -> None:
    assert _calls(f"Do this:\n{line}\n\nThat is all.") == []


def test_what_is_found_gives_way_to_what_is_given() -> None:
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


@pytest.mark.parametrize(
    "unit",
    [
        "Input\n", "Input\n1\nOutput\n2\n", ">>> f(", ">>> f(\n", 'f("', 'f("\\', "f(1) = 2\n",
        "```\n", "Write `f(1)` ", "# ", "**Input** ", "-", "{[", "- ", "'''", "1+",
    ],
)  # fmt: skip
def test_a_hostile_text_takes_no_longer_than_its_length(unit: str) -> None:
    text = ("Examples\n" + unit * LONGEST)[:LONGEST]
    started = time.monotonic()
    for entry in (None, "f"):
        make_task(text, TaskOptions(entry=entry))
    assert time.monotonic() - started < 20
