"""Statistics: confidence intervals, McNemar's test, mean and median; standard library only.

All of it assumes independent observations. Pooled leaves or tests of the same run are not
independent, and an interval is then too narrow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb, floor, fsum, sqrt
from random import Random
from statistics import NormalDist

from auditcoder.domain.values import Value


class Interval(Value):
    """A closed interval."""

    low: float
    high: float


def wilson(part: int, whole: int, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval for a rate, without continuity correction.

    None if there was nothing to count. Unlike the normal approximation it stays within 0 and 1,
    and has a positive width at rates of 0 and 1.
    """
    if not 0 <= part <= whole:
        raise ValueError(f"{part} of {whole} is not a rate")
    if not whole:
        return None
    z = _z(confidence)
    rate = part / whole
    middle = rate + z * z / (2 * whole)
    half_width = z * sqrt(rate * (1 - rate) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    # At rates of 0 and 1, rounding errors could exclude the rate from its interval.
    low = 0.0 if part == 0 else (middle - half_width) / scale
    high = 1.0 if part == whole else (middle + half_width) / scale
    return Interval(low=max(0.0, min(low, rate)), high=min(1.0, max(high, rate)))


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + _checked(confidence)) / 2)


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence must be between 0 and 1, not {confidence}")
    return confidence


def bootstrap(
    values: Iterable[float], *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> Interval | None:
    """Return the percentile bootstrap interval of a mean; None if there are no values.

    The same values and seed give the same interval, whatever the order of the values.
    """
    _checked(confidence)
    if resamples < 1:
        raise ValueError("an interval needs at least one resample")
    sample = sorted(values)
    if not sample:
        return None
    random, size = Random(seed), len(sample)  # noqa: S311  no cryptographic use
    means = sorted(fsum(random.choices(sample, k=size)) / size for _ in range(resamples))
    tail = (1 - confidence) / 2
    return Interval(low=_quantile(means, tail), high=_quantile(means, 1 - tail))


def bootstrap_difference(
    pairs: Iterable[tuple[float, float]],
    *,
    seed: int,
    resamples: int = 10_000,
    confidence: float = 0.95,
) -> Interval | None:
    """Return the percentile bootstrap interval of the mean of first minus second.

    Whole pairs are resampled, so that the difficulty of a task, which affects both, cancels out.
    """
    differences = [first - second for first, second in pairs]
    return bootstrap(differences, seed=seed, resamples=resamples, confidence=confidence)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Return a quantile, interpolated between the two nearest ranks."""
    position = share * (len(ordered) - 1)
    below = floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (position - below) * (ordered[above] - ordered[below])


def discordant(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """Count the pairs where only the first holds, and where only the second does."""
    kinds = Counter(pairs)
    return kinds[True, False], kinds[False, True]


def mcnemar(first_only: int, second_only: int) -> float:
    """Return the two-sided p-value of McNemar's exact test from the discordant pairs.

    Under the null hypothesis both kinds of discordant pairs are equally likely. Without discordant
    pairs the value is 1.
    """
    if min(first_only, second_only) < 0:
        raise ValueError("the number of pairs must not be negative")
    pairs = first_only + second_only
    tail = sum(comb(pairs, k) for k in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


def median(values: Iterable[Fraction | float]) -> float | None:
    """Return the median; None if there are no values."""
    return median_of_counts(Counter(Fraction(value) for value in values))


def median_of_counts(counts: Mapping[Fraction, int]) -> float | None:
    """Return the median of values, given the number of occurrences of each; None if empty."""
    number = sum(counts.values())
    if not number:
        return None
    ranks = ((number - 1) // 2, number // 2)
    middle: list[Fraction] = []
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        while len(middle) < len(ranks) and ranks[len(middle)] < passed:
            middle.append(value)
    return float(sum(middle) / len(ranks))


def mean_of_counts(counts: Mapping[Fraction, int]) -> float | None:
    """Return the mean of values, given the number of occurrences of each; None if empty.

    The result does not depend on the order.
    """
    number = sum(counts.values())
    if not number:
        return None
    return fsum(n * value.numerator / value.denominator for value, n in counts.items()) / number
