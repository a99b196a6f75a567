"""Planned code: functions that a sketch has in full, although only their interface is committed.

No code of a function comes from a plan, because its id is committed after the reply. It is kept
in the context of its node, and shown to the writer of the function, who can repeat it.
"""

from typing import NamedTuple

from auditcoder.domain.python_names import PARSE_ERRORS, Function, parse

_LABEL = "sketched as:"
"""The line of a context behind which the code begins."""


class SplitContext(NamedTuple):
    """The context of a node."""

    rest: tuple[str, ...]
    """Its lines without the code."""
    code: str
    """The function as the sketch has it; empty if it is only a stub there."""


def with_planned_code(context: str, code: str) -> str:
    """Return a context with the planned code behind it; unchanged if that is empty."""
    labelled = f"{_LABEL}\n{code.rstrip()}" if code else ""
    return "\n".join(part for part in (context, labelled) if part)


def split_context(context: str) -> SplitContext:
    """Separate the planned code of a context from its other lines, also those behind it."""
    lines = context.split("\n") if context else []
    if _LABEL not in lines:
        return SplitContext(tuple(lines), "")
    start = lines.index(_LABEL)
    for end in range(len(lines), start + 1, -1):
        code = "\n".join(lines[start + 1 : end])
        if _is_one_function(code):
            return SplitContext((*lines[:start], *lines[end:]), code)
    return SplitContext(tuple(lines), "")


def _is_one_function(text: str) -> bool:
    try:
        body = parse(text).body
    except PARSE_ERRORS:
        return False
    return len(body) == 1 and isinstance(body[0], Function)
