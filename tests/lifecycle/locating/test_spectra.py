"""Spectra: the formulas on hand-computed counts, and no answer where there is none."""

import math

import pytest

from auditcoder.lifecycle.locating.spectra import (
    FORMULAS,
    Counts,
    counted,
    dstar,
    most_suspicious,
    ochiai,
    tarantula,
)

FAILING = [{"f", "g"}, {"f"}]
PASSING = [{"g"}, {"g", "h"}, {"f", "h"}]


def test_by_hand() -> None:
    counts = Counts(failed=2, passed=1, all_failed=2, all_passed=3)
    assert ochiai(counts) == pytest.approx(2 / math.sqrt(2 * 3))
    assert tarantula(counts) == pytest.approx(1 / (1 + 1 / 3))
    assert dstar(counts) == 4.0


@pytest.mark.parametrize("name", FORMULAS)
def test_what_ran_in_every_failure_is_most_suspicious(name: str) -> None:
    counts = counted(FAILING, PASSING)
    assert most_suspicious(FORMULAS[name], counts) == "f"
    assert FORMULAS[name](counts["h"]) == 0.0


@pytest.mark.parametrize("name", FORMULAS)
def test_without_a_passing_check_those_that_ran_cannot_be_told_apart(name: str) -> None:
    assert most_suspicious(FORMULAS[name], counted([{"f", "g"}], [])) is None
    assert most_suspicious(FORMULAS[name], counted([{"f"}], [])) == "f"


@pytest.mark.parametrize("name", FORMULAS)
def test_nothing_is_nothing(name: str) -> None:
    assert counted([], []) == {}
    assert most_suspicious(FORMULAS[name], {}) is None
    assert FORMULAS[name](Counts(0, 0, 0, 0)) == 0.0
    assert most_suspicious(FORMULAS[name], counted([], [{"f"}])) is None
