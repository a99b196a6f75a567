# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np


def bits_of(text):
    return [int(bit) for bit in text if bit in "01"]


class TestConvolutional(unittest.TestCase):
    def same(self, found, expected):
        self.assertIsInstance(found, np.ndarray)
        self.assertEqual((found.dtype, found.ndim), (np.uint8, 1))
        self.assertEqual(found.tolist(), bits_of(expected))

    def test_nominal_a_single_one_shows_both_generators(self):
        self.same(convolutional_encode([1]), "11 10 11")
        self.same(convolutional_encode([0, 0, 0, 1]), "00 00 00 11 10 11")

    def test_nominal_known_messages(self):
        self.same(convolutional_encode([1, 0, 1, 1]), "11 10 00 01 01 11")
        self.same(convolutional_encode([1, 1, 1, 1]), "11 01 10 10 01 11")
        self.same(convolutional_encode([1, 0, 0, 1]), "11 10 11 11 10 11")

    def test_nominal_without_a_tail_the_stream_just_ends(self):
        self.same(convolutional_encode([1, 0, 1, 1], terminate=False), "11 10 00 01")
        self.same(convolutional_encode([1, 1, 0], False), "11 01 01")

    def test_boundary_no_bits_and_only_zeros(self):
        self.same(convolutional_encode([]), "00 00")
        self.same(convolutional_encode([], terminate=False), "")
        self.same(convolutional_encode([0]), "00 00 00")
        self.same(convolutional_encode([0] * 7, terminate=False), "00 00 00 00 00 00 00")

    def test_vectorised_streams_do_not_touch_each_other(self):
        bits = np.array([[[1, 1, 1]], [[0, 0, 0]], [[1, 1, 0]]])
        before = bits.copy()
        found = convolutional_encode(bits)
        self.assertEqual(np.shape(found), (3, 1, 10))
        for row, expected in zip(found, ("1101100111", "0000000000", "1101011100"), strict=True):
            self.same(row[0], expected)
        short = convolutional_encode([[1, 0], [0, 1]], terminate=False)
        self.assertEqual(short.tolist(), [[1, 1, 1, 0], [0, 0, 1, 1]])
        np.testing.assert_array_equal(bits, before)

    def test_dtype_is_uint8_whatever_the_bits_are(self):
        for kind in (np.uint8, np.int8, np.int64, np.uint64, np.bool_, np.float32, np.float64):
            self.same(convolutional_encode(np.array([1, 0, 1, 1], dtype=kind)), "111000010111")
        self.same(convolutional_encode([True, False, True, True]), "111000010111")

    def test_shape_has_twice_the_length_and_four_for_the_tail(self):
        for shape in ((5,), (2, 5), (0, 3), (3, 0), (2, 1, 4)):
            for terminate, tail in ((True, 4), (False, 0)):
                found = convolutional_encode(np.zeros(shape, dtype=int), terminate)
                self.assertIsInstance(found, np.ndarray)
                expected = (*shape[:-1], 2 * shape[-1] + tail)
                self.assertEqual((found.dtype, found.shape), (np.uint8, expected))

    def test_invalid_bits_are_refused(self):
        wrong = [1, np.array(0), [0, 2], [-1, 1], [0.5, 1.0], [math.nan, 0.0], [[0, 1], [1, 3]]]
        for bits in [*wrong, np.array([1, 255], dtype=np.uint8)]:
            for terminate in (True, False):
                with self.assertRaises(ValueError, msg=bits):
                    convolutional_encode(bits, terminate)

    def test_tolerance_none_over_a_long_message(self):
        message = np.unpackbits(np.frombuffer(b"AeroComm-Small8", dtype=np.uint8))
        expected = 0x3B0385F8867EF51A4B0D451A45148514BE1488BD451485C3851735170D9C0
        self.same(convolutional_encode(message), f"{expected:0244b}")
        self.same(convolutional_encode(message, False), f"{expected:0244b}"[:240])
