# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np

MARS = 42828.375214
SUN = 132712440041.93938


class TestVisViva(unittest.TestCase):
    def near(self, found, expected):
        self.assertIs(type(found), float)
        self.assertTrue(math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12), found)

    def test_nominal_circular_orbits_of_the_earth(self):
        self.near(vis_viva_speed(6778.137, 6778.137), 7.668558175407055)
        self.near(vis_viva_speed(384400, 384400), 1.0183034106336974)

    def test_nominal_both_apsides_of_a_transfer_ellipse(self):
        self.near(vis_viva_speed(6578.137, 24371.0685), 10.238846873053765)
        self.near(vis_viva_speed(42164.0, 24371.0685), 1.5973943993209678)

    def test_nominal_hyperbolas_and_other_bodies(self):
        self.near(vis_viva_speed(7000, -20000), 11.567880644451934)
        self.near(vis_viva_speed(3796, 12000, MARS), 4.358436816023479)
        self.near(vis_viva_speed(206655215.0, 188683100.0, mu=SUN), 24.104429940990872)
        self.near(vis_viva_speed(1.0, -1.0, 1.0), math.sqrt(3.0))

    def test_boundary_an_infinite_axis_is_a_parabola(self):
        self.near(vis_viva_speed(7000.0, math.inf), 10.671730905260201)
        self.near(vis_viva_speed(7000.0, -math.inf), 10.671730905260201)
        self.near(vis_viva_speed(8.0, math.inf, 1.0), 0.5)

    def test_boundary_the_speed_ends_at_twice_the_axis(self):
        self.near(vis_viva_speed(20000.0, 10000.0), 0.0)
        self.near(vis_viva_speed(0.2, 0.1, 7.0), 0.0)
        self.near(vis_viva_speed(1.5, 1.0, 3.0), 1.0)

    def test_vectorised_distances_and_axes_are_broadcast(self):
        radii = np.array([[7000.0], [9000.0]])
        expected = [
            [8.00379817894515, 8.981599914878885, 9.927489828310517],
            [6.225176361401783, 7.440508885299595, 8.558451362979088],
        ]
        found = vis_viva_speed(radii, [8000.0, 12000.0, 26000.0])
        self.assertEqual(np.shape(found), (2, 3))
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
        self.assertEqual(radii.tolist(), [[7000.0], [9000.0]])
        bodies = vis_viva_speed(2.0, 2.0, [8.0, 18.0])
        np.testing.assert_allclose(bodies, [2.0, 3.0], rtol=1e-12, atol=0)

    def test_dtype_is_float_or_float64_whatever_comes_in(self):
        for one in (2, np.int32(2), np.float32(2.0), np.array(2.0)):
            self.near(vis_viva_speed(one, one, 8), 2.0)
        for many in ([2, 8], np.array([2, 8], dtype=np.int16), np.array([2, 8], dtype=np.float32)):
            found = vis_viva_speed(many, many, 8)
            self.assertIsInstance(found, np.ndarray)
            self.assertEqual((found.dtype, found.shape), (np.float64, (2,)))
            np.testing.assert_allclose(found, [2.0, 1.0], rtol=1e-12, atol=0)
        empty = vis_viva_speed(np.zeros((0, 3)), [1.0, 2.0, 3.0])
        self.assertEqual((empty.dtype, empty.shape), (np.float64, (0, 3)))

    def test_invalid_values_and_shapes_are_refused(self):
        wrong = [
            *((r, 7000.0) for r in (0.0, -1.0, math.inf, math.nan, [7000.0, -7000.0])),
            *((7000.0, a) for a in (0.0, math.nan, [7000.0, 0.0])),
            *((7000.0, 7000.0, mu) for mu in (0.0, -1.0, math.inf, math.nan)),
            (20000.001, 10000.0),
            ([7000.0, 15000.0], 7000.0),
            ([1.0, 2.0], [1.0, 2.0, 3.0]),
        ]
        for arguments in wrong:
            with self.assertRaises(ValueError, msg=arguments):
                vis_viva_speed(*arguments)

    def test_tolerance_float32_arguments_are_widened_first(self):
        radii = np.array([6700.3, 12345.67, 40000.9], dtype=np.float32)
        found = vis_viva_speed(radii, np.float32(26560.1))
        expected = [10.196685346096627, 7.040300323680762, 2.2185770173564547]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=0)
