"""What a sample allows one to say: intervals, a test for pairs, a median. Pure, no packages.

Nothing here knows what was measured. All of it supposes that the observations are independent:
for pooled leaves or tests of the same run they are not, and an interval is then too narrow.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import comb, floor, fsum, sqrt
from random import Random
from statistics import NormalDist

from auditcoder.domain.values import Value


class Interval(Value):
    """From where to where, ends included."""

    low: float
    high: float


def wilson(part: int, whole: int, confidence: float = 0.95) -> Interval | None:
    """Return Wilson's score interval for a rate, without continuity correction.

    None if there was nothing to count. Unlike the textbook's normal interval it stays within 0 and
    1, and says something at the ends.
    """
    if not 0 <= part <= whole:
        raise ValueError(f"{part} of {whole} is no rate")
    if not whole:
        return None
    z = _z(confidence)
    rate = part / whole
    middle = rate + z * z / (2 * whole)
    reach = z * sqrt(rate * (1 - rate) / whole + z * z / (4 * whole * whole))
    scale = 1 + z * z / whole
    # At the ends rounding alone would leave the rate outside by the last digit.
    low = 0.0 if part == 0 else (middle - reach) / scale
    high = 1.0 if part == whole else (middle + reach) / scale
    return Interval(low=max(0.0, min(low, rate)), high=min(1.0, max(high, rate)))


def _z(confidence: float) -> float:
    return NormalDist().inv_cdf((1 + _checked(confidence)) / 2)


def _checked(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, {confidence} does not")
    return confidence


def bootstrap(
    values: Iterable[float], *, seed: int, resamples: int = 10_000, confidence: float = 0.95
) -> Interval | None:
    """Return the percentile bootstrap interval of a mean; None if there are no values.

    The same values and seed give the same interval, in whatever order the values come.
    """
    _checked(confidence)
    if resamples < 1:
        raise ValueError("an interval needs at least one resample")
    sample = sorted(values)
    if not sample:
        return None
    random, size = Random(seed), len(sample)  # noqa: S311  nothing here is secret
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

    Pairs are resampled whole, so that what makes a task hard for both cancels out.
    """
    differences = [first - second for first, second in pairs]
    return bootstrap(differences, seed=seed, resamples=resamples, confidence=confidence)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """Interpolate between the two nearest ranks."""
    place = share * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


def discordant(pairs: Iterable[tuple[bool, bool]]) -> tuple[int, int]:
    """Count the pairs where only the first holds, and where only the second does."""
    kinds = Counter(pairs)
    return kinds[True, False], kinds[False, True]


def mcnemar(first_only: int, second_only: int) -> float:
    """Return the two-sided p-value of McNemar's exact test from the discordant pairs.

    If neither were better, each discordant pair would fall either way like a fair coin. Without
    any there is nothing against that, and the value is 1.
    """
    if min(first_only, second_only) < 0:
        raise ValueError("pairs cannot be fewer than none")
    pairs = first_only + second_only
    tail = sum(comb(pairs, k) for k in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * tail / (1 << pairs))


def median(values: Iterable[Fraction | float]) -> float | None:
    """Return the middle value, or the mean of the two middle ones; None if there are none."""
    return median_of_counts(Counter(Fraction(value) for value in values))


def median_of_counts(counts: Mapping[Fraction, int]) -> float | None:
    """Return the median of values that are known by how often each occurs."""
    number = sum(counts.values())
    if not number:
        return None
    middle = ((number - 1) // 2, number // 2)
    found: list[Fraction] = []
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        while len(found) < len(middle) and middle[len(found)] < passed:
            found.append(value)
    return float(sum(found) / len(middle))


def mean_of_counts(counts: Mapping[Fraction, int]) -> float | None:
    """Return the mean of values that are known by how often each occurs, in any order the same."""
    number = sum(counts.values())
    if not number:
        return None
    return fsum(n * value.numerator / value.denominator for value, n in counts.items()) / number
