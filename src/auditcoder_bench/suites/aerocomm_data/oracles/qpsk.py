# mypy: ignore-errors
import numpy as np


def qpsk_map(bits, energy=1.0):
    bits = np.asarray(bits)
    if bits.ndim == 0 or bits.shape[-1] % 2:
        raise ValueError("bits come in pairs")
    if not np.all((bits == 0) | (bits == 1)):
        raise ValueError("a bit is 0 or 1")
    if not (np.isfinite(energy) and energy > 0):
        raise ValueError("the energy must be positive and finite")
    signs = 1.0 - 2.0 * bits.astype(np.float64)
    return np.sqrt(energy / 2) * (signs[..., 0::2] + 1j * signs[..., 1::2])
