"""Inputs without an expected result: reproducible, like the examples, and short."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.domain.brief import Brief, DataRange, Parsed
from auditcoder.domain.python_names import literal_value
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.drafting.comparison_inputs import MOST, as_text, comparison_inputs

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
SETS = "{'one', 'two', 'three', 'four'}, {('a', 1), ('b', 2)}"


def function(*arguments: str, signature: str = "def f(x)") -> Task:
    """Return a task with these examples, each an argument list."""
    return Task(
        title="Work",
        statement="Do something.",
        form=FunctionForm(entry="f", signature=signature),
        examples=tuple(CallExample(arguments=text, result="0") for text in arguments),
    )


def program(*inputs: str) -> Task:
    return Task(
        title="Work",
        statement="Do something.",
        form=ProgramForm(),
        examples=tuple(StdioExample(input=text, output="0") for text in inputs),
    )


def rows(task: Task) -> list[tuple[object, ...]]:
    """Return the argument lists of a function as values."""
    return [literal_value(f"({text},)") for text in comparison_inputs(task, None)]


def numbers(value: object) -> Iterator[float]:
    match value:
        case bool():
            return
        case int() | float():
            yield value
        case list() | tuple() | set():
            for item in value:
                yield from numbers(item)
        case dict():
            yield from numbers([*value.keys(), *value.values()])


literals = st.recursive(
    st.booleans() | st.integers(0, 1000) | st.floats(0, 100) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text(max_size=3), inner, max_size=3)
        | st.sets(st.integers(0, 9), max_size=3)
    ),
    max_leaves=8,
)


@PATIENT
@given(st.lists(literals, min_size=1, max_size=3), st.lists(literals, min_size=1, max_size=3))
def test_changed_arguments_are_bounded_new_and_of_the_same_types(
    one: list[object], two: list[object]
) -> None:
    given_rows = [tuple(one), tuple(two)]
    texts = [", ".join(map(repr, row)) for row in given_rows]
    types = [[type(value) for value in row] for row in given_rows]
    task = function(*texts)
    made = comparison_inputs(task, None)
    assert made == comparison_inputs(task, None)
    assert len(made) == len(set(made)) <= MOST
    assert not set(made) & set(texts)
    for row in rows(task):
        assert [type(value) for value in row] in types
        assert all(number >= 0 for number in numbers(list(row)))


def test_numbers_are_negative_only_if_those_of_an_example_are() -> None:
    negative = [n for row in rows(function("[5, -3]", "7")) for n in numbers(list(row)) if n < 0]
    assert negative
    assert all(n >= 0 for row in rows(function("[5, 3]", "7")) for n in numbers(list(row)))


def test_one_argument_is_changed_at_a_time() -> None:
    changed = rows(function("3, 'abc', [1, 2]"))
    assert changed
    for row in changed:
        assert sum(a != b for a, b in zip(row, (3, "abc", [1, 2]), strict=True)) == 1


def test_each_example_is_changed_before_one_is_changed_again() -> None:
    first, second = rows(function("[1, 1, 1]", "'text'"))[:2]
    assert (type(first[0]), type(second[0])) == (list, str)


def test_typed_parameters_give_inputs_without_any_example() -> None:
    task = function(signature="def f(n: int, s: str)")
    assert 3 <= len(rows(task)) <= 8
    assert all(isinstance(n, int) and isinstance(s, str) for n, s in rows(task))
    brief = Brief(parsed=Parsed(ranges=(DataRange(variable="n", minimum=5.0, maximum=6.0),)))
    texts = comparison_inputs(task, brief)
    assert {int(text.split(",")[0]) for text in texts} <= {5, 6}


@pytest.mark.parametrize(
    "form", [ClassForm(name="C", skeleton="class C:\n    def f(self): ...\n"), FilesForm()]
)
def test_other_forms_have_none(form: ClassForm | FilesForm) -> None:
    task = Task(title="Work", statement="Do something.", form=form)
    assert comparison_inputs(task, None) == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        ",",
        "1,",
        "x",
        "x=1",
        "*[1]",
        "__import__('os').abort()",
        "(",
        "1e999",
        "...",
        "1j",
        "None",
        "b'ab'",
        "set()",
        "{}",
        "()",
        "'\\ud800'",
        "'\\x00'",
        "9" * 1_999,
        "9" * 4_300,
        "'" + "a" * 100_000 + "'",
        "[" * 90 + "]" * 90,
        "[" * 5_000 + "]" * 5_000,
        "{" + ", ".join(map(str, range(5_000))) + "}",
    ],
    ids=lambda text: text[:12],
)
def test_hostile_arguments_raise_nothing(text: str) -> None:
    for n in range(5):
        made = comparison_inputs(function(text, str(n)), None)
        assert len(made) <= MOST
        assert all(len(each) <= 2_000 for each in made)
        "".join(made).encode()


def test_the_inputs_are_the_same_in_every_process() -> None:
    code = (
        "from tests.lifecycle.drafting.test_comparison_inputs import *\n"
        "print(comparison_inputs(function(SETS), None))\n"
        "print(comparison_inputs(function(signature='def f(x: set[str])'), None))\n"
        "print(as_text([frozenset({'a', 'b', 'c'}), {('a',): {'x', 'y'}}]))\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in "123"
    }
    assert len(seen) == 1
    assert "'one'" in seen.pop()


@PATIENT
@given(literals)
def test_a_value_is_written_as_a_literal_that_gives_it(value: object) -> None:
    assert literal_value(as_text(value)) == value


class TestTexts:
    def test_a_number_after_the_first_line_is_changed(self) -> None:
        made = comparison_inputs(program("2\n5 7\n"), None)
        assert made
        assert all(text.startswith("2\n") for text in made)
        assert "2\n5 7\n" not in made

    def test_a_text_of_one_line_is_changed_there(self) -> None:
        assert set(comparison_inputs(program("5"), None)) <= {"6", "4", "10"}

    def test_a_text_without_a_number_is_not_changed(self) -> None:
        assert comparison_inputs(program("hello\nworld\n", ""), None) == ()

    def test_there_are_few_and_short_ones(self) -> None:
        many = [f"{n} {n + 1} {n + 2}" for n in range(50)]
        assert len(comparison_inputs(program(*many), None)) == 6
        assert comparison_inputs(program("3\n" + "1 " * 10_000), None) == ()

    @pytest.mark.parametrize("text", ["-5", "0", "9" * 5_000, "1" * 1_900, "\x00 1", "٣"])
    def test_hostile_texts_raise_nothing(self, text: str) -> None:
        for made in comparison_inputs(program(text), None):
            assert made != text
            assert len(made) <= 2_000

    @PATIENT
    @given(st.lists(st.integers(0, 99), min_size=1, max_size=5))
    def test_no_number_becomes_negative(self, given_numbers: list[int]) -> None:
        text = "\n".join(map(str, given_numbers))
        assert all("-" not in made for made in comparison_inputs(program(text), None))
