r"""Reads the docstring of a stub: what the function is for, and the labelled facts about it.

A docstring is read as it is written, not as Python evaluates it: in `example: f("a\nb") == 2` the
escape belongs to the example. Evaluated, it would break the line, and the example would be lost.
"""

import ast
import inspect
import re
from typing import NamedTuple

from auditcoder.domain.python_names import PARSE_ERRORS, Function, expression
from auditcoder.domain.values import whole

_LABELS = (
    "kind|requires|ensures|cost|examples?|uses|invariants?|returns|assum(?:es|ptions?)|notes?|traps?"
    "|units?|limits?|strategy|parts?"
)
_FACT = re.compile(rf"^\s*(?:[-*]\s+)?({_LABELS}|param(?:eter)?\s+\w+)\s*:\s*(.*)$", re.IGNORECASE)
_LITERAL = re.compile(r"([A-Za-z]*)(\"\"\"|'''|\"|')(.*)\2", re.DOTALL)
_EXPRESSIONS = frozenset({"requires", "ensures", "example"})
_MAX_CONTINUED = 20
"""Maximum number of lines of one expression."""
_SINGULAR = {
    "assumption": "assumes",
    "assumptions": "assumes",
    "examples": "example",
    "invariants": "invariant",
    "limit": "limits",
    "notes": "note",
    "part": "parts",
    "traps": "trap",
    "unit": "units",
}
_PROMPT = ">>>"
"""Starts the call of a doctest."""


class StubDocstring(NamedTuple):
    """A parsed docstring."""

    goal: str
    """The first paragraph, on one line."""
    context: str
    """All further prose, a paragraph a line."""
    facts: dict[str, list[str]]
    """The facts by label, in the singular and in lower case, such as `ensures`."""

    def of(self, label: str) -> list[str]:
        """Return the facts with a label."""
        return self.facts.get(label, [])


def read_docstring(documented: Function | ast.Module, source: str) -> StubDocstring:
    """Read the docstring of a module or of a function in it; empty if it has none."""
    lines = _lines(documented, source)
    facts: dict[str, list[str]] = {}
    prose: list[str] = []
    at = 0
    while at < len(lines):
        match = _FACT.match(lines[at])
        if lines[at].lstrip().startswith(_PROMPT):
            text, at = _doctest(lines, at)
            facts.setdefault("example", []).append(text)
            continue
        if match is None:
            prose.append(_plain(lines[at]))
            at += 1
            continue
        label = re.sub(r"\s+", " ", match[1].lower()).replace("parameter ", "param ")
        label = label if label.startswith("param ") else _singular(label)
        text, at = _fact(label, match[2], lines, at + 1)
        if text.strip():  # else it is only a heading
            facts.setdefault(label, []).append(text.strip())
    paragraphs = [" ".join(p.split()) for p in "\n".join(prose).strip().split("\n\n")]
    goal, *further = [p for p in paragraphs if p] or [""]
    return StubDocstring(goal, "\n".join(further), facts)


def _doctest(lines: list[str], at: int) -> tuple[str, int]:
    """Return a doctest as `call == value`, and the number of the next line."""
    call = lines[at].lstrip().removeprefix(_PROMPT).strip()
    at += 1
    while at < len(lines) and lines[at].lstrip().startswith("..."):
        call += "\n" + lines[at].lstrip().removeprefix("...").removeprefix(" ")
        at += 1
    shown = []
    while at < len(lines) and lines[at].strip() and not _begins_anew(lines[at]):
        shown.append(lines[at].strip())
        at += 1
    return (f"{_plain(call)} == {_plain(' '.join(shown))}" if shown else _plain(call)), at


def _begins_anew(line: str) -> bool:
    return line.lstrip().startswith(_PROMPT) or _FACT.match(line) is not None


def _singular(label: str) -> str:
    return _SINGULAR.get(label, label)


def _lines(documented: Function | ast.Module, source: str) -> list[str]:
    """Return the lines of the docstring, as they are written."""
    evaluated = ast.get_docstring(documented)
    if evaluated is None:
        return []
    first = documented.body[0]
    assert isinstance(first, ast.Expr)
    written = _LITERAL.fullmatch(ast.get_source_segment(source, first.value) or "")
    if written is None:  # it is joined from several literals
        return whole(evaluated).split("\n")
    raw = "r" in written[1].lower()
    text = written[3].replace("\\", "\\\\") if raw else written[3]
    return whole(inspect.cleandoc(text)).split("\n")


def _fact(label: str, text: str, lines: list[str], at: int) -> tuple[str, int]:
    """Return the text of a fact and the number of the next line.

    An expression that is not complete goes on in the lines below, other text in indented ones.
    """
    if label in _EXPRESSIONS:
        candidate = text
        for end in range(at, at + _MAX_CONTINUED):
            for reading in (_plain(candidate), candidate):
                if _is_expression(reading):
                    return reading, end
            if end >= len(lines) or not lines[end].strip() or _FACT.match(lines[end]):
                break
            candidate += f"\n{lines[end]}"
        return _plain(text), at
    while at < len(lines) and lines[at][:1].isspace() and lines[at].strip():
        if _begins_anew(lines[at]):
            break
        text += f" {lines[at].strip()}"
        at += 1
    return _plain(text), at


def _plain(text: str) -> str:
    """Return a text with quotation marks and backslashes instead of their escapes.

    All other escapes belong to the expression in which they stand.
    """
    return re.sub(r"\\([\\\"'])", r"\1", text)


def _is_expression(text: str) -> bool:
    arrow = re.sub(r"\)\s*(?:->|=>|➞)\s*", ") == ", text.strip("` "), count=1)
    try:
        expression(f"({arrow}\n)")
    except PARSE_ERRORS:
        return False
    return True
