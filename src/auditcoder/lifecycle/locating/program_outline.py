"""The outline of a program: what can be said of its functions without running them."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from auditcoder.domain.python_names import body_without_docstring, parsed
from auditcoder.lifecycle.locating.features import Feature, FeatureKind
from auditcoder.lifecycle.task_forms import is_stub

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class Outlined(NamedTuple):
    """One function of a program."""

    reads: frozenset[str]
    """The attributes that its code names."""
    empty: bool
    """Whether it does nothing: no body, or a refusal to have one."""


def outline(program: str) -> dict[str, Outlined]:
    """Return the functions and methods of a program by their qualified names."""
    tree = parsed(program)
    found = functions(tree.body) if tree else ()
    return {name: _outlined(function) for name, function in found}


def functions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield functions and the methods of classes, each with its qualified name."""
    for statement in body:
        if isinstance(statement, Function):
            yield f"{prefix}{statement.name}", statement
        elif isinstance(statement, ast.ClassDef):
            yield from functions(statement.body, f"{prefix}{statement.name}.")


def _outlined(function: Function) -> Outlined:
    named = (part.attr for part in ast.walk(function) if isinstance(part, ast.Attribute))
    return Outlined(frozenset(named), is_stub(function))


def does(program: str) -> str:
    """Return what a program's functions do, as far as text can say: words and order aside."""
    tree = parsed(program)
    found = sorted(functions(tree.body), key=lambda pair: pair[0]) if tree else ()
    return "\n".join(f"{name}\n{_does(function)}" for name, function in found) or program


def _does(function: Function) -> str:
    arguments = [part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)]
    return "\n".join([*arguments, *map(ast.dump, body_without_docstring(function))])


def signs(
    found: dict[str, Outlined], nodes: Iterable[str], called: set[str] | None
) -> Iterator[Feature]:
    """Say what the outline shows of each function that should be there.

    `called` is None where not all calls are known.
    """
    for node in nodes:
        if node not in found:
            yield Feature(node, FeatureKind.ABSENT)
        elif found[node].empty:
            yield Feature(node, FeatureKind.EMPTY)
        if node.endswith("__init__"):
            yield Feature(node, FeatureKind.CONSTRUCTOR)
        if called is not None and node not in called:
            yield Feature(node, FeatureKind.UNCALLED)
