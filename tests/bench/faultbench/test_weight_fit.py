"""Fitting: weights find what goes with faults, on tasks that they did not see."""

import pytest
from msgspec.structs import replace

from auditcoder.domain.values import Digest
from auditcoder.lifecycle.locating.scoring import score_nodes
from auditcoder.lifecycle.locating.substitution import SubstitutionResult
from auditcoder_bench.faultbench.locator_scores import score
from auditcoder_bench.faultbench.observations import FailureEvidence
from auditcoder_bench.faultbench.weight_fit import (
    NO_WEIGHTS,
    Learner,
    cross_validated,
    fit_both,
    judge,
    open_questions,
)
from tests.support.faultbench import cases

pytest.importorskip("numpy")


HEALED = SubstitutionResult(1, (Digest("healed"),), first=1, mended=frozenset({1}), runs=1)
IN_VAIN = SubstitutionResult(tried=1, runs=1)


def top1(made: list[FailureEvidence]) -> float:
    beliefs = [judged.believed for judged in cross_validated(made)]
    found = score(made, [(max(own, key=lambda n: own[n]),) for own in beliefs]).top1
    assert found is not None
    return found


def test_a_sign_that_tells_is_weighed_and_found() -> None:
    weights = Learner(cases(200, told=0.9)).fit().looked
    assert weights.signs["RAISED"] > 2.0
    assert weights.signs["ALWAYS"] < 0.0
    assert top1(cases(200, told=0.9)) > 0.85


def test_a_sign_that_does_not_tell_leaves_chance() -> None:
    assert abs(top1(cases(400, told=0.0)) - 1 / 3) < 0.12


def test_no_failure_is_judged_by_weights_that_saw_its_task() -> None:
    made = cases(60, told=0.9)
    judged = cross_validated(made)
    for number in (0, 7, 33):
        others = [case for case in made if case.task != made[number].task]
        fitted = Learner(others).fit()
        expected = {b.node: b.probability for b in score_nodes(made[number].signs, fitted.looked)}
        assert judged[number].believed == pytest.approx(expected, abs=1e-3)


def several(told: float) -> list[FailureEvidence]:
    """Let the next one be at fault as well, and have a sign of its own as often."""
    found = []
    for case in cases(300, told):
        (first,) = case.truth
        both = first, "fghf"["fgh".index(first) + 1]
        found.append(replace(case, kind="multi", truth=both))
    return found


def test_others_are_named_only_above_a_limit_where_few_are_innocent() -> None:
    assert Learner(several(told=1.0)).fit().each < Learner(several(told=0.3)).fit().each


def test_where_nothing_tells_about_several_hardly_any_is_named_beside_the_first() -> None:
    assert Learner(cases(50, told=1.0)).fit().each == 0.95


def test_what_is_unfit_says_nothing_of_what_it_was_tried_for() -> None:
    unfit = SubstitutionResult(runs=1, unfit=1)
    made = [replace(case, swaps={"f": IN_VAIN}, failing=1) for case in cases(60, told=0.6)]
    fitted = Learner(made).fit()
    looked = judge(replace(made[0], swaps=None), fitted)
    assert judge(replace(made[0], swaps={"f": unfit}), fitted).believed == looked.believed
    assert judge(made[0], fitted).believed != looked.believed


def test_what_was_never_seen_has_the_weight_that_it_has_elsewhere() -> None:
    slow = {True: {"TOOK_TIME": 1.0}, False: {}}
    programs = [
        replace(case, rooted=True, signs={n: slow[bool(own)] for n, own in case.signs.items()})
        for case in cases(50, told=0.9)
    ]
    fitted = fit_both([*cases(50, told=0.9), *programs])
    classes, own = fitted.classes.looked.signs, fitted.programs.looked.signs
    assert classes["TOOK_TIME"] == own["TOOK_TIME"] == own["TOOK_MEMORY"]
    assert classes["RAISED"] == own["RAISED"] > 2.0


def test_where_there_is_nothing_to_learn_from_nobody_is_named() -> None:
    assert Learner([]).fit() == NO_WEIGHTS
    alone = cases(5, told=1.0)[:1]
    assert cross_validated(alone)[0].answer == ()


def test_what_one_look_makes_clear_is_not_asked_again() -> None:
    clear, unclear = cases(200, told=1.0), cases(200, told=0.4)
    assert not any(open_questions(clear))
    assert all(set(own) == set("fgh") for own in open_questions(unclear))


def test_other_implementations_are_weighed_where_they_were_tried() -> None:
    made = [
        replace(case, failing=1, swaps={n: HEALED if n in case.truth else IN_VAIN for n in "fgh"})
        for case in cases(200, told=0.4)
    ]
    assert top1(made) > 0.95
    weights = Learner(made).fit().tried.signs
    assert weights["HEALS"] > 0 > weights["OTHER_HEALS"]


def test_what_is_likeliest_is_tried_first_and_no_more_than_it_takes() -> None:
    made = [
        replace(case, failing=1, swaps={n: HEALED if n in case.truth else IN_VAIN for n in "fgh"})
        for case in cases(200, told=0.7)
    ]
    judged = cross_validated(made)
    pointed = [next(n for n, own in case.signs.items() if own) for case in made]
    lucky = [j for j, case, n in zip(judged, made, pointed, strict=True) if n in case.truth]
    others = [j for j, case, n in zip(judged, made, pointed, strict=True) if n not in case.truth]
    assert {j.runs for j in lucky} == {4}  # watched, run again, one try, and again as it heals
    assert all(j.runs > 4 for j in others)
    assert all(len(j.answer) == 1 for j in judged)
    assert {j.runs for j in cross_validated(made, tried=False)} == {1}
