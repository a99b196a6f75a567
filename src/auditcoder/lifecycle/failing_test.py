"""Shortens test code for a prompt: what fails is kept, other tests and assertions are left out."""

import ast
from collections.abc import Iterable, Iterator

from auditcoder.domain.code import first_line
from auditcoder.domain.python_names import PARSE_ERRORS, Function, parse

_LONGEST = 20_000
"""Maximum number of characters of an excerpt."""


def excerpt(code: str, most: int, line: int | None = None, names: Iterable[str] = ()) -> str:
    """Return test code of at most about `most` characters, whole if it is short enough.

    `line` is that of the failing statement; without it, `names` are the tests that fail. The
    failing statement and what it needs is never cut, so an excerpt can be longer than `most`.
    """
    text = code.strip("\n")
    if len(text) <= most:
        return text
    try:
        body = parse(code).body
    except PARSE_ERRORS:
        return f"{text[:most]}\n# [{len(text) - most} more characters are left out]"
    failing = {name.rpartition(".")[2] for name in names}
    lines = code.split("\n")
    kept = set(_kept(body, line, failing))
    if not kept:
        return f"{text[:most]}\n# [{len(text) - most} more characters are left out]"
    return "\n".join(_shown(lines, kept))[-_LONGEST:]


def _kept(body: list[ast.stmt], line: int | None, failing: set[str]) -> Iterator[int]:
    """Yield the lines to keep: the failing statement, and what is no other test or assertion."""
    for statement in body:
        lines = range(first_line(statement), (statement.end_lineno or statement.lineno) + 1)
        holds = line in lines if line else bool(failing & _tests_in(statement))
        if isinstance(statement, ast.ClassDef | Function) and holds:
            inner = list(_kept(statement.body, line, set() if line else failing))
            whole = isinstance(statement, Function) and not line
            yield from lines if whole else (*_header(statement), *inner)
        elif holds or not (_tests_in(statement) or _asserts(statement)):
            past = line is not None and lines.start > line
            if not past or isinstance(statement, ast.ClassDef | Function):
                yield from lines


def _header(statement: ast.ClassDef | Function) -> range:
    return range(first_line(statement), statement.body[0].lineno)


def _tests_in(statement: ast.stmt) -> set[str]:
    """Return the names of the tests that a statement defines."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return {name} if name.startswith("test") or name == "check" else set()
        case ast.ClassDef(body=body):
            return {name for inner in body for name in _tests_in(inner)}
        case _:
            return set()


def _asserts(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assert():
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name.startswith(("assert", "fail"))
        case _:
            return False


def _shown(lines: list[str], kept: set[int]) -> Iterator[str]:
    """Yield the kept lines, with a note where others are left out."""
    left_out = 0
    for number, text in enumerate(lines, start=1):
        if number in kept:
            if left_out:
                yield f"# [{left_out} lines of the test are left out]"
            left_out = 0
            yield text
        elif text.strip():
            left_out += 1
    if left_out:
        yield f"# [{left_out} lines of the test are left out]"
