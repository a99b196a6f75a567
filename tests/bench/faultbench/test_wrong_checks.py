"""Wrong checks expect a value of the same kind that never equals the right one."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.task import CallExample, CodeExample, StdioExample
from auditcoder_bench.faultbench.wrong_checks import another, with_another_answer

plain = st.booleans() | st.integers(-(10**6), 10**6) | st.text() | st.none()
values = st.recursive(
    plain,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(values)
def test_another_value_differs_from_the_given_one(value: Any) -> None:
    assert another(value) != value


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        (3, 4),
        ("ab", "ba"),
        ("12", "13"),
        ([1, 2], [2, 1]),
        ([1, 1], [1]),
        ({1: 2}, {}),
        ([], None),
    ],
)
def test_another_value_is_similar_to_the_given_one(right: Any, wrong: Any) -> None:
    assert another(right) == wrong


def test_a_changed_example_keeps_its_input() -> None:
    call = with_another_answer(CallExample(arguments="1, 2", result="3"))
    assert call == CallExample(arguments="1, 2", result="4")
    stdio = with_another_answer(StdioExample(input="5", output="a b\n"))
    assert stdio == StdioExample(input="5", output="b a")
    assert with_another_answer(CallExample(arguments="", result="made()")) is None
    assert with_another_answer(CodeExample(code="assert f() == 1")) is None
