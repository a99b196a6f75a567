"""Compares outputs and values with the expected ones: for verdicts outside the sandbox, and in
traced test drivers inside it.
"""

import math
import re
from typing import Any

_FRACTION = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
# Possessive, since a program could print long text on which backtracking takes hours.
_NUMBER = re.compile(r"[-+]?([0-9]++(\.[0-9]*+)?|\.[0-9]++)([eE][-+]?[0-9]++)?")
_WORD = re.compile(r"[^ \t]+")
_BLANKS = " \t"
_CLOSE = 1e-6


def same_output(expected: str, observed: str) -> bool:
    """Whether two outputs have the same words in the same lines, as common checkers compare them.

    Lines end with a line feed, or a carriage return and a line feed. Words are separated by spaces
    and tabs: how many there are between, before and after the words of a line does not matter, nor
    do empty lines at the end. Where the expected word is a number with a decimal point, any decimal
    number close to it is equal, if both are finite.
    """
    wanted, seen = _lines(expected), _lines(observed)
    if wanted == seen:
        return True
    return len(wanted) == len(seen) and all(map(_same_line, wanted, seen))


def _lines(text: str) -> list[str]:
    plain = text.replace("\r\n", "\n").rstrip(f"{_BLANKS}\n")
    return [line.rstrip(_BLANKS) for line in plain.split("\n")]


def _same_line(wanted: str, seen: str) -> bool:
    words, others = _WORD.findall(wanted), _WORD.findall(seen)
    return len(words) == len(others) and all(map(_same_word, words, others))


def _same_word(wanted: str, seen: str) -> bool:
    if wanted == seen:
        return True
    if not _FRACTION.fullmatch(wanted) or not _NUMBER.fullmatch(seen):
        return False
    number, other = float(wanted), float(seen)
    finite = math.isfinite(number) and math.isfinite(other)
    return finite and math.isclose(number, other, rel_tol=_CLOSE, abs_tol=_CLOSE)


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
