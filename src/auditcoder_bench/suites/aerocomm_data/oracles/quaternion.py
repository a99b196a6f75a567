# mypy: ignore-errors
import numpy as np


def rotate_vectors(q, v):
    q, v = np.asarray(q, dtype=np.float64), np.asarray(v, dtype=np.float64)
    if q.shape[-1:] != (4,) or v.shape[-1:] != (3,):
        raise ValueError("a quaternion has four components, a vector three")
    if not (np.all(np.isfinite(q)) and np.all(np.isfinite(v))):
        raise ValueError("components must be finite")
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    if np.any(norm < 1e-12):
        raise ValueError("a quaternion of norm 0 is no attitude")
    w, axis = np.split(q / norm, [1], axis=-1)
    twice = 2 * np.cross(axis, v)
    return v + w * twice + np.cross(axis, twice)
