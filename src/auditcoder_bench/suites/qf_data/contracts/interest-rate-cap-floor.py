# ruff: noqa: PT009
# mypy: ignore-errors
import json
import math
import unittest
from pathlib import Path

DIGITS = {"cap_price": 2, "floor_price": 2, "swap_value": 2, "put_call_parity_error": 6}


def given():
    return json.loads(Path("params.json").read_text(encoding="utf-8"))


def results():
    return json.loads(Path("output/results.json").read_text(encoding="utf-8"))


def normal(x):
    return math.erfc(-x / math.sqrt(2.0)) / 2.0


def priced(data):
    """Return the caplet, the floorlet and the swap's part of each period."""
    strike, length = data["strike"], data["period_length"]
    periods = zip(data["forward_rates"], data["discount_factors"], strict=True)
    for number, (rate, discount) in enumerate(periods):
        money = data["notional"] * length * discount
        spread = data["vol"] * math.sqrt(number * length)
        if not spread:
            cap, floor = max(rate - strike, 0.0), max(strike - rate, 0.0)
        else:
            high = math.log(rate / strike) / spread + spread / 2.0
            low = high - spread
            cap = rate * normal(high) - strike * normal(low)
            floor = strike * normal(-low) - rate * normal(-high)
        yield money * cap, money * floor, money * (rate - strike)


class TestCapFloorContract(unittest.TestCase):
    def rounded(self, number, digits):
        self.assertIn(type(number), (int, float))
        self.assertTrue(math.isfinite(number))
        self.assertAlmostEqual(number, round(number, digits), delta=1e-9 * max(1.0, abs(number)))

    def test_every_period_has_its_prices_and_every_number_its_digits(self):
        found, count = results(), len(given()["forward_rates"])
        for name, digits in DIGITS.items():
            self.rounded(found[name], digits)
        for name in ("caplets", "floorlets"):
            self.assertEqual(len(found[name]), count)
            for price in found[name]:
                self.rounded(price, 4)
                self.assertGreaterEqual(price, 0.0)

    def test_every_caplet_and_floorlet_is_priced_from_its_fixing_time(self):
        found = results()
        pairs = zip(found["caplets"], found["floorlets"], priced(given()), strict=True)
        for cap, floor, (expected_cap, expected_floor, _) in pairs:
            self.assertAlmostEqual(cap, expected_cap, delta=2e-4)
            self.assertAlmostEqual(floor, expected_floor, delta=2e-4)

    def test_caps_less_floors_are_swaps_in_every_period_and_in_all(self):
        found, swaps = results(), [swap for *_, swap in priced(given())]
        for cap, floor, swap in zip(found["caplets"], found["floorlets"], swaps, strict=True):
            self.assertAlmostEqual(cap - floor, swap, delta=3e-4)
        self.assertAlmostEqual(found["cap_price"], sum(found["caplets"]), delta=0.011)
        self.assertAlmostEqual(found["floor_price"], sum(found["floorlets"]), delta=0.011)
        self.assertAlmostEqual(found["swap_value"], sum(swaps), delta=0.011)
        # It may be taken before or after the parts are rounded to four digits.
        self.assertLess(abs(found["put_call_parity_error"]), 1e-3)
