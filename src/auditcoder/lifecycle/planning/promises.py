"""Reads what a model promises: kinds, costs, clauses and examples, wherever they are written."""

import ast
import re
from collections.abc import Iterable

from auditcoder.domain.binding import BUILTINS, LITERAL_ERRORS, PARSE_ERRORS, expression
from auditcoder.domain.contract import Clause, Contract, Cost
from auditcoder.domain.graph import Kind
from auditcoder.domain.task import CallExample


def read_kind(said: Iterable[str]) -> Kind:
    """Return the first kind that is named; general if none is."""
    for text in said:
        word = text.lower().strip(" `.").replace(" ", "_").replace("-", "_")
        word = {"bfs": "graph_bfs", "dfs": "graph_dfs", "two_pointers": "two_pointer"}.get(
            word, word
        )
        if word in {kind.value for kind in Kind} - {Kind.ORCHESTRATION.value}:
            return Kind(word)
    return Kind.GENERAL


def read_cost(said: Iterable[str]) -> Cost:
    """Return the first `O(...)` in what was said."""
    found = [m[0] for text in said if (m := re.search(r"O\([^()]*(?:\([^()]*\)[^()]*)*\)", text))]
    return Cost(time=found[0] if found else "")


def read_clause(text: str, names: set[str]) -> Clause:
    """Read an obligation: executable if it is an expression over what is known, else a sentence."""
    text = text.strip().strip("`").strip()
    tree = _expression(text)
    if tree is None:
        return Clause(text=text)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    local = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    } | {a.arg for n in ast.walk(tree) if isinstance(n, ast.Lambda) for a in n.args.args}
    about_something = bool(used & names)
    if not about_something or used - names - local - BUILTINS:
        return Clause(text=text)
    # A comment would swallow the code that is put around the expression.
    return Clause(expression=ast.unparse(tree) if "#" in text else text)


def _expression(text: str) -> ast.expr | None:
    try:
        return expression(text)
    except PARSE_ERRORS:
        return None


def call_example(text: str, name: str) -> CallExample | None:
    """Read `f(1, 2) == 3`, also with an arrow; None unless both sides are plain values."""
    tree = _expression(text) or _expression(re.sub(r"\)\s*(?:->|=>|➞)\s*", ") == ", text, count=1))
    match tree:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id=called), args=args, keywords=[]),
            ops=[ast.Eq() | ast.Is()],
            comparators=[result],
        ) if called == name:
            try:
                for value in (*args, result):
                    ast.literal_eval(value)
                return CallExample(
                    arguments=", ".join(ast.unparse(a) for a in args), result=ast.unparse(result)
                )
            except LITERAL_ERRORS:
                return None
        case _:
            return None


def validation_of(contract: Contract) -> tuple[str, ...]:
    """Say what must be checked of a node that promises this."""
    wanted = ["it compiles", "its signature is the contract's"]
    if contract.examples:
        wanted.append("its examples come out right")
    if any(c.expression for c in (*contract.requires, *contract.ensures)):
        wanted.append("its promises hold for generated inputs")
    if contract.cost.time:
        wanted.append(f"its cost grows no faster than {contract.cost.time}")
    return tuple(wanted)
