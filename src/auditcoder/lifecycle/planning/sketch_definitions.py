"""Definitions of a sketch: constants, type aliases and small classes that its functions share."""

import ast
from collections.abc import Iterable
from typing import NamedTuple

from auditcoder.domain.code import read_bundle
from auditcoder.domain.graph import Node, NodeKind
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import Function
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.module_statements import (
    binds,
    changes,
    is_harmless,
    is_set_up,
    source_of,
    summary,
)
from auditcoder.lifecycle.planning.plan import PlanRefused
from auditcoder.lifecycle.task_forms import is_stub

GOAL = "Define what the other parts share"
_WITHOUT_BODIES = frozenset({"ABC", "Protocol"})
"""Base classes whose methods need no bodies."""


class SharedDefinitions(NamedTuple):
    """The definitions of a sketch, in their order."""

    source: str = ""
    """Their code, with the imports that they use; empty if there are none."""
    names: frozenset[str] = frozenset()
    losses: tuple[str, ...] = ()
    """Statements that define nothing and would do something."""


def read_definitions(
    text: str,
    statements: Iterable[ast.stmt],
    imports: Iterable[str],
    functions: Iterable[str],
    given: frozenset[str],
) -> SharedDefinitions:
    """Return the definitions among the statements of a sketch; raise PlanRefused if one is a stub.

    Statements that set an imported module up belong to them, unless they call one of `functions`.
    Names in `given` come with the task, so that their definition is ignored.
    """
    bundle = read_bundle(text)
    imported = _bound_by(imports)
    kept: list[str] = []
    losses: list[str] = []
    names: set[str] = set()
    for statement in statements:
        bound = binds(statement)
        if is_harmless(statement) or (bound and bound <= given):
            continue
        if isinstance(statement, ast.ClassDef):
            _refuse_stub_methods(statement)
        if _is_placeholder(statement):
            losses.append(f"`{summary(statement)}`, which has no value")
        elif bound or changes(statement) & names or is_set_up(statement, imported, functions):
            kept.append(source_of(bundle, statement) + "\n" * hasattr(statement, "body"))
            names |= bound
        else:
            losses.append(f"`{summary(statement)}`, which defines nothing")
    if not kept:
        return SharedDefinitions(losses=tuple(losses))
    body = "".join(kept)
    used = read_bundle(body).words
    asked = [
        imported.statement
        for statement in imports
        for part in read_bundle(statement).parts
        for imported in part.imported
        if imported.name in used
    ]
    head = "\n".join([*asked, *completing(body, _bound_by(asked))])
    return SharedDefinitions(f"{head}\n\n{body}" if head else body, frozenset(names), tuple(losses))


def _bound_by(imports: Iterable[str]) -> set[str]:
    return {imported.name for text in imports for imported in read_bundle(text).imported}


def _is_placeholder(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(value=ast.Constant(value=value)) if value is Ellipsis:
            return True
        case ast.AnnAssign(value=ast.Constant(value=value)) if value is Ellipsis:
            return True
        case _:
            return False


def _refuse_stub_methods(definition: ast.ClassDef) -> None:
    bases = {ast.unparse(base).split("[")[0].rpartition(".")[2] for base in definition.bases}
    stubs = [f.name for f in definition.body if isinstance(f, Function) and is_stub(f)]
    if stubs and not bases & _WITHOUT_BODIES:
        raise PlanRefused(
            f"the class {definition.name} has methods without a body: {', '.join(stubs)}; write a"
            " small class in full, or name functions instead"
        )


def definitions_node(node: NodeId, parent: NodeId = ROOT) -> Node:
    """Return the node that owns the definitions; it has no contract, because it is no function."""
    return Node(
        id=node,
        goal=GOAL,
        kind=NodeKind.GENERAL,
        parent=parent,
        validation=("it compiles",),
    )
