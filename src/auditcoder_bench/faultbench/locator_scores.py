"""Scores the answers of locators to failures with known causes.

An answer is a tuple of methods, the most probable first; an empty one is an abstention. Failures
with one faulty method are scored by whether it is named first, failures with several by whether
only faulty methods are named, and by the share of them that is named.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from auditcoder_bench.faultbench.failure_records import INTERFACE, MULTI, SINGLE, UNFIXABLE
from auditcoder_bench.faultbench.ground_truth import IMPORTS
from auditcoder_bench.faultbench.observations import FailureEvidence

Answer = tuple[str, ...]
"""The named methods, the most probable first; empty for an abstention."""
Probabilities = Mapping[str, float]
"""Probability of each method of one failure to be at fault."""

_BINS = 10
_RESAMPLES = 1000


class Scores(NamedTuple):
    """Scores of a locator's answers; None if there was nothing to count.

    "Single" failures have one faulty method, "several" failures more than one.
    """

    singles: int
    top1: float | None
    """Single: share whose faulty method is named first; an abstention counts as wrong."""
    coverage: float | None
    """Single: share with an answer."""
    precision: float | None
    """Single: share of the answers whose first method is faulty."""
    remotes: int
    remote: float | None
    """Top-1 where the fault is not in the method that the failing test called last."""
    several: int
    named: float | None
    """Several: share with an answer."""
    inside: float | None
    """Several: share of the answers that name only faulty methods."""
    covered: float | None
    """Several: mean share of the faulty methods that is named (recall)."""
    exact: float | None
    """Several: share in which exactly the faulty methods are named."""
    beyond: int
    """Failures that no set of methods repairs, or whose check is wrong."""
    abstained: float | None
    """Share of these with no answer."""
    brier: float | None
    """Brier score of the probabilities of all methods."""
    error: float | None
    """Expected calibration error of the probabilities of all methods, over ten bins."""
    answers_error: float | None
    """Expected calibration error of answers: whether only faulty methods are named."""


def score(
    cases: Sequence[FailureEvidence],
    answers: Sequence[Answer],
    probabilities: Sequence[Probabilities] | None = None,
) -> Scores:
    """Score one answer per failure, and the probabilities behind them, if given."""
    return _scores([_tally(cases, answers, probabilities)])


def intervals(
    cases: Sequence[FailureEvidence],
    answers: Sequence[Answer],
    probabilities: Sequence[Probabilities] | None = None,
    seed: int = 1,
) -> dict[str, tuple[float, float]]:
    """Return the 95 % bootstrap interval of each score, by resampling whole tasks.

    Scores that no resample has are left out.
    """
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    tasks = list(_by_task(cases, answers, probabilities).values())
    samples: dict[str, list[float]] = defaultdict(list)
    for _ in range(_RESAMPLES if tasks else 0):
        drawn = _scores(chance.choices(tasks, k=len(tasks)))
        for name, value in drawn._asdict().items():
            if value is not None:
                samples[name].append(value)
    return {name: _percentiles(sorted(values)) for name, values in samples.items()}


def _percentiles(values: Sequence[float]) -> tuple[float, float]:
    return values[int(0.025 * len(values))], values[max(0, int(0.975 * len(values)) - 1)]


class _Tally:
    """The sums from which all scores are computed; tallies of several tasks can be added."""

    def __init__(self) -> None:
        self.sums: dict[tuple[str, int], float] = defaultdict(float)
        self.counts: dict[tuple[str, int], int] = defaultdict(int)

    def count(self, measure: str, value: float, bin_: int = 0) -> None:
        """Add one value of a measure to one of its bins."""
        self.sums[measure, bin_] += value
        self.counts[measure, bin_] += 1

    def add(self, other: "_Tally") -> None:
        """Add another tally to this one."""
        for key, value in other.sums.items():
            self.sums[key] += value
            self.counts[key] += other.counts[key]

    def number(self, measure: str) -> int:
        """Return the number of values of a measure."""
        return self.counts.get((measure, 0), 0)

    def mean(self, measure: str) -> float | None:
        """Return the mean of a measure; None if it has no values."""
        number = self.number(measure)
        return self.sums[measure, 0] / number if number else None

    def calibration_error(self, measure: str) -> float | None:
        """Return the mean absolute error of the bins, weighted by their number of values."""
        bins = [bin_ for name, bin_ in self.sums if name == measure]
        number = sum(self.counts[measure, bin_] for bin_ in bins)
        total = sum(abs(self.sums[measure, bin_]) for bin_ in bins)
        return total / number if number else None


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
        error=whole.calibration_error("error"),
        answers_error=whole.calibration_error("answers_error"),
    )


def _by_task(
    cases: Sequence[FailureEvidence],
    answers: Sequence[Answer],
    probabilities: Sequence[Probabilities] | None,
) -> dict[str, _Tally]:
    numbers: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        numbers.setdefault(case.task, []).append(number)
    return {
        task: _tally(
            [cases[n] for n in own],
            [answers[n] for n in own],
            [probabilities[n] for n in own] if probabilities is not None else None,
        )
        for task, own in sorted(numbers.items())
    }


def _tally(
    cases: Sequence[FailureEvidence],
    answers: Sequence[Answer],
    probabilities: Sequence[Probabilities] | None,
) -> _Tally:
    tally = _Tally()
    for case, answer, believed in zip(
        cases, answers, probabilities or [{}] * len(cases), strict=True
    ):
        for measure, value in _measured(case, answer):
            tally.count(measure, value)
        for method, probability in believed.items():
            error = probability - (method in case.truth)
            tally.count("brier", error**2)
            tally.count("error", error, _bin(probability))
        if answer and believed:  # the answers of rules have no probability
            stated = min(believed[method] for method in answer)
            tally.count("answers_error", stated - (set(answer) <= set(case.truth)), _bin(stated))
    return tally


def _bin(probability: float) -> int:
    return min(int(probability * _BINS), _BINS - 1)


def _measured(case: FailureEvidence, answer: Answer) -> Iterator[tuple[str, float]]:
    """Yield the value of one answer for each measure that applies to its failure."""
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


def _needs_several(case: FailureEvidence) -> bool:
    """Whether several methods are at fault; in real failures also through shared state."""
    shared_state = case.kind == INTERFACE and not case.fault and case.truth != (IMPORTS,)
    return case.kind == MULTI or shared_state
