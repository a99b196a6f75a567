"""Scoring answers about failures whose cause is known.

An answer is a set of methods, the likeliest first, or nothing. Failures that one method causes
and failures that need several are scored apart: the first by whether that method is named, the
second by whether everything named is at fault, and how much of the fault is named.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from auditcoder_bench.faultbench.failure_records import INTERFACE, MULTI, SINGLE, UNFIXABLE
from auditcoder_bench.faultbench.ground_truth import IMPORTS
from auditcoder_bench.faultbench.observations import Noticed

Answer = tuple[str, ...]
"""The methods that are named, the likeliest first; none is an abstention."""
Beliefs = Mapping[str, float]
"""How likely each method of one failure is at fault."""

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
    brier: float | None
    """Of what is believed of single methods."""
    error: float | None
    """How far belief and frequency lie apart, on average over ten bins."""
    answers_error: float | None
    """The same of answers: how often all that they name is at fault, beside what they say."""


def score(
    cases: Sequence[Noticed], answers: Sequence[Answer], beliefs: Sequence[Beliefs] | None = None
) -> Scores:
    """Score answers, one a failure, and the beliefs behind them, if there are any."""
    return _scores([_tally(cases, answers, beliefs)])


def intervals(
    cases: Sequence[Noticed],
    answers: Sequence[Answer],
    beliefs: Sequence[Beliefs] | None = None,
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    """Return the middle 95 % of each score when whole tasks are drawn again and again.

    A score that no draw has is left out.
    """
    chance = random.Random(seed)  # noqa: S311 - a resample, not a secret
    tasks = list(_by_task(cases, answers, beliefs).values())
    found: dict[str, list[float]] = defaultdict(list)
    for _ in range(_RESAMPLED if tasks else 0):
        drawn = _scores(chance.choices(tasks, k=len(tasks)))
        for name, value in drawn._asdict().items():
            if value is not None:
                found[name].append(value)
    return {name: _middle(sorted(values)) for name, values in found.items()}


def _middle(values: Sequence[float]) -> tuple[float, float]:
    return values[int(0.025 * len(values))], values[max(0, int(0.975 * len(values)) - 1)]


class _Tally:
    """Sums that every score follows from; those of several tasks can be added up."""

    def __init__(self) -> None:
        self.parts: dict[tuple[str, int], float] = defaultdict(float)
        self.counts: dict[tuple[str, int], int] = defaultdict(int)

    def count(self, measure: str, value: float, place: int = 0) -> None:
        """Count one more value of a measure, in one of its bins."""
        self.parts[measure, place] += value
        self.counts[measure, place] += 1

    def add(self, other: "_Tally") -> None:
        """Count all that another one has counted."""
        for key, value in other.parts.items():
            self.parts[key] += value
            self.counts[key] += other.counts[key]

    def number(self, measure: str) -> int:
        """Return how many there were to count."""
        return self.counts.get((measure, 0), 0)

    def mean(self, measure: str) -> float | None:
        """Return a measure; None where there was nothing to count."""
        number = self.number(measure)
        return self.parts[measure, 0] / number if number else None

    def apart(self, measure: str) -> float | None:
        """Return how far its bins lie from nought, each counting as much as is in it."""
        bins = [place for name, place in self.parts if name == measure]
        number = sum(self.counts[measure, place] for place in bins)
        far = sum(abs(self.parts[measure, place]) for place in bins)
        return far / number if number else None


def _scores(tallies: Iterable[_Tally]) -> Scores:
    whole = _Tally()
    for tally in tallies:
        whole.add(tally)
    return Scores(
        singles=whole.number("top1"),
        top1=whole.mean("top1"),
        coverage=whole.mean("coverage"),
        precision=whole.mean("precision"),
        remotes=whole.number("remote"),
        remote=whole.mean("remote"),
        several=whole.number("exact"),
        named=whole.mean("named"),
        inside=whole.mean("inside"),
        covered=whole.mean("covered"),
        exact=whole.mean("exact"),
        beyond=whole.number("abstained"),
        abstained=whole.mean("abstained"),
        brier=whole.mean("brier"),
        error=whole.apart("error"),
        answers_error=whole.apart("answers_error"),
    )


def _by_task(
    cases: Sequence[Noticed], answers: Sequence[Answer], beliefs: Sequence[Beliefs] | None
) -> dict[str, _Tally]:
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.task, []).append(number)
    return {
        task: _tally(
            [cases[n] for n in own],
            [answers[n] for n in own],
            [beliefs[n] for n in own] if beliefs is not None else None,
        )
        for task, own in sorted(numbers.items())
    }


def _tally(
    cases: Sequence[Noticed], answers: Sequence[Answer], beliefs: Sequence[Beliefs] | None
) -> _Tally:
    tally = _Tally()
    for case, answer, believed in zip(cases, answers, beliefs or [{}] * len(cases), strict=True):
        for measure, value in _counted(case, answer):
            tally.count(measure, value)
        for method, probability in believed.items():
            off = probability - (method in case.truth)
            tally.count("brier", off**2)
            tally.count("error", off, _bin(probability))
        if answer and believed:  # what rules answer has no probability
            said = min(believed[method] for method in answer)
            tally.count("answers_error", said - (set(answer) <= set(case.truth)), _bin(said))
    return tally


def _bin(probability: float) -> int:
    return min(int(probability * _BINS), _BINS - 1)


def _counted(case: Noticed, answer: Answer) -> Iterator[tuple[str, float]]:
    """Yield what one answer is worth by each measure that its failure counts for."""
    truth, named = set(case.truth), set(answer)
    if case.kind == SINGLE:
        right = answer[:1] == case.truth
        yield "top1", right
        yield "coverage", bool(answer)
        if answer:
            yield "precision", right
        if case.remote:
            yield "remote", right
    if _needs_several(case):
        yield "named", bool(answer)
        if answer:
            yield "inside", named <= truth
        yield "covered", len(truth & named) / len(truth)
        yield "exact", truth == named
    if case.kind == UNFIXABLE or case.truth == (IMPORTS,):
        yield "abstained", not answer


def _needs_several(case: Noticed) -> bool:
    """Whether several methods are at fault; in real failures, also where they share a state."""
    shared = case.kind == INTERFACE and not case.fault and case.truth != (IMPORTS,)
    return case.kind == MULTI or shared
