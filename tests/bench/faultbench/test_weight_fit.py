"""Fitting: weights find the features that predict faults on held-out tasks."""

import pytest
from msgspec.structs import replace

from auditcoder.domain.values import Digest
from auditcoder.lifecycle.locating.features import SpectrumCounts
from auditcoder.lifecycle.locating.scoring import score_nodes
from auditcoder.lifecycle.locating.substitution import SubstitutionResult
from auditcoder_bench.faultbench.locator_scores import score
from auditcoder_bench.faultbench.observations import FailureEvidence
from auditcoder_bench.faultbench.weight_fit import (
    NO_WEIGHTS,
    Learner,
    cross_validated,
    extend_both,
    fit_both,
    judge,
    open_questions,
)
from tests.support.faultbench import cases

pytest.importorskip("numpy")


HEALED = SubstitutionResult(1, (Digest("healed"),), first=1, mended=frozenset({1}), runs=1)
NOT_HEALED = SubstitutionResult(tried=1, runs=1)


def top1(failures: list[FailureEvidence]) -> float:
    probabilities = [judged.believed for judged in cross_validated(failures)]
    found = score(failures, [(max(own, key=lambda n: own[n]),) for own in probabilities]).top1
    assert found is not None
    return found


def test_an_informative_feature_gets_a_positive_weight_and_locates_faults() -> None:
    weights = Learner(cases(200, told=0.9)).fit().traced
    assert weights.features["RAISED"] > 2.0
    assert weights.features["ALWAYS"] < 0.0
    assert top1(cases(200, told=0.9)) > 0.85


def test_an_uninformative_feature_locates_at_chance_level() -> None:
    assert abs(top1(cases(400, told=0.0)) - 1 / 3) < 0.12


def test_cross_validation_holds_out_the_task_of_each_failure() -> None:
    failures = cases(60, told=0.9)
    judged = cross_validated(failures)
    for number in (0, 7, 33):
        others = [case for case in failures if case.task != failures[number].task]
        fitted = Learner(others).fit()
        expected = {
            b.node: b.probability for b in score_nodes(failures[number].features, fitted.traced)
        }
        assert judged[number].believed == pytest.approx(expected, abs=1e-3)


def with_two_faults(told: float) -> list[FailureEvidence]:
    """Return failures with two faulty nodes: the given one and the next."""
    found = []
    for case in cases(300, told):
        (first,) = case.truth
        both = first, "fghf"["fgh".index(first) + 1]
        found.append(replace(case, kind="multi", truth=both))
    return found


def test_the_limit_for_further_nodes_is_lower_when_features_are_reliable() -> None:
    assert (
        Learner(with_two_faults(told=1.0)).fit().each
        < Learner(with_two_faults(told=0.3)).fit().each
    )


def test_the_limit_for_further_nodes_is_high_without_failures_of_several_nodes() -> None:
    assert Learner(cases(50, told=1.0)).fit().each == 0.95


def test_an_unfit_substitution_does_not_change_the_beliefs() -> None:
    unfit = SubstitutionResult(runs=1, unfit=1)
    failures = [replace(case, swaps={"f": NOT_HEALED}, failing=1) for case in cases(60, told=0.6)]
    fitted = Learner(failures).fit()
    traced = judge(replace(failures[0], swaps=None), fitted)
    assert judge(replace(failures[0], swaps={"f": unfit}), fitted).believed == traced.believed
    assert judge(failures[0], fitted).believed != traced.believed


def test_a_feature_absent_from_one_form_takes_its_weight_from_the_other() -> None:
    slow = {True: {"TOOK_TIME": 1.0}, False: {}}
    programs = [
        replace(
            case, rooted=True, features={n: slow[bool(own)] for n, own in case.features.items()}
        )
        for case in cases(50, told=0.9)
    ]
    fitted = fit_both([*cases(50, told=0.9), *programs])
    classes, own = fitted.classes.traced.features, fitted.programs.traced.features
    assert classes["TOOK_TIME"] == own["TOOK_TIME"] == own["TOOK_MEMORY"]
    assert classes["RAISED"] == own["RAISED"] > 2.0


def test_without_training_data_no_node_is_named() -> None:
    assert Learner([]).fit() == NO_WEIGHTS
    alone = cases(5, told=1.0)[:1]
    assert cross_validated(alone)[0].answer == ()


def test_a_clear_failure_has_no_open_questions() -> None:
    clear, unclear = cases(200, told=1.0), cases(200, told=0.4)
    assert not any(open_questions(clear))
    assert all(set(own) == set("fgh") for own in open_questions(unclear))


def test_substitution_results_get_weights() -> None:
    failures = [
        replace(
            case, failing=1, swaps={n: HEALED if n in case.truth else NOT_HEALED for n in "fgh"}
        )
        for case in cases(200, told=0.4)
    ]
    assert top1(failures) > 0.95
    weights = Learner(failures).fit().tried.features
    assert weights["HEALS"] > 0 > weights["OTHER_HEALS"]


def test_all_plausible_nodes_are_tried_at_once() -> None:
    failures = [
        replace(
            case, failing=1, swaps={n: HEALED if n in case.truth else NOT_HEALED for n in "fgh"}
        )
        for case in cases(200, told=0.7)
    ]
    judged = cross_validated(failures)
    assert {j.runs for j in judged} == {6}  # trace, rerun, three trials and a repetition
    assert all(j.answer == case.truth for j, case in zip(judged, failures, strict=True))
    assert {j.runs for j in cross_validated(failures, tried=False)} == {1}


def test_extending_weights_fits_only_the_features_that_they_lack() -> None:
    shipped = fit_both([*cases(50, told=0.9), *(replace(c, rooted=True) for c in cases(50, 0.9))])
    made = [
        replace(
            case,
            rooted=True,
            features={
                n: {**own, "MADE": float(n in case.truth)} for n, own in case.features.items()
            },
        )
        for case in cases(50, told=0.2)
    ]
    extended = extend_both(made, shipped)
    assert extended.classes == shipped.classes
    assert extended.programs.each == shipped.programs.each
    added = dict(extended.programs.traced.features)
    assert added.pop("MADE") > 1.0
    assert added == shipped.programs.traced.features


def test_a_test_that_fails_alone_with_a_wrong_result_lowers_the_probability() -> None:
    """Half of the failures have a wrong check, which nobody can see from the features."""
    alone, several = SpectrumCounts(1, 2, 1, 2), SpectrumCounts(2, 1, 2, 1)
    wrong = [
        replace(case, kind="unfixable", truth=(), features=MADE, counts={"f": alone})
        for case in cases(60, told=1.0)
    ]
    faulty = [
        replace(case, truth=("f",), features=MADE, counts={"f": several})
        for case in cases(60, told=1.0)
    ]
    judged = cross_validated([*wrong, *faulty])
    assert not any(j.answer for j in judged[:60])
    assert all(j.answer == ("f",) for j in judged[60:])


MADE = {"f": {"MADE": 1.0}, "g": {}, "h": {}}
