"""Scoring: every measure by hand, on a few failures."""

import pytest
from msgspec.structs import replace

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.bench.faultbench.scoring import (
    Answer,
    calibration,
    calibration_of_answers,
    interval,
    score,
)


def case(number: int, kind: str, truth: tuple[str, ...], *, remote: bool = False) -> Noticed:
    return Noticed(
        id=str(number),
        task=f"task {number}",
        kind=kind,
        truth=truth,
        signs={"f": {}, "g": {}, "h": {}},
        swaps=None,
        remote=remote,
        traceback="",
        counts={},
        runs=1,
        milliseconds=1.0,
    )


CASES = [
    case(1, "single", ("f",)),
    case(2, "single", ("g",), remote=True),
    case(3, "single", ("h",), remote=True),
    case(4, "multi", ("f", "g")),
    case(5, "multi", ("f", "g", "h")),
    case(6, "interface", ("<imports>",)),
    case(7, "unfixable", ()),
    case(8, "unfixable", ()),
    replace(case(9, "interface", ("f",)), fault="wrong shape"),
]
ANSWERS: list[Answer] = [("f", "g"), (), ("f",), ("f", "h"), ("g",), ("f",), (), (), ("f",)]


def test_by_hand() -> None:
    found = score(CASES, ANSWERS)
    assert found.singles == 3
    assert found.top1 == pytest.approx(1 / 3)
    assert found.coverage == pytest.approx(2 / 3)
    assert found.precision == pytest.approx(1 / 2)
    assert found.remote == 0.0
    assert found.several == 2
    assert found.inside == pytest.approx(1 / 2)
    assert found.covered == pytest.approx((1 / 2 + 1 / 3) / 2)
    assert found.exact == 0.0
    assert (found.remotes, found.beyond) == (2, 3)
    assert found.abstained == pytest.approx(2 / 3)


def test_methods_that_share_a_state_are_several() -> None:
    shared = case(1, "interface", ("__init__", "f"))
    found = score([shared], [("f",)])
    assert (found.several, found.inside, found.covered, found.beyond) == (1, 1.0, 0.5, 0)


def test_what_answers_say_of_themselves_by_hand() -> None:
    cases, answers = CASES[3:5], [("f", "h"), ("g",)]
    beliefs = [{"f": 0.95, "h": 0.85}, {"g": 0.75}]
    found = calibration_of_answers(cases, answers, beliefs)
    assert found is not None
    assert found.error == pytest.approx((0.85 + 0.25) / 2)
    assert found.brier == pytest.approx((0.85**2 + 0.25**2) / 2)
    assert calibration_of_answers(cases, [(), ()], beliefs) is None


def test_nothing_to_count_is_not_nought() -> None:
    found = score([], [])
    assert (found.singles, found.top1, found.inside) == (0, None, None)
    only_abstains = score(CASES[:1], [()])
    assert (only_abstains.top1, only_abstains.precision) == (0.0, None)


def test_calibration_by_hand() -> None:
    beliefs = [{"f": 0.9, "g": 0.1}, {"f": 0.1, "g": 0.3}]
    found = calibration(CASES[:2], beliefs)
    assert found is not None
    assert found.brier == pytest.approx((0.01 + 0.01 + 0.01 + 0.49) / 4)
    assert found.error == pytest.approx((0.1 + 0.2 + 0.7) / 4)


def test_an_interval_is_over_tasks_and_the_same_again() -> None:
    cases = [replace(CASES[0], id=str(n), task=f"task {n}") for n in range(40)]
    answers: list[Answer] = [("f",) if n % 4 else ("g",) for n in range(40)]
    low, high = interval(cases, answers, lambda s: s.top1) or (0.0, 0.0)
    assert low < 0.75 < high
    assert (low, high) == interval(cases, answers, lambda s: s.top1)
    one_task = [replace(c, task="same") for c in cases]
    assert interval(one_task, answers, lambda s: s.top1) == (0.75, 0.75)
    assert interval(cases, answers, lambda s: s.inside) is None
