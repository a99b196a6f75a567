"""Scoring answers about failures whose cause is known.

An answer is a set of methods, the likeliest first, or nothing. Failures that one method causes
and failures that need several are scored apart: the first by whether that method is named, the
second by whether everything named is at fault, and how much of the fault is named.
"""

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.bench.faultbench.records import INTERFACE, MULTI, SINGLE, UNFIXABLE
from auditcoder.bench.faultbench.truth import IMPORTS

Answer = tuple[str, ...]
"""The methods that are named, the likeliest first; none is an abstention."""

_BINS = 10
_RESAMPLED = 1000


class Scores(NamedTuple):
    """How good a locator's answers are; None where there was nothing to count."""

    singles: int
    top1: float | None
    """Of failures of one method: how often it is named first, an abstention counting as wrong."""
    coverage: float | None
    """How often there is an answer."""
    precision: float | None
    """Of the answers: how often the first named is right."""
    remotes: int
    remote: float | None
    """Top-1 where the fault is not in the method that was called last."""
    several: int
    named: float | None
    """How often there is an answer to failures of several methods."""
    inside: float | None
    """Of answers to failures of several methods: how often all that is named is at fault."""
    covered: float | None
    """How much of what is at fault is named."""
    exact: float | None
    beyond: int
    """Failures that no set of methods repairs, or whose check is wrong."""
    abstained: float | None
    """How often nothing is named for these."""


def score(cases: Sequence[Noticed], answers: Sequence[Answer]) -> Scores:
    """Score answers, one a failure."""
    pairs = list(zip(cases, answers, strict=True))
    single = [(c, a) for c, a in pairs if c.kind == SINGLE]
    multi = [(c, a) for c, a in pairs if _needs_several(c)]
    remote = [(c, a) for c, a in single if c.remote]
    given = [(c, a) for c, a in single if a]
    named = [(set(c.truth), set(a)) for c, a in multi if a]
    beyond = [a for c, a in pairs if c.kind == UNFIXABLE or c.truth == (IMPORTS,)]
    return Scores(
        singles=len(single),
        top1=_mean(_first_right(c, a) for c, a in single),
        coverage=_mean(bool(a) for _, a in single),
        precision=_mean(_first_right(c, a) for c, a in given),
        remotes=len(remote),
        remote=_mean(_first_right(c, a) for c, a in remote),
        several=len(multi),
        named=_mean(bool(a) for _, a in multi),
        inside=_mean(answer <= truth for truth, answer in named),
        covered=_mean(len(set(c.truth) & set(a)) / len(c.truth) for c, a in multi),
        exact=_mean(set(c.truth) == set(a) for c, a in multi),
        beyond=len(beyond),
        abstained=_mean(not a for a in beyond),
    )


def _needs_several(case: Noticed) -> bool:
    """Whether several methods are at fault; in real failures, also where they share a state."""
    shared = case.kind == INTERFACE and not case.fault and case.truth != (IMPORTS,)
    return case.kind == MULTI or shared


def _first_right(case: Noticed, answer: Answer) -> bool:
    return answer[:1] == case.truth


def _mean(values: Iterable[float]) -> float | None:
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


class Calibration(NamedTuple):
    """Whether what is said to be so likely is so often so."""

    brier: float
    error: float
    """How far belief and frequency lie apart, on average over ten bins."""


def calibration(
    cases: Sequence[Noticed], beliefs: Sequence[Mapping[str, float]]
) -> Calibration | None:
    """Compare beliefs about single methods with the truth."""
    return _calibrated(
        [
            (probability, method in case.truth)
            for case, own in zip(cases, beliefs, strict=True)
            for method, probability in own.items()
        ]
    )


def calibration_of_answers(
    cases: Sequence[Noticed], answers: Sequence[Answer], beliefs: Sequence[Mapping[str, float]]
) -> Calibration | None:
    """Compare what an answer says of itself with how often all that it names is at fault."""
    pairs = [
        (min(own[method] for method in answer), set(answer) <= set(case.truth))
        for case, answer, own in zip(cases, answers, beliefs, strict=True)
        if answer and own  # what rules answer has no probability
    ]
    return _calibrated(pairs)


def _calibrated(pairs: Sequence[tuple[float, bool]]) -> Calibration | None:
    if not pairs:
        return None
    bins: dict[int, list[tuple[float, bool]]] = {}
    for probability, holds in pairs:
        place = min(int(probability * _BINS), _BINS - 1)
        bins.setdefault(place, []).append((probability, holds))
    apart = sum(abs(sum(p for p, _ in own) - sum(h for _, h in own)) for own in bins.values())
    return Calibration(
        brier=sum((p - h) ** 2 for p, h in pairs) / len(pairs), error=apart / len(pairs)
    )


def interval(
    cases: Sequence[Noticed],
    answers: Sequence[Answer],
    measure: Callable[[Scores], float | None],
    seed: int = 1,
) -> tuple[float, float] | None:
    """Return the middle 95 % of a measure when whole tasks are drawn again and again."""
    chance = random.Random(seed)  # noqa: S311 - a resample, not a secret
    by_task: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        by_task.setdefault(case.task, []).append(number)
    tasks = sorted(by_task)
    found = []
    for _ in range(_RESAMPLED):
        drawn = [n for task in chance.choices(tasks, k=len(tasks)) for n in by_task[task]]
        value = measure(score([cases[n] for n in drawn], [answers[n] for n in drawn]))
        if value is not None:
            found.append(value)
    if not found:
        return None
    found.sort()
    return found[int(0.025 * len(found))], found[int(0.975 * len(found)) - 1]
