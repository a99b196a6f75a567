"""How much a repair could change, how much it did, and what it broke.

The definitions are those of the paper's appendix D, with what docs/reference/repairs.md settles.
"""

import io
import tokenize
from collections.abc import Mapping
from difflib import SequenceMatcher

from auditcoder.domain.repair import Transaction


def region_size(transaction: Transaction) -> float:
    """RRS: nodes that could change, over nodes before the repair; the widened region counts."""
    return _share(len(_before(transaction, transaction.region)), transaction.nodes_before)


def selected_size(transaction: Transaction) -> float:
    """RRS of the region as the diagnosis gave it, before any integration exception."""
    return _share(len(transaction.selected), transaction.nodes_before)


def _before(transaction: Transaction, region: tuple[str, ...]) -> set[str]:
    """Nodes that the repair itself added were not there to be selected."""
    known = {*transaction.selected, *(f.node for f in transaction.frozen)}
    return set(region) & known


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def code_lines(source: str) -> list[str]:
    """Return the lines that count as code: neither blank nor comment alone."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, SyntaxError):
        return [s for line in source.split("\n") if (s := line.rstrip()) and s.lstrip()[0] != "#"]
    quiet = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    counted: set[int] = set()
    for token in tokens:
        if token.type not in quiet:
            counted.update(range(token.start[0], token.end[0] + 1))
    lines = source.split("\n")
    return [lines[n - 1].rstrip() for n in sorted(counted) if lines[n - 1].strip()]


def changed_code(before: str, after: str) -> float | None:
    """CCR: changed lines of code over lines of code afterwards; None if none are left.

    A replaced run of lines counts as its longer side, so that a line edited in place is one
    change and not two.
    """
    old, new = code_lines(before), code_lines(after)
    if not new:
        return None
    steps = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = sum(max(b - a, d - c) for tag, a, b, c, d in steps if tag != "equal")
    return changed / len(new)


def regressed(before: Mapping[str, bool], after: Mapping[str, bool]) -> tuple[int, int]:
    """Return how many of the tests that passed before fail now, and how many those were."""
    eligible = [test for test, passed in before.items() if passed]
    return sum(not after.get(test, False) for test in eligible), len(eligible)
