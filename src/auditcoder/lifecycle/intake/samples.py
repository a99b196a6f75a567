"""The examples that a statement shows.

An example that is found is held against every candidate program, so a wrong one does far more
harm than a missing one: in doubt, it is left out. Each scan is linear in the length of the text.
"""

import ast
import re
from itertools import pairwise
from textwrap import dedent
from typing import NamedTuple, TypeGuard

from auditcoder.domain.binding import LITERAL_ERRORS, PARSE_ERRORS, expression
from auditcoder.domain.task import CallExample, StdioExample

_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^`]*+")


def split_fences(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a text without its fenced blocks, and those that end as (language, content)."""
    lines = text.split("\n")
    prose: list[str] = []
    found = []
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        if opening is None:
            prose.append(lines[at])
            at += 1
            continue
        block, at = _block(lines, at)
        prose.append("")
        if block is not None:
            found.append((opening[3].lower(), block))
    return "\n".join(prose), found


def _block(lines: list[str], at: int) -> tuple[str | None, int]:
    """Read the block whose fence is line `at`, without its indentation; None if it never ends."""
    opening = _FENCE.fullmatch(lines[at])
    assert opening is not None
    margin, fence = opening[1], opening[2]
    for end in range(at + 1, len(lines)):
        line = lines[end].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return "\n".join(line.removeprefix(margin) for line in lines[at + 1 : end]), end + 1
    return None, len(lines)


_PLAIN = 8
"""The level of a line that is no heading; Markdown's have 1 to 6, a line in bold has 7."""
_LONGEST_LABEL = 200

_HEADING = re.compile(r"(#{1,6})\s+(.*?)[\s#]*")
_DASHED = re.compile(r"-{3,}\s*([^-].*?)\s*-{3,}")
_BOLD = re.compile(r"(\*\*|__)([^*_]+)\1(.*)")
_LABEL = re.compile(
    r"(?P<sample>(?:sample|example)s? +)?(?:test +)?(?P<kind>input|output)s?"
    r"(?P<after> +(?:sample|example))?(?:copy)?(?: *#? *(?P<number>\d{1,4}))?",
    re.IGNORECASE,
)
_SECTION = re.compile(
    r"(?:sample|example)s?"
    r"(?: +tests?| +cases?| +test +cases?| +inputs?(?: and |/| / | & )outputs?)?"
    r"(?: *#? *\d{1,4})?",
    re.IGNORECASE,
)
_STOP = re.compile(
    r"(?:notes?|explanations?|hints?|remarks?)(?: +(?:for|of|to)\b.*)?", re.IGNORECASE
)
_PART = re.compile(r"(?:problem|task)?(?: *(?:description|statement))?|constraints?", re.IGNORECASE)
_NUMBERS = re.compile(r"[-+]?\d+(?:\.\d+)?(?: [-+]?\d+(?:\.\d+)?)*+")
_WORD = re.compile(r"\w+")


class _Mark(NamedTuple):
    """A line that says what follows it."""

    kind: str
    """`section`, `input`, `output` or `stop`."""
    level: int
    sample: bool = False
    """Whether it says itself that it is about an example."""
    number: str = ""
    inline: str = ""
    """What stands behind its colon."""


def names_a_part(heading: str) -> bool:
    """Whether a heading names a part that many statements have, and so not this one."""
    text = heading.strip(" #*_:")
    parts = (_LABEL, _SECTION, _STOP, _PART)
    return any(part.fullmatch(text) is not None for part in parts)


def find_stdio(statement: str) -> list[StdioExample]:
    """Find the pairs of sample input and sample output in a statement."""
    lines = statement.split("\n")
    found = []
    section: int | None = None
    waiting: tuple[str, str] | None = None
    at = 0
    while at < len(lines):
        mark = _mark(lines[at])
        at += 1
        if mark is None:
            continue
        if mark.kind in {"section", "stop"}:
            section = mark.level if mark.kind == "section" else None
            waiting = None
            continue
        if not (mark.sample or _within(section, mark, lines, at)):
            section = waiting = None  # it describes the input at large
            continue
        text, at = _sample(lines, at, mark)
        if mark.kind == "input":
            waiting = None if text is None else (mark.number, text)
        else:
            if text and waiting is not None and waiting[0] == mark.number:
                found.append(StdioExample(input=waiting[1], output=text))
            waiting = None
    return found


def _within(section: int | None, mark: _Mark, lines: list[str], at: int) -> bool:
    """Whether a bare `Input` belongs to the section of examples that is open."""
    if section is None:
        return False
    if mark.level > section or mark.level >= _PLAIN - 1:
        return True
    return at < len(lines) and _FENCE.fullmatch(lines[at]) is not None


def _mark(line: str) -> _Mark | None:
    """Read a line as a heading or label; None if it is neither."""
    line = line.strip()
    if not line or len(line) > _LONGEST_LABEL:
        return None
    level, text, inline = _PLAIN, line, ""
    if heading := _HEADING.fullmatch(line):
        level, text = len(heading[1]), heading[2]
    elif dashed := _DASHED.fullmatch(line):
        level, text = 1, dashed[1]
    if bold := _BOLD.fullmatch(text):
        level, text, inline = min(level, _PLAIN - 1), bold[2], bold[3]
    text, _, behind = text.partition(":")
    text, inline = text.strip(" *_"), (behind.strip(" *_") + inline.strip().lstrip(":")).strip()
    if label := _LABEL.fullmatch(text):
        sample = bool(label["sample"] or label["after"])
        return _Mark(label["kind"].lower(), level, sample, label["number"] or "", inline)
    if _SECTION.fullmatch(text) and not inline:
        return _Mark("section", level)
    # A row of a drawing may look like a heading, but has no words.
    if _STOP.fullmatch(text) or (level < _PLAIN and re.search("[A-Za-z]{3}", text)):
        return _Mark("stop", level)
    return None


def _sample(lines: list[str], at: int, mark: _Mark) -> tuple[str | None, int]:
    """Read what follows a label, and say where it ends; None for what may be something else."""
    if mark.inline:
        alone = at == len(lines) or not lines[at].strip() or _mark(lines[at]) is not None
        return (_inline(mark) if alone else None), at
    while at < len(lines) and not lines[at].strip():
        at += 1
    if at < len(lines) and _FENCE.fullmatch(lines[at]):
        block, at = _block(lines, at)
        return (None if block is None else _ended(block)), at
    start = at
    while at < len(lines) and _mark(lines[at]) is None and not _FENCE.fullmatch(lines[at]):
        at += 1
    return _unfenced(lines[start:at], mark), at


def _inline(mark: _Mark) -> str | None:
    text = mark.inline
    if len(text) > 2 and text[0] == text[-1] == "`" and "`" not in text[1:-1]:
        return _ended(text[1:-1])
    if _NUMBERS.fullmatch(text) or (mark.kind == "output" and _WORD.fullmatch(text)):
        return _ended(text)
    return None  # `Input: n = 3` is not what the program will read


def _unfenced(lines: list[str], mark: _Mark) -> str | None:
    """Take a sample without what is said about it, if the two can be told apart."""
    blank: int | None = None
    for number, line in enumerate(lines):
        if not line.strip():
            blank = number
        elif _is_prose(line):
            if mark.kind == "input" and mark.sample:
                break  # text may be what the program reads, and nothing else stands here
            if mark.kind == "input" or blank is None:
                return None
            lines = lines[:blank]
            break
    text = "\n".join(lines).rstrip()
    if all(line.startswith("    ") or not line.strip() for line in lines):
        text = dedent(text)
    return _ended(text) if text else None


def _is_prose(line: str) -> bool:
    words = line.split()
    return len(words) > 4 and words[-1][-1] in ".:!?" and sum(map(str.islower, words)) > 3


def _ended(text: str) -> str:
    return text.rstrip("\n") + "\n"


_LONGEST_CALL = 10_000

_SCANNED = re.compile(
    r"""(?P<string>"(?:[^"\\\n]|\\.)*+"?+|'(?:[^'\\\n]|\\.)*+'?+)"""
    r"""|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<end>\n[ \t]*+(?:\n|>>>))"""
)
"""Possessive, and a string that does not end is matched too: nothing is looked at twice."""

_BEFORE = re.compile(
    r"[ \t]*+(?:(?:[-*+•#]|\d{1,3}[.)])[ \t]+)?"
    r"(?:(?:for )?examples?(?: \d{1,3})?[:,]? +|e\.g\.,? +)?"
    r"(?P<how>>>>[ \t]+|assert +)?`?",
    re.IGNORECASE,
)
"""What may stand before a call that is an example: anything else may deny or alter it."""

_BETWEEN = re.compile(
    r"`?[ \t]*+(?:#[ \t]*+)?"
    r"(?P<sign>={1,3}>?|-{1,2}>|[➞→⇒⟶➔]"
    r"|(?:should |must |will )?returns?:?(?= )|(?:should |must )equals?(?= ))"
    r"[ \t]*+`?"
)

_COMMENT = re.compile(r"[ \t]*+(?:#[^\n]*+)?(?:\n|\Z)")
_CONDITION = re.compile(r"\n[ \t]*+(?:or|if|unless|when|only|but|except) ")
_RESULT_ENDS = ('"""', "'''", "```", ">>>")


def find_calls(statement: str, entry: str) -> list[CallExample]:
    """Find the calls of `entry` whose result a statement gives, both of them literals."""
    starts = [match.end() for match in re.finditer(rf"(?<![\w.]){re.escape(entry)}\(", statement)]
    found: list[CallExample] = []
    equations: list[CallExample | None] = []
    # A call in another one's arguments or result would make it no literal, so each call has the
    # text up to the next to itself, and the whole is read once.
    for start, end in pairwise([*starts, len(statement)]):
        before = _before(statement, start - len(entry) - 1)
        text = statement[start:end]
        closing = _closing(text)
        if before is None or closing is None:
            continue
        arguments, rest = text[: closing - 1].strip(), text[closing:]
        example = _call(arguments, _result(rest, (before["how"] or "").strip().lower()))
        between = _BETWEEN.match(rest)
        if between is not None and between["sign"] == "=":
            equations.append(example)
        elif example is not None:
            found.append(example)
    # Among equations that define, as in f(n) = f(n - 1) + 1, a value may mean something else.
    defining = None in equations
    return found + [e for e in equations if e is not None and not defining]


def _before(statement: str, head: int) -> re.Match[str] | None:
    line = statement.rfind("\n", max(0, head - _LONGEST_LABEL), head) + 1
    if line == 0 and head > _LONGEST_LABEL:
        return None
    return _BEFORE.fullmatch(statement, line, head)


def _call(arguments: str, result: str | None) -> CallExample | None:
    # In a docstring two backslashes are one, outside of it they are two.
    if result is None or "\\\\" in arguments + result or not _are_literals(arguments):
        return None
    return CallExample(arguments=arguments, result=result)


def _result(rest: str, how: str) -> str | None:
    """Return the result that what follows a call gives."""
    between = _BETWEEN.match(rest)
    if between is None:
        return _printed(rest) if how == ">>>" else None
    stated = rest[between.end() :]
    if how == ">>>" and "\n" in stated:
        shown = stated.split("\n", 2)[1].strip()
        if shown not in {"", "True"} and not shown.startswith(_RESULT_ENDS):
            return None
    return _stated(stated, asserted=how == "assert")


def _closing(text: str) -> int | None:
    """Return where the bracket that is already open is closed."""
    depth = 1
    for token in _SCANNED.finditer(text, 0, _LONGEST_CALL):
        match token.lastgroup:
            case "open":
                depth += 1
            case "close":
                depth -= 1
            case "end":
                return None
            case _:
                if len(token[0]) < 2 or token[0][0] != token[0][-1]:
                    return None
        if depth == 0:
            return token.end()
    return None


def _printed(rest: str) -> str | None:
    """Return what a doctest shows."""
    comment = _COMMENT.match(rest)
    if comment is None:
        return None
    shown: list[str] = []
    for line in rest[comment.end() :].split("\n"):
        line = line.strip()
        if not line or line.startswith(_RESULT_ENDS):
            break
        shown.append(line)
    return _literal("\n".join(shown))


def _stated(rest: str, *, asserted: bool) -> str | None:
    """Return the value that stands on the rest of the line, or in brackets from there on."""
    start = 0
    if rest[:1] in {"(", "[", "{"}:
        closing = _closing(rest[1:])
        if closing is None:
            return None
        start = closing + 1
    end = (rest + "\n").index("\n", start)
    if _CONDITION.match(rest, end):
        return None
    return _literal(rest[:end].rstrip(" \t`.,;"), asserted=asserted)


def _literal(text: str, *, asserted: bool = False) -> str | None:
    """Return the text of the one literal that `text` is, comments aside."""
    try:
        node = expression(text)
        if _is_bare_tuple(node, text):
            # `returns 1, 2` may mean two things, but `assert f(x) == 1, "message"` only one.
            if not asserted or len(node.elts) != 2:
                return None
            node = node.elts[0]
        elif text.startswith("(") and not isinstance(node, ast.Tuple):
            return None  # it may be meant for a tuple of one
        return ast.get_source_segment(text, node) if _is_literal(node) else None
    except PARSE_ERRORS:
        return None


def _is_bare_tuple(node: ast.expr, text: str) -> TypeGuard[ast.Tuple]:
    segment = ast.get_source_segment(text, node) or ""
    bracketed = segment.startswith("(") and _closing(segment[1:]) == len(segment) - 1
    return isinstance(node, ast.Tuple) and not bracketed


def _are_literals(arguments: str) -> bool:
    try:
        call = expression(f"f({arguments})")
        assert isinstance(call, ast.Call)
        named = [keyword.value for keyword in call.keywords if keyword.arg]
        given = [*call.args, *named]
        return len(named) == len(call.keywords) and all(map(_is_literal, given))
    except (AssertionError, *PARSE_ERRORS):
        return False


def _is_literal(node: ast.expr) -> bool:
    """Whether it is a value and nothing else, and one that can be built."""
    allowed = (ast.Constant, ast.List, ast.Tuple, ast.Set, ast.Dict, ast.UnaryOp)
    signs = (ast.UAdd, ast.USub, ast.Load)
    inside = list(ast.walk(node))
    if not all(isinstance(part, (*allowed, *signs)) for part in inside):
        return False
    if any(isinstance(part, ast.Constant) and part.value is ... for part in inside):
        return False
    try:
        ast.literal_eval(node)
    except LITERAL_ERRORS:
        return False
    return True
