"""Fitting the weights of signs, and what they are worth on tasks that they were not fitted on."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.bench.faultbench.records import MULTI, SINGLE
from auditcoder.lifecycle.locating.believing import (
    ALWAYS,
    PLAUSIBLE,
    Belief,
    Fitted,
    FittedFor,
    Weights,
    believe,
    named,
    settled,
    together,
    weigh,
)

PENALTY = 1.0
FOLDS = 30
_LIMITS = tuple(step / 20 for step in range(4, 20))
_RIGHT, _INSIDE = 0.975, 0.965
"""How often answers must be right where the limits are chosen; elsewhere it will be less."""
_ROUNDS = 50
_CLOSE = 1e-6

NOBODY = Fitted(looked=Weights(signs={}), tried=Weights(signs={}), least=1.0, each=1.0)
"""What names nobody, where there was nothing to learn from."""

Believed = dict[str, float]
"""How likely each method of one failure is at fault."""
Rows = list[tuple[Mapping[str, float], bool]]
"""What was noticed about a method, and whether it is at fault."""


def fit(cases: Sequence[Noticed], penalty: float = PENALTY) -> Fitted:
    """Fit both sets, on all that was seen, and on what was tried where it was; then the limits."""
    if not cases:
        return NOBODY
    tried = [case for case in cases if case.swaps is not None]
    looked_rows = [row for case in cases for row in _rows(case, case.signs)]
    tried_rows = [
        row for case in tried for row in _rows(case, together(case.signs, case.swaps or {}))
    ]
    fitted = Fitted(
        looked=Weights(signs=_regression(looked_rows, penalty), cases=len(cases)),
        tried=Weights(signs=_regression(tried_rows, penalty), cases=len(tried)),
    )
    believed = [(case, weigh(case.signs, case.swaps, fitted)) for case in cases if case.signs]
    return replace(fitted, least=_least(believed), each=_each(believed))


def fit_both(cases: Sequence[Noticed]) -> FittedFor:
    """Fit for classes and for programs apart: what a sign is worth differs.

    For classes there are real failures; what was put into others only tests what they teach.
    """
    classes = [case for case in cases if not case.rooted]
    real = [case for case in classes if not case.fault]
    return FittedFor(
        classes=fit(real or classes), programs=fit([case for case in cases if case.rooted])
    )


def _for(fitted: FittedFor, case: Noticed) -> Fitted:
    return fitted.programs if case.rooted else fitted.classes


def _least(believed: Sequence[tuple[Noticed, list[Belief]]]) -> float:
    """Return the lowest limit above which the likeliest is right often enough."""
    for least in _LIMITS:
        first = [(c, b[0]) for c, b in believed if c.kind == SINGLE and b[0].probability >= least]
        if sum(b.node in c.truth for c, b in first) >= _RIGHT * len(first):
            return least
    return _LIMITS[-1]


def _each(believed: Sequence[tuple[Noticed, list[Belief]]]) -> float:
    """Return the lowest limit above which all that is named is at fault often enough."""
    several = [(set(case.truth), beliefs) for case, beliefs in believed if case.kind == MULTI]
    for each in _LIMITS:
        inside = sum({b.node for b in named(own, 0.0, each)} <= truth for truth, own in several)
        if inside >= _INSIDE * len(several):
            return each
    return _LIMITS[-1]


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


class Judged(NamedTuple):
    """A failure as weights and limits see it that never saw its task."""

    believed: Believed
    answer: tuple[str, ...]


def cross_validated(cases: Sequence[Noticed], seed: int = 1) -> list[Judged]:
    """Judge every failure by weights and limits that never saw its task."""
    found = [Judged({}, ())] * len(cases)
    for learnt, judged in folds(cases, seed):
        both = fit_both(learnt)
        for number in judged:
            fitted = _for(both, cases[number])
            beliefs = weigh(cases[number].signs, cases[number].swaps, fitted)
            chosen = named(beliefs, fitted.least, fitted.each)
            believed = {belief.node: belief.probability for belief in beliefs}
            found[number] = Judged(believed, tuple(belief.node for belief in chosen))
    return found


def open_questions(cases: Sequence[Noticed], seed: int = 1) -> list[frozenset[str]]:
    """Say which methods of each failure are worth a try after one watched run; none if it is clear.

    Weights that never saw its task decide.
    """
    found: list[frozenset[str]] = [frozenset() for _ in cases]
    for learnt, judged in folds(cases, seed):
        both = fit_both(learnt)
        for number in judged:
            beliefs = believe(cases[number].signs, _for(both, cases[number]).looked)
            if not settled(beliefs):
                found[number] = frozenset(b.node for b in beliefs if b.probability >= PLAUSIBLE)
    return found
