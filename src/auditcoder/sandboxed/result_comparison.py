"""Compares outputs and values with the expected ones: for verdicts outside the sandbox, and in
traced test drivers inside it.
"""

import math
import re
from typing import Any

_NUMBER = re.compile(r"[-+]?(\d+\.\d*|\.\d+)([eE][-+]?\d+)?")
_CLOSE = 1e-6


def same_output(expected: str, observed: str) -> bool:
    """Whether two outputs are equal, except for white space at the ends of lines.

    Where the expected text has numbers with a decimal point, close numbers are equal.
    """
    wanted, seen = _lines(expected), _lines(observed)
    if wanted == seen:
        return True
    return len(wanted) == len(seen) and all(map(_same_line, wanted, seen))


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().splitlines()]


def _same_line(wanted: str, seen: str) -> bool:
    words, others = wanted.split(), seen.split()
    return len(words) == len(others) and all(map(_same_word, words, others))


def _same_word(wanted: str, seen: str) -> bool:
    if wanted == seen:
        return True
    if not _NUMBER.fullmatch(wanted):
        return False
    try:
        return math.isclose(float(wanted), float(seen), rel_tol=_CLOSE, abs_tol=_CLOSE)
    except ValueError:
        return False


def same_value(expected: Any, observed: Any) -> bool:
    """Whether two values are equal; floats need only be close."""
    if isinstance(expected, float) or isinstance(observed, float):
        return _same_number(expected, observed)
    if type(expected) in {list, tuple} and type(expected) is type(observed):
        return len(expected) == len(observed) and all(map(same_value, expected, observed))
    if isinstance(expected, dict) and isinstance(observed, dict):
        return expected.keys() == observed.keys() and all(
            same_value(expected[key], observed[key]) for key in expected
        )
    try:
        return bool(expected == observed)
    except Exception:  # values that cannot be compared are not equal
        return False


def _same_number(expected: Any, observed: Any) -> bool:
    if not isinstance(expected, int | float) or not isinstance(observed, int | float):
        return False
    try:
        return expected == observed or math.isclose(
            expected, observed, rel_tol=_CLOSE, abs_tol=1e-9
        )
    except OverflowError:
        return False


def shown(value: Any) -> str:
    """Return the representation of a value, or a placeholder if it is too large."""
    try:
        return repr(value)
    except (ValueError, RecursionError):
        return f"<{type(value).__name__} too large to be written>"
