"""Spectrum-based ranking: which functions ran in failing checks, and which in passing ones.

The formulas are the classic ones. Where no check passes, they can tell no two functions apart
that ran; such a draw is no answer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple


class Counts(NamedTuple):
    """How often a function ran in failing and in passing checks, and how many there are."""

    failed: int
    passed: int
    all_failed: int
    all_passed: int


def ochiai(counts: Counts) -> float:
    """The cosine between having run and having failed."""
    ran = counts.failed + counts.passed
    return counts.failed / math.sqrt(counts.all_failed * ran) if ran and counts.all_failed else 0.0


def tarantula(counts: Counts) -> float:
    """How much of the failing checks it ran in, beside how much of the passing ones."""
    failed = counts.failed / counts.all_failed if counts.all_failed else 0.0
    passed = counts.passed / counts.all_passed if counts.all_passed else 0.0
    return failed / (failed + passed) if failed + passed else 0.0


def dstar(counts: Counts) -> float:
    """Its failures, squared, over what speaks against them."""
    against = counts.passed + (counts.all_failed - counts.failed)
    if not against:
        return math.inf if counts.failed else 0.0
    return counts.failed**2 / against


FORMULAS: dict[str, Callable[[Counts], float]] = {
    "ochiai": ochiai,
    "tarantula": tarantula,
    "dstar": dstar,
}


def counted(
    failing: Sequence[AbstractSet[str]], passing: Sequence[AbstractSet[str]]
) -> dict[str, Counts]:
    """Count for each function that ran at all."""
    return {
        node: Counts(
            sum(node in ran for ran in failing),
            sum(node in ran for ran in passing),
            len(failing),
            len(passing),
        )
        for node in sorted(set().union(*failing, *passing))
    }


def most_suspicious(formula: Callable[[Counts], float], counts: Mapping[str, Counts]) -> str | None:
    """Return the one that is more suspicious than all others; None if there is no such one."""
    scores = {node: formula(own) for node, own in counts.items()}
    if not scores:
        return None
    best = max(scores.values())
    leading = [node for node, score in scores.items() if score == best]
    return leading[0] if len(leading) == 1 and best > 0 else None
