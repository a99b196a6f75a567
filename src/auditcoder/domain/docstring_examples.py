"""Examples in the docstrings of a class skeleton: sessions of an interactive interpreter.

They belong to the task, but they are often careless, so they rank programs and never reject one.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from auditcoder.domain.python_names import (
    BUILTINS,
    LITERAL_ERRORS,
    PARSE_ERRORS,
    Function,
    bound_by,
    imports_in,
    literal_value,
    parse,
)
from auditcoder.domain.task import ClassForm, CodeExample, Task

_PROMPT = re.compile(r"\s*>>>(?: (.*))?")
_CONTINUED = re.compile(r"\s*\.\.\.(?: (.*))?")
_MOST = 60
_LONGEST = 2_000
"""Maximum number of characters of an example."""


class _Step(NamedTuple):
    """One input of a session and what the interpreter printed."""

    source: str
    printed: str


def stated_examples(task: Task) -> tuple[CodeExample, ...]:
    """Return an example for each result that a docstring of the class skeleton shows.

    Results that are no literals are left out, and so are inputs that do not parse or that use a
    name which nothing defines.
    """
    if not isinstance(task.form, ClassForm):
        return ()
    try:
        tree = parse(task.form.skeleton)
    except PARSE_ERRORS:
        return ()
    documented = (n for n in ast.walk(tree) if isinstance(n, ast.ClassDef | Function))
    texts = (text for node in documented if (text := ast.get_docstring(node)))
    imported = {i.name for statement in tree.body for i in imports_in(statement)}
    known = BUILTINS | bound_by(tree.body) | imported
    found = (example for text in texts for example in _examples(_session(text)))
    defined = (example for example in found if _names_in(example.code) <= known)
    return tuple(dict.fromkeys(defined))[:_MOST]


def _names_in(code: str) -> set[str]:
    """Return the names that code uses and does not bind."""
    names = [node for node in ast.walk(parse(code)) if isinstance(node, ast.Name)]
    bound = {node.id for node in names if isinstance(node.ctx, ast.Store)}
    return {node.id for node in names} - bound - bound_by(parse(code).body)


def _session(docstring: str) -> Iterator[_Step]:
    """Yield the steps of the sessions in a docstring."""
    source: list[str] = []
    printed: list[str] = []
    is_open = False
    for line in [*docstring.splitlines(), ""]:
        begins = _PROMPT.fullmatch(line)
        if begins or not line.strip():
            if source:
                yield _Step("\n".join(source), "\n".join(printed).strip())
            source, printed = ([begins[1] or ""] if begins else []), []
            is_open = begins is not None
        elif is_open and not printed and (more := _CONTINUED.fullmatch(line)):
            source.append(more[1] or "")
        elif is_open:
            printed.append(line)


def _examples(steps: Iterable[_Step]) -> Iterator[CodeExample]:
    """Yield an example for each result, which repeats the steps before it."""
    before: list[str] = []
    for step in steps:
        if not _is_valid(step.source, "exec"):
            continue
        if _is_literal(step.printed) and _is_valid(step.source, "eval"):
            code = "\n".join([*before, f"assert ({step.source}) == ({step.printed})"]) + "\n"
            if len(code) <= _LONGEST:
                yield CodeExample(code=code)
        before.append(step.source)


def _is_valid(source: str, mode: str) -> bool:
    try:
        body = parse(source).body
    except PARSE_ERRORS:
        return False
    return mode == "exec" or (len(body) == 1 and isinstance(body[0], ast.Expr))


def _is_literal(printed: str) -> bool:
    if not printed:
        return False
    try:
        literal_value(printed)
    except LITERAL_ERRORS:
        return False
    return True
