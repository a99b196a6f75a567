# ruff: noqa: PT009
# mypy: ignore-errors
import json
import math
import unittest
from pathlib import Path

NAMES = ("zero_rates", "discount_factors", "forward_rates")


class TestZeroCouponContract(unittest.TestCase):
    def setUp(self):
        data = json.loads(Path("curve_data.json").read_text(encoding="utf-8"))
        self.par = dict(zip(data["maturities"], data["par_rates"], strict=True))
        self.times = sorted(self.par)
        self.frequency = data["coupon_freq"]
        self.found = json.loads(Path("output/results.json").read_text(encoding="utf-8"))

    def curve(self, name):
        return {time: self.found[name][str(time)] for time in self.times}

    def discount(self, time):
        """Return the discount factor, between maturities from zero rates on a straight line."""
        zeros = self.curve("zero_rates")
        after = next(t for t in self.times if t >= time)
        before = max((t for t in self.times if t <= time), default=after)
        share = (time - before) / (after - before) if after > before else 0.0
        return math.exp(-time * (zeros[before] + share * (zeros[after] - zeros[before])))

    def price(self, time):
        coupon = self.par[time] / self.frequency
        dates = [k / self.frequency for k in range(1, round(time * self.frequency) + 1)]
        return coupon * sum(map(self.discount, dates)) + self.discount(time)

    def test_every_maturity_has_three_rounded_values_that_are_one_curve(self):
        for name in NAMES:
            self.assertEqual(set(self.found[name]), {str(time) for time in self.times})
            for value in self.found[name].values():
                self.assertIs(type(value), float)
                self.assertAlmostEqual(value, round(value, 8), delta=1e-12)
        zeros, discounts = self.curve("zero_rates"), self.curve("discount_factors")
        for time in self.times:
            self.assertAlmostEqual(discounts[time], math.exp(-zeros[time] * time), delta=1e-7)
        values = [1.0, *discounts.values(), 0.0]
        self.assertEqual(values, sorted(values, reverse=True))

    def test_bonds_are_worth_par_and_forwards_join_neighbouring_maturities(self):
        zeros, forwards = self.curve("zero_rates"), self.curve("forward_rates")
        known = set()
        for time in self.times:
            known.add(time)
            coupons = {k / self.frequency for k in range(1, round(time * self.frequency) + 1)}
            # Dates beyond the last known maturity may be read from its rate or solved for; the
            # task leaves it open. Where there are none, only one value is right.
            settled = coupons <= known
            self.assertAlmostEqual(self.price(time), 1.0, delta=1e-6 if settled else 2e-3)
        self.assertAlmostEqual(forwards[self.times[0]], zeros[self.times[0]], delta=1.1e-8)
        for before, time in zip(self.times, self.times[1:], strict=False):
            grown = zeros[time] * time - zeros[before] * before
            self.assertAlmostEqual(forwards[time], grown / (time - before), delta=1e-6)
