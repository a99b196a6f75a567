# ruff: noqa: F821, PT009, PT027
# mypy: ignore-errors
import unittest

import numpy as np


def frames(*texts):
    return np.array([list(text) for text in texts], dtype=np.uint8)


class TestCrc16(unittest.TestCase):
    def same(self, found, expected):
        self.assertIs(type(found), int)
        self.assertEqual(found, expected)

    def test_nominal_published_check_values(self):
        self.same(crc16_ccsds(b"123456789"), 0x29B1)
        self.same(crc16_ccsds(bytes.fromhex("0000")), 0x1D0F)
        self.same(crc16_ccsds(bytes.fromhex("000000")), 0xCC9C)
        self.same(crc16_ccsds(bytes.fromhex("ABCDEF01")), 0x04A2)
        self.same(crc16_ccsds(bytes.fromhex("1456F89A0001")), 0x7FD5)

    def test_nominal_a_frame_with_its_own_check_leaves_zero(self):
        self.same(crc16_ccsds(b"AeroComm"), 0x7A1E)
        self.same(crc16_ccsds(b"AeroComm\x7a\x1e"), 0)
        self.same(crc16_ccsds(b"\xff\xff"), 0)

    def test_nominal_another_start_and_data_in_pieces(self):
        self.same(crc16_ccsds(b"123456789", 0), 0x31C3)
        self.same(crc16_ccsds(b"123456789", initial=0x1D0F), 0xE5CC)
        first = crc16_ccsds(b"12345")
        self.assertIs(type(first), int)
        self.same(crc16_ccsds(b"6789", first), 0x29B1)

    def test_boundary_no_data_and_single_bytes(self):
        self.same(crc16_ccsds(b""), 0xFFFF)
        self.same(crc16_ccsds(b"", 0x1234), 0x1234)
        self.same(crc16_ccsds(b"\x00"), 0xE1F0)
        self.same(crc16_ccsds(b"\xff"), 0xFF00)
        self.same(crc16_ccsds(b"\x80"), 0x7078)
        self.same(crc16_ccsds(b"\x01"), 0xF1D1)

    def test_boundary_whole_frames(self):
        self.same(crc16_ccsds(bytes(1115)), 0x06DD)
        self.same(crc16_ccsds(bytes(range(256))), 0x3FBD)

    def test_vectorised_each_row_is_a_frame(self):
        many = frames(b"\x00\x00", b"\xff\xff", b"Ae")
        before = many.copy()
        found = crc16_ccsds(many)
        self.assertIsInstance(found, np.ndarray)
        self.assertEqual(found.tolist(), [0x1D0F, 0x0000, 0x1FF1])
        table = crc16_ccsds(frames(b"\x00\x00", b"\xff\xff", b"\x00\x00", b"Ae").reshape(2, 2, 2))
        self.assertEqual(table.tolist(), [[0x1D0F, 0], [0x1D0F, 0x1FF1]])
        np.testing.assert_array_equal(many, before)

    def test_dtype_and_shape_of_the_answer(self):
        for data in (bytearray(b"123456789"), np.frombuffer(b"123456789", dtype=np.uint8)):
            self.same(crc16_ccsds(data), 0x29B1)
        for shape, left in (((3, 0), (3,)), ((2, 1, 0), (2, 1)), ((0, 5), (0,)), ((1, 9), (1,))):
            found = crc16_ccsds(np.zeros(shape, dtype=np.uint8), 0x0102)
            self.assertIsInstance(found, np.ndarray)
            self.assertEqual((found.dtype, found.shape), (np.uint16, left))
        self.assertEqual(crc16_ccsds(np.zeros((2, 0), dtype=np.uint8), 7).tolist(), [7, 7])

    def test_invalid_data_and_starts_are_refused(self):
        wrong = ["123456789", [1, 2, 3], None, 5, np.uint8(5), np.array(5, dtype=np.uint8)]
        wrong += [np.array([1, 2, 3]), np.array([1.0, 2.0]), np.array([1, 2], dtype=np.int8)]
        for data in wrong:
            with self.assertRaises(ValueError, msg=data):
                crc16_ccsds(data)
        for initial in (-1, 0x10000):
            with self.assertRaises(ValueError, msg=initial):
                crc16_ccsds(b"123456789", initial)

    def test_tolerance_none_every_bit_counts(self):
        last = [0x6A3F, 0x5A5C, 0x3A9A, 0xFB16, 0x682F, 0x5E7C, 0x32DA, 0xEB96]
        first = [0x3DCD, 0xF5B8, 0x7573, 0x64C4, 0x47AA, 0x0176, 0x8CCE, 0x879F]
        for place, expected in ((7, last), (0, first)):
            for bit, value in enumerate(expected):
                data = bytearray(b"AeroComm")
                data[place] ^= 1 << bit
                self.same(crc16_ccsds(bytes(data)), value)
