"""Examples are found in a statement; ambiguous ones are left out."""

import pytest

from auditcoder.lifecycle.intake.statement_examples import (
    find_calls,
    find_stdio,
    names_a_part,
    split_fences,
)


def _calls(statement: str) -> list[tuple[str, str]]:
    return [(e.arguments, e.result) for e in find_calls(statement, "f")]


def _pairs(statement: str) -> list[tuple[str, str]]:
    return [(e.input, e.output) for e in find_stdio(statement)]


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
        # Ambiguous blocks are left out.
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
def test_an_ambiguous_call_is_not_an_example(line: str) -> None:
    assert _calls(f"Do this:\n{line}\n\nThat is all.") == []


def test_fenced_blocks_are_separated_from_the_prose() -> None:
    text = "a\n  ```Python title\n  x\n    y\n  ```\nb\n~~~\n```\n~~~\nc"
    assert split_fences(text) == ("a\n\nb\n\nc", [("python", "x\n  y"), ("", "```")])


def test_a_fence_that_never_ends_is_no_block() -> None:
    assert split_fences("a\n```\nb") == ("a\n", [])


@pytest.mark.parametrize(
    ("heading", "common"),
    [
        ("Input", True),
        ("**Sample Output 1:**", True),
        ("Examples", True),
        ("Problem Statement", True),
        ("Constraints", True),
        ("Note", True),
        ("The sum", False),
        ("Input devices", False),
    ],
)
def test_common_headings_are_recognised(heading: str, common: bool) -> None:
    assert names_a_part(heading) is common


def test_calls_of_another_function_are_not_found() -> None:
    assert find_calls("g(1) == 2", "f") == []
