# mypy: ignore-errors
import numpy as np


def free_space_path_loss(distance_km, frequency_mhz):
    d, f = (np.asarray(x, dtype=np.float64) for x in (distance_km, frequency_mhz))
    if not all(np.all(np.isfinite(x) & (x > 0)) for x in (d, f)):
        raise ValueError("distance and frequency must be positive and finite")
    loss = 20 * np.log10(4 * np.pi * (d * 1e3) * (f * 1e6) / 299792458.0)
    return loss if loss.ndim else float(loss)
