"""Finds the conditions of a module and compiles it without one of them."""

import ast
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType


@dataclass(frozen=True)
class Mutant:
    """A module with one condition removed."""

    path: Path
    """The module, relative to the repository."""
    source: str = field(repr=False)
    """The unchanged text of the module."""
    index: int
    """The position of the condition among those of the module."""
    line: int
    function: str
    """The qualified name of the function or class around the condition; empty at the top level."""
    change: str
    """What was removed, such as `operand removed`."""
    condition: str
    """The source text of what was removed, on one line."""
    repetition: int
    """How many equal removals come earlier in the same function."""

    @property
    def key(self) -> str:
        """A name that remains the same when the code around the condition moves."""
        parts = [str(self.path), self.function, self.change, self.condition]
        return " | ".join(parts + [f"repetition {self.repetition}"] * (self.repetition > 0))

    @property
    def module_digest(self) -> str:
        """The digest of the unchanged module."""
        return hashlib.sha256(self.source.encode()).hexdigest()

    @property
    def place(self) -> str:
        """The file and line."""
        return f"{self.path}:{self.line}"


@dataclass(frozen=True)
class _Removal:
    """A node, and what replaces it when one of its conditions is removed."""

    node: ast.AST
    replacement: ast.AST
    change: str
    removed: ast.expr | ast.stmt
    """The condition, for its line and its text."""


def find_mutants(root: Path, path: Path) -> list[Mutant]:
    """Return one mutant per condition of the module at `path`, in the order of the source."""
    source = (root / path).read_text(encoding="utf-8")
    seen: Counter[tuple[str, str, str]] = Counter()
    mutants = []
    for index, (function, removal) in enumerate(_removals(_parse(source))):
        text = " ".join((ast.get_source_segment(source, removal.removed) or "").split())
        same = (function, removal.change, text)
        line = removal.removed.lineno
        mutants.append(
            Mutant(path, source, index, line, function, removal.change, text, seen[same])
        )
        seen[same] += 1
    return sorted(mutants, key=lambda mutant: mutant.line)


def compile_mutant(mutant: Mutant, path: Path) -> CodeType:
    """Compile the module without the condition, as if its file were `path`."""
    tree = _parse(mutant.source)
    _, removal = list(_removals(tree))[mutant.index]
    _Replacement(removal).visit(tree)
    return compile(ast.fix_missing_locations(tree), str(path), "exec", dont_inherit=True)


def _parse(source: str) -> ast.Module:
    return ast.parse(source)  # noqa: TID251 - single-threaded, independent of the package


class _Replacement(ast.NodeTransformer):
    def __init__(self, removal: _Removal) -> None:
        self.removal = removal

    def visit(self, node: ast.AST) -> ast.AST:
        """Replace the node of the removal; leave every other node as it is."""
        if node is self.removal.node:
            return ast.copy_location(self.removal.replacement, self.removal.removed)
        return self.generic_visit(node)


def _removals(tree: ast.Module) -> Iterator[tuple[str, _Removal]]:
    """Yield every removal with the qualified name of the function around it."""
    # A refusal directly under an `if` is removed together with the condition.
    conditional = {
        id(statement)
        for node in ast.walk(tree)
        if isinstance(node, ast.If)
        for statement in node.body
    }
    for function, node in _nodes(tree):
        for removal in _removals_of(node, conditional):
            yield function, removal


def _nodes(node: ast.AST, function: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Yield every node below `node` with the qualified name of what contains it."""
    for child in ast.iter_child_nodes(node):
        yield function, child
        inner = function
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{function}.{child.name}" if function else child.name
        yield from _nodes(child, inner)


def _removals_of(node: ast.AST, conditional: set[int]) -> Iterator[_Removal]:
    match node:
        case ast.If(test=test) | ast.IfExp(test=test) | ast.match_case(guard=ast.expr() as test):
            # The condition is still evaluated, because it may bind a name.
            never = ast.BoolOp(ast.And(), [test, ast.Constant(value=False)])
            yield _Removal(test, never, "condition made false", test)
        case ast.BoolOp(op=operator, values=values):
            for operand, others in _each(values):
                rest = others[0] if len(others) == 1 else ast.BoolOp(operator, others)
                yield _Removal(node, rest, "operand removed", operand)
        case ast.comprehension(target=target, iter=source, ifs=filters, is_async=is_async):
            for condition, others in _each(filters):
                fewer = ast.comprehension(target, source, others, is_async)
                yield _Removal(node, fewer, "filter removed", condition)
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            yield _Removal(node, left, "subtrahend removed", right)
        case ast.Compare():
            yield from _removals_of_comparison(node)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.BinOp(op=ast.BitOr()) as union]):
            for kind, others in _each(list(_alternatives(union))):
                yield _Removal(union, _union(others), "type removed", kind)
        case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
            if name.lstrip("_").startswith("refuse") and id(node) not in conditional:
                yield _Removal(node, ast.Pass(), "refusal removed", node)


def _removals_of_comparison(node: ast.Compare) -> Iterator[_Removal]:
    """Remove a bound of a chain, a member of a literal set, or a pair of two compared tuples."""
    match node:
        case ast.Compare(left=left, ops=[_, _, *_], comparators=[*inner, last]):
            upper = ast.Compare(inner[0], node.ops[1:], node.comparators[1:])
            yield _Removal(node, upper, "bound removed", left)
            yield _Removal(node, ast.Compare(left, node.ops[:-1], inner), "bound removed", last)
        case ast.Compare(
            left=left,
            ops=[ast.In() | ast.NotIn()],
            comparators=[ast.Set(elts=members) | ast.Tuple(elts=members)],
        ) if len(members) > 1:
            for member, others in _each(members):
                rest = ast.Compare(left, node.ops, [ast.Tuple(others, ast.Load())])
                yield _Removal(node, rest, "member removed", member)
        case ast.Compare(
            left=ast.Tuple(elts=lefts),
            ops=[ast.Eq() | ast.NotEq()],
            comparators=[ast.Tuple(elts=rights)],
        ) if len(lefts) == len(rights):
            for (removed, left_rest), (_, right_rest) in zip(
                _each(lefts), _each(rights), strict=True
            ):
                right = ast.Tuple(right_rest, ast.Load())
                rest = ast.Compare(ast.Tuple(left_rest, ast.Load()), node.ops, [right])
                yield _Removal(node, rest, "compared pair removed", removed)


def _each(nodes: Sequence[ast.expr]) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """Yield each node with the others."""
    for index, node in enumerate(nodes):
        yield node, [*nodes[:index], *nodes[index + 1 :]]


def _alternatives(union: ast.expr) -> Iterator[ast.expr]:
    if isinstance(union, ast.BinOp) and isinstance(union.op, ast.BitOr):
        yield from _alternatives(union.left)
        yield from _alternatives(union.right)
    else:
        yield union


def _union(kinds: Sequence[ast.expr]) -> ast.expr:
    whole, *others = kinds
    for kind in others:
        whole = ast.BinOp(whole, ast.BitOr(), kind)
    return whole
