"""Fitting the weights of signs, and what they are worth on tasks that they were not fitted on."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.lifecycle.locating.believing import (
    ALWAYS,
    PLAUSIBLE,
    Fitted,
    Weights,
    believe,
    settled,
    weigh,
)

PENALTY = 1.0
FOLDS = 10
_ROUNDS = 50
_CLOSE = 1e-6

Believed = dict[str, float]
"""How likely each method of one failure is at fault."""
Rows = list[tuple[Mapping[str, float], bool]]
"""What was noticed about a method, and whether it is at fault."""


def fit(cases: Sequence[Noticed], penalty: float = PENALTY) -> Fitted:
    """Fit both sets: on all that was seen, and on what was tried where it was."""
    tried = [case for case in cases if case.swaps is not None]
    looked_rows = [row for case in cases for row in _rows(case, case.signs)]
    tried_rows = [row for case in tried for row in _rows(case, merged(case))]
    return Fitted(
        looked=Weights(signs=_regression(looked_rows, penalty), cases=len(cases)),
        tried=Weights(signs=_regression(tried_rows, penalty), cases=len(tried)),
    )


def merged(case: Noticed) -> dict[str, dict[str, float]]:
    """Return everything that was noticed about each method."""
    tried = case.swaps or {}
    return {method: {**own, **tried.get(method, {})} for method, own in case.signs.items()}


def _rows(
    case: Noticed, signs: Mapping[str, Mapping[str, float]]
) -> Iterator[tuple[Mapping[str, float], bool]]:
    for method, own in signs.items():
        yield {ALWAYS: 1.0, **own}, method in case.truth


def _regression(rows: Rows, penalty: float) -> dict[str, float]:
    """Penalised logistic regression over the methods of all failures, by Newton's way."""
    import numpy as np

    names = sorted({name for row, _ in rows for name in row})
    seen: Any = np.array([[row.get(name, 0.0) for name in names] for row, _ in rows])
    wanted: Any = np.array([float(at_fault) for _, at_fault in rows])
    weights: Any = np.zeros(len(names))
    for _ in range(_ROUNDS if rows else 0):
        likely = 1 / (1 + np.exp(-seen @ weights))
        slope = seen.T @ (likely - wanted) + penalty * weights
        bend = (seen.T * (likely * (1 - likely))) @ seen + penalty * np.eye(len(names))
        step = np.linalg.solve(bend, slope)
        weights = weights - step
        if np.abs(step).max() < _CLOSE:
            break
    return dict(zip(names, (round(float(weight), 4) for weight in weights), strict=True))


def folds(cases: Sequence[Noticed], seed: int = 1) -> Iterator[tuple[list[Noticed], list[int]]]:
    """Yield what may be learnt from, and which cases are then judged: never of the same task."""
    tasks = sorted({case.task for case in cases})
    random.Random(seed).shuffle(tasks)  # noqa: S311 - a split, not a secret
    for fold in range(FOLDS):
        held_out = set(tasks[fold::FOLDS])
        learnt = [case for case in cases if case.task not in held_out]
        yield learnt, [n for n, case in enumerate(cases) if case.task in held_out]


def cross_validated(cases: Sequence[Noticed], seed: int = 1) -> list[Believed]:
    """Return beliefs about every failure by weights that never saw its task."""
    found: list[Believed] = [{} for _ in cases]
    for learnt, judged in folds(cases, seed):
        fitted = fit(learnt)
        for number in judged:
            beliefs = weigh(cases[number].signs, cases[number].swaps, fitted)
            found[number] = {belief.node: belief.probability for belief in beliefs}
    return found


def open_questions(cases: Sequence[Noticed], seed: int = 1) -> list[frozenset[str]]:
    """Say which methods of each failure are worth a try after one watched run; none if it is clear.

    Weights that never saw its task decide.
    """
    found: list[frozenset[str]] = [frozenset() for _ in cases]
    for learnt, judged in folds(cases, seed):
        fitted = fit(learnt)
        for number in judged:
            beliefs = believe(cases[number].signs, fitted.looked)
            if not settled(beliefs):
                found[number] = frozenset(b.node for b in beliefs if b.probability >= PLAUSIBLE)
    return found
