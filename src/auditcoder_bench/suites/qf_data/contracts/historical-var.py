# ruff: noqa: PT009
# mypy: ignore-errors
import json
import unittest
from pathlib import Path

NAMES = ("var_95_1d", "var_99_1d", "cvar_99_1d")


def results():
    return json.loads(Path("output/var_results.json").read_text(encoding="utf-8"))


def losses():
    """Return the loss of each day in money, the largest first."""
    data = json.loads(Path("returns.json").read_text(encoding="utf-8"))
    value, weights = data["portfolio_value"], data["weights"]
    return sorted(
        (-value * sum(weights[a] * day[a] for a in weights) for day in data["returns"]),
        reverse=True,
    )


class TestHistoricalVarContract(unittest.TestCase):
    def test_three_amounts_of_money_in_cents_in_order(self):
        found = results()
        for name in NAMES:
            self.assertIn(type(found[name]), (int, float), name)
            self.assertAlmostEqual(found[name], round(found[name], 2), delta=1e-7)
        self.assertGreater(found["var_95_1d"], 0)
        self.assertGreaterEqual(found["var_99_1d"], found["var_95_1d"])
        self.assertGreaterEqual(found["cvar_99_1d"], found["var_99_1d"])

    def test_losses_stand_at_their_ranks_and_the_tail_has_its_boundary(self):
        found, ranked = results(), losses()
        at95, at99 = ranked[len(ranked) * 5 // 100], ranked[len(ranked) // 100]
        tail = [loss for loss in ranked if loss >= at99]
        self.assertAlmostEqual(found["var_95_1d"], at95, delta=0.011)
        self.assertAlmostEqual(found["var_99_1d"], at99, delta=0.011)
        self.assertAlmostEqual(found["cvar_99_1d"], sum(tail) / len(tail), delta=0.011)
