# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import math
import unittest

import numpy as np

HALF = math.sqrt(0.5)


class TestQuaternion(unittest.TestCase):
    def near(self, found, expected, length=1.0):
        self.assertIsInstance(found, np.ndarray)
        self.assertEqual((found.dtype, found.shape), (np.float64, np.shape(expected)))
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 * length)

    def test_nominal_quarter_turns_are_right_handed(self):
        self.near(rotate_vectors([HALF, 0, 0, HALF], [1, 0, 0]), [0.0, 1.0, 0.0])
        self.near(rotate_vectors([HALF, HALF, 0, 0], [0, 1, 0]), [0.0, 0.0, 1.0])
        self.near(rotate_vectors([HALF, 0, HALF, 0], [0, 0, 1]), [1.0, 0.0, 0.0])

    def test_nominal_thirty_degrees_about_the_z_axis(self):
        q = [math.cos(math.pi / 12), 0.0, 0.0, math.sin(math.pi / 12)]
        expected = [2 * math.sqrt(3) - 1, 2 + math.sqrt(3), 7.0]
        self.near(rotate_vectors(q, [4.0, 2.0, 7.0]), expected, 9.0)

    def test_nominal_a_general_attitude_has_a_known_matrix(self):
        # The matrix of 1 + 2i + 3j + 4k, whose squared norm is 30, worked out in whole numbers.
        columns = [[-20 / 30, 20 / 30, 10 / 30], [4 / 30, -10 / 30, 28 / 30]]
        columns += [[22 / 30, 20 / 30, 4 / 30]]
        self.near(rotate_vectors([1, 2, 3, 4], np.eye(3)), columns)

    def test_boundary_the_norm_and_sign_of_the_quaternion_do_not_count(self):
        for scale in (2.0, -1.0, 1e-3, 1e6):
            q = [scale * part for part in (1.0, 1.0, 1.0, 1.0)]
            self.near(rotate_vectors(q, [1.0, 2.0, 3.0]), [3.0, 1.0, 2.0], 3.0)
        self.near(rotate_vectors([-5, 0, 0, 0], [1, 2, 3]), [1.0, 2.0, 3.0], 3.0)

    def test_boundary_half_turns_and_the_zero_vector(self):
        self.near(rotate_vectors([0, 1, 0, 0], [1.0, 2.0, 3.0]), [1.0, -2.0, -3.0], 3.0)
        self.near(rotate_vectors([0, 0, 3, 4], [0.0, 25.0, 0.0]), [0.0, -7.0, 24.0], 25.0)
        self.near(rotate_vectors([1, 2, 3, 4], [0, 0, 0]), [0.0, 0.0, 0.0])

    def test_vectorised_leading_axes_are_broadcast(self):
        turns = np.array([[HALF, 0, 0, HALF], [0.0, 0.0, 0.0, 1.0]])
        vectors = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])
        before = vectors.copy()
        one_turn = [[0.0, 1.0, 2.0], [-3.0, 0.0, 0.0]]
        self.near(rotate_vectors(turns[0], vectors), one_turn, 3.0)
        self.near(rotate_vectors(turns, vectors[0]), [[0.0, 1.0, 2.0], [-1.0, 0.0, 2.0]], 3.0)
        self.near(rotate_vectors(turns, vectors), [[0.0, 1.0, 2.0], [0.0, -3.0, 0.0]], 3.0)
        table = rotate_vectors(turns[:, None], vectors)
        self.near(table, [one_turn, [[-1.0, 0.0, 2.0], [0.0, -3.0, 0.0]]], 3.0)
        np.testing.assert_array_equal(vectors, before)

    def test_shape_and_dtype_follow_the_leading_axes(self):
        for kind in (np.int8, np.int64, np.float32):
            q, v = np.array([1, 1, 1, 1], dtype=kind), np.array([[1, 2, 3]], dtype=kind)
            self.near(rotate_vectors(q, v), [[3.0, 1.0, 2.0]], 3.0)
        self.near(rotate_vectors([1, 0, 0, 0], np.ones((2, 1, 3))), np.ones((2, 1, 3)))
        self.near(rotate_vectors(np.ones((5, 1, 4)), np.ones((2, 3))), np.ones((5, 2, 3)))
        self.near(rotate_vectors([1, 0, 0, 0], np.zeros((0, 3))), np.zeros((0, 3)))

    def test_invalid_shapes_and_values_are_refused(self):
        unit = [1.0, 0.0, 0.0, 0.0]
        wrong = [
            *((q, [1, 0, 0]) for q in (1.0, [1, 0, 0], [1, 0, 0, 0, 0], np.ones((4, 2)))),
            *((q, [1, 0, 0]) for q in ([0, 0, 0, 0], [1e-13, 0, 0, 0], [unit, [0.0] * 4])),
            *((q, [1, 0, 0]) for q in ([math.nan, 0, 0, 1], [math.inf, 0, 0, 1])),
            *((unit, v) for v in (1.0, [1, 0], [1, 0, 0, 0], np.ones((3, 2)))),
            *((unit, v) for v in ([math.nan, 0, 0], [0, math.inf, 0])),
            (np.ones((2, 4)), np.ones((3, 3))),
        ]
        for q, v in wrong:
            with self.assertRaises(ValueError, msg=(q, v)):
                rotate_vectors(q, v)

    def test_tolerance_lengths_and_float32_arguments(self):
        long = rotate_vectors([0.3, -0.7, 0.2, 0.9], [3e8, -4e8, 12e8])
        self.assertIsInstance(long, np.ndarray)
        self.assertTrue(math.isclose(math.hypot(*long), 13e8, rel_tol=2e-12))
        # A third as float32 is not a third, but its four copies still make a turn of 120 degrees.
        q = np.full(4, 1 / 3, dtype=np.float32)
        self.near(rotate_vectors(q, np.float32([1, 2, 3])), [3.0, 1.0, 2.0], 3.0)
        self.near(rotate_vectors([1, 1, 1, 1], [0.1, 0.2, 0.3]), [0.3, 0.1, 0.2], 0.3)
        small = rotate_vectors(np.float32([0, 0, 3, 4]), np.float32([0, 25, 0]))
        self.near(small, [0.0, -7.0, 24.0], 25.0)
