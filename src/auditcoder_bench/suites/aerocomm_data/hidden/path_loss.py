# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np


class TestPathLoss(unittest.TestCase):
    def near(self, found, expected):
        self.assertIs(type(found), float)
        self.assertTrue(math.isclose(found, expected, rel_tol=0, abs_tol=1e-9), found)

    def test_nominal_terrestrial_links(self):
        self.near(free_space_path_loss(1.0, 1000.0), 92.44778322188337)
        self.near(free_space_path_loss(0.1, 2450.0), 80.23110490917402)

    def test_nominal_space_links(self):
        self.near(free_space_path_loss(35786.0, 12000.0), 205.10567129475945)
        self.near(free_space_path_loss(384400.0, 2295.0), 211.35910459927914)
        self.near(free_space_path_loss(distance_km=1.5e8, frequency_mhz=8420.5), 274.4763660068471)

    def test_nominal_each_decade_adds_twenty_decibels(self):
        self.near(free_space_path_loss(2.0, 3.0), 48.01080822955625)
        self.near(free_space_path_loss(20.0, 3.0), 68.01080822955625)
        self.near(free_space_path_loss(2.0, 30.0), 68.01080822955625)

    def test_boundary_close_by_the_loss_reaches_zero_and_turns_negative(self):
        self.near(free_space_path_loss(0.02385672579618471, 1.0), 0.0)
        self.near(free_space_path_loss(1e-6, 1.0), -87.55221677811663)

    def test_vectorised_distances_and_frequencies_are_broadcast(self):
        distances = np.array([[550.0], [1200.0]])
        found = free_space_path_loss(distances, [11700.0, 14250.0])
        self.assertEqual(np.shape(found), (2, 2))
        expected = [
            [168.61875424669148, 170.33133429865882],
            [175.39512537775911, 177.10770542972645],
        ]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
        self.assertEqual(distances.tolist(), [[550.0], [1200.0]])
        bands = free_space_path_loss(600, [437.5, 2250.0, 8200.0])
        expected = [140.8303693767229, 155.0544585917835, 166.28708527723057]
        np.testing.assert_allclose(bands, expected, rtol=0, atol=1e-9)

    def test_dtype_is_float_or_float64_whatever_comes_in(self):
        for one in (1, np.int32(1), np.float32(1.0), np.array(1.0)):
            self.near(free_space_path_loss(one, one), 32.44778322188338)
        for many in ([2, 20], np.array([2, 20], dtype=np.int8), np.float32([2.0, 20.0])):
            found = free_space_path_loss(many, 3)
            self.assertIsInstance(found, np.ndarray)
            self.assertEqual((found.dtype, found.shape), (np.float64, (2,)))
            np.testing.assert_allclose(found, [48.01080822955625, 68.01080822955625], atol=1e-9)
        empty = free_space_path_loss(np.zeros((0, 2)), [1.0, 2.0])
        self.assertEqual((empty.dtype, empty.shape), (np.float64, (0, 2)))

    def test_invalid_values_are_refused(self):
        for bad in (0.0, -1.0, math.inf, math.nan, [1.0, 0.0], [math.nan, 1.0]):
            for arguments in ((bad, 100.0), (100.0, bad)):
                with self.assertRaises(ValueError, msg=arguments):
                    free_space_path_loss(*arguments)

    def test_invalid_shapes_are_refused(self):
        with self.assertRaises(ValueError):
            free_space_path_loss([1.0, 2.0], [1.0, 2.0, 3.0])
        with self.assertRaises(ValueError):
            free_space_path_loss(np.ones((2, 3)), np.ones((2, 2)))

    def test_tolerance_the_constant_is_not_rounded_nor_float32_kept(self):
        self.near(free_space_path_loss(1.0, 1.0), 32.44778322188338)
        self.near(free_space_path_loss(np.float32(1234.567), np.float32(8025.3)), 172.3673019306446)
        found = free_space_path_loss(np.float32([1234.567]), np.float32([8025.3]))
        np.testing.assert_allclose(found, [172.3673019306446], rtol=0, atol=1e-9)
