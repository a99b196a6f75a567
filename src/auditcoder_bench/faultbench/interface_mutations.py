"""What language models get wrong between functions: what is handed over, kept, done and asked."""

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
    instead,
    is_text,
    names_in,
    swapped,
    without,
)

_ORDERED = frozenset(("pow", "divmod", "range", "zip", "log", "atan2", "replace", "insert"))
"""Functions and methods that everybody has, and that take two things in an order."""

_TAKERS = frozenset(("append", "appendleft", "add", "insert", "put", "heappush"))


def swapped_arguments(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Give arguments in the wrong order."""
    if not isinstance(node, ast.Call):
        return
    ours = called(node, scene.others | scene.own) is not None
    known = isinstance(node.func, ast.Name | ast.Attribute) and _last(node.func) in _ORDERED
    if ours or known:
        yield from _pairs_swapped(node.args, node)
    if ours:
        yield from _pairs_swapped([keyword.value for keyword in node.keywords], node)


def _last(func: ast.Name | ast.Attribute) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr


def _pairs_swapped(nodes: list[ast.expr], where: ast.AST) -> Iterator[SourceChange]:
    if not any(isinstance(node, ast.Starred) for node in nodes):
        yield from (swapped(a, b, where) for a, b in combinations(nodes, 2))


def swapped_results(node: ast.AST, _scene: MutationScope) -> Iterator[SourceChange]:
    """Hand out or take the parts of a tuple in the wrong order."""
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
        ) if name in _TAKERS:
            yield from _pairs_swapped(parts, node)


_KINDS = {
    **dict.fromkeys(("list", "sorted"), "list"),
    **dict.fromkeys(("dict", "defaultdict", "Counter"), "dict"),
    **dict.fromkeys(("set", "frozenset"), "set"),
}


def _kind(node: ast.expr, scene: MutationScope) -> str:
    """Return which collection an expression makes, as far as one sees; or nothing."""
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
            values = _values_of(name, node, scene)
            kinds = {"" if isinstance(value, ast.Name) else _kind(value, scene) for value in values}
            return kinds.pop() if len(kinds) == 1 else ""
    return ""


def _values_of(name: str, near: ast.AST, scene: MutationScope) -> Iterator[ast.expr]:
    """Yield what the function assigns to a name."""
    function = around(near, scene)
    for node in own_scope(function.body if function else ()):
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
                if name in bound_by([node]):
                    yield value


def wrong_returns(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Hand the caller something of another type or shape, or nothing."""
    function = around(node, scene)
    if function is None or function.name != scene.function:
        return
    match node:
        case ast.Return(value=ast.Constant(value=None)):
            return
        case ast.Return(value=ast.expr() as value):
            yield from (instead(value, new, where=node) for new in _reshaped(value, scene))
            yield _forgotten(node, value, scene)
        case ast.Yield(value=ast.expr() as value):
            yield from (instead(value, new, where=node) for new in _reshaped(value, scene))


def _forgotten(node: ast.stmt, value: ast.expr, scene: MutationScope) -> SourceChange:
    """Work something out, and then do nothing with it; a mere name is not even looked at."""
    if any(isinstance(inner, ast.Call | ast.Await) for inner in ast.walk(value)):
        return SourceChange(
            f"`{brief(node)}` only as `{brief(value)}`", ((node, (ast.Expr(value),)),)
        )
    return without(node, scene)


def _reshaped(value: ast.expr, scene: MutationScope) -> Iterator[ast.expr]:
    templates = ["[A]", "(A, None)"]
    if not is_text(value):
        templates.append("str(A)")
    match _kind(value, scene):
        case "dict":
            templates.append("list(A.items())")
        case "list":
            templates += ["len(A)", "A[0]"]
        case "set":
            templates.append("len(A)")
    yield from (filled(template, A=value) for template in templates)
    if isinstance(value, ast.Tuple) and value.elts:
        yield value.elts[0]


def wrong_exchanges(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Give another responsibility something else, or take what it gives for something else."""
    if not isinstance(node, ast.Call | ast.Await) or not called(node, scene.others):
        return
    if not isinstance(scene.parents[node], ast.Await | ast.Expr):
        yield instead(node, filled("A[0]", A=node))
    if isinstance(node, ast.Call):
        for given in _given(node):
            for template in ("[A]",) if is_text(given) else ("[A]", "str(A)"):
                yield instead(given, filled(template, A=given), where=node)
        for gone in node.args if len(node.args) > 1 else ():
            kept = [given for given in node.args if given is not gone]
            yield instead(node, changed(node, args=kept))


def _given(call: ast.Call) -> list[ast.expr]:
    """Return what is given to a call one by one."""
    named = [keyword.value for keyword in call.keywords if keyword.arg is not None]
    return [*(arg for arg in call.args if not isinstance(arg, ast.Starred)), *named]


_GROWING = frozenset(("add", "append", "appendleft", "extend", "insert", "setdefault", "update"))
_SHRINKING = frozenset(("clear", "discard", "pop", "popleft", "remove"))
_MUTATORS = _GROWING | _SHRINKING | {"reverse", "sort"}
"""Methods that everybody has, and that change what they are called on."""


def _changes_in_place(node: ast.AST, scene: MutationScope) -> bool:
    match node:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name)) as call):
            return name in _MUTATORS and not called(call, scene.others)
    return False


def lost_updates(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Forget to keep a new value."""
    match node:
        case (
            ast.Assign(targets=[target])
            | ast.AnnAssign(target=target)
            | ast.AugAssign(target=target)
        ):
            kept = isinstance(target, ast.Attribute | ast.Subscript)
            if kept or isinstance(node, ast.AugAssign) or _renews(node):
                yield without(node, scene)
        case ast.Expr() if _changes_in_place(node, scene):
            yield without(node, scene)


def _renews(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            return name in names_in([value])
    return False


def lost_results(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Make a new value of an old one, and go on with the old one."""
    match node:
        case ast.Assign(value=ast.Call() as value) if _renews(node):
            if not called(value, scene.others):
                yield _forgotten(node, value, scene)
        case ast.Call(func=ast.Attribute(value=items, attr="sort"), args=[], keywords=given):
            new = changed(filled("sorted(A)", A=items), keywords=given)
            yield instead(node, new)
        case ast.AugAssign(target=target, value=value):
            yield instead(node, ast.Assign(targets=[target], value=value, lineno=0))


def lost_in_locals(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Put a new value in a variable of the function, where nobody else sees it."""
    match node:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name) as target]):
            yield instead(target, ast.Name(id=name, ctx=ast.Store()), where=node)
        case ast.AugAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name) as target):
            before = changed(target, ctx=ast.Load())
            value = ast.BinOp(left=before, op=node.op, right=node.value)
            yield instead(node, _assigned(name, value))
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=items, attr="append"), args=[item])):
            name = _lost_as(items, scene)
            if name:
                yield instead(node, _assigned(name, filled("A + [B]", A=items, B=item)))


def _lost_as(items: ast.expr, scene: MutationScope) -> str:
    """Return what to call a list that others see, so that they do not see it grow; or nothing."""
    match items:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Name(id=name) if name in _parameters(around(items, scene)):
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
"""What can be worked out again, and nothing happens."""

_HEADED = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)
"""Statements that something can be put in front of, as it is only worked out once."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.comprehension)


def slow_loops(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Go through everything again, and again for everything, and make no use of it."""
    if not isinstance(node, ast.stmt):
        return
    for items in _gone_through(node, scene):
        shown = f"`{brief(items)}`"
        if isinstance(node, ast.For):
            first = node.body[0]
            yield SourceChange(f"{shown} again for each", ((first, (_burning(items, 1), first)),))
        for depth, said in ((3, "cubed"), (4, "to the fourth")):
            yield SourceChange(
                f"as many steps as {shown} {said}", ((node, (_burning(items, depth), node)),)
            )


def slow_lookups(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Make a list of a collection each time something is looked up in it."""
    match node:
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name() as items]):
            if _kind(items, scene) and _repeated(node, scene):
                yield instead(items, filled("list(A)", A=items), where=node)


def _repeated(node: ast.AST, scene: MutationScope) -> bool:
    above = scene.parents.get(node)
    return above is not None and (isinstance(above, _LOOPS) or _repeated(above, scene))


def _burning(items: ast.expr, depth: int) -> ast.Expr:
    return ast.Expr(value=filled(f"sum(1 {'for _ in A ' * depth})", A=items))


def _gone_through(node: ast.stmt, scene: MutationScope) -> Iterator[ast.expr]:
    """Yield what a statement goes through, where going through it once more does no harm."""
    iterated: list[ast.expr] = []
    if isinstance(node, ast.For):
        iterated = [node.iter]
    elif isinstance(node, _HEADED):
        outer = own_scope(ast.iter_child_nodes(node))
        made = (n for n in outer if isinstance(n, ast.ListComp | ast.SetComp | ast.GeneratorExp))
        iterated = [one.generators[0].iter for one in made]
    elif isinstance(node, ast.While):
        iterated = [
            call.args[0]
            for call in ast.walk(node.test)
            if isinstance(call, ast.Call) and called(call, {"len"}) and call.args
        ]
    yield from (items for one in iterated if (items := _lasting(one, scene)) is not None)


def _lasting(node: ast.expr, scene: MutationScope) -> ast.expr | None:
    """Return the collection behind an iterable, if it can be gone through more than once."""
    match node:
        case ast.Name(id=name):
            return node if _kind(node, scene) or _is_given_whole(name, node, scene) else None
        case ast.Attribute(value=ast.Name(id="self")):
            return node
        case ast.Call(func=ast.Name(id="range"), args=bounds):
            return node if all(map(_is_pure, bounds)) else None
        case ast.Call(func=ast.Name(id="enumerate" | "sorted" | "reversed" | "zip"), args=[a, *_]):
            return _lasting(a, scene)
        case ast.Call(func=ast.Attribute(value=whole, attr="items" | "keys" | "values"), args=[]):
            return node if _lasting(whole, scene) else None
        case ast.Subscript(value=whole, slice=ast.Slice()):
            return _lasting(whole, scene)
    return None


def _is_given_whole(name: str, near: ast.AST, scene: MutationScope) -> bool:
    """Whether a name is a parameter that nobody says or shows to be used up as it is read."""
    function = around(near, scene)
    given = _parameters(function).get(name)
    if function is None or given is None or any(True for _ in _values_of(name, near, scene)):
        return False
    said = ast.unparse(given.annotation) if given.annotation else ""
    used_up = any(called(n, {"next", "iter"}) and name in names_in([n]) for n in ast.walk(function))
    return not (used_up or "Iter" in said or "Generator" in said)


def _is_pure(node: ast.expr) -> bool:
    return all(
        isinstance(inner, _PURE) or called(inner, {"len", "min", "max"}) is not None
        for inner in ast.walk(node)
    )


_NEAREST = 3
"""How many other variables are tried in the place of one."""


def skipped_calls(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Leave out another responsibility, or what it gives, or ask it twice."""
    match node:
        case ast.Expr(value=value) if called(value, scene.others):
            yield without(node, scene)
            yield SourceChange(f"`{brief(node)}` twice", ((node, (node, node)),))
        case ast.Assign(value=value) if called(value, scene.others) and _renews(node):
            yield _forgotten(node, value, scene)
        case ast.Call() if called(node, scene.others) and _given(node):
            above = scene.parents[node]
            whole = above if isinstance(above, ast.Await) else node
            if not isinstance(scene.parents[whole], ast.Expr):
                first, *rest = _given(node)
                yield instead(whole, first)
                if not rest:
                    yield instead(first, whole, where=whole)


def mixed_up_calls(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Ask another one, or ask two in the other order."""
    if isinstance(node, ast.Expr | ast.Assign | ast.AugAssign):
        block = block_of(node, scene)
        following = block[block.index(node) + 1 :][:1]
        if following and _may_swap(node, following[0], scene):
            said = f"`{brief(following[0])}` before `{brief(node)}`"
            yield SourceChange(said, ((node, following[0]), (following[0], node)))
    name = called(node, scene.others)
    if name is not None and isinstance(node, ast.Call):
        for other in _asked_alike(node, scene):
            if other != name:
                func: Any = node.func
                key = "id" if isinstance(func, ast.Name) else "attr"
                yield instead(func, changed(func, **{key: other}), f"`{other}` instead of `{name}`")


def _may_swap(a: ast.stmt, b: ast.stmt, scene: MutationScope) -> bool:
    asked = [any(called(n, scene.others) for n in ast.walk(one)) for one in (a, b)]
    apart = not (bound_by([a]) & names_in([b]) or bound_by([b]) & names_in([a]))
    return all(asked) and apart and isinstance(b, ast.Expr | ast.Assign | ast.AugAssign)


def _asked_alike(call: ast.Call, scene: MutationScope) -> list[str]:
    """Return who is asked in the same way somewhere: by as many arguments."""
    alike = (
        node
        for node in scene.parents
        if isinstance(node, ast.Call)
        and type(node.func) is type(call.func)
        and len(node.args) == len(call.args)
        and len(node.keywords) == len(call.keywords)
    )
    return sorted({name for node in alike if (name := called(node, scene.others))})


def mistaken_variables(node: ast.AST, scene: MutationScope) -> Iterator[SourceChange]:
    """Go on with another variable, above all with the one before the last step."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            for value in _values_of(name, node, scene):
                if value.lineno < node.lineno and called(value, scene.others):
                    for old in _given_names(value):
                        yield instead(node, old, where=_shown(node, scene))
        case ast.Call() if called(node, scene.others):
            there = names_in(_given(node))
            near = [name for name in _bound_before(node, scene) if name not in there][-_NEAREST:]
            for given in _given(node):
                for name in near if isinstance(given, ast.Name) else ():
                    yield instead(given, ast.Name(id=name, ctx=ast.Load()), where=node)


def _given_names(value: ast.expr) -> list[ast.expr]:
    call = value.value if isinstance(value, ast.Await) else value
    given = _given(call) if isinstance(call, ast.Call) else []
    return [name for name in given if isinstance(name, ast.Name) and name.id != "self"]


def _shown(node: ast.AST, scene: MutationScope) -> ast.AST:
    """Return what shows best where a name stands."""
    above = scene.parents[node]
    return above if isinstance(above, ast.Call | ast.Return | ast.Assign | ast.BinOp) else node


def _bound_before(node: ast.expr, scene: MutationScope) -> list[str]:
    """Return the function's variables that have a value by then, in the order of getting it."""
    function = around(node, scene)
    if function is None:
        return []
    stored = [n for n in own_scope(function.body) if isinstance(n, ast.Name)]
    bound = [(n.lineno, n.col_offset, n.id) for n in stored if isinstance(n.ctx, ast.Store)]
    names = [
        *_parameters(function),
        *(name for line, _, name in sorted(bound) if line < node.lineno),
    ]
    return [name for name in dict.fromkeys(names) if name not in ("self", "cls")]
