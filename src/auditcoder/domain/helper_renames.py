"""Renames helpers of a bundle if that provably changes nothing else.

Only the simple case is supported: the name is bound at top level and in no other scope, so that
every use refers to that binding. Any other case is refused, and the author of the code must resolve
the name conflict.
"""

import ast
import re
from functools import lru_cache

from auditcoder.domain.python_lexer import lex
from auditcoder.domain.python_names import (
    PARSE_ERRORS,
    bound_by,
    imported_by,
    local_names,
    on_a_fresh_stack,
    own_scope,
    parse,
    with_fixed_settings,
)


def renamed(source: str, renames: dict[str, str]) -> str | None:
    """Return `source` with top-level names changed and all line numbers kept; None if not safe."""
    if not renames:
        return source
    return _renamed(source, tuple(sorted(renames.items())))


@lru_cache(maxsize=64)
def _renamed(source: str, renames: tuple[tuple[str, str], ...]) -> str | None:
    try:
        return on_a_fresh_stack(lambda: _rename(source, dict(renames)))
    except PARSE_ERRORS:
        return None


def _rename(source: str, new: dict[str, str]) -> str | None:
    tree = parse(source)
    used = {source[token.start : token.end] for token in lex(source).names()}
    if used & set(new.values()) or not all(_is_renameable(tree, name) for name in new):
        return None
    after = _with_new_names(source, new)
    changed = parse(after)
    for node in ast.walk(tree):
        _rename_node(node, new)
    same = with_fixed_settings(lambda: ast.dump(changed) == ast.dump(tree))
    return after if same and not bound_by(changed.body) & set(new) else None


def _with_new_names(source: str, new: dict[str, str]) -> str:
    """Rename in the text, except attributes and the keywords of calls."""
    pieces, end = [], 0
    for token in lex(source).names():
        name = source[token.start : token.end]
        if name not in new or source[: token.start].rstrip(" \t").endswith("."):
            continue
        if token.enclosed and _KEYWORD.match(source, token.end):
            continue
        pieces += [source[end : token.start], new[name]]
        end = token.end
    return "".join([*pieces, source[end:]])


_KEYWORD = re.compile(r"[ \t]*=(?!=)")


def _is_renameable(tree: ast.Module, name: str) -> bool:
    """Whether a name is bound at top level only, and there neither by an import nor by a class."""
    if name.startswith("__") or re.match(r"_[^_].*__", name):
        return False  # class bodies mangle such names
    if name not in bound_by(tree.body) or name in imported_by(tree):
        return False
    # A class exposes its name at run time, so it is not renamed.
    if any(isinstance(n, ast.ClassDef) and n.name == name for n in own_scope(tree.body)):
        return False
    return not any(name in local_names(node) for node in ast.walk(tree))


def _rename_node(node: ast.AST, new: dict[str, str]) -> None:
    match node:
        case ast.Name():
            node.id = new.get(node.id, node.id)
        case ast.Global():
            node.names = [new.get(name, name) for name in node.names]
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            node.name = new.get(node.name, node.name)
        case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
            node.name = new.get(name, name)
        case _:
            pass
