"""The docstring of a stub is read as it is written, and nothing that it says is lost."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.lifecycle.planning.docstring_reader import StubDocstring, read_docstring


def read(docstring: str, quotes: str = '"""') -> StubDocstring:
    """Read the docstring of a function that is written with these characters."""
    source = f"def f(data: str) -> int:\n    {quotes}{docstring}\n    {quotes[-3:]}\n    ...\n"
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    return read_docstring(function, source)


@pytest.mark.parametrize(
    ("written", "quotes", "example"),
    [
        (r'f("2 1\nab") == 3', '"""', r'f("2 1\nab") == 3'),
        (r'f("2 1\\nab") == 3', '"""', r'f("2 1\nab") == 3'),
        (r'f("2 1\nab") == 3', 'r"""', r'f("2 1\nab") == 3'),
        (r'f("a\tb", "\\") == 1', 'r"""', r'f("a\tb", "\\") == 1'),
        (r"f('say \'x\'') -> 1", '"""', r"f('say \'x\'') -> 1"),
        (r"f('\u00e9') == 1", '"""', r"f('\u00e9') == 1"),
        ('f("a") == 1', "'''", 'f("a") == 1'),
    ],
)
def test_escapes_belong_to_the_example_in_which_they_stand(
    written: str, quotes: str, example: str
) -> None:
    assert read(f"Count.\n\n    example: {written}", quotes).of("example") == [example]


def test_escapes_belong_to_the_promise_in_which_they_stand() -> None:
    docstring = read('Count.\n    ensures: result <= len(data.split("\\n"))')
    assert docstring.of("ensures") == [r'result <= len(data.split("\n"))']


def test_an_expression_may_go_on_in_the_next_lines() -> None:
    docstring = read(
        "Count.\n\n    ensures: all(\n        x > 0\n        for x in result\n    )\n    kind: math"
    )
    assert ast.dump(ast.parse(docstring.of("ensures")[0])) == ast.dump(
        ast.parse("all(x > 0 for x in result)")
    )
    assert docstring.of("kind") == ["math"]


def test_a_sentence_is_not_joined_with_the_next_line() -> None:
    docstring = read("Count.\n\n    requires: data is a list of (pairs\n    Then more.")
    assert docstring.of("requires") == ["data is a list of (pairs"]
    assert docstring.context == "Then more."


def test_a_goal_keeps_all_its_sentences() -> None:
    long = "Count the words. " * 40
    assert read(f"{long}\n    More of it.").goal == f"{long}More of it."


def test_further_paragraphs_are_context() -> None:
    docstring = read("Count.\n\n    Words are\n    separated by blanks.\n\n    Case matters.")
    assert docstring.goal == "Count."
    assert docstring.context == "Words are separated by blanks.\nCase matters."


def test_facts_are_found_under_every_label() -> None:
    docstring = read(
        "Count.\n\n    Parameter data: all of it\n    - returns: the number\n    assumes: no blanks"
        "\n    units: metres\n    trap: empty lines\n    note: slow\n    examples: f('') == 0"
    )
    assert docstring.facts == {
        "param data": ["all of it"],
        "returns": ["the number"],
        "assumes": ["no blanks"],
        "units": ["metres"],
        "trap": ["empty lines"],
        "note": ["slow"],
        "example": ["f('') == 0"],
    }


def test_a_function_without_a_docstring_says_nothing() -> None:
    source = "def f(): ...\n"
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert read_docstring(function, source) == StubDocstring("", "", {})


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\x00"), max_size=80))
def test_any_docstring_is_read(text: str) -> None:
    source = f"def f():\n    {text!r}\n"
    function = ast.parse(source).body[0]
    assert isinstance(function, ast.FunctionDef)
    docstring = read_docstring(function, source)
    assert len(docstring.goal.split("\n")) == 1
