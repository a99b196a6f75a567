"""Finds the examples in a statement.

Every candidate program must pass the examples that are found, so a wrong one does more harm than
a missing one: ambiguous examples are left out. Each scan is linear in the length of the text.
"""

import ast
import re
from itertools import pairwise
from textwrap import dedent
from typing import NamedTuple, TypeGuard

from auditcoder.domain.python_names import LITERAL_ERRORS, PARSE_ERRORS, expression
from auditcoder.domain.task import CallExample, StdioExample

_FENCE = re.compile(r"([ \t]*+)(`{3,}+|~{3,}+)[ \t]*+([\w+#.-]*+)[^`]*+")


def split_fences(text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return a text without its fenced blocks, and the closed blocks as (language, content)."""
    lines = text.split("\n")
    prose: list[str] = []
    blocks = []
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
            blocks.append((opening[3].lower(), block))
    return "\n".join(prose), blocks


def _block(lines: list[str], at: int) -> tuple[str | None, int]:
    """Return the block whose fence is line `at`, without its indentation; None if not closed."""
    opening = _FENCE.fullmatch(lines[at])
    assert opening is not None
    margin, fence = opening[1], opening[2]
    for end in range(at + 1, len(lines)):
        line = lines[end].strip()
        if line.startswith(fence) and not line.strip(fence[0]):
            return "\n".join(line.removeprefix(margin) for line in lines[at + 1 : end]), end + 1
    return None, len(lines)


_PLAIN = 8
"""The level of a line that is no heading; Markdown headings have 1 to 6, a bold line 7."""
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
    """A heading or label, which names the text after it."""

    kind: str
    """`section`, `input`, `output` or `stop`."""
    level: int
    sample: bool = False
    """Whether the label itself mentions an example."""
    number: str = ""
    inline: str = ""
    """The text after its colon."""


def names_a_part(heading: str) -> bool:
    """Whether a heading names a common section, such as "Input", and so is no title."""
    text = heading.strip(" #*_:")
    parts = (_LABEL, _SECTION, _STOP, _PART)
    return any(part.fullmatch(text) is not None for part in parts)


def find_stdio(statement: str) -> list[StdioExample]:
    """Return the pairs of sample input and sample output in a statement."""
    lines = statement.split("\n")
    examples = []
    section: int | None = None
    pending: tuple[str, str] | None = None
    at = 0
    while at < len(lines):
        mark = _mark(lines[at])
        at += 1
        if mark is None:
            continue
        if mark.kind in {"section", "stop"}:
            section = mark.level if mark.kind == "section" else None
            pending = None
            continue
        if not (mark.sample or _within(section, mark, lines, at)):
            section = pending = None  # the label introduces the input format, not an example
            continue
        text, at = _sample(lines, at, mark)
        if mark.kind == "input":
            pending = None if text is None else (mark.number, text)
        else:
            if text and pending is not None and pending[0] == mark.number:
                examples.append(StdioExample(input=pending[1], output=text))
            pending = None
    return examples


def _within(section: int | None, mark: _Mark, lines: list[str], at: int) -> bool:
    """Whether a plain `Input` or `Output` label belongs to the current section of examples."""
    if section is None:
        return False
    if mark.level > section or mark.level >= _PLAIN - 1:
        return True
    return at < len(lines) and _FENCE.fullmatch(lines[at]) is not None


def _mark(line: str) -> _Mark | None:
    """Parse a line as a heading or label; None if it is neither."""
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
    # A line of ASCII art may look like a heading, but contains no words.
    if _STOP.fullmatch(text) or (level < _PLAIN and re.search("[A-Za-z]{3}", text)):
        return _Mark("stop", level)
    return None


def _sample(lines: list[str], at: int, mark: _Mark) -> tuple[str | None, int]:
    """Return the sample after a label, None if ambiguous, and the line where it ends."""
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
    return None  # `Input: n = 3` is not what the program reads


def _unfenced(lines: list[str], mark: _Mark) -> str | None:
    """Return a sample without the prose after it; None if they cannot be separated."""
    blank: int | None = None
    for number, line in enumerate(lines):
        if not line.strip():
            blank = number
        elif _is_prose(line):
            if mark.kind == "input" and mark.sample:
                break  # the input of the program may be prose
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
"""Possessive, and it also matches an unclosed string, so that the scan never backtracks."""

_BEFORE = re.compile(
    r"[ \t]*+(?:(?:[-*+•#]|\d{1,3}[.)])[ \t]+)?"
    r"(?:(?:for )?examples?(?: \d{1,3})?[:,]? +|e\.g\.,? +)?"
    r"(?P<how>>>>[ \t]+|assert +)?`?",
    re.IGNORECASE,
)
"""The text allowed before a call that is an example; other text may negate or change it."""

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
    """Return the calls of `entry` with literal arguments and a literal result."""
    starts = [match.end() for match in re.finditer(rf"(?<![\w.]){re.escape(entry)}\(", statement)]
    examples: list[CallExample] = []
    equations: list[CallExample | None] = []
    # Arguments and result are literals and contain no other call, so each call is parsed only up
    # to the start of the next one, and the text is scanned once.
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
            examples.append(example)
    # Beside recursive definitions such as f(n) = f(n - 1) + 1, equations are ambiguous.
    recursive = None in equations
    return examples + [e for e in equations if e is not None and not recursive]


def _before(statement: str, head: int) -> re.Match[str] | None:
    line = statement.rfind("\n", max(0, head - _LONGEST_LABEL), head) + 1
    if line == 0 and head > _LONGEST_LABEL:
        return None
    return _BEFORE.fullmatch(statement, line, head)


def _call(arguments: str, result: str | None) -> CallExample | None:
    # A double backslash is ambiguous: in a docstring it stands for one backslash.
    if result is None or "\\\\" in arguments + result or not _are_literals(arguments):
        return None
    return CallExample(arguments=arguments, result=result)


def _result(rest: str, how: str) -> str | None:
    """Return the result that the text after a call states."""
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
    """Return the position after the bracket that closes the open one."""
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
    """Return the result that a doctest shows."""
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
    """Return the value on the rest of the line, or in the brackets that open there."""
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
    """Return the text of the literal in `text` without comments; None if there is not one."""
    try:
        node = expression(text)
        if _is_bare_tuple(node, text):
            # `returns 1, 2` is ambiguous, but `assert f(x) == 1, "message"` is not.
            if not asserted or len(node.elts) != 2:
                return None
            node = node.elts[0]
        elif text.startswith("(") and not isinstance(node, ast.Tuple):
            return None  # it may mean a tuple with one element
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
        values = [*call.args, *named]
        return len(named) == len(call.keywords) and all(map(_is_literal, values))
    except (AssertionError, *PARSE_ERRORS):
        return False


def _is_literal(node: ast.expr) -> bool:
    """Whether a node is a literal that can be evaluated."""
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
