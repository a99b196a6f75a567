# mypy: ignore-errors
import numpy as np


def eccentric_anomaly(mean_anomaly, eccentricity):
    m, e = (np.asarray(x, dtype=np.float64) for x in (mean_anomaly, eccentricity))
    m, e = np.broadcast_arrays(m, e)
    if not np.all(np.isfinite(m)):
        raise ValueError("the mean anomaly must be finite")
    if not np.all((e >= 0) & (e < 1)):
        raise ValueError("the eccentricity must be at least 0 and below 1")
    turns = 2 * np.pi * np.round(m / (2 * np.pi))
    rest = m - turns
    # From the far end of the half revolution Newton's steps stay inside: the left side is convex.
    found = np.copysign(np.pi, rest)
    for _ in range(60):
        found = found - (found - e * np.sin(found) - rest) / (1 - e * np.cos(found))
    result = found + turns
    return result if result.ndim else float(result)
