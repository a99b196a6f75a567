"""Spectrum-based locators: the formulas on hand-computed counts, and when they abstain."""

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


def test_the_formulas_give_the_hand_computed_values() -> None:
    counts = SpectrumCounts(failed=2, passed=1, all_failed=2, all_passed=3)
    assert ochiai(counts) == pytest.approx(2 / math.sqrt(2 * 3))
    assert tarantula(counts) == pytest.approx(1 / (1 + 1 / 3))
    assert dstar(counts) == 4.0


@pytest.mark.parametrize("name", FORMULAS)
def test_a_function_that_ran_in_every_failure_is_most_suspicious(name: str) -> None:
    counts = counted(FAILING, PASSING)
    assert most_suspicious(FORMULAS[name], counts) == "f"
    assert FORMULAS[name](counts["h"]) == 0.0


@pytest.mark.parametrize("name", FORMULAS)
def test_without_a_passing_check_the_functions_that_ran_are_tied(name: str) -> None:
    assert most_suspicious(FORMULAS[name], counted([{"f", "g"}], [])) is None
    assert most_suspicious(FORMULAS[name], counted([{"f"}], [])) == "f"


@pytest.mark.parametrize("name", FORMULAS)
def test_an_empty_spectrum_names_no_function(name: str) -> None:
    assert counted([], []) == {}
    assert most_suspicious(FORMULAS[name], {}) is None
    assert FORMULAS[name](SpectrumCounts(0, 0, 0, 0)) == 0.0
    assert most_suspicious(FORMULAS[name], counted([], [{"f"}])) is None


def case() -> DiagnosisInput:
    return DiagnosisInput(GRAPH, {}, (program(Verdict.FAILED),), ())


class TestBaselineLocators:
    def test_every_locator_name_has_a_locator(self) -> None:
        assert {which: make().name for which, make in LOCATORS.items()} == {
            which: which.value for which in LocatorName
        }

    def test_the_traceback_locator_uses_only_the_innermost_frame(self) -> None:
        crashed = case()._replace(program=(program(Verdict.CRASH, ROOT, S2),))
        found = TracebackLocator().locate(crashed)
        assert isinstance(found, Localised)
        assert found.target == AtNode(node=S2)
        again = TracebackLocator().locate(crashed._replace(tried=(AtNode(node=S2),)))
        assert isinstance(again, Abstained)
        assert isinstance(TracebackLocator().locate(case()), Abstained)

    def test_a_ranked_locator_needs_a_traced_run_and_a_unique_maximum(self) -> None:
        ranked = RankedLocator("ochiai")
        assert set(ranked.unsettled(case())) == set(GRAPH.order)
        assert isinstance(ranked.locate(case()), Abstained)
        counts = {S1: SpectrumCounts(2, 0, 2, 2), S2: SpectrumCounts(2, 2, 2, 2)}
        seen = case()._replace(
            traced={n: (70, Clue(features={}, ran=own)) for n, own in counts.items()}
        )
        assert ranked.unsettled(seen) == ()
        found = ranked.locate(seen)
        assert isinstance(found, Localised)
        assert (found.target, found.rule) == (AtNode(node=S1), "ochiai")
        assert isinstance(ranked.locate(seen._replace(tried=(AtNode(node=S1),))), Abstained)
