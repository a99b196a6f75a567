"""Fitting the weights of signs, and what they are worth on tasks that they were not fitted on."""

import random
from collections.abc import Sequence
from typing import Any

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.lifecycle.locating.believing import ALWAYS, Weights, believe

_ROUNDS = 50
_CLOSE = 1e-6

Believed = dict[str, float]
"""How likely each method of one failure is at fault."""


def fit(cases: Sequence[Noticed], penalty: float = 1.0) -> Weights:
    """Fit weights by penalised logistic regression over the methods of all failures."""
    import numpy as np

    rows = [
        ({ALWAYS: 1.0, **own}, method in case.truth)
        for case in cases
        for method, own in case.signs.items()
    ]
    names = sorted({name for row, _ in rows for name in row})
    seen: Any = np.array([[row.get(name, 0.0) for name in names] for row, _ in rows])
    wanted: Any = np.array([float(at_fault) for _, at_fault in rows])
    weights: Any = np.zeros(len(names))
    for _ in range(_ROUNDS):
        likely = 1 / (1 + np.exp(-seen @ weights))
        slope = seen.T @ (likely - wanted) + penalty * weights
        bend = (seen.T * (likely * (1 - likely))) @ seen + penalty * np.eye(len(names))
        step = np.linalg.solve(bend, slope)
        weights = weights - step
        if np.abs(step).max() < _CLOSE:
            break
    return Weights(signs=dict(zip(names, map(float, weights), strict=True)), fitted={})


def cross_validated(
    cases: Sequence[Noticed], folds: int = 10, seed: int = 1, penalty: float = 1.0
) -> list[Believed]:
    """Return beliefs about every failure by weights that never saw its task."""
    tasks = sorted({case.task for case in cases})
    random.Random(seed).shuffle(tasks)  # noqa: S311 - a split, not a secret
    found: dict[str, Believed] = {}
    for fold in range(folds):
        held_out = set(tasks[fold::folds])
        weights = fit([case for case in cases if case.task not in held_out], penalty)
        for case in cases:
            if case.task in held_out:
                beliefs = believe(case.signs, weights)
                found[case.id] = {belief.node: belief.probability for belief in beliefs}
    return [found[case.id] for case in cases]
