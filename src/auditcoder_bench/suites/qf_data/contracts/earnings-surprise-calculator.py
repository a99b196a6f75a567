# ruff: noqa: PT009
# mypy: ignore-errors
import json
import math
import unittest
from pathlib import Path

MEASURES = ("surprise_dollars", "surprise_pct", "sue", "yoy_growth")
AVERAGES = {"avg_surprise_pct": "surprise_pct", "avg_sue": "sue", "avg_yoy_growth": "yoy_growth"}


def companies():
    data = json.loads(Path("earnings.json").read_text(encoding="utf-8"))
    return {company["ticker"]: company["quarters"] for company in data["companies"]}


def results():
    return json.loads(Path("output/results.json").read_text(encoding="utf-8"))


def measured(quarter):
    actual, estimate = quarter["actual_eps"], quarter["consensus_estimate"]
    prior, spread = quarter["prior_year_eps"], quarter["std_estimate"]
    return {
        "surprise_dollars": actual - estimate,
        "surprise_pct": 100.0 * (actual - estimate) / abs(estimate),
        "sue": (actual - estimate) / spread if spread else 0.0,
        "yoy_growth": 100.0 * (actual - prior) / abs(prior),
    }


def label(percent):
    if abs(percent) <= 2.0:
        return "meet"
    return "beat" if percent > 0 else "miss"


class TestEarningsSurpriseContract(unittest.TestCase):
    def rounded(self, number):
        self.assertIn(type(number), (int, float))
        self.assertTrue(math.isfinite(number))
        self.assertAlmostEqual(number, round(number, 4), delta=1e-9)

    def test_every_company_and_quarter_is_there_once_with_rounded_numbers(self):
        found = results()
        self.assertEqual(set(found), set(companies()))
        for ticker, quarters in companies().items():
            rows = found[ticker]["quarters"]
            self.assertEqual([r["period"] for r in rows], [q["period"] for q in quarters])
            for row in rows:
                for name in MEASURES:
                    self.rounded(row[name])
            for name in (*AVERAGES, "beat_rate"):
                self.rounded(found[ticker]["summary"][name])

    def test_every_quarter_is_measured_against_its_own_estimate_and_year(self):
        found = results()
        for ticker, quarters in companies().items():
            rows = found[ticker]["quarters"]
            for row, quarter in zip(rows, quarters, strict=True):
                expected = measured(quarter)
                for name in MEASURES:
                    self.assertAlmostEqual(row[name], expected[name], delta=1.1e-4, msg=name)
                self.assertEqual(row["classification"], label(expected["surprise_pct"]))

    def test_every_summary_is_the_mean_of_its_quarters(self):
        found = results()
        for ticker, quarters in companies().items():
            rows, count = [measured(q) for q in quarters], len(quarters)
            summary = found[ticker]["summary"]
            for name, source in AVERAGES.items():
                mean = sum(row[source] for row in rows) / count
                # Whether rounded or full values are averaged is left open.
                self.assertAlmostEqual(summary[name], mean, delta=1.6e-4, msg=name)
            beats = sum(label(row["surprise_pct"]) == "beat" for row in rows)
            self.assertAlmostEqual(summary["beat_rate"], beats / count, delta=1.1e-4)
