# mypy: ignore-errors
import numpy as np


def hohmann_transfer(r1, r2, mu=398600.4418):
    given = np.broadcast_arrays(*(np.asarray(x, dtype=np.float64) for x in (r1, r2, mu)))
    if not all(np.all(np.isfinite(x) & (x > 0)) for x in given):
        raise ValueError("radii and gravitational parameter must be positive and finite")
    r1, r2, mu = given
    a = (r1 + r2) / 2
    first = np.abs(np.sqrt(mu * (2 / r1 - 1 / a)) - np.sqrt(mu / r1))
    second = np.abs(np.sqrt(mu / r2) - np.sqrt(mu * (2 / r2 - 1 / a)))
    time = np.pi * np.sqrt(a**3 / mu)
    budget = (first, second, first + second, time)
    return budget if a.ndim else tuple(float(x) for x in budget)
