"""Suites: the tests in a piece of code, so written that each can be driven by itself."""

import ast
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from itertools import count
from typing import NamedTuple, TypeGuard

from auditcoder.domain.binding import parsed

_FUNCTIONS = "Functions"


class Suite(NamedTuple):
    """Test code in which every test is a method of a class."""

    code: str
    tests: tuple[str, ...]
    """As `Class.method`."""


def suite_of(code: str, taken: Collection[str] = ()) -> Suite | None:
    """Return the tests of a piece of code as whoever judges finds them; None if it has none.

    Functions become methods of a class of their own, and a class whose name is `taken` gets
    another: all that is driven stands in one module.
    """
    tree = parsed(code)
    if tree is None:
        return None
    groups = [part for part in tree.body if isinstance(part, ast.ClassDef) and _holds_tests(part)]
    functions = [part for part in tree.body if _is_test(part) and not _needs_something(part)]
    renamed = {g.name: _free(g.name, taken) for g in groups if g.name in taken}
    if renamed:
        tree = _Renaming(renamed).visit(tree)
    if functions:
        there = {*taken, *(group.name for group in groups)}
        groups.append(_as_methods(functions, _free(_FUNCTIONS, there)))
        tree.body += [_statement("import unittest"), groups[-1]]
    tests = [
        f"{group.name}.{part.name}"
        for group in groups
        for part in group.body
        if isinstance(part, ast.FunctionDef) and part.name.startswith("test")
    ]
    changed = renamed or functions
    text = ast.unparse(ast.fix_missing_locations(tree)) if changed else code
    return Suite(text, tuple(tests)) if tests else None


def _holds_tests(group: ast.ClassDef) -> bool:
    """Whether a class is one of tests: it says what kind it is, or is called so."""
    return bool(group.bases) or group.name.startswith("Test")


def _is_test(part: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    if not isinstance(part, ast.FunctionDef):
        return False
    return part.name.startswith("test") and not part.decorator_list


def _needs_something(function: ast.FunctionDef) -> bool:
    """Whether a function cannot be called with nothing."""
    args = function.args
    first = len(args.posonlyargs) + len(args.args) > len(args.defaults)
    return first or any(default is None for default in args.kw_defaults)


def _as_methods(functions: Iterable[ast.FunctionDef], name: str) -> ast.ClassDef:
    """Write functions once more, as the tests of one class."""
    group = _statement(f"class {name}(unittest.TestCase):\n    pass")
    assert isinstance(group, ast.ClassDef)
    for function in functions:
        method = deepcopy(function)
        before = method.args.posonlyargs or method.args.args
        before.insert(0, ast.arg(arg="self"))
        group.body.append(method)
    return group


def _statement(text: str) -> ast.stmt:
    tree = parsed(text)
    assert tree is not None
    return tree.body[0]


def _free(name: str, taken: Collection[str]) -> str:
    free = (f"{name}{number}" for number in count(2))
    return name if name not in taken else next(n for n in free if n not in taken)


class _Renaming(ast.NodeTransformer):
    """Calls classes otherwise, where they are made and where they are used."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self._names.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node
