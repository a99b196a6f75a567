"""Fitting: weights find what goes with faults, on tasks that they did not see."""

import random

import pytest

from auditcoder.bench.faultbench.fitting import cross_validated, fit
from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.bench.faultbench.scoring import score

pytest.importorskip("numpy")


def cases(number: int, told: float, seed: int = 0) -> list[Noticed]:
    """Failures in which a sign is at the fault with some probability, else anywhere."""
    chance = random.Random(seed)
    found = []
    for place in range(number):
        fault = chance.choice("fgh")
        pointed = fault if chance.random() < told else chance.choice("fgh")
        found.append(
            Noticed(
                id=str(place),
                task=f"task {place % 20}",
                kind="single",
                truth=(fault,),
                signs={name: {"RAISED": 1.0} if name == pointed else {} for name in "fgh"},
                remote=False,
                traceback="",
                failing=(),
                passing=(),
                runs=1,
                milliseconds=1.0,
            )
        )
    return found


def top1(made: list[Noticed]) -> float:
    beliefs = cross_validated(made)
    found = score(made, [(max(own, key=lambda n: own[n]),) for own in beliefs]).top1
    assert found is not None
    return found


def test_a_sign_that_tells_is_weighed_and_found() -> None:
    weights = fit(cases(200, told=0.9))
    assert weights.signs["RAISED"] > 2.0
    assert weights.signs["ALWAYS"] < 0.0
    assert top1(cases(200, told=0.9)) > 0.85


def test_a_sign_that_does_not_tell_leaves_chance() -> None:
    assert abs(top1(cases(400, told=0.0)) - 1 / 3) < 0.12


def test_no_failure_is_judged_by_weights_that_saw_its_task() -> None:
    made = cases(60, told=0.9)
    alone = [case for case in made if case.task == "task 3"]
    others = [case for case in made if case.task != "task 3"]
    by_fold = dict(zip((c.id for c in made), cross_validated(made, folds=20), strict=True))
    weights = fit(others)
    from auditcoder.lifecycle.locating.believing import believe

    for case in alone:
        expected = {b.node: b.probability for b in believe(case.signs, weights)}
        assert by_fold[case.id] == pytest.approx(expected)
