# mypy: ignore-errors
import numpy as np


def crc16_ccsds(data, initial=0xFFFF):
    if not 0 <= initial <= 0xFFFF:
        raise ValueError("the register has 16 bits")
    if isinstance(data, bytes | bytearray):
        data = np.frombuffer(bytes(data), dtype=np.uint8)
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim == 0:
        raise ValueError("data must be bytes, or an array of them")
    crc = np.full(data.shape[:-1], initial, dtype=np.uint32)
    for place in range(data.shape[-1]):
        crc = crc ^ (data[..., place].astype(np.uint32) << 8)
        for _ in range(8):
            crc = ((crc << 1) ^ np.where(crc & 0x8000, 0x1021, 0)) & 0xFFFF
    return crc.astype(np.uint16) if data.ndim > 1 else int(crc)
