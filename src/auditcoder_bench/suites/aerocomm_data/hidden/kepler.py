# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np


class TestKepler(unittest.TestCase):
    def near(self, found, expected):
        self.assertIs(type(found), float)
        self.assertTrue(math.isclose(found, expected, rel_tol=0, abs_tol=1e-9), found)

    def solves(self, found, mean, eccentricity):
        self.assertIs(type(found), float)
        rest = found - eccentricity * math.sin(found) - mean
        self.assertLessEqual(abs(rest), 1e-12 * max(1.0, abs(mean)), (mean, eccentricity))

    def test_nominal_moderate_orbits(self):
        self.near(eccentric_anomaly(1.0, 0.5), 1.4987011335178484)
        self.near(eccentric_anomaly(0.5, 0.1), 0.5524799869065704)
        self.near(eccentric_anomaly(2.0, 0.7), 2.447683214615955)
        self.near(eccentric_anomaly(0.25, 0.0167), 0.2541995619150257)

    def test_nominal_angles_beyond_one_revolution_are_kept(self):
        self.near(eccentric_anomaly(7.0, 0.2), 7.15281846753179)
        self.near(eccentric_anomaly(100.0, 0.4), 99.70626136270806)
        self.near(eccentric_anomaly(-1.0, 0.5), -1.4987011335178484)
        self.near(eccentric_anomaly(-20.0, 0.6), -20.59125861274582)

    def test_boundary_circles_and_apsides(self):
        for mean in (-9.0, 0.3, 50.0):
            self.near(eccentric_anomaly(mean, 0.0), mean)
        for eccentricity in (0.0, 0.5, 0.99):
            for half_turns in (-3, 0, 1, 2):
                angle = half_turns * math.pi
                found = eccentric_anomaly(angle, eccentricity)
                self.assertIs(type(found), float)
                # Near a pericentre the equation is flat, so what must fit is the mean anomaly.
                self.solves(found, angle, eccentricity)

    def test_boundary_nearly_parabolic_orbits_converge(self):
        for mean, eccentricity in (
            *((0.2, 0.99), (0.01, 0.99), (0.3, 0.995), (6.2, 0.995), (0.02, 0.999), (0.3, 0.999)),
            *((0.3, 0.9995), (0.1, 0.9999), (0.005, 0.9999), (1e-6, 0.9999), (-0.005, 0.9999)),
        ):
            self.solves(eccentric_anomaly(mean, eccentricity), mean, eccentricity)

    def test_vectorised_anomalies_and_eccentricities_are_broadcast(self):
        means = np.array([[1.0], [2.0], [3.0]])
        found = eccentric_anomaly(means, [0.25, 0.5, 0.75])
        expected = [
            [1.2361299887020267, 1.4987011335178484, 1.7393689387435207],
            [2.2018513712068803, 2.3542427582227807, 2.4679044740114593],
            [3.028270052182995, 3.0471507747023945, 3.060644691277965],
        ]
        self.assertEqual(np.shape(found), (3, 3))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        self.assertEqual(means.tolist(), [[1.0], [2.0], [3.0]])

    def test_dtype_is_float_or_float64_whatever_comes_in(self):
        for one in (1, np.int64(1), np.float32(1.0), np.array(1.0)):
            self.near(eccentric_anomaly(one, 0.5), 1.4987011335178484)
        self.near(eccentric_anomaly(2, 0), 2.0)
        for many in ([1, 2], np.array([1, 2], dtype=np.int8), np.float32([1.0, 2.0])):
            found = eccentric_anomaly(many, 0.5)
            self.assertIsInstance(found, np.ndarray)
            self.assertEqual((found.dtype, found.shape), (np.float64, (2,)))
            np.testing.assert_allclose(found, [1.4987011335178484, 2.3542427582227807], atol=1e-9)
        empty = eccentric_anomaly(np.zeros((0, 2)), [0.1, 0.2])
        self.assertEqual((empty.dtype, empty.shape), (np.float64, (0, 2)))

    def test_invalid_values_and_shapes_are_refused(self):
        wrong = [
            *((1.0, e) for e in (-0.1, 1.0, 1.5, math.inf, math.nan, [0.5, 1.0], [0.5, -1e-9])),
            *((m, 0.5) for m in (math.inf, -math.inf, math.nan, [0.0, math.nan])),
            ([1.0, 2.0], [0.1, 0.2, 0.3]),
        ]
        for arguments in wrong:
            with self.assertRaises(ValueError, msg=arguments):
                eccentric_anomaly(*arguments)

    def test_tolerance_of_the_residual_over_a_grid(self):
        means = np.linspace(-10.0, 10.0, 201)[:, None]
        eccentricities = np.array([0.0, 0.1, 0.3, 0.6, 0.8, 0.9, 0.95, 0.97, 0.99])
        found = eccentric_anomaly(means, eccentricities)
        self.assertEqual(np.shape(found), (201, 9))
        rest = np.abs(found - eccentricities * np.sin(found) - means)
        self.assertTrue(np.all(rest <= 1e-12 * np.maximum(1.0, np.abs(means))), rest.max())

    def test_tolerance_float32_arguments_are_widened_first(self):
        found = eccentric_anomaly(np.float32([0.3, 2.7]), np.float32(0.6))
        expected = [0.6748841451046967, 2.864269368392378]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
