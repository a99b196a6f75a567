# ruff: noqa: PT009
# mypy: ignore-errors
import csv
import json
import unittest
from pathlib import Path

COLUMNS = ["date", "close_unadjusted", "close_adjusted", "volume_unadjusted", "volume_adjusted"]


def table(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        return list(reader), reader.fieldnames


def summary():
    return json.loads(Path("output/results.json").read_text(encoding="utf-8"))


def actions():
    """Return date, price factor, volume factor and dividend of each action, earliest first."""
    days, _ = table("prices.csv")
    data = json.loads(Path("corporate_actions.json").read_text(encoding="utf-8"))
    found = []
    for action in sorted(data["corporate_actions"], key=lambda a: a["date"]):
        if action["type"] == "split":
            new, old = map(float, action["ratio"].split(":"))
            found.append((action["date"], old / new, new / old, 0.0))
        else:
            close = [float(day["close"]) for day in days if day["date"] <= action["date"]][-1]
            paid = action["amount"]
            found.append((action["date"], 1.0 - paid / close, 1.0, paid))
    return found


class TestCorporateActionContract(unittest.TestCase):
    def test_the_table_keeps_every_day_and_its_columns(self):
        days, _ = table("prices.csv")
        rows, columns = table("output/adjusted_prices.csv")
        self.assertEqual(columns, COLUMNS)
        self.assertEqual([row["date"] for row in rows], [day["date"] for day in days])
        for row, day in zip(rows, days, strict=True):
            self.assertAlmostEqual(float(row["close_unadjusted"]), float(day["close"]), delta=1e-6)
            self.assertEqual(int(row["volume_unadjusted"]), int(day["volume"]))
            self.assertGreater(int(row["volume_adjusted"]), 0)
            price = float(row["close_adjusted"])
            self.assertAlmostEqual(price, round(price, 4), delta=1e-9)

    def test_every_day_is_adjusted_by_all_later_actions_and_no_other(self):
        rows, _ = table("output/adjusted_prices.csv")
        self.assertTrue(rows)
        for row in rows:
            price, volume = float(row["close_unadjusted"]), float(row["volume_unadjusted"])
            for date, price_factor, volume_factor, _ in actions():
                if row["date"] < date:
                    price *= price_factor
                    volume *= volume_factor
            self.assertAlmostEqual(float(row["close_adjusted"]), price, delta=1.1e-4)
            self.assertAlmostEqual(float(row["volume_adjusted"]), volume, delta=1.0)

    def test_the_summary_is_that_of_actions_and_table(self):
        found, rows = summary(), table("output/adjusted_prices.csv")[0]
        prices = volumes = 1.0
        for _, price_factor, volume_factor, _ in actions():
            prices *= price_factor
            volumes *= volume_factor
        close = {
            "first_date_adjusted_close": float(rows[0]["close_unadjusted"]) * prices,
            "last_date_unadjusted_close": float(table("prices.csv")[0][-1]["close"]),
            "total_dividends_per_original_share": sum(paid for *_, paid in actions()),
            "cumulative_volume_adjustment_factor": volumes,
        }
        self.assertIs(type(found["n_actions_applied"]), int)
        self.assertEqual(found["n_actions_applied"], len(actions()))
        factor = found["cumulative_price_adjustment_factor"]
        self.assertAlmostEqual(factor, prices, delta=1.1e-8)
        for name, expected in close.items():
            self.assertAlmostEqual(found[name], expected, delta=1.1e-4, msg=name)
        shown = float(rows[0]["close_adjusted"])
        self.assertAlmostEqual(found["first_date_adjusted_close"], shown, delta=1e-9)
