"""Intervals, a paired test and medians, against published and hand-computed values."""

from fractions import Fraction
from math import isclose
from statistics import median as standard_median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditcoder.metrics.statistics import (
    Interval,
    bootstrap,
    bootstrap_difference,
    discordant,
    mcnemar,
    mean_of_counts,
    median,
    median_of_counts,
    wilson,
)

shares = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
values = st.lists(st.floats(-100, 100), min_size=1, max_size=12)


class TestWilson:
    @pytest.mark.parametrize(
        ("part", "whole", "low", "high"),
        [
            # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0000, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ],
    )
    def test_the_wilson_interval_matches_published_values(
        self, part: int, whole: int, low: float, high: float
    ) -> None:
        found = wilson(part, whole)
        assert found is not None
        assert (round(found.low, 4), round(found.high, 4)) == (low, high)

    def test_the_wilson_interval_matches_a_hand_computation(self) -> None:
        """With z = 2, 1 of 2 gives (1/2 + 1 ± 2 √(1/8 + 1/4)) / 3 = 1/2 ± √(3/8) · 2/3."""
        two_sigma = 0.954499736103642
        found = wilson(1, 2, two_sigma)
        assert found is not None
        assert isclose(found.low, 0.5 - (3 / 8) ** 0.5 * 2 / 3, abs_tol=1e-9)
        assert isclose(found.high, 0.5 + (3 / 8) ** 0.5 * 2 / 3, abs_tol=1e-9)

    def test_no_observations_have_no_interval(self) -> None:
        assert wilson(0, 0) is None

    @pytest.mark.parametrize(("part", "whole"), [(2, 1), (-1, 3), (0, -1)])
    def test_an_invalid_rate_is_refused(self, part: int, whole: int) -> None:
        with pytest.raises(ValueError, match="is not a rate"):
            wilson(part, whole)

    @pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
    def test_an_invalid_confidence_is_refused(self, confidence: float) -> None:
        with pytest.raises(ValueError, match="between 0 and 1"):
            wilson(1, 2, confidence)
        with pytest.raises(ValueError, match="between 0 and 1"):
            bootstrap([1.0], seed=1, confidence=confidence)

    @given(shares, st.floats(0.5, 0.999))
    def test_the_interval_contains_the_rate_and_stays_within_bounds(
        self, share: tuple[int, int], confidence: float
    ) -> None:
        part, whole = share
        found = wilson(part, whole, confidence)
        assert found is not None
        assert 0 <= found.low <= part / whole <= found.high <= 1

    @given(shares)
    def test_intervals_of_successes_and_failures_are_symmetric(
        self, share: tuple[int, int]
    ) -> None:
        part, whole = share
        one, other = wilson(part, whole), wilson(whole - part, whole)
        assert one is not None
        assert other is not None
        assert one.low == pytest.approx(1 - other.high, abs=1e-12)

    @given(shares)
    def test_confidence_widens_and_data_narrows_the_interval(self, share: tuple[int, int]) -> None:
        part, whole = share
        usual, surer, more = (
            wilson(part, whole),
            wilson(part, whole, 0.99),
            wilson(4 * part, 4 * whole),
        )
        assert usual is not None
        assert surer is not None
        assert more is not None
        assert surer.high - surer.low > usual.high - usual.low > more.high - more.low


class TestBootstrap:
    def test_no_values_have_no_interval(self) -> None:
        assert bootstrap([], seed=1) is None
        assert bootstrap_difference([], seed=1) is None

    def test_constant_values_have_an_interval_of_zero_width(self) -> None:
        assert bootstrap([3.0] * 5, seed=1, resamples=50) == Interval(low=3.0, high=3.0)

    def test_two_values_match_a_hand_computation(self) -> None:
        """Means of resamples are 0, 1/2, 1 with probabilities 1/4, 1/2, 1/4."""
        assert bootstrap([0, 1], seed=7, resamples=2000) == Interval(low=0.0, high=1.0)
        middle = bootstrap([0, 1], seed=7, resamples=2000, confidence=0.4)
        assert middle == Interval(low=0.5, high=0.5)

    def test_fair_coins_match_the_binomial_quantiles(self) -> None:
        """The 2.5 and 97.5 % quantiles of the binomial distribution of 100 coins are 40 and 60."""
        found = bootstrap([0.0] * 50 + [1.0] * 50, seed=11, resamples=4000)
        assert found is not None
        assert found.low == pytest.approx(0.40, abs=0.011)
        assert found.high == pytest.approx(0.60, abs=0.011)

    def test_zero_resamples_are_refused(self) -> None:
        with pytest.raises(ValueError, match="at least one"):
            bootstrap([1.0], seed=1, resamples=0)

    def test_the_seed_determines_the_interval(self) -> None:
        sample = [0.1, 0.7, 0.2, 0.9, 0.4]
        assert bootstrap(sample, seed=1, resamples=99) == bootstrap(sample, seed=1, resamples=99)
        assert bootstrap(sample, seed=1, resamples=99) != bootstrap(sample, seed=2, resamples=99)

    @settings(max_examples=50)
    @given(values, st.randoms(use_true_random=False))
    def test_the_interval_ignores_order_and_lies_within_the_sample(
        self, sample: list[float], random: object
    ) -> None:
        shuffled = list(sample)
        random.shuffle(shuffled)  # type: ignore[attr-defined]
        found = bootstrap(sample, seed=3, resamples=40)
        assert found == bootstrap(shuffled, seed=3, resamples=40)
        assert found is not None
        slack = 1e-9
        assert min(sample) - slack <= found.low <= found.high <= max(sample) + slack

    @settings(max_examples=50)
    @given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=9))
    def test_differences_are_resampled_by_pair(self, pairs: list[tuple[int, int]]) -> None:
        found = bootstrap_difference(pairs, seed=5, resamples=40)
        assert found == bootstrap([a - b for a, b in pairs], seed=5, resamples=40)
        shifted = bootstrap_difference([(a + 100, b + 100) for a, b in pairs], seed=5, resamples=40)
        assert found == shifted, "what both have in common cancels out"


class TestMcNemar:
    @pytest.mark.parametrize(
        ("one", "other", "p"),
        [
            (0, 0, 1.0),
            (1, 1, 1.0),
            (0, 1, 1.0),
            (0, 5, 2 / 32),
            (0, 6, 2 / 64),
            (1, 9, 2 * (1 + 10) / 1024),
            (2, 8, 2 * (1 + 10 + 45) / 1024),
            (6, 16, 2 * 110_056 / 4_194_304),
        ],
    )
    def test_the_p_value_matches_a_hand_computation(self, one: int, other: int, p: float) -> None:
        assert mcnemar(one, other) == p

    @given(st.integers(0, 300), st.integers(0, 300))
    def test_the_p_value_is_symmetric_and_a_probability(self, one: int, other: int) -> None:
        assert mcnemar(one, other) == mcnemar(other, one)
        assert 0 < mcnemar(one, other) <= 1

    @given(st.integers(0, 60), st.integers(0, 60))
    def test_a_larger_difference_has_a_smaller_p_value(self, few: int, gap: int) -> None:
        assert mcnemar(few, few + gap + 1) <= mcnemar(few, few + gap)

    def test_many_pairs_do_not_overflow(self) -> None:
        assert 0 < mcnemar(900, 1100) < 1e-4

    def test_a_negative_count_is_refused(self) -> None:
        with pytest.raises(ValueError, match="must not be negative"):
            mcnemar(-1, 2)

    def test_only_discordant_pairs_count(self) -> None:
        pairs = [(True, True), (True, False), (False, True), (True, False), (False, False)]
        assert discordant(pairs) == (2, 1)
        assert discordant([]) == (0, 0)


class TestAverages:
    @pytest.mark.parametrize(
        ("sample", "middle"),
        [([], None), ([3], 3), ([1, 2], 1.5), ([5, 1, 3], 3), ([0, 0, 1, 1], 0.5), ([0, 0, 1], 0)],
    )
    def test_small_samples_have_their_median(
        self, sample: list[float], middle: float | None
    ) -> None:
        assert median(sample) == middle

    @given(st.lists(st.fractions(0, 9, max_denominator=99), min_size=1))
    def test_counts_give_the_same_mean_and_median_as_values(self, sample: list[Fraction]) -> None:
        counts = {value: sample.count(value) for value in sample}
        assert median_of_counts(counts) == float(standard_median(sample))
        mean = mean_of_counts(counts)
        assert mean == pytest.approx(float(sum(sample) / len(sample)))
        assert mean == mean_of_counts(dict(reversed(counts.items())))

    def test_no_values_have_no_mean(self) -> None:
        assert mean_of_counts({}) is None
