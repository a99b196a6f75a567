"""Believing: signs are weighed, and a reviewer can read why."""

import math

from hypothesis import given
from hypothesis import strategies as st

from auditcoder.lifecycle.locating.believing import Weights, believe, logistic
from auditcoder.lifecycle.locating.signs import Kind

WEIGHTS = Weights(
    signs={"ALWAYS": -2.0, "RAISED": 1.0, "RAISED_FIRST": 2.0, "FINE": -1.5, "BEFORE": 0.1},
    fitted={},
)


def test_the_likeliest_comes_first_with_its_reasons() -> None:
    noticed = {
        "f": {"FINE": 1.0},
        "g": {"RAISED": 1.0, "RAISED_FIRST": 1.0, "FINE": 0.5, "BEFORE": 1.0},
    }
    first, second = believe(noticed, WEIGHTS)
    assert (first.node, second.node) == ("g", "f")
    assert math.isclose(first.probability, logistic(-2.0 + 3.0 - 0.75 + 0.1))
    assert first.points == (Kind.RAISED.value,)
    assert first.speaks_against == (Kind.FINE.value,)
    assert second.points == ()


def test_what_has_no_weight_says_nothing() -> None:
    (belief,) = believe({"f": {"EMPTY": 1.0}}, WEIGHTS)
    assert math.isclose(belief.probability, logistic(-2.0))
    assert belief.points == ()


@given(st.floats(-700, 700), st.floats(-700, 700))
def test_more_weight_is_never_less_likely(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0.0 <= logistic(low) <= logistic(high) <= 1.0
    assert math.isclose(logistic(one) + logistic(-one), 1.0)
