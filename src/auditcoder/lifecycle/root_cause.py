"""The root cause of a failure, as the author of a repair states it in a reply.

A reply is asked to begin with `cause: KIND, because REASON`. Every way to write that line is read,
and a reply without it is as good as any other.
"""

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from auditcoder.lifecycle.response_formats import first_lines_of_blocks, prose_lines


class RootCause(Enum):
    """The kind of a failure's cause; the paper's failure modes."""

    IMPLEMENTATION = "implementation"
    ALGORITHM = "algorithm"
    INTERFACE = "interface"
    DECOMPOSITION = "decomposition"
    GLOBAL = "global"


class StatedCause(NamedTuple):
    """What is said about the cause of a failure."""

    kind: RootCause = RootCause.IMPLEMENTATION
    explanation: str = ""
    """One sentence; empty if nothing was said."""


UNKNOWN_CAUSE = StatedCause()
PASSED_WITH_SUBSTITUTE = StatedCause(
    explanation="with another implementation in its place, every check passed"
)

PLAN_FAULTS = {
    RootCause.DECOMPOSITION: "the task was cut in the wrong places",
    RootCause.GLOBAL: "no single part can be right alone",
}
"""The causes that no code of a node removes, as a record says them."""

_REASON = r"(?:[\s,.:;\u2013\u2014-]|\*\*)*(?:because\b)?[\s,:]*([^\r\n]*)"
BECAUSE = rf"[`'\"*]*{_REASON}"
"""The reason behind a name or a kind, which marks may close; one that opens it is part of it."""
_LABEL = re.compile(
    r"[^A-Za-z0-9]*(?:the\s+)?(?:root\s+)?cause[`'\"*_\s]*(?:[:=\u2013\u2014]|\s-+\s|is\b)[*_\s]*",
    re.IGNORECASE,
)
_KIND = re.compile(
    r"[`'\"]?(?:kind\b\W*)?(?:an?\s+)?"
    rf"({'|'.join(kind.value for kind in RootCause)})(?:ic)?\b"
    rf"(?:\s+(?:error|fault|bug|problem|issue|mistake)\b)?"
    rf"(?=[\s`'\"*]*(?:$|[,.:;()\u2013\u2014-]|because\b)){BECAUSE}",
    re.IGNORECASE,
)
"""A kind is a word of its own: "global variables are shared" names none."""
_NO_KIND = re.compile(rf"(?:`?kind\b[`*]*)?{_REASON}", re.IGNORECASE)


class _Statement(NamedTuple):
    """A line that states a cause."""

    line: re.Match[str]
    cause: StatedCause
    names_kind: bool


def read_cause(text: str) -> tuple[StatedCause, str]:
    """Return the cause that a reply states, and the reply without the line that states it.

    The line is prose or the first one of a block. A line that names a kind comes first.
    """
    stated = list(_statements(text))
    chosen = next((each for each in stated if each.names_kind), stated[0] if stated else None)
    if chosen is None:
        return UNKNOWN_CAUSE, text
    return chosen.cause, text[: chosen.line.start()] + text[chosen.line.end() :]


def _statements(text: str) -> Iterator[_Statement]:
    for lines, is_prose in ((prose_lines(text), True), (first_lines_of_blocks(text), False)):
        for line in lines:
            if (label := _LABEL.match(line[0])) is None:
                continue
            said = line[0][label.end() :]
            if kind := _KIND.match(said):
                cause = StatedCause(RootCause(kind[1].lower()), reason_in(kind[2]))
                yield _Statement(line, cause, names_kind=True)
            elif is_prose and (other := _NO_KIND.match(said)):
                yield _Statement(line, StatedCause(explanation=reason_in(other[1])), False)


def reason_in(text: str) -> str:
    """Return a reason without its full stop and marks that close what it does not open.

    It is empty if the text says nothing.
    """
    reason = text.rstrip(". ")
    for mark in ("**", "`"):
        if reason.count(mark) % 2:
            reason = reason.rstrip(mark[0]).rstrip(". ")
    return reason if any(map(str.isalnum, reason)) else ""
