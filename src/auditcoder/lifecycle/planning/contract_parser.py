"""Parses the parts of a contract that a model wrote: kinds, costs, clauses and examples."""

import ast
import re
from collections.abc import Iterable

from auditcoder.domain.contract import Clause, Contract, CostBudget
from auditcoder.domain.graph import Node, NodeKind
from auditcoder.domain.python_names import BUILTINS, LITERAL_ERRORS, PARSE_ERRORS, expression
from auditcoder.domain.task import CallExample
from auditcoder.lifecycle.planning.planned_code import split_context

EXAMPLE = "example: "
"""Starts a line with an example."""


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
    if not used & names or _free_names([tree]) - names - shared:
        return Clause(text=text)
    # A trailing comment would hide the code that is later added after the expression.
    return Clause(expression=ast.unparse(tree) if "#" in text else text)


def _expression(text: str) -> ast.expr | None:
    try:
        return expression(text)
    except PARSE_ERRORS:
        return None


def call_example(text: str, name: str, shared: frozenset[str] = frozenset()) -> CallExample | None:
    """Parse `f(1, 2) == 3`, also with an arrow; None unless both sides have values without `f`.

    These are literals, or expressions over the names in `shared`, which the program defines.
    """
    tree = _expression(text) or _expression(re.sub(r"\)\s*(?:->|=>|➞)\s*", ") == ", text, count=1))
    match tree:
        case ast.Compare(
            left=ast.Call(func=ast.Name(id=called), args=args, keywords=[]),
            ops=[ast.Eq() | ast.Is()],
            comparators=[result],
        ) if called == name:
            values = (*args, result)
            if not all(map(_is_literal, values)) and not _is_over(values, shared):
                return None
            return CallExample(
                arguments=", ".join(ast.unparse(a) for a in args), result=ast.unparse(result)
            )
        case _:
            return None


def example_text(name: str, example: CallExample) -> str:
    """Return an example as the docstring of a stub has it."""
    return f"{EXAMPLE}{name}({example.arguments}) == {example.result}"


def unread_examples(node: Node) -> list[str]:
    """Return the examples that a plan has of a node only as sentences."""
    name = node.contract.name if node.contract else ""
    lines = (line for line in split_context(node.context).rest if line.startswith(EXAMPLE))
    texts = (line.removeprefix(EXAMPLE) for line in lines)
    return [text for text in texts if call_example(text.strip("` "), name) is None]


def is_self_contained(example: CallExample) -> bool:
    """Whether the arguments and the result of an example use no names that a program defines."""
    try:
        trees = [expression(f"f({example.arguments})"), expression(example.result)]
    except PARSE_ERRORS:
        return False
    return _free_names(trees) <= {"f"}


def _is_literal(tree: ast.expr) -> bool:
    try:
        ast.literal_eval(tree)
    except LITERAL_ERRORS:
        return False
    return True


def _is_over(trees: Iterable[ast.expr], shared: frozenset[str]) -> bool:
    """Whether expressions use names in `shared`, and no other names of a program."""
    used = _free_names(trees)
    return bool(used) and used <= shared


def _free_names(trees: Iterable[ast.expr]) -> set[str]:
    """Return the names that expressions use, without built-in ones and those that they bind."""
    parts = [part for tree in trees for part in ast.walk(tree)]
    bound = {part.arg for part in parts if isinstance(part, ast.arg)}
    names = [part for part in parts if isinstance(part, ast.Name)]
    bound |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return {name.id for name in names} - bound - BUILTINS


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
