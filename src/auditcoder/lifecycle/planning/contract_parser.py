"""Parses the parts of a contract that a model wrote: kinds, costs, clauses and examples."""

import ast
import re
from collections.abc import Iterable

from auditcoder.domain.contract import Clause, Contract, CostBudget
from auditcoder.domain.graph import NodeKind
from auditcoder.domain.python_names import BUILTINS, LITERAL_ERRORS, PARSE_ERRORS, expression
from auditcoder.domain.task import CallExample


def read_kind(texts: Iterable[str]) -> NodeKind:
    """Return the first known kind among the texts; general if there is none."""
    for text in texts:
        word = text.lower().strip(" `.").replace(" ", "_").replace("-", "_")
        word = {"bfs": "graph_bfs", "dfs": "graph_dfs", "two_pointers": "two_pointer"}.get(
            word, word
        )
        if word in {kind.value for kind in NodeKind} - {NodeKind.ORCHESTRATION.value}:
            return NodeKind(word)
    return NodeKind.GENERAL


def read_cost(texts: Iterable[str]) -> CostBudget:
    """Return the first `O(...)` among the texts as a time cost; empty if there is none."""
    costs = [m[0] for text in texts if (m := re.search(r"O\([^()]*(?:\([^()]*\)[^()]*)*\)", text))]
    return CostBudget(time=costs[0] if costs else "")


def read_clause(text: str, names: set[str], shared: frozenset[str] = frozenset()) -> Clause:
    """Parse a clause: executable if it is an expression over known names, else a sentence.

    It says something of at least one of `names`; it may use names that the program defines.
    """
    text = text.strip().strip("`").strip()
    tree = _expression(text)
    if tree is None:
        return Clause(text=text)
    used = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    local = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    } | {a.arg for n in ast.walk(tree) if isinstance(n, ast.Lambda) for a in n.args.args}
    uses_names = bool(used & names)
    if not uses_names or used - names - shared - local - BUILTINS:
        return Clause(text=text)
    # A trailing comment would hide the code that is later added after the expression.
    return Clause(expression=ast.unparse(tree) if "#" in text else text)


def _expression(text: str) -> ast.expr | None:
    try:
        return expression(text)
    except PARSE_ERRORS:
        return None


def call_example(text: str, name: str) -> CallExample | None:
    """Parse `f(1, 2) == 3`, also with an arrow; None unless both sides are literals."""
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
    """Return the checks that a node with this contract must pass, as sentences."""
    required = ["it compiles", "its signature is the contract's"]
    if contract.examples:
        required.append("its examples come out right")
    if any(c.expression for c in (*contract.requires, *contract.ensures)):
        required.append("its promises hold for generated inputs")
    if contract.cost.time:
        required.append(f"its cost grows no faster than {contract.cost.time}")
    return tuple(required)
