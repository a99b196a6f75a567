"""Mutations: typical mistakes of language models inside a function, as syntax tree changes.

A mutation is called for every node and yields changes for the nodes it applies to. It only says
which nodes are replaced; the fault injector writes the text and drops changes without effect.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from auditcoder.domain.python_names import Function, expression

New: TypeAlias = ast.AST | tuple[ast.stmt, ...]
"""The replacement of a node; a statement may become several statements or none."""


class SourceChange(NamedTuple):
    """One mistake."""

    said: str
    """A description of the change."""
    news: tuple[tuple[ast.AST, New], ...]
    """Nodes of the tree, each with its replacement."""


class MutationScope(NamedTuple):
    """The context of a mutated node."""

    function: str
    """The name of the node's function."""
    others: frozenset[str]
    """The functions of other nodes."""
    own: frozenset[str]
    """The functions and classes that this code defines."""
    parents: Mapping[ast.AST, ast.AST]
    counters: frozenset[str]
    """Names of loop counters and indices, for which an off-by-one change is plausible."""


Mutation: TypeAlias = Callable[[ast.AST, MutationScope], Iterator[SourceChange]]


def scope_of(tree: ast.AST, function: str, others: Collection[str]) -> MutationScope:
    """Return the context for mutations of a tree."""
    nodes = list(ast.walk(tree))
    return MutationScope(
        function=function,
        others=frozenset(others) - {function},
        own=frozenset(n.name for n in nodes if isinstance(n, Function | ast.ClassDef)),
        parents={child: node for node in nodes for child in ast.iter_child_nodes(node)},
        counters=frozenset(name for node in nodes for name in _counters(node)),
    )


def replaced(node: ast.AST, become: Callable[[ast.AST], New | None]) -> Any:
    """Return the tree with nodes replaced as `become` says; unchanged subtrees are not copied."""
    new = become(node)
    if new is not None:
        return new
    before = dict(ast.iter_fields(node))
    after = {name: _each_replaced(value, become) for name, value in before.items()}
    same = all(after[name] is value for name, value in before.items())
    # `ast.unparse` needs a line number for some statements.
    return node if same else ast.copy_location(type(node)(**after), node)


def _each_replaced(value: Any, become: Callable[[ast.AST], New | None]) -> Any:
    if isinstance(value, ast.AST):
        return replaced(value, become)
    if not isinstance(value, list):
        return value
    news = [_each_replaced(item, become) for item in value]
    flat = [one for new in news for one in (new if isinstance(new, tuple) else (new,))]
    same = len(flat) == len(value) and all(a is b for a, b in zip(flat, value, strict=True))
    return value if same else flat


def filled(template: str, **parts: ast.expr) -> ast.expr:
    """Return the expression `template` with names replaced by the given expressions."""
    result: ast.expr = replaced(
        expression(template), lambda n: parts.get(n.id) if isinstance(n, ast.Name) else None
    )
    return result


def changed(node: ast.AST, **fields: Any) -> Any:
    """Return a copy of the node with some fields replaced."""
    new = type(node)(**{**dict(ast.iter_fields(node)), **fields})
    return ast.copy_location(new, node)


def brief(node: ast.AST, most: int = 60) -> str:
    """Return a node as text on one line, shortened in the middle if it is too long."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 3 :]}"


def replacement(
    old: ast.AST, new: ast.AST, said: str = "", where: ast.AST | None = None
) -> SourceChange:
    """Return the replacement of a node; the default description shows it inside `where`."""
    if not said:
        shown = replaced(where or old, {old: new}.get)
        said = f"`{brief(shown)}` instead of `{brief(where or old)}`"
    return SourceChange(said, ((old, new),))


def without(statement: ast.stmt, scope: MutationScope) -> SourceChange:
    """Return the removal of a statement."""
    is_only = len(block_of(statement, scope)) == 1
    said = f"without `{brief(statement)}`"
    return SourceChange(said, ((statement, (ast.Pass(),) if is_only else ()),))


def block_of(statement: ast.stmt, scope: MutationScope) -> list[ast.stmt]:
    """Return the block that contains a statement."""
    fields = (value for _, value in ast.iter_fields(scope.parents[statement]))
    return next(value for value in fields if isinstance(value, list) and statement in value)


def around(node: ast.AST, scope: MutationScope) -> Function | None:
    """Return the innermost function around a node; None at module level."""
    above = scope.parents.get(node)
    return above if above is None or isinstance(above, Function) else around(above, scope)


def called(node: ast.AST, names: Collection[str]) -> str | None:
    """Return which of the names a node calls, as a function or a method of `self` or `cls`."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in names:
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)):
            return name if name in names else None
        case ast.Await(value=value):
            return called(value, names)
    return None


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return all names that occur in some nodes."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def swapped(a: ast.AST, b: ast.AST, where: ast.AST) -> SourceChange:
    """Return the exchange of two nodes."""
    shown = brief(replaced(where, {a: b, b: a}.get))
    return SourceChange(f"`{shown}` instead of `{brief(where)}`", ((a, b), (b, a)))


def _counters(node: ast.AST) -> Iterator[str]:
    match node:
        case (
            ast.For(target=target, iter=ast.Call(func=ast.Name(id=name)))
            | ast.comprehension(target=target, iter=ast.Call(func=ast.Name(id=name)))
        ) if name in ("range", "enumerate"):
            first = target.elts[0] if isinstance(target, ast.Tuple) else target
            yield from names_in([first])
        case ast.AugAssign(target=ast.Name(id=name), value=ast.Constant(value=1)):
            yield name


def _neighbours(number: ast.expr) -> list[ast.expr]:
    """Return the number minus one and plus one."""
    return [_shifted(number, by) for by in (-1, 1)]


def _shifted(number: ast.expr, by: int) -> ast.expr:
    """Return an expression for a number plus `by`, simplified."""
    match number:
        case ast.Constant(value=int(value)):
            return expression(str(value + by))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(value))):
            return expression(str(by - value))
        case ast.BinOp(left=left, op=ast.Add(), right=ast.Constant(value=int(value))):
            return _plus(left, value + by)
        case ast.BinOp(left=left, op=ast.Sub(), right=ast.Constant(value=int(value))):
            return _plus(left, by - value)
    return _plus(number, by)


def _plus(left: ast.expr, number: int) -> ast.expr:
    if not number:
        return left
    return filled(f"A {'+' if number > 0 else '-'} {abs(number)}", A=left)


def _is_integer(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def off_bounds(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Shift a bound of a range or slice, or an index, by one."""
    bounds: list[ast.expr | None] = []
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            bounds = [stop]
            yield replacement(node, filled("range(1, A)", A=stop))
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, *_]):
            bounds = [start, stop]
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            bounds = [lower, upper]
        case ast.Subscript(slice=index) if _is_index(index, scope):
            bounds = [index]
    for bound in bounds:
        if bound is not None and not isinstance(bound, ast.Starred):
            yield from (replacement(bound, new, where=node) for new in _neighbours(bound))


def _is_index(node: ast.expr, scope: MutationScope) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _is_integer(inner)
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=right):
            return _is_integer(right)
        case ast.Name(id=name):
            return name in scope.counters
    return _is_integer(node)


def off_limits(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Include or exclude the limit of a comparison, or shift it by one."""
    if not isinstance(node, ast.Compare):
        return
    yield from _other_comparisons(node, _LIMIT_OPERATORS)
    for side in (node.left, *node.comparators):
        if _is_integer(side):
            yield from (replacement(side, new, where=node) for new in _neighbours(side))


def off_terms(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Omit `+ 1` or `- 1`, or start `enumerate` at the wrong number."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield replacement(node, left)
        case ast.Call(func=ast.Name(id="enumerate"), args=[items], keywords=[]):
            yield replacement(node, filled("enumerate(A, 1)", A=items))
        case ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
            yield replacement(node, filled("enumerate(A)", A=items))


def _confusions(*groups: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Map each member of a group to the other members."""
    return {one: tuple(o for o in group if o != one) for group in groups for one in group}


_ARITHMETIC: dict[str, type[ast.AST]] = {
    "+": ast.Add,
    "-": ast.Sub,
    "*": ast.Mult,
    "/": ast.Div,
    "//": ast.FloorDiv,
    "%": ast.Mod,
}
_LOGIC: dict[str, type[ast.AST]] = {
    "<": ast.Lt,
    "<=": ast.LtE,
    ">": ast.Gt,
    ">=": ast.GtE,
    "==": ast.Eq,
    "!=": ast.NotEq,
    "in": ast.In,
    "not in": ast.NotIn,
    "is": ast.Is,
    "is not": ast.IsNot,
    "and": ast.And,
    "or": ast.Or,
}
_OPERATORS = _ARITHMETIC | _LOGIC
_SYMBOLS = {kind: symbol for symbol, kind in _OPERATORS.items()}

_LIMIT_OPERATORS = _confusions(("<", "<="), (">", ">="))
_CONFUSED_OPERATORS = (
    _confusions(("==", "!="), ("<", ">"), ("<=", ">="), ("in", "not in"), ("is", "is not"))
    | _confusions(("and", "or"), ("/", "//"), ("-", "+"))
    | {"+": ("-", "*"), "*": ("+",), "//": ("/", "%"), "%": ("//",)}
)
_CONFUSED_CALLS = (
    _confusions(("min", "max"), ("any", "all"), ("floor", "ceil"), ("keys", "values"))
    | _confusions(("lower", "upper"), ("strip", "lstrip", "rstrip"), ("find", "rfind"))
    | _confusions(("startswith", "endswith"), ("isalpha", "isdigit", "isalnum"))
    | _confusions(("append", "extend"), ("union", "intersection"))
    | {"sum": ("len",), "popleft": ("pop",), "appendleft": ("append",)}
)
"""Built-in functions and methods that are easily confused."""


def is_text(node: ast.AST) -> bool:
    """Whether an expression is evidently a string."""
    match node:
        case ast.Constant(value=str() | bytes()) | ast.JoinedStr():
            return True
        case ast.Call(func=ast.Name(id="str" | "repr")):
            return True
        case ast.Call(func=ast.Attribute(attr=name)):
            return name in ("join", "format", "replace", "strip", "lower", "upper")
    return False


def _is_text_or_list(node: ast.AST) -> bool:
    match node:
        case ast.List() | ast.ListComp() | ast.Tuple():
            return True
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted")):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_text_or_list(left) or _is_text_or_list(right)
    return is_text(node)


def _confused_with(
    op: ast.AST, table: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[ast.AST, str]]:
    """Yield operators that are confused with this one, each with a description."""
    old = _SYMBOLS.get(type(op), "")
    for new in table.get(old, ()):
        yield _OPERATORS[new](), f"`{new}` instead of `{old}`"


def _other_comparisons(
    node: ast.Compare, table: Mapping[str, tuple[str, ...]]
) -> Iterator[SourceChange]:
    for index, op in enumerate(node.ops):
        for new, said in _confused_with(op, table):
            ops = [*node.ops[:index], new, *node.ops[index + 1 :]]
            yield replacement(node, changed(node, ops=ops), said)


def wrong_operators(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Use a wrong arithmetic, comparison or logical operator, or omit a unary one."""
    match node:
        case ast.Compare():
            yield from _other_comparisons(node, _CONFUSED_OPERATORS)
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            # The concatenation of strings or lists is not confused with other operators.
            if not any(map(_is_text_or_list, ast.iter_child_nodes(node))):
                for new, said in _confused_with(node.op, _CONFUSED_OPERATORS):
                    yield replacement(node, changed(node, op=new), said)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield replacement(node, operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield replacement(node, operand)


def wrong_calls(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Call a similar or opposite built-in function or method."""
    if not isinstance(node, ast.Call) or called(node, scope.others | scope.own):
        return
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[ast.GeneratorExp(), *_]):
            return
        case ast.Call(func=ast.Attribute(attr="append"), args=[ast.Constant() | ast.BinOp()]):
            return
        case ast.Call(func=ast.Name(id=name) as func):
            for new in _CONFUSED_CALLS.get(name, ()):
                yield replacement(func, ast.Name(id=new, ctx=ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name) as func):
            for new in _CONFUSED_CALLS.get(name, ()):
                said = f"`.{new}` instead of `.{name}`"
                yield replacement(func, changed(func, attr=new), said)


def wrong_directions(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Sort in the opposite order."""
    match node:
        case ast.Call(func=ast.Name(id="sorted") | ast.Attribute(attr="sort"), keywords=keywords):
            kept = [keyword for keyword in keywords if keyword.arg != "reverse"]
            if len(kept) == len(keywords):
                kept.append(ast.keyword(arg="reverse", value=ast.Constant(value=True)))
            yield replacement(node, changed(node, keywords=kept))


_INITIAL_VALUES = _confusions(("0", "1"), ("0.0", "1.0"), ("True", "False")) | {
    "-1": ("0",),
    "float('inf')": ("0", "float('-inf')"),
    "float('-inf')": ("0", "float('inf')"),
    "-float('inf')": ("0", "float('inf')"),
    "math.inf": ("0", "-math.inf"),
    "-math.inf": ("0", "math.inf"),
}
"""Initial values, each with wrong ones."""


def wrong_starts(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Use a wrong initial value of a counter, extremum or flag."""
    for value in _initial_values(node, scope):
        for old, new in _wrong_initial_values(value):
            yield replacement(old, new, where=node)


def _initial_values(node: ast.AST, scope: MutationScope) -> list[ast.expr]:
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return [value] if _is_initial(node, scope) else []
        case ast.arguments():
            return [value for value in (*node.defaults, *node.kw_defaults) if value is not None]
        case (
            ast.Call(func=ast.Attribute(attr="get" | "setdefault"), args=[_, value])
            | ast.Call(func=ast.Name(id="sum"), args=[_, value])
            | ast.Call(
                func=ast.Name(id="reduce") | ast.Attribute(attr="reduce"), args=[_, _, value]
            )
            | ast.keyword(arg="default" | "initial" | "start", value=value)
        ):
            return [value]
    return []


def _is_initial(node: ast.stmt, scope: MutationScope) -> bool:
    """Whether an assignment sets an initial value: in `__init__`, or before a loop or closure."""
    function = around(node, scope)
    if function is not None and function.name == "__init__":
        return True
    block = block_of(node, scope)
    later = (n for s in block[block.index(node) + 1 :] for n in ast.walk(s))
    return any(isinstance(n, ast.For | ast.AsyncFor | ast.While | ast.Nonlocal) for n in later)


def _wrong_initial_values(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    match value:
        case ast.Tuple(elts=parts) | ast.BinOp(left=ast.List(elts=parts), op=ast.Mult()):
            for part in parts:
                yield from _wrong_initial_values(part)
        case ast.Subscript(slice=ast.Constant(value=0)):
            yield value, expression("0")
        case _:
            for new in _INITIAL_VALUES.get(ast.unparse(value), ()):
                yield value, expression(new)


_GUARD_STATEMENTS = 3
"""A guard with more statements than this is not an edge case."""

_CLEANERS = ("strip", "lstrip", "rstrip", "lower", "casefold")


def missing_branches(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Omit a guard or a branch."""
    match node:
        case ast.If(orelse=[ast.If() as other]) if other.col_offset == node.col_offset:
            said = f"without `elif {brief(other.test)}`"
            yield replacement(node, changed(node, orelse=other.orelse), said)
        case ast.If(orelse=[_, *_]):
            said = f"without the `else` of `if {brief(node.test)}`"
            yield replacement(node, changed(node, orelse=[]), said)
        case ast.If(body=[*body, ast.Return() | ast.Raise() | ast.Continue() | ast.Break()]):
            above = scope.parents[node]
            if len(body) < _GUARD_STATEMENTS and not (
                isinstance(above, ast.If) and above.orelse == [node]
            ):
                yield without(node, scope)


def missing_conditions(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Omit a part of a condition, or the alternative of a conditional expression."""
    match node:
        case ast.BoolOp(values=values):
            for gone in values:
                kept = [value for value in values if value is not gone]
                new = kept[0] if len(kept) == 1 else changed(node, values=kept)
                yield replacement(node, new, f"without `{brief(gone)}`")
        case ast.IfExp(body=body, orelse=orelse):
            yield from (replacement(node, kept) for kept in (body, orelse))


def missing_care(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Omit the clamping, cleaning or default of a value."""
    match node:
        case ast.Call(func=ast.Name(id="min" | "max"), args=[a, b], keywords=[]):
            clamps = [value for value in (a, b) if _is_integer(value)]
            if len(clamps) == 1:
                yield replacement(node, a if clamps == [b] else b)
        case ast.Call(func=ast.Name(id="min" | "max"), keywords=[*_, ast.keyword(arg="default")]):
            yield replacement(node, changed(node, keywords=node.keywords[:-1]))
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CLEANERS:
            yield replacement(node, value, f"without `.{name}()`")
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, _]):
            yield replacement(node, filled("A[K]", A=value, K=key))
        case ast.Call(func=ast.Name(id="next"), args=[items, _]):
            yield replacement(node, filled("next(A)", A=items))
        case ast.Call(func=ast.Name(id="abs"), args=[value]):
            yield replacement(node, value)
