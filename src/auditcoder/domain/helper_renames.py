"""Renames helpers of a bundle if that provably changes nothing else.

Only the simple case is supported: the name is bound at top level and in no other scope, so that
every use refers to that binding. Python's own symbol table decides this. Any other case is refused,
and the author of the code must resolve the name conflict.
"""

import ast
import re
import symtable
from functools import lru_cache
from typing import Any

import msgspec

from auditcoder.domain.python_names import PARSE_ERRORS, bound_by, on_a_fresh_stack, parse


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
    if not all(_is_renameable(source, name, new[name]) for name in new):
        return None
    occurrences = [occurrence for node in ast.walk(tree) for occurrence in _occurrences(node, new)]
    lines = source.split("\n")
    for line, column, name in sorted(
        {(s.line, s.column, s.name) for s in occurrences}, reverse=True
    ):
        text = lines[line - 1]
        start = len(text.encode()[:column].decode(errors="replace"))
        lines[line - 1] = text[:start] + re.sub(
            rf"\b{re.escape(name)}\b", new[name], text[start:], count=1
        )
    after = "\n".join(lines)
    changed = parse(after)
    for occurrence in occurrences:
        occurrence.rename(new)
    if bound_by(changed.body) & set(new) or ast.dump(changed) != ast.dump(tree):
        return None
    return after


def _is_renameable(source: str, old: str, new: str) -> bool:
    """Whether `old` is bound at top level only, and `new` is not used."""
    if old.startswith("__") or re.match(r"_[^_].*__", old):
        return False  # class bodies mangle such names
    module = symtable.symtable(source, "bundle", "exec")
    waiting = [module]
    while waiting:
        table = waiting.pop()
        waiting.extend(table.get_children())
        names = set(table.get_identifiers())
        if new in names:
            return False
        if old in names and table is not module and not table.lookup(old).is_global():
            return False
    if old not in module.get_identifiers():
        return False
    symbol = module.lookup(old)
    # A class exposes its name at run time, so it is not renamed.
    is_class = any(isinstance(t, symtable.Class) for t in symbol.get_namespaces())
    return symbol.is_assigned() and not symbol.is_imported() and not is_class


class _Occurrence(msgspec.Struct):
    """An occurrence of a name that is to be renamed."""

    node: Any
    name: str
    line: int
    column: int

    def rename(self, new: dict[str, str]) -> None:
        match self.node:
            case ast.Name():
                self.node.id = new[self.name]
            case ast.Global():
                self.node.names = [new.get(n, n) for n in self.node.names]
            case _:
                self.node.name = new[self.name]


def _occurrences(node: ast.AST, new: dict[str, str]) -> list[_Occurrence]:
    match node:
        case ast.Name(id=name) if name in new:
            return [_Occurrence(node, name, node.lineno, node.col_offset)]
        case ast.Global(names=names):
            return [
                _Occurrence(node, n, node.lineno, node.col_offset + 6) for n in names if n in new
            ]
        case ast.FunctionDef(name=name) if name in new:
            return [_Occurrence(node, name, node.lineno, node.col_offset + 3)]
        case ast.AsyncFunctionDef(name=name) if name in new:
            return [_Occurrence(node, name, node.lineno, node.col_offset + 9)]
        case ast.ExceptHandler(name=str(name), type=ast.expr() as kind) if name in new:
            return [_Occurrence(node, name, kind.end_lineno or 0, kind.end_col_offset or 0)]
        case ast.MatchAs(name=str(name)) if name in new:
            return [_Occurrence(node, name, node.lineno, node.col_offset)]
        case _:
            return []
