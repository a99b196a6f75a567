"""Static facts about the functions of a program, from its syntax tree."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

from auditcoder.domain.python_names import body_without_docstring, parsed
from auditcoder.lifecycle.locating.features import Feature, FeatureKind
from auditcoder.lifecycle.task_forms import is_stub

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


class FunctionOutline(NamedTuple):
    """Static facts about one function."""

    reads: frozenset[str]
    """Names of the attributes that occur in its code."""
    empty: bool
    """Whether it is a stub: its body is empty or only raises NotImplementedError."""


def outline(program: str) -> dict[str, FunctionOutline]:
    """Return the facts about functions and methods by their qualified names."""
    tree = parsed(program)
    defined = functions(tree.body) if tree else ()
    return {name: _outlined(function) for name, function in defined}


def functions(body: Iterable[ast.stmt], prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield functions and methods, each with its qualified name."""
    for statement in body:
        if isinstance(statement, Function):
            yield f"{prefix}{statement.name}", statement
        elif isinstance(statement, ast.ClassDef):
            yield from functions(statement.body, f"{prefix}{statement.name}.")


def _outlined(function: Function) -> FunctionOutline:
    named = (part.attr for part in ast.walk(function) if isinstance(part, ast.Attribute))
    return FunctionOutline(frozenset(named), is_stub(function))


def normal_form(program: str) -> str:
    """Return a normal form of a program's functions, to compare implementations.

    It has parameter names and bodies. It ignores comments, docstrings, annotations, defaults,
    decorators, module-level statements and the order of functions.
    """
    tree = parsed(program)
    defined = sorted(functions(tree.body), key=lambda pair: pair[0]) if tree else ()
    return "\n".join(f"{name}\n{_normal_form(function)}" for name, function in defined) or program


def _normal_form(function: Function) -> str:
    arguments = [part.arg for part in ast.walk(function.args) if isinstance(part, ast.arg)]
    return "\n".join([*arguments, *map(ast.dump, body_without_docstring(function))])


def outline_features(
    found: dict[str, FunctionOutline], nodes: Iterable[str], called: set[str] | None
) -> Iterator[Feature]:
    """Yield the features that static facts give to each expected function.

    `called` has the functions that were called; None if the trace is incomplete.
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
