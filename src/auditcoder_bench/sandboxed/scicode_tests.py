"""Names that SciCode's tests use: stored target values, and the comparison of sequences."""

import base64
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np


def _stored(kind: str, shape: tuple[int, ...], text: str) -> Any:
    """Return a target value from its compressed text."""
    raw = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(raw, dtype=kind).reshape(shape)[()]


def cmp_tuple_or_list(actual: Sequence[Any], target: Sequence[Any]) -> bool:
    """Whether two sequences have the same length and are close in every element."""
    pairs = zip(actual, target, strict=False)
    return len(actual) == len(target) and all(np.allclose(one, other) for one, other in pairs)
