"""What language models get wrong, as changes of a syntax tree: every function knows one slip.

A mutation is asked about every node, and answers for those that it is about. It only says which
node becomes which; whether that makes another program, and how it is written, is not its concern.
"""

import ast
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from auditcoder.domain.python_names import Function, expression

New: TypeAlias = ast.AST | tuple[ast.stmt, ...]
"""What a node becomes; a statement may become several, or none."""


class SourceChange(NamedTuple):
    """One slip."""

    said: str
    news: tuple[tuple[ast.AST, New], ...]
    """Nodes of the tree, and what each of them becomes."""


class MutationScope(NamedTuple):
    """What there is to know beyond the node in question."""

    function: str
    others: frozenset[str]
    """The other responsibilities."""
    own: frozenset[str]
    """The functions and classes of this one."""
    parents: Mapping[ast.AST, ast.AST]
    counters: frozenset[str]
    """Names that count something, so that one more or less is as good a number."""


Mutation: TypeAlias = Callable[[ast.AST, MutationScope], Iterator[SourceChange]]


def scene_of(tree: ast.AST, function: str, others: Collection[str]) -> MutationScope:
    """Look at a tree as a whole."""
    nodes = list(ast.walk(tree))
    return MutationScope(
        function=function,
        others=frozenset(others) - {function},
        own=frozenset(n.name for n in nodes if isinstance(n, Function | ast.ClassDef)),
        parents={child: node for node in nodes for child in ast.iter_child_nodes(node)},
        counters=frozenset(name for node in nodes for name in _counted(node)),
    )


def replaced(node: ast.AST, become: Callable[[ast.AST], New | None]) -> Any:
    """Return the tree with some nodes become others; what holds none of them is not copied."""
    new = become(node)
    if new is not None:
        return new
    before = dict(ast.iter_fields(node))
    after = {name: _each_replaced(value, become) for name, value in before.items()}
    same = all(after[name] is value for name, value in before.items())
    # The place is not what a copy is about, but the writer of statements asks for it.
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
    """Return an expression in which these names are those parts."""
    result: ast.expr = replaced(
        expression(template), lambda n: parts.get(n.id) if isinstance(n, ast.Name) else None
    )
    return result


def changed(node: ast.AST, **fields: Any) -> Any:
    """Return the node with other fields."""
    new = type(node)(**{**dict(ast.iter_fields(node)), **fields})
    return ast.copy_location(new, node)


def brief(node: ast.AST, most: int = 60) -> str:
    """Return a node as text, on one line and not too long."""
    # A slip is as often at the end as at the beginning.
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= most else f"{text[: most // 2]} … {text[-most // 3 :]}"


def instead(
    old: ast.AST, new: ast.AST, said: str = "", where: ast.AST | None = None
) -> SourceChange:
    """Change a node; what is said shows it inside of `where`."""
    if not said:
        shown = replaced(where or old, {old: new}.get)
        said = f"`{brief(shown)}` instead of `{brief(where or old)}`"
    return SourceChange(said, ((old, new),))


def without(statement: ast.stmt, scene: MutationScope) -> SourceChange:
    """Leave out a statement."""
    alone = len(block_of(statement, scene)) == 1
    said = f"without `{brief(statement)}`"
    return SourceChange(said, ((statement, (ast.Pass(),) if alone else ()),))


def block_of(statement: ast.stmt, scene: MutationScope) -> list[ast.stmt]:
    """Return the statements that a statement is one of."""
    fields = (value for _, value in ast.iter_fields(scene.parents[statement]))
    return next(value for value in fields if isinstance(value, list) and statement in value)


def around(node: ast.AST, scene: MutationScope) -> Function | None:
    """Return the function that a node is in."""
    above = scene.parents.get(node)
    return above if above is None or isinstance(above, Function) else around(above, scene)


def called(node: ast.AST, names: Collection[str]) -> str | None:
    """Return which of the names a node calls, as a function or as a method of its own object."""
    match node:
        case ast.Call(func=ast.Name(id=name)) if name in names:
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name)):
            return name if name in names else None
        case ast.Await(value=value):
            return called(value, names)
    return None


def names_in(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names in some nodes."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def swapped(a: ast.AST, b: ast.AST, where: ast.AST) -> SourceChange:
    """Let two nodes change places."""
    shown = brief(replaced(where, {a: b, b: a}.get))
    return SourceChange(f"`{shown}` instead of `{brief(where)}`", ((a, b), (b, a)))


def _counted(node: ast.AST) -> Iterator[str]:
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
    """Return one less and one more."""
    return [_moved(number, by) for by in (-1, 1)]


def _moved(number: ast.expr, by: int) -> ast.expr:
    """Return a number one further, as one would write it."""
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


def _is_count(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def off_bounds(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Begin or end a range, a slice or an index one too early or too late."""
    bounds: list[ast.expr | None] = []
    match node:
        case ast.Call(func=ast.Name(id="range"), args=[stop]):
            bounds = [stop]
            yield instead(node, filled("range(1, A)", A=stop))
        case ast.Call(func=ast.Name(id="range"), args=[start, stop, *_]):
            bounds = [start, stop]
        case ast.Subscript(slice=ast.Slice(lower=lower, upper=upper)):
            bounds = [lower, upper]
        case ast.Subscript(slice=index) if _is_index(index, scene):
            bounds = [index]
    for bound in bounds:
        if bound is not None and not isinstance(bound, ast.Starred):
            yield from (instead(bound, new, where=node) for new in _neighbours(bound))


def _is_index(node: ast.expr, scene: MutationScope) -> bool:
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _is_count(inner)
        case ast.BinOp(op=ast.Add() | ast.Sub(), right=right):
            return _is_count(right)
        case ast.Name(id=name):
            return name in scene.counters
    return _is_count(node)


def off_limits(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Count an end that does not count, or compare with the number beside."""
    if not isinstance(node, ast.Compare):
        return
    yield from _other_comparisons(node, _LIMITS)
    for side in (node.left, *node.comparators):
        if _is_count(side):
            yield from (instead(side, new, where=node) for new in _neighbours(side))


def off_terms(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Forget to add or to take away one; count from zero what is counted from one."""
    match node:
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=ast.Constant(value=1)):
            yield instead(node, left)
        case ast.Call(func=ast.Name(id="enumerate"), args=[items], keywords=[]):
            yield instead(node, filled("enumerate(A, 1)", A=items))
        case ast.Call(func=ast.Name(id="enumerate"), args=[items, *_]):
            yield instead(node, filled("enumerate(A)", A=items))


def _either(*groups: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Return, for each member of a group, the other ones."""
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

_LIMITS = _either(("<", "<="), (">", ">="))
_MISTAKEN = (
    _either(("==", "!="), ("<", ">"), ("<=", ">="), ("in", "not in"), ("is", "is not"))
    | _either(("and", "or"), ("/", "//"), ("-", "+"))
    | {"+": ("-", "*"), "*": ("+",), "//": ("/", "%"), "%": ("//",)}
)
_CALLS = (
    _either(("min", "max"), ("any", "all"), ("floor", "ceil"), ("keys", "values"))
    | _either(("lower", "upper"), ("strip", "lstrip", "rstrip"), ("find", "rfind"))
    | _either(("startswith", "endswith"), ("isalpha", "isdigit", "isalnum"))
    | _either(("append", "extend"), ("union", "intersection"))
    | {"sum": ("len",), "popleft": ("pop",), "appendleft": ("append",)}
)
"""What is taken for what, among functions and methods that everybody has."""


def is_text(node: ast.AST) -> bool:
    """Whether one sees that it is a text."""
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


def _taken_for(op: ast.AST, table: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[ast.AST, str]]:
    """Yield operators that are taken for this one, and how to say so."""
    was = _SYMBOLS.get(type(op), "")
    for now in table.get(was, ()):
        yield _OPERATORS[now](), f"`{now}` instead of `{was}`"


def _other_comparisons(
    node: ast.Compare, table: Mapping[str, tuple[str, ...]]
) -> Iterator[SourceChange]:
    for place, op in enumerate(node.ops):
        for new, said in _taken_for(op, table):
            ops = [*node.ops[:place], new, *node.ops[place + 1 :]]
            yield instead(node, changed(node, ops=ops), said)


def wrong_operators(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Calculate, compare or combine otherwise."""
    match node:
        case ast.Compare():
            yield from _other_comparisons(node, _MISTAKEN)
        case ast.BinOp() | ast.AugAssign() | ast.BoolOp():
            # No other operator is taken for the one that puts texts or lists together.
            if not any(map(_is_text_or_list, ast.iter_child_nodes(node))):
                for new, said in _taken_for(node.op, _MISTAKEN):
                    yield instead(node, changed(node, op=new), said)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield instead(node, operand)
        case ast.UnaryOp(op=ast.USub(), operand=operand) if not isinstance(operand, ast.Constant):
            yield instead(node, operand)


def wrong_calls(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Call what does the opposite, or nearly the same."""
    if not isinstance(node, ast.Call) or called(node, scene.others | scene.own):
        return
    match node:
        case ast.Call(func=ast.Name(id="sum"), args=[ast.GeneratorExp(), *_]):
            return
        case ast.Call(func=ast.Attribute(attr="append"), args=[ast.Constant() | ast.BinOp()]):
            return
        case ast.Call(func=ast.Name(id=name) as func):
            for new in _CALLS.get(name, ()):
                yield instead(func, ast.Name(id=new, ctx=ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name) as func):
            for new in _CALLS.get(name, ()):
                said = f"`.{new}` instead of `.{name}`"
                yield instead(func, changed(func, attr=new), said)


def wrong_directions(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Sort the other way round."""
    match node:
        case ast.Call(func=ast.Name(id="sorted") | ast.Attribute(attr="sort"), keywords=keywords):
            kept = [keyword for keyword in keywords if keyword.arg != "reverse"]
            if len(kept) == len(keywords):
                kept.append(ast.keyword(arg="reverse", value=ast.Constant(value=True)))
            yield instead(node, changed(node, keywords=kept))


_STARTS = _either(("0", "1"), ("0.0", "1.0"), ("True", "False")) | {
    "-1": ("0",),
    "float('inf')": ("0", "float('-inf')"),
    "float('-inf')": ("0", "float('inf')"),
    "-float('inf')": ("0", "float('inf')"),
    "math.inf": ("0", "-math.inf"),
    "-math.inf": ("0", "math.inf"),
}
"""What a value is begun with, and what by mistake."""


def wrong_starts(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Begin with another value what is then counted up, compared or flagged."""
    for value in _starts_in(node, scene):
        for old, new in _other_starts(value):
            yield instead(old, new, where=node)


def _starts_in(node: ast.AST, scene: MutationScope) -> list[ast.expr]:
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return [value] if _begins(node, scene) else []
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


def _begins(node: ast.stmt, scene: MutationScope) -> bool:
    """Whether it is assigned for what comes: a loop, inner functions, the life of an object."""
    function = around(node, scene)
    if function is not None and function.name == "__init__":
        return True
    block = block_of(node, scene)
    later = (n for s in block[block.index(node) + 1 :] for n in ast.walk(s))
    return any(isinstance(n, ast.For | ast.AsyncFor | ast.While | ast.Nonlocal) for n in later)


def _other_starts(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    match value:
        case ast.Tuple(elts=parts) | ast.BinOp(left=ast.List(elts=parts), op=ast.Mult()):
            for part in parts:
                yield from _other_starts(part)
        case ast.Subscript(slice=ast.Constant(value=0)):
            yield value, expression("0")
        case _:
            for new in _STARTS.get(ast.unparse(value), ()):
                yield value, expression(new)


_SMALL = 3
"""How many statements a guard has at most; more are no edge case."""

_CLEANERS = ("strip", "lstrip", "rstrip", "lower", "casefold")


def missing_branches(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Forget a guard, or one of the branches."""
    match node:
        case ast.If(orelse=[ast.If() as other]) if other.col_offset == node.col_offset:
            said = f"without `elif {brief(other.test)}`"
            yield instead(node, changed(node, orelse=other.orelse), said)
        case ast.If(orelse=[_, *_]):
            said = f"without the `else` of `if {brief(node.test)}`"
            yield instead(node, changed(node, orelse=[]), said)
        case ast.If(body=[*body, ast.Return() | ast.Raise() | ast.Continue() | ast.Break()]):
            above = scene.parents[node]
            if len(body) < _SMALL and not (isinstance(above, ast.If) and above.orelse == [node]):
                yield without(node, scene)


def missing_conditions(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Forget a part of a condition, or the case that is otherwise."""
    match node:
        case ast.BoolOp(values=values):
            for gone in values:
                kept = [value for value in values if value is not gone]
                new = kept[0] if len(kept) == 1 else changed(node, values=kept)
                yield instead(node, new, f"without `{brief(gone)}`")
        case ast.IfExp(body=body, orelse=orelse):
            yield from (instead(node, kept) for kept in (body, orelse))


def missing_care(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Take a value as it comes: not cut off, cleaned, or there at all."""
    match node:
        case ast.Call(func=ast.Name(id="min" | "max"), args=[a, b], keywords=[]):
            clamps = [value for value in (a, b) if _is_count(value)]
            if len(clamps) == 1:
                yield instead(node, a if clamps == [b] else b)
        case ast.Call(func=ast.Name(id="min" | "max"), keywords=[*_, ast.keyword(arg="default")]):
            yield instead(node, changed(node, keywords=node.keywords[:-1]))
        case ast.Call(func=ast.Attribute(value=value, attr=name)) if name in _CLEANERS:
            yield instead(node, value, f"without `.{name}()`")
        case ast.Call(func=ast.Attribute(value=value, attr="get"), args=[key, _]):
            yield instead(node, filled("A[K]", A=value, K=key))
        case ast.Call(func=ast.Name(id="next"), args=[items, _]):
            yield instead(node, filled("next(A)", A=items))
        case ast.Call(func=ast.Name(id="abs"), args=[value]):
            yield instead(node, value)
