# mypy: ignore-errors
import numpy as np


def convolutional_encode(bits, terminate=True):
    bits = np.asarray(bits)
    if bits.ndim == 0 or not np.all((bits == 0) | (bits == 1)):
        raise ValueError("bits must be a sequence of 0 and 1")
    tail = 2 if terminate else 0
    u = np.pad(bits.astype(np.uint8), [(0, 0)] * (bits.ndim - 1) + [(2, tail)])
    now, before, earlier = u[..., 2:], u[..., 1:-1], u[..., :-2]
    pairs = np.stack([now ^ before ^ earlier, now ^ earlier], axis=-1)
    return pairs.reshape(*bits.shape[:-1], 2 * now.shape[-1])
