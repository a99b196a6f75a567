# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np

MARS = 42828.375214
SUN = 132712440041.93938


class TestHohmann(unittest.TestCase):
    def near(self, found, expected):
        self.assertIs(type(found), tuple)
        self.assertEqual([type(item) for item in found], [float] * 4)
        for item, value in zip(found[:3], expected[:3], strict=True):
            self.assertTrue(math.isclose(item, value, rel_tol=1e-9, abs_tol=1e-12), found)
        self.assertTrue(math.isclose(found[3], expected[3], rel_tol=1e-9), found)

    def test_nominal_low_orbit_to_geostationary(self):
        expected = (2.4257299089463062, 1.4668244779445927, 3.892554386890899, 18990.13173812482)
        self.near(hohmann_transfer(6678.137, 42164.0), expected)

    def test_nominal_other_bodies(self):
        expected = (2.9446911331086287, 2.6488967226245106, 5.59358785573314, 22366007.43073475)
        self.near(hohmann_transfer(149597870.7, 227939200.0, SUN), expected)
        expected = (1.0032366897613083, 0.6373272177143988, 1.6405639074757072, 20235.718225333534)
        self.near(hohmann_transfer(3796.2, 20428.2, mu=MARS), expected)

    def test_nominal_the_way_in_has_the_same_burns_in_reverse(self):
        expected = (1.4668244779445927, 2.4257299089463062, 3.892554386890899, 18990.13173812482)
        self.near(hohmann_transfer(42164.0, 6678.137), expected)

    def test_boundary_equal_circles_need_no_burn(self):
        self.near(hohmann_transfer(7000.0, 7000.0), (0.0, 0.0, 0.0, 2914.258318843008))
        self.near(hohmann_transfer(1.0, 1.0, 1.0), (0.0, 0.0, 0.0, math.pi))

    def test_boundary_circles_that_nearly_touch_or_lie_far_apart(self):
        close = (2.6950187921036356e-07, 2.695018695852973e-07, 5.390037487956608e-07)
        self.near(hohmann_transfer(7000.0, 7000.001), (*close, 2914.258631084976))
        far = (3.082052063775654, 0.8287375702726589, 3.910789634048313, 430425.3609739932)
        self.near(hohmann_transfer(6778.137, 384400.0), far)

    def test_vectorised_radii_are_broadcast(self):
        first = np.array([[7000.0], [8000.0]])
        found = hohmann_transfer(first, [14000.0, 21000.0])
        self.assertEqual(len(found), 4)
        expected = [
            [[1.167378506618159, 1.695936776199297], [0.9045858496650648, 1.4360427284420203]],
            [[0.9791495542672501, 1.2760525429272376], [0.7854241051185368, 1.120628570011539]],
            [[2.146528060885409, 2.9719893191265343], [1.6900099547836016, 2.5566712984535593]],
            [[5353.834394869872, 8242.767277532794], [5740.768216297855, 8688.263586788311]],
        ]
        for item, values in zip(found, expected, strict=True):
            self.assertEqual(np.shape(item), (2, 2))
            np.testing.assert_allclose(item, values, rtol=1e-9, atol=1e-12)
        self.assertEqual(first.tolist(), [[7000.0], [8000.0]])

    def test_shape_and_dtype_of_the_four_items(self):
        self.assertEqual(
            [type(item) for item in hohmann_transfer(np.float32(1), np.array(4), 1)], [float] * 4
        )
        for given in ([1, 4], np.array([1, 4], dtype=np.int32), np.float32([1, 4])):
            found = hohmann_transfer(1, given, 1)
            self.assertIs(type(found), tuple)
            self.assertEqual([(x.dtype, x.shape) for x in found], [(np.float64, (2,))] * 4)
            np.testing.assert_allclose(found[2], [0.0, 0.4486832980505138], rtol=1e-9, atol=1e-12)
        empty = hohmann_transfer(np.zeros((0,)), 7000.0)
        self.assertEqual([(x.dtype, x.shape) for x in empty], [(np.float64, (0,))] * 4)

    def test_invalid_values_and_shapes_are_refused(self):
        for bad in (0.0, -7000.0, math.inf, math.nan, [7000.0, 0.0]):
            for arguments in ((bad, 7000.0), (7000.0, bad), (7000.0, 8000.0, bad)):
                with self.assertRaises(ValueError, msg=arguments):
                    hohmann_transfer(*arguments)
        with self.assertRaises(ValueError):
            hohmann_transfer([7000.0, 8000.0], [7000.0, 8000.0, 9000.0])

    def test_tolerance_float32_arguments_are_widened_first(self):
        expected = (2.4194189879367425, 1.4645238246350865, 3.8839428125718287, 19003.159024187276)
        self.near(hohmann_transfer(np.float32(6700.3), np.float32(42164.17)), expected)
        found = hohmann_transfer(np.float32([6700.3]), np.float32([42164.17]))
        np.testing.assert_allclose(np.ravel(found), expected, rtol=1e-9, atol=0)
