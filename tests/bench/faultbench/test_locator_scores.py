"""Locator scores: every measure, computed by hand for a few failures."""

import pytest
from msgspec.structs import replace

from auditcoder_bench.faultbench.locator_scores import Answer, intervals, score
from auditcoder_bench.faultbench.observations import FailureEvidence


def case(
    number: int, kind: str, truth: tuple[str, ...], *, remote: bool = False
) -> FailureEvidence:
    return FailureEvidence(
        id=str(number),
        task=f"task {number}",
        kind=kind,
        truth=truth,
        features={"f": {}, "g": {}, "h": {}},
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


def test_scores_equal_those_computed_by_hand() -> None:
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


def test_methods_that_share_state_count_as_several_nodes() -> None:
    shared = case(1, "interface", ("__init__", "f"))
    found = score([shared], [("f",)])
    assert (found.several, found.inside, found.covered, found.beyond) == (1, 1.0, 0.5, 0)


def test_the_calibration_error_of_answers_equals_the_one_computed_by_hand() -> None:
    cases, answers = CASES[3:5], [("f", "h"), ("g",)]
    probabilities = [{"f": 0.95, "h": 0.85}, {"g": 0.75}]
    found = score(cases, answers, probabilities)
    assert found.answers_error == pytest.approx((0.85 + 0.25) / 2)
    assert score(cases, [(), ()], probabilities).answers_error is None
    assert score(cases, answers, [{}, {}]).answers_error is None


def test_a_measure_without_failures_is_unknown_and_not_zero() -> None:
    found = score([], [])
    assert (found.singles, found.top1, found.inside) == (0, None, None)
    only_abstains = score(CASES[:1], [()])
    assert (only_abstains.top1, only_abstains.precision) == (0.0, None)


def test_brier_score_and_calibration_error_equal_those_computed_by_hand() -> None:
    probabilities = [{"f": 0.9, "g": 0.1}, {"f": 0.1, "g": 0.3}]
    found = score(CASES[:2], ANSWERS[:2], probabilities)
    assert found.brier == pytest.approx((0.01 + 0.01 + 0.01 + 0.49) / 4)
    assert found.error == pytest.approx((0.1 + 0.2 + 0.7) / 4)


def test_over_and_underconfidence_in_one_bin_cancel_out() -> None:
    probabilities = [{"f": 0.5}, {"f": 0.5}]
    assert score(CASES[:2], [("f",), ("f",)], probabilities).error == 0.0


MANY = [replace(CASES[0], id=str(n), task=f"task {n}") for n in range(40)]
MANY_ANSWERS: list[Answer] = [("f",) if n % 4 else ("g",) for n in range(40)]


def test_intervals_resample_tasks_and_are_deterministic() -> None:
    found = intervals(MANY, MANY_ANSWERS)
    low, high = found["top1"]
    assert low < 0.75 < high
    assert found == intervals(MANY, MANY_ANSWERS)
    one_task = [replace(c, task="same") for c in MANY]
    assert intervals(one_task, MANY_ANSWERS)["top1"] == (0.75, 0.75)
    assert "inside" not in found
    assert intervals([], []) == {}


def test_calibration_measures_have_intervals() -> None:
    probabilities = [{"f": 0.75 if n % 2 else 0.55, "g": 0.1} for n in range(len(MANY))]
    found = intervals(MANY, MANY_ANSWERS, probabilities)
    whole = score(MANY, MANY_ANSWERS, probabilities)._asdict()
    for name in ("brier", "error", "answers_error"):
        low, high = found[name]
        assert low < whole[name] < high
    assert "brier" not in intervals(MANY, MANY_ANSWERS)
