"""Completes generated code: adds missing standard-library imports and expands star imports."""

import ast
from collections.abc import Container, Mapping
from importlib import import_module

from auditcoder.domain.code import read_bundle
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import (
    BUILTINS,
    PARSE_ERRORS,
    Function,
    imported_by,
    on_a_fresh_stack,
    parse,
)
from auditcoder.domain.reply_code import (
    ADDED_IMPORTS,
    COMPLETED_MODULES,
    COMPLETED_NAMES,
    STARRED_MODULES,
)


def imports_by_name(code: Mapping[NodeId, str], but: Container[NodeId]) -> dict[str, str]:
    """Return what each name that other nodes than `but` import refers to, as a statement."""
    others = [read_bundle(text) for node, text in code.items() if node not in but]
    return {imported.name: imported.meaning for own in others for imported in own.imported}


def completing(source: str, bound: set[str], present: Mapping[str, str] | None = None) -> list[str]:
    """Return the standard-library imports that a piece of code needs and lacks.

    `bound` holds the names that the surrounding code defines, and `present` the imports of other
    parts of the program by name: two imports of one name would clash. A name that they import in
    a way that is never added here is left to them.
    """
    try:
        module = on_a_fresh_stack(lambda: parse(source))
    except PARSE_ERRORS:
        return []
    stored = {
        n.id
        for n in ast.walk(module)
        if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
    } | {a.arg for a in ast.walk(module) if isinstance(a, ast.arg)}
    defined = {n.name for n in ast.walk(module) if isinstance(n, Function | ast.ClassDef)}
    known = stored | defined | imported_by(module) | bound | BUILTINS
    present = present or {}
    missing = []
    for node in ast.walk(module):
        match node:
            case ast.Attribute(value=ast.Name(id=name)) if name in COMPLETED_MODULES - known:
                missing.append(present.get(name, f"import {name}"))
            case ast.Name(id=name) if name in COMPLETED_NAMES and name not in known:
                guess = f"from {COMPLETED_NAMES[name]} import {name}"
                missing.append(present.get(name, guess))
            case _:
                pass
    return sorted(set(missing) & ADDED_IMPORTS)


def without_stars(source: str) -> tuple[str, str]:
    """Replace star imports by imports of the used names; return the source and a note.

    Names bound by a star import have no known owner. Only the standard-library modules listed
    above are expanded; any other star import stays and is rejected by a law.
    """
    try:
        module = on_a_fresh_stack(lambda: parse(source))
    except PARSE_ERRORS:
        return source, ""
    used = {n.id for n in ast.walk(module) if isinstance(n, ast.Name)}
    lines, changed = source.encode().split(b"\n"), []
    for node in reversed(module.body):
        match node:
            case ast.ImportFrom(module=str(name), names=[ast.alias(name="*")], level=0) if (
                name in STARRED_MODULES
            ):
                public = _public(name) & used
                expanded = f"from {name} import {', '.join(sorted(public))}" if public else "pass"
                _replace_statement(lines, node, expanded)
                changed.append(f"`from {name} import *` is written out")
            case _:
                pass
    return b"\n".join(lines).decode(), "; ".join(reversed(changed))


def _public(name: str) -> set[str]:
    module = import_module(name)
    return set(getattr(module, "__all__", [n for n in dir(module) if not n.startswith("_")]))


def _replace_statement(lines: list[bytes], node: ast.stmt, text: str) -> None:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    first, last = node.lineno - 1, node.end_lineno - 1
    before, after = lines[first][: node.col_offset], lines[last][node.end_col_offset :]
    lines[first : last + 1] = [before + text.encode() + after]
