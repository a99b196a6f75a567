# ruff: noqa: PT009
# mypy: ignore-errors
import json
import unittest
from pathlib import Path

import numpy as np


class TestPcaPortfolioContract(unittest.TestCase):
    """Holds for either sign of a factor: which one comes out is not the task's to say."""

    def setUp(self):
        data = json.loads(Path("params.json").read_text(encoding="utf-8"))
        self.tickers = data["tickers"]
        self.factors = [f"PC{number + 1}" for number in range(data["n_factors"])]
        self.returns = np.array([data["monthly_returns"][t] for t in self.tickers]).T
        self.target = np.array([data["target_weights"][t] for t in self.tickers])
        self.found = json.loads(Path("output/results.json").read_text(encoding="utf-8"))

    def vector(self, table, names, digits=6):
        self.assertEqual(set(table), set(names))
        vector = np.array([table[name] for name in names], dtype=float)
        self.assertTrue(np.all(np.isfinite(vector)))
        np.testing.assert_allclose(vector, np.round(vector, digits), rtol=0, atol=1e-9)
        return vector

    def loadings(self):
        tables = self.found["factor_loadings"]
        self.assertEqual(set(tables), set(self.factors))
        return np.array([self.vector(tables[name], self.tickers) for name in self.factors])

    def near(self, found, expected, tolerance):
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)

    def test_every_factor_and_ticker_is_named_and_every_number_has_its_digits(self):
        self.assertEqual(self.loadings().shape, (len(self.factors), len(self.tickers)))
        for name in ("hedge_weights", "neutral_weights"):
            self.vector(self.found[name], self.tickers)
        for name in ("target_factor_exposures", "neutral_factor_exposures"):
            self.vector(self.found[name], self.factors)
        shares = dict(enumerate(self.found["pca_explained_variance_ratio"]))
        self.vector(shares, range(len(self.factors)), 4)
        for name in ("portfolio_sharpe_neutral", "portfolio_sharpe_target"):
            self.vector({name: self.found[name]}, [name], 4)

    def test_loadings_are_the_leading_axes_of_the_centred_returns(self):
        axes, count = self.loadings(), len(self.factors)
        self.near(axes @ axes.T, np.eye(count), 1e-5)
        covariance = np.cov(self.returns, rowvar=False)
        leading = np.linalg.eigvalsh(covariance)[::-1][:count]
        total = np.trace(covariance)
        self.near(self.found["pca_explained_variance_ratio"], leading / total, 1.1e-4)
        self.near(axes @ covariance / total, (leading / total)[:, None] * axes, 1e-5)
        exposures = self.vector(self.found["target_factor_exposures"], self.factors)
        self.near(exposures, axes @ self.target, 1e-5)

    def test_the_hedge_is_the_smallest_that_is_neutral_and_sharpe_ratios_follow(self):
        axes = self.loadings()
        hedge = self.vector(self.found["hedge_weights"], self.tickers)
        neutral = self.vector(self.found["neutral_weights"], self.tickers)
        self.near(neutral, self.target + hedge, 2e-6)
        self.near(hedge.sum(), 0.0, 1e-5)
        self.near(axes @ neutral, 0.0, 1e-5)
        self.near(self.vector(self.found["neutral_factor_exposures"], self.factors), 0.0, 1e-5)
        wanted = np.vstack([axes, np.ones(len(self.tickers))])
        smallest = np.linalg.pinv(wanted) @ np.append(-axes @ self.target, 0.0)
        self.near(hedge, smallest, 2e-5)
        for name, weights in (("neutral", neutral), ("target", self.target)):
            series = self.returns @ weights
            sharpe = series.mean() / series.std(ddof=1) * np.sqrt(12.0)
            self.near(self.found[f"portfolio_sharpe_{name}"], sharpe, 2e-4)
