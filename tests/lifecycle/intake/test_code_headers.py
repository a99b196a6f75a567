"""The function or class that a statement asks for is found in code or in words."""

import pytest

from auditcoder.domain.task import (
    ClassForm,
    FunctionForm,
    ProgramForm,
)
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.intake.code_headers import (
    Header,
    Skeleton,
    class_in,
    find_class,
    find_function,
    find_open,
    header,
    open_code,
)

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
def test_a_function_that_is_only_mentioned_is_not_found(statement: str) -> None:
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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("f(a, b)", Header("f", "def f(a, b)")),
        (" def f(a) -> int: ", Header("f", "def f(a) -> int")),
        ("async def f(): ...", Header("f", "async def f()")),
        ("@cache\ndef f(a):\n    return a", Header("f", "def f(a)")),
        ("f(a", None),
        ("x = 1", None),
        ("def f(): ...\ndef g(): ...", None),
        ("", None),
    ],
)
def test_a_header_is_read_with_or_without_its_body(text: str, found: Header | None) -> None:
    assert header(text) == found


def test_the_last_stub_of_the_statement_is_the_open_function() -> None:
    code = "def a(x): ...\n\n\ndef b(x): ...\n\n\ndef c(x):\n    return x\n"
    assert find_function(code) == Header("b", "def b(x)")
    assert find_function(code, "a") == Header("a", "def a(x)")
    assert find_function(code, "c") is None


def test_an_open_class_is_preferred_to_an_open_function() -> None:
    code = "def f(x): ...\n\n\nclass C:\n    def g(self): ...\n"
    assert find_open(code) == Skeleton("C", code.strip("\n"))


def test_a_named_class_is_found_even_if_it_is_complete() -> None:
    code = "class A:\n    def f(self): ...\n\n\nclass B:\n    x = 1"
    assert class_in(code, None) == Skeleton("A", code)
    assert find_class(code, "B") == Skeleton("B", code)
    assert find_class(code, "C") is None


def test_only_a_statement_that_is_python_is_open_code() -> None:
    assert open_code("def f(x): ...") == Header("f", "def f(x)")
    assert open_code("Complete it:\n```python\ndef f(x): ...\n```") is None
