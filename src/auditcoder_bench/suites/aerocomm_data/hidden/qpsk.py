# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np

POINTS = {(0, 0): 1 + 1j, (0, 1): 1 - 1j, (1, 1): -1 - 1j, (1, 0): -1 + 1j}


class TestQpsk(unittest.TestCase):
    def near(self, found, expected):
        self.assertIsInstance(found, np.ndarray)
        self.assertEqual((found.dtype, found.shape), (np.complex128, np.shape(expected)))
        expected = np.asarray(expected, dtype=np.complex128)
        np.testing.assert_allclose(found.real, expected.real, rtol=1e-12, atol=0)
        np.testing.assert_allclose(found.imag, expected.imag, rtol=1e-12, atol=0)

    def test_nominal_each_pair_has_its_point(self):
        for pair, point in POINTS.items():
            self.near(qpsk_map(list(pair), 2.0), [point])

    def test_nominal_a_stream_keeps_its_order(self):
        found = qpsk_map([1, 0, 0, 0, 0, 1, 1, 1, 1, 0], energy=2.0)
        self.near(found, [-1 + 1j, 1 + 1j, 1 - 1j, -1 - 1j, -1 + 1j])

    def test_nominal_neighbours_differ_in_one_bit(self):
        circle = qpsk_map([[0, 0], [1, 0], [1, 1], [0, 1]])
        self.assertEqual(np.shape(circle), (4, 1))
        degrees = np.degrees(np.angle(circle[:, 0])) % 360
        np.testing.assert_allclose(degrees, [45.0, 135.0, 225.0, 315.0], rtol=1e-11)

    def test_boundary_no_bits_give_no_symbols(self):
        for shape in ((0,), (3, 0), (0, 4)):
            found = qpsk_map(np.zeros(shape, dtype=np.uint8))
            self.assertIsInstance(found, np.ndarray)
            half = (*shape[:-1], shape[-1] // 2)
            self.assertEqual((found.dtype, found.shape), (np.complex128, half))
        self.assertEqual(np.shape(qpsk_map([])), (0,))

    def test_vectorised_leading_axes_are_separate_streams(self):
        bits = np.array([[[0, 0, 1, 1]], [[0, 1, 1, 0]], [[1, 0, 0, 0]]])
        before = bits.copy()
        expected = [[[1 + 1j, -1 - 1j]], [[1 - 1j, -1 + 1j]], [[-1 + 1j, 1 + 1j]]]
        self.near(qpsk_map(bits, energy=2), expected)
        np.testing.assert_array_equal(bits, before)

    def test_dtype_of_the_bits_does_not_matter(self):
        for kind in (np.uint8, np.int8, np.uint64, np.int64, np.bool_, np.float32, np.float64):
            bits = np.array([0, 1, 1, 0, 1, 1], dtype=kind)
            self.near(qpsk_map(bits, 2.0), [1 - 1j, -1 + 1j, -1 - 1j])
        self.near(qpsk_map([True, False, False, True], 2.0), [-1 + 1j, 1 - 1j])

    def test_invalid_bits_are_refused(self):
        wrong = [0, np.array(1), [0], [0, 1, 1], np.zeros((2, 3), dtype=int), [0, 2], [-1, 1]]
        wrong += [[0.5, 1.0], [math.nan, 0.0], [[0, 1], [1, 3]], np.array([255, 0], dtype=np.uint8)]
        for bits in wrong:
            with self.assertRaises(ValueError, msg=bits):
                qpsk_map(bits)

    def test_invalid_energies_are_refused(self):
        for energy in (0.0, -1.0, math.inf, math.nan):
            with self.assertRaises(ValueError, msg=energy):
                qpsk_map([0, 1], energy)

    def test_tolerance_of_the_amplitude(self):
        half = 0.7071067811865476
        self.near(qpsk_map([0, 0, 1, 1]), [half + half * 1j, -half - half * 1j])
        for energy in (1e-12, 0.3, 50.0, 1e12):
            found = qpsk_map([0, 1, 1, 0], energy)
            self.assertEqual(np.shape(found), (2,))
            np.testing.assert_allclose(np.abs(found) ** 2, [energy] * 2, rtol=4e-12)
            np.testing.assert_allclose(found.real, [math.sqrt(energy / 2), -math.sqrt(energy / 2)])
