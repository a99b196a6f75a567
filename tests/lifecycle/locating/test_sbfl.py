"""Spectra: the formulas on hand-computed counts, and no answer where there is none."""

import math

import pytest

from auditcoder.domain.diagnosis import Abstained, Localised
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.targets import AtNode
from auditcoder.lifecycle.locating import LOCATORS
from auditcoder.lifecycle.locating.diagnosis_input import Clue, DiagnosisInput
from auditcoder.lifecycle.locating.features import SpectrumCounts
from auditcoder.lifecycle.locating.sbfl import (
    FORMULAS,
    RankedLocator,
    TracebackLocator,
    counted,
    dstar,
    most_suspicious,
    ochiai,
    tarantula,
)
from auditcoder.lifecycle.options import LocatorName
from tests.support.diagnosis_cases import GRAPH, S1, S2, program

FAILING = [{"f", "g"}, {"f"}]
PASSING = [{"g"}, {"g", "h"}, {"f", "h"}]


def test_by_hand() -> None:
    counts = SpectrumCounts(failed=2, passed=1, all_failed=2, all_passed=3)
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
    assert FORMULAS[name](SpectrumCounts(0, 0, 0, 0)) == 0.0
    assert most_suspicious(FORMULAS[name], counted([], [{"f"}])) is None


def case() -> DiagnosisInput:
    return DiagnosisInput(GRAPH, {}, (program(Verdict.FAILED),), ())


class TestLocatorsToCompareWith:
    def test_each_can_be_chosen(self) -> None:
        assert {which: make().name for which, make in LOCATORS.items()} == {
            which: which.value for which in LocatorName
        }

    def test_the_traceback_knows_nothing_else(self) -> None:
        crashed = case()._replace(program=(program(Verdict.CRASH, ROOT, S2),))
        found = TracebackLocator().locate(crashed)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S2)
        again = TracebackLocator().locate(crashed._replace(tried=(AtNode(node=S2),)))
        assert isinstance(again, Abstained)
        assert isinstance(TracebackLocator().locate(case()), Abstained)

    def test_a_ranking_needs_it_watched_and_one_above_all(self) -> None:
        ranked = RankedLocator("ochiai")
        assert set(ranked.unsettled(case())) == set(GRAPH.order)
        assert isinstance(ranked.locate(case()), Abstained)
        counts = {S1: SpectrumCounts(2, 0, 2, 2), S2: SpectrumCounts(2, 2, 2, 2)}
        seen = case()._replace(
            looked={n: (70, Clue(signs={}, ran=own)) for n, own in counts.items()}
        )
        assert ranked.unsettled(seen) == ()
        found = ranked.locate(seen)
        assert isinstance(found, Localised)
        assert (found.target, found.rule) == (AtNode(node=S1), "ochiai")
        assert isinstance(ranked.locate(seen._replace(tried=(AtNode(node=S1),))), Abstained)
