"""Mutations: typical mistakes of language models at interfaces, in state and in orchestration."""

import ast
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from auditcoder.domain.python_names import Function, bound_by, own_scope
from auditcoder_bench.faultbench.mutations import (
    MutationScope,
    SourceChange,
    around,
    block_of,
    brief,
    called,
    changed,
    filled,
    is_text,
    names_in,
    replacement,
    swapped,
    without,
)

_ORDER_SENSITIVE = frozenset(("pow", "divmod", "range", "zip", "log", "atan2", "replace", "insert"))
"""Built-in functions and methods whose arguments are easily swapped."""

_INSERTING = frozenset(("append", "appendleft", "add", "insert", "put", "heappush"))


def swapped_arguments(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Pass arguments in the wrong order."""
    if not isinstance(node, ast.Call):
        return
    ours = called(node, scope.others | scope.own) is not None
    known = isinstance(node.func, ast.Name | ast.Attribute) and _last(node.func) in _ORDER_SENSITIVE
    if ours or known:
        yield from _pairs_swapped(node.args, node)
    if ours:
        yield from _pairs_swapped([keyword.value for keyword in node.keywords], node)


def _last(func: ast.Name | ast.Attribute) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr


def _pairs_swapped(nodes: list[ast.expr], where: ast.AST) -> Iterator[SourceChange]:
    if not any(isinstance(node, ast.Starred) for node in nodes):
        yield from (swapped(a, b, where) for a, b in combinations(nodes, 2))


def swapped_results(node: ast.AST, _scope: MutationScope) -> Iterator[SourceChange]:
    """Return or unpack the elements of a tuple in the wrong order."""
    match node:
        case ast.Return(value=ast.Tuple(elts=parts)) | ast.Yield(value=ast.Tuple(elts=parts)):
            yield from _pairs_swapped(parts, node)
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Call() | ast.Await()):
            yield from _pairs_swapped(parts, node)
        case (
            ast.For(target=ast.Tuple(elts=parts) as shown, iter=ast.Call())
            | ast.comprehension(target=ast.Tuple(elts=parts) as shown, iter=ast.Call())
            | ast.ListComp(elt=ast.Tuple(elts=parts) as shown)
        ):
            yield from _pairs_swapped(parts, shown)
        case ast.DictComp(key=key, value=value):
            yield swapped(key, value, node)
        case (
            ast.Call(func=ast.Name(id=name), args=[*_, ast.Tuple(elts=parts)])
            | ast.Call(func=ast.Attribute(attr=name), args=[*_, ast.Tuple(elts=parts)])
        ) if name in _INSERTING:
            yield from _pairs_swapped(parts, node)


_KINDS = {
    **dict.fromkeys(("list", "sorted"), "list"),
    **dict.fromkeys(("dict", "defaultdict", "Counter"), "dict"),
    **dict.fromkeys(("set", "frozenset"), "set"),
}


def _kind(node: ast.expr, scope: MutationScope) -> str:
    """Return the collection type of an expression; empty if it is not evident."""
    match node:
        case ast.List() | ast.ListComp():
            return "list"
        case ast.Dict() | ast.DictComp():
            return "dict"
        case ast.Set() | ast.SetComp():
            return "set"
        case ast.Call(func=ast.Name(id=name)):
            return _KINDS.get(name, "")
        case ast.Name(id=name):
            values = _values_of(name, node, scope)
            kinds = {"" if isinstance(value, ast.Name) else _kind(value, scope) for value in values}
            return kinds.pop() if len(kinds) == 1 else ""
    return ""


def _values_of(name: str, near: ast.AST, scope: MutationScope) -> Iterator[ast.expr]:
    """Yield the values that the enclosing function assigns to a name."""
    function = around(near, scope)
    for node in own_scope(function.body if function else ()):
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if name in bound_by([node]):
                    yield value


def wrong_returns(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Return a value of another type or shape, or None."""
    function = around(node, scope)
    if function is None or function.name != scope.function:
        return
    match node:
        case ast.Return(value=ast.Constant(value=None)):
            return
        case ast.Return(value=ast.expr() as value):
            yield from (replacement(value, new, where=node) for new in _reshaped(value, scope))
            yield _discarded(node, value, scope)
        case ast.Yield(value=ast.expr() as value):
            yield from (replacement(value, new, where=node) for new in _reshaped(value, scope))


def _discarded(node: ast.stmt, value: ast.expr, scope: MutationScope) -> SourceChange:
    """Keep a call but discard its value; a statement without a call is removed."""
    if any(isinstance(inner, ast.Call | ast.Await) for inner in ast.walk(value)):
        return SourceChange(
            f"`{brief(node)}` only as `{brief(value)}`", ((node, (ast.Expr(value),)),)
        )
    return without(node, scope)


def _reshaped(value: ast.expr, scope: MutationScope) -> Iterator[ast.expr]:
    templates = ["[A]", "(A, None)"]
    if not is_text(value):
        templates.append("str(A)")
    match _kind(value, scope):
        case "dict":
            templates.append("list(A.items())")
        case "list":
            templates += ["len(A)", "A[0]"]
        case "set":
            templates.append("len(A)")
    yield from (filled(template, A=value) for template in templates)
    if isinstance(value, ast.Tuple) and value.elts:
        yield value.elts[0]


def wrong_exchanges(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Pass a value of another type or shape to another node, or misuse its result."""
    if not isinstance(node, ast.Call | ast.Await) or not called(node, scope.others):
        return
    if not isinstance(scope.parents[node], ast.Await | ast.Expr):
        yield replacement(node, filled("A[0]", A=node))
    if isinstance(node, ast.Call):
        for given in _arguments(node):
            for template in ("[A]",) if is_text(given) else ("[A]", "str(A)"):
                yield replacement(given, filled(template, A=given), where=node)
        for gone in node.args if len(node.args) > 1 else ():
            kept = [given for given in node.args if given is not gone]
            yield replacement(node, changed(node, args=kept))


def _arguments(call: ast.Call) -> list[ast.expr]:
    """Return the arguments of a call, without starred ones."""
    named = [keyword.value for keyword in call.keywords if keyword.arg is not None]
    return [*(arg for arg in call.args if not isinstance(arg, ast.Starred)), *named]


_GROWING = frozenset(("add", "append", "appendleft", "extend", "insert", "setdefault", "update"))
_SHRINKING = frozenset(("clear", "discard", "pop", "popleft", "remove"))
_MUTATORS = _GROWING | _SHRINKING | {"reverse", "sort"}
"""Built-in methods that change their object."""


def _changes_in_place(node: ast.AST, scope: MutationScope) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
            return name in _MUTATORS and not called(call, scope.others)
    return False


def lost_updates(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Omit the update of a variable, attribute or collection."""
    match node:
        case (
            ast.Assign(targets=[target])
            | ast.AnnAssign(target=target)
            | ast.AugAssign(target=target)
        ):
            kept = isinstance(target, ast.Attribute | ast.Subscript)
            if kept or isinstance(node, ast.AugAssign) or _is_self_update(node):
                yield without(node, scope)
        case ast.Expr() if _changes_in_place(node, scope):
            yield without(node, scope)


def _is_self_update(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name in names_in([value])
    return False


def lost_results(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Compute a new value, and continue with the old one."""
    match node:
        case ast.Assign(value=ast.Call() as value) if _is_self_update(node):
            if not called(value, scope.others):
                yield _discarded(node, value, scope)
        case ast.Call(func=ast.Attribute(value=items, attr="sort"), args=[], keywords=given):
            new = changed(filled("sorted(A)", A=items), keywords=given)
            yield replacement(node, new)
        case ast.AugAssign(target=target, value=value):
            yield replacement(node, ast.Assign(targets=[target], value=value, lineno=0))


def lost_in_locals(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Assign a new value to a local variable instead of the shared object."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name) as target]):
            yield replacement(target, ast.Name(id=name, ctx=ast.Store()), where=node)
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name) as target):
            before = changed(target, ctx=ast.Load())
            value = ast.BinOp(left=before, op=node.op, right=node.value)
            yield replacement(node, _assigned(name, value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=items, attr="append"), args=[item])):
            name = _local_name(items, scope)
            if name:
                yield replacement(node, _assigned(name, filled("A + [B]", A=items, B=item)))


def _local_name(items: ast.expr, scope: MutationScope) -> str:
    """Return the name of a local variable to use instead of a shared list; or empty."""
    match items:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Name(id=name) if name in _parameters(around(items, scope)):
            return name
    return ""


def _assigned(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(id=name, ctx=ast.Store())], value=value, lineno=0)


def _parameters(function: Function | None) -> dict[str, ast.arg]:
    if function is None:
        return {}
    given = function.args
    rest = [arg for arg in (given.vararg, given.kwarg) if arg is not None]
    return {arg.arg: arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs, *rest)}


_PURE = (ast.Name, ast.Constant, ast.BinOp, ast.Attribute, ast.operator, ast.expr_context)
"""Expressions that can be evaluated again without side effects."""

_SIMPLE_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)
"""Statements before which another one can be inserted."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension)


def slow_loops(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Iterate over a collection repeatedly without using the result."""
    if not isinstance(node, ast.stmt):
        return
    for items in _iterated(node, scope):
        shown = f"`{brief(items)}`"
        if isinstance(node, ast.For):
            first = node.body[0]
            yield SourceChange(
                f"{shown} again for each", ((first, (_wasted_iteration(items, 1), first)),)
            )
        for depth, said in ((3, "cubed"), (4, "to the fourth")):
            yield SourceChange(
                f"as many steps as {shown} {said}",
                ((node, (_wasted_iteration(items, depth), node)),),
            )


def slow_lookups(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Convert a collection to a list for every membership test."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() as items]):
            if _kind(items, scope) and _repeated(node, scope):
                yield replacement(items, filled("list(A)", A=items), where=node)


def _repeated(node: ast.AST, scope: MutationScope) -> bool:
    above = scope.parents.get(node)
    return above is not None and (isinstance(above, _LOOPS) or _repeated(above, scope))


def _wasted_iteration(items: ast.expr, depth: int) -> ast.Expr:
    return ast.Expr(value=filled(f"sum(1 {'for _ in A ' * depth})", A=items))


def _iterated(node: ast.stmt, scope: MutationScope) -> Iterator[ast.expr]:
    """Yield the collections that a statement iterates over, if iterating again is harmless."""
    iterated: list[ast.expr] = []
    if isinstance(node, ast.For):
        iterated = [node.iter]
    elif isinstance(node, _SIMPLE_STATEMENTS):
        outer = own_scope(ast.iter_child_nodes(node))
        made = (n for n in outer if isinstance(n, ast.ListComp | ast.SetComp | ast.GeneratorExp))
        iterated = [one.generators[0].iter for one in made]
    elif isinstance(node, ast.While):
        iterated = [
            call.args[0]
            for call in ast.walk(node.test)
            if isinstance(call, ast.Call) and called(call, {"len"}) and call.args
        ]
    yield from (items for one in iterated if (items := _reiterable(one, scope)) is not None)


def _reiterable(node: ast.expr, scope: MutationScope) -> ast.expr | None:
    """Return the collection behind an iterable if it can be iterated repeatedly, else None."""
    match node:
        case ast.Name(id=name):
            return (
                node if _kind(node, scope) or _is_collection_parameter(name, node, scope) else None
            )
        case ast.Attribute(value=ast.Name(id="self")):
            return node
        case ast.Call(func=ast.Name(id="range"), args=bounds):
            return node if all(map(_is_pure, bounds)) else None
        case ast.Call(func=ast.Name(id="enumerate" | "sorted" | "reversed" | "zip"), args=[a, *_]):
            return _reiterable(a, scope)
        case ast.Call(func=ast.Attribute(value=whole, attr="items" | "keys" | "values"), args=[]):
            return node if _reiterable(whole, scope) else None
        case ast.Subscript(value=whole, slice=ast.Slice()):
            return _reiterable(whole, scope)
    return None


def _is_collection_parameter(name: str, near: ast.AST, scope: MutationScope) -> bool:
    """Whether a name is a parameter that is neither annotated nor used as an iterator."""
    function = around(near, scope)
    given = _parameters(function).get(name)
    if function is None or given is None or any(True for _ in _values_of(name, near, scope)):
        return False
    annotation = ast.unparse(given.annotation) if given.annotation else ""
    is_consumed = any(
        called(n, {"next", "iter"}) and name in names_in([n]) for n in ast.walk(function)
    )
    return not (is_consumed or "Iter" in annotation or "Generator" in annotation)


def _is_pure(node: ast.expr) -> bool:
    return all(
        isinstance(inner, _PURE) or called(inner, {"len", "min", "max"}) is not None
        for inner in ast.walk(node)
    )


_MAX_VARIABLES = 3
"""Maximum number of other variables that are tried instead of one."""


def skipped_calls(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Omit the call of another node, discard its result, or call it twice."""
    match node:
        case ast.Expr(value=value) if called(value, scope.others):
            yield without(node, scope)
            yield SourceChange(f"`{brief(node)}` twice", ((node, (node, node)),))
        case ast.Assign(value=value) if called(value, scope.others) and _is_self_update(node):
            yield _discarded(node, value, scope)
        case ast.Call() if called(node, scope.others) and _arguments(node):
            above = scope.parents[node]
            whole = above if isinstance(above, ast.Await) else node
            if not isinstance(scope.parents[whole], ast.Expr):
                first, *rest = _arguments(node)
                yield replacement(whole, first)
                if not rest:
                    yield replacement(first, whole, where=whole)


def mixed_up_calls(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Call a different node, or two nodes in the wrong order."""
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
        block = block_of(node, scope)
        following = block[block.index(node) + 1 :][:1]
        if following and _may_swap(node, following[0], scope):
            said = f"`{brief(following[0])}` before `{brief(node)}`"
            yield SourceChange(said, ((node, following[0]), (following[0], node)))
    name = called(node, scope.others)
    if name is not None and isinstance(node, ast.Call):
        for other in _called_alike(node, scope):
            if other != name:
                func: Any = node.func
                key = "id" if isinstance(func, ast.Name) else "attr"
                yield replacement(
                    func, changed(func, **{key: other}), f"`{other}` instead of `{name}`"
                )


def _may_swap(a: ast.stmt, b: ast.stmt, scope: MutationScope) -> bool:
    both_call = all(any(called(n, scope.others) for n in ast.walk(one)) for one in (a, b))
    independent = not (bound_by([a]) & names_in([b]) or bound_by([b]) & names_in([a]))
    return both_call and independent and isinstance(b, ast.Expr | ast.Assign | ast.AugAssign)


def _called_alike(call: ast.Call, scope: MutationScope) -> list[str]:
    """Return the other nodes that are called elsewhere with as many arguments."""
    alike = (
        node
        for node in scope.parents
        if isinstance(node, ast.Call)
        and type(node.func) is type(call.func)
        and len(node.args) == len(call.args)
        and len(node.keywords) == len(call.keywords)
    )
    return sorted({name for node in alike if (name := called(node, scope.others))})


def mistaken_variables(node: ast.AST, scope: MutationScope) -> Iterator[SourceChange]:
    """Use another variable, such as the one from before the last call."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            for value in _values_of(name, node, scope):
                if value.lineno < node.lineno and called(value, scope.others):
                    for old in _argument_names(value):
                        yield replacement(node, old, where=_in_context(node, scope))
        case ast.Call() if called(node, scope.others):
            there = names_in(_arguments(node))
            near = [name for name in _bound_before(node, scope) if name not in there][
                -_MAX_VARIABLES:
            ]
            for given in _arguments(node):
                for name in near if isinstance(given, ast.Name) else ():
                    yield replacement(given, ast.Name(id=name, ctx=ast.Load()), where=node)


def _argument_names(value: ast.expr) -> list[ast.expr]:
    call = value.value if isinstance(value, ast.Await) else value
    given = _arguments(call) if isinstance(call, ast.Call) else []
    return [name for name in given if isinstance(name, ast.Name) and name.id != "self"]


def _in_context(node: ast.AST, scope: MutationScope) -> ast.AST:
    """Return the expression or statement that shows a name in its context."""
    above = scope.parents[node]
    return above if isinstance(above, ast.Call | ast.Return | ast.Assign | ast.BinOp) else node


def _bound_before(node: ast.expr, scope: MutationScope) -> list[str]:
    """Return the variables that are bound before a node, in the order of their first binding."""
    function = around(node, scope)
    if function is None:
        return []
    stored = [n for n in own_scope(function.body) if isinstance(n, ast.Name)]
    bound = [(n.lineno, n.col_offset, n.id) for n in stored if isinstance(n.ctx, ast.Store)]
    names = [
        *_parameters(function),
        *(name for line, _, name in sorted(bound) if line < node.lineno),
    ]
    return [name for name in dict.fromkeys(names) if name not in ("self", "cls")]
