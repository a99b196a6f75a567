"""Finds a short title for a task."""

import re

from auditcoder.domain.task import ClassForm, Form, FunctionForm
from auditcoder.lifecycle.intake.code_headers import open_code
from auditcoder.lifecycle.intake.statement_examples import names_a_part, split_fences

MAX_TITLE = 60
"""Maximum number of characters."""
_LONGEST = 1_000
"""Number of characters that are searched for marks, so that no text takes quadratic time."""
_HEADING = re.compile(r"^#{1,6}[ \t]+(\S[^\n]*)$|^(\S[^\n]*)\n={3,}[ \t]*$", re.MULTILINE)
"""A Markdown heading: after number signs, or underlined."""
_NUMBERED_LINE = re.compile(
    r"(?:problem[ \t]+)?(?:[a-z]\d?|\d{1,4})[.:)][ \t]+(\S[^\n]{2,})", re.IGNORECASE
)
"""The first line of a contest problem: `A. Watermelon`."""
_SENTENCE_END = re.compile(
    r"(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bcf\.)(?<!\bvs\.)(?<!\b[A-Z]\.)(?<=[.!?])\s|\n[ \t]*\n"
)
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_LIST_MARK = re.compile(r"^(?:[>*+-][ \t]+)+")


def title_of(given: str, statement: str, form: Form) -> str:
    """Return the given title, else one from a heading, the function's name or the first sentence.

    A function's or class's name is preferred to a sentence that would have to be cut.
    """
    return cut_title(_plain(given) or _found(statement, form) or " ".join(statement.split()))


def _found(statement: str, form: Form) -> str:
    name = _name(form)
    if code := open_code(statement):
        return name or code.name
    prose = split_fences(statement)[0].strip()
    headings = (_plain(h[1] or h[2]) for h in _HEADING.finditer(prose))
    if heading := next((h for h in headings if h and not names_a_part(h)), ""):
        return heading
    if numbered := _NUMBERED_LINE.match(prose):
        return _plain(numbered[1])
    sentence = _plain(_SENTENCE_END.split(prose, maxsplit=1)[0])
    is_title = 0 < len(sentence) <= MAX_TITLE and not sentence.endswith(":")
    return name if name and not is_title else sentence


def _name(form: Form) -> str:
    match form:
        case FunctionForm(entry=entry):
            return entry
        case ClassForm(name=name):
            return name
        case _:
            return ""


def _plain(text: str) -> str:
    """Return a text on one line, without the marks of headings, lists, quotes and links."""
    line = _LINK.sub(r"\1", " ".join(text[:_LONGEST].split()))
    return _LIST_MARK.sub("", line).replace("**", "").strip("#*_= ")


def cut_title(title: str) -> str:
    """Cut a title that is too long at the end of a word."""
    if len(title) <= MAX_TITLE:
        return title
    cut = title[: MAX_TITLE - 1]
    return f"{cut[: cut.rfind(' ', MAX_TITLE // 2)].rstrip(' ,;:')}…"
