"""What a repair request shows beside the failing code: its surroundings and the diagnosis."""

import ast
import re
from collections.abc import Collection, Iterable

import msgspec

from auditcoder.domain.code import program_name
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import PARSE_ERRORS, parse
from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.plan_excerpts import defined_text, shown_plan
from auditcoder.lifecycle.planning.sketch_writer import stub_of
from auditcoder.lifecycle.root_cause import PLAN_FAULTS, RootCause
from auditcoder.lifecycle.run_context import RunContext

FOUND = "found: "
"""Starts the line of a node's context that says what was wrong with it."""
_MEANINGS = {
    RootCause.IMPLEMENTATION: "wrong code",
    RootCause.ALGORITHM: "wrong idea",
    RootCause.INTERFACE: "wrong parameters",
    RootCause.DECOMPOSITION: "wrong functions",
    RootCause.GLOBAL: "no function can be right alone",
}
_NODE = re.compile(r"\bS\d+(?:_\d+)*\b(?: \(\d\.\d+\)| \(`([\w.]+)`\))?")
"""A node id in an explanation, with its probability or the part of it that is meant."""


def surroundings(context: RunContext, node: NodeId) -> str:
    """Return the section with the rest of the program; empty if the function is alone.

    Functions that the node calls directly are shown with their code, and so are the definitions
    that functions share; others as stubs. The rest of a class is its skeleton, which is the
    statement: only the methods that it calls are shown.
    """
    ledger = context.recorder.ledger
    graph, called = ledger.graph, callees(context, node)
    shared = defined_text(graph, ledger.working, [node])
    if isinstance(context.task.form, ClassForm):
        methods = [_code(context, each) for each in called]
        return _section("Methods that it calls", methods)
    if len(graph.promises) == 1:
        return _section("The program", [shared])
    shown = [
        _with_goal(each, _code(context, each.id))
        if each.id in called
        else stub_of(_own_goal(each) if each.id == node else each)
        for each in graph.nodes
        if each.contract and not (each.id == ROOT and code_builder.root_code(context, [node]))
    ]
    return _section("The program", [shared, *shown, code_builder.root_code(context, [node])])


def _own_goal(node: Node) -> Node:
    """Return the repaired node without what was found wrong with it, which the request has."""
    lines = [line for line in node.context.splitlines() if not line.startswith(FOUND)]
    return msgspec.structs.replace(node, context="\n".join(lines))


def callees(context: RunContext, node: NodeId) -> tuple[NodeId, ...]:
    """Return the other nodes whose functions a node's code calls directly, in the graph's order.

    Their helpers count like the functions that they promise.
    """
    ledger = context.recorder.ledger
    graph, working = ledger.graph, ledger.working
    code = working.code.get(node)
    if code is None:
        return ()
    try:
        tree = parse(context.recorder.text(code.digest))
    except PARSE_ERRORS:
        return ()
    form = context.task.form
    scope = form.name if isinstance(form, ClassForm) else ""
    names = {_called(call, scope) for call in ast.walk(tree)} - {""}
    owners = working.owners() | {program_name(n, scope): i for n, i in graph.promises.items()}
    own = {program_name(unit.name, scope) for unit in code.units}
    called = {program_name(name, scope) for name in names} - own
    found = {owner for name, owner in owners.items() if name in called}
    with_code = (found & working.code.keys()) - {node, ROOT}
    return tuple(each.id for each in graph.nodes if each.id in with_code)


def _called(tree: ast.AST, scope: str) -> str:
    match tree:
        case ast.Attribute(value=ast.Name(id=base), attr=name) if scope:
            return name if base in {"self", "cls", scope} else ""
        case ast.Name(id=name) if not scope:
            return name
        case _:
            return ""


def _code(context: RunContext, node: NodeId) -> str:
    return context.recorder.text(context.recorder.ledger.working.code[node].digest).strip()


def _with_goal(node: Node, code: str) -> str:
    return f"# {' '.join(node.goal.split())}\n{code}\n"


def _section(title: str, parts: list[str]) -> str:
    text = "\n\n".join(part for part in parts if part).strip()
    return f"# {title}\n```python\n{text}\n```\n\n" if text else ""


def plan(context: RunContext) -> str:
    """Return what the plan says; nothing for a small model, whose first request had it."""
    brief = context.recorder.ledger.working.brief
    return "" if context.limits.repair is None else shown_plan(brief)


def suspicion(context: RunContext, explanation: str) -> str:
    """Return the section with a diagnosis' reasons, as sentences; empty if there are none.

    What else would be evidence is left out, and for a small model all but the first reason.
    """
    names = {node: name for name, node in context.recorder.ledger.graph.promises.items()}

    def named(match: re.Match[str]) -> str:
        if match[1]:
            return f"`{match[1]}`"
        node = NodeId(match[0].split(" ")[0])
        return f"`{names[node]}`" if node in names else node

    parts = [part.strip() for part in explanation.split("; ")]
    reasons = [part for part in parts if part and not part.endswith("would tell")]
    if context.limits.repair is None:
        reasons = reasons[:1]
    sentences = [_NODE.sub(named, reason) for reason in reasons]
    text = " ".join(f"{s[0].upper()}{s[1:].rstrip('.')}." for s in sentences)
    return f"\n\n# Why this code is suspected\n{text[: context.quoted]}" if text else ""


def told(explanation: str, hints: Iterable[str] = ()) -> str:
    """Return the section with what was said about the cause already, and the hints of the plan."""
    text = "\n".join([*([explanation] if explanation else []), *(f"- {hint}" for hint in hints)])
    return f"\n\n# What may be wrong\n{text}" if text else ""


def kinds(beyond: Collection[RootCause]) -> str:
    """Return the kinds of causes that the reply may state, and which of them need no code.

    `beyond` are those that new code of the node alone does not remove.
    """
    offered = {RootCause.IMPLEMENTATION, RootCause.ALGORITHM, *beyond}
    *others, last = [f"`{k.value}` ({_MEANINGS[k]})" for k in RootCause if k in offered]
    bare = len(PLAN_FAULTS.keys() & offered)
    tail = ("", "; the last needs no code", "; the last two need no code")[bare]
    return f"{', '.join(others)} or {last}{tail}"


def elsewhere(context: RunContext) -> str:
    """Return the sentence that allows an answer without code; empty if there is only one part."""
    if len(context.recorder.ledger.graph.promises) < 2:
        return ""
    return (
        " If the code above is right, answer with one line instead:"
        " `the fault is elsewhere: NAME, because REASON`."
    )
