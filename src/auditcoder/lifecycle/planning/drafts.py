"""Drafts: functions that a sketch has in full, although the plan commits only their interface.

No code of a function comes from a plan, because its id is committed after the reply. The draft is
kept in the context of its node, and shown to the writer of the function, who can repeat it.
"""

from typing import NamedTuple

from auditcoder.domain.python_names import PARSE_ERRORS, Function, parse

_LABEL = "sketched as:"
"""The line of a context behind which the draft begins."""


class SplitContext(NamedTuple):
    """The context of a node."""

    rest: tuple[str, ...]
    """Its lines without the draft."""
    draft: str
    """The function as the sketch has it; empty if it is only a stub there."""


def with_draft(context: str, draft: str) -> str:
    """Return a context with the draft behind it; unchanged if the draft is empty."""
    labelled = f"{_LABEL}\n{draft.rstrip()}" if draft else ""
    return "\n".join(part for part in (context, labelled) if part)


def split_context(context: str) -> SplitContext:
    """Separate the draft of a context from the other lines, which may also come behind it."""
    lines = context.split("\n") if context else []
    if _LABEL not in lines:
        return SplitContext(tuple(lines), "")
    start = lines.index(_LABEL)
    for end in range(len(lines), start + 1, -1):
        draft = "\n".join(lines[start + 1 : end])
        if _is_one_function(draft):
            return SplitContext((*lines[:start], *lines[end:]), draft)
    return SplitContext(tuple(lines), "")


def _is_one_function(text: str) -> bool:
    try:
        body = parse(text).body
    except PARSE_ERRORS:
        return False
    return len(body) == 1 and isinstance(body[0], Function)
