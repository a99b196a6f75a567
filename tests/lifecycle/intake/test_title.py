"""A task's title is a short line: a heading, the function's name or the first sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.task import ProgramForm
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.intake.title import MAX_TITLE, title_of

LONG = "Merge all overlapping intervals of a list, and return them sorted by their start, please"


@pytest.mark.parametrize(
    ("statement", "title"),
    [
        ("# The sum #\n\nAdd.", "The sum"),
        ("The sum\n=======\n\nAdd.", "The sum"),
        ("Add them. Print it.\n### Input\nTwo.\n### Sample Output 1:\n3", "Add them."),
        ("Add them up! Then stop.", "Add them up!"),
        ("```\n# no heading\n```\nAdd\nthem.\n\nThen stop.", "Add them."),
        ("Add e.g. two numbers. Then stop.", "Add e.g. two numbers."),
        ("A. Watermelon\ntime limit per test: 1 second\n\nPete is hungry.", "Watermelon"),
        ("> **Add** [them](http://x.y).", "Add them."),
        ("words " * 40, "words " * 8 + "words…"),
        ("w" * 100, "w" * 58 + "…"),
        ("***", "***"),
        ("def f(x):\n    '''Add.'''", "f"),
        (f"def f(x):\n    '''{LONG}.'''", "f"),
        ("Write `twice(x)`, a function. It doubles.", "Write `twice(x)`, a function."),
        (f"{LONG}: write the function `merge(xs: list) -> list`.", "merge"),
        ("Complete this:\n\n```python\nclass Bank:\n    def pay(self): ...\n```", "Bank"),
    ],
)
def test_a_title_is_found(statement: str, title: str) -> None:
    assert make_task(statement).title == title


def test_a_given_title_overrides_the_statement_and_is_cut_too() -> None:
    options = TaskOptions(title=f" {LONG}\n{LONG}")
    cut = make_task("# The sum\n\nAdd.", options).title
    assert cut == "Merge all overlapping intervals of a list, and return them…"


@given(st.text(), st.text(min_size=1))
def test_a_title_is_one_short_line(given_title: str, statement: str) -> None:
    title = title_of(given_title, statement, ProgramForm())
    assert len(title) <= MAX_TITLE
    assert title == " ".join(title.split())
