# mypy: ignore-errors
import numpy as np


def vis_viva_speed(r, a, mu=398600.4418):
    r, a, mu = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (r, a, mu)))
    if not (np.all(np.isfinite(r) & (r > 0)) and np.all(np.isfinite(mu) & (mu > 0))):
        raise ValueError("distance and gravitational parameter must be positive and finite")
    if np.any(np.isnan(a) | (a == 0)):
        raise ValueError("the semi-major axis must be a number other than 0")
    if np.any((a > 0) & (r > 2 * a)):
        raise ValueError("the ellipse does not reach that distance")
    speed = np.sqrt(mu * (2.0 / r - 1.0 / a))
    return speed if speed.ndim else float(speed)
