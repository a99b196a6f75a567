"""Decides whether tests change what they share, so that one can depend on another.

The decision errs on the safe side: an object that is neither a literal nor made by a known function
of the library counts as changed by any method call, and by being passed on.
"""

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from auditcoder.domain.python_names import Function

_MUTATORS = frozenset(
    {
        *("append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "add"),
        *("discard", "update", "setdefault", "popitem", "appendleft", "popleft", "rotate"),
        *("intersection_update", "difference_update", "symmetric_difference_update", "subtract"),
    }
)
_PURE = frozenset(
    {
        *("list", "dict", "set", "tuple", "frozenset", "sorted", "range", "str", "int", "float"),
        *("bytes", "bytearray", "sum", "min", "max", "len", "zip", "chr", "ord", "abs", "round"),
        *("Path", "compile", "Decimal", "Fraction", "Counter", "OrderedDict", "deque", "dedent"),
        *("date", "datetime", "timedelta", "namedtuple", "join", "split", "splitlines", "format"),
        *("loads", "items", "keys", "values", "copy", "deepcopy", "strip", "product"),
        *("combinations", "permutations", "TypeVar", "NewType", "maxsize", "sqrt", "getLogger"),
    }
)
_SHARED = "shared"
_FILE_NAME = re.compile(
    r"[\w./\\-]{1,200}\.(?:json|jsonl|txt|text|csv|tsv|xml|ya?ml|toml|ini|cfg|conf|log|md|html?|db"
    r"|sqlite3?|xlsx?|docx?|pdf|png|jpe?g|gif|zip|tar|gz|dat|data|bin|pkl|out|in|tmp|bak|lock)",
    re.IGNORECASE,
)
_READING = frozenset({"len", "str", "repr", "list", "sorted", "tuple", "set", "dict", "isinstance"})
_RESETTING = frozenset({"setUpClass", "tearDownClass", "setUp", "tearDown", "asyncSetUp"})
Key = Callable[[ast.expr], str | None]
"""Returns the shared name that an expression is, or None."""


def changes_module_state(tree: ast.Module) -> bool:
    """Whether functions of a module of tests change its values, or attributes of its classes."""
    values = dict(_assigned(tree.body))
    classes = {part.name for part in tree.body if isinstance(part, ast.ClassDef)}

    def key(expression: ast.expr) -> str | None:
        match expression:
            case ast.Name(id=name) if name in values:
                return name
            case _:
                return None

    return any(
        _is_changed(function, key, values) or _sets_class_attribute(function, classes)
        for function in _functions(tree)
    )


def shares_files(tree: ast.Module) -> bool:
    """Whether a file is named in more than one test, or in code that tests share."""
    owners: dict[str, set[str]] = {}
    for part in tree.body:
        for member in part.body if isinstance(part, ast.ClassDef) else (part,):
            is_test = isinstance(member, Function) and member.name.startswith("test")
            owner = f"{part.lineno}.{member.lineno}" if is_test else _SHARED
            for node in ast.walk(member):
                match node:
                    case ast.Constant(value=str(text)) if _FILE_NAME.fullmatch(text):
                        owners.setdefault(text, set()).add(owner)
    return any(len(users) > 1 or _SHARED in users for users in owners.values())


def shares_class_state(holders: Iterable[ast.ClassDef]) -> bool:
    """Whether the tests of a class, with its bases, change what they share through the class."""
    values: dict[str, ast.expr] = {}
    methods: list[Function] = []
    names = {"self", "cls"}
    for holder in holders:
        names.add(holder.name)
        values |= dict(_assigned(holder.body))
        for part in holder.body:
            if isinstance(part, Function):
                methods.append(part)
                if part.name == "setUpClass":
                    values |= dict(_class_attributes(part))

    def key(expression: ast.expr) -> str | None:
        match expression:
            case ast.Attribute(value=owner, attr=name) if name in values and (
                (isinstance(owner, ast.Name) and owner.id in names) or _is_own_class(owner)
            ):
                return name
            case _:
                return None

    return any(_is_changed(m, key, values) for m in methods if m.name not in _RESETTING)


def _assigned(body: Iterable[ast.stmt]) -> Iterator[tuple[str, ast.expr]]:
    """Yield the names of a module or class with the values that are not constants."""
    for part in body:
        match part:
            case ast.Assign(targets=targets, value=value):
                names = [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                names = [name]
            case _:
                continue
        if not isinstance(value, ast.Constant):
            yield from ((name, value) for name in names)


def _class_attributes(method: Function) -> Iterator[tuple[str, ast.expr]]:
    """Yield the attributes that a class method assigns to its class."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Attribute) and not isinstance(node.value, ast.Constant):
                        yield part.attr, node.value


def _functions(tree: ast.Module) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def _is_changed(function: Function, key: Key, values: Mapping[str, ast.expr]) -> bool:
    """Whether a function changes one of the shared values, or may do so."""
    for node in ast.walk(function):
        match node:
            case ast.Subscript(value=inner, ctx=ast.Store() | ast.Del()):
                if _root(inner, key):
                    return True
            case ast.Attribute(value=inner, ctx=ast.Store() | ast.Del()):
                if _root(inner, key):
                    return True
            case ast.AugAssign(target=target):
                if key(target):
                    return True
            case ast.Call(func=called, args=arguments, keywords=keywords):
                if _calls_change(called, key, values):
                    return True
                passed = [*arguments, *(k.value for k in keywords)]
                if not _only_reads(called) and any(_is_opaque(a, key, values) for a in passed):
                    return True
    return False


def _calls_change(called: ast.expr, key: Key, values: Mapping[str, ast.expr]) -> bool:
    """Whether a call is of a method that changes a shared value, or may do so."""
    if not isinstance(called, ast.Attribute):
        return False
    name = _root(called.value, key)
    return name is not None and (called.attr in _MUTATORS or not _is_plain(values[name]))


def _is_opaque(argument: ast.expr, key: Key, values: Mapping[str, ast.expr]) -> bool:
    """Whether an argument is a shared object that the callee may change."""
    inner = argument.value if isinstance(argument, ast.Starred) else argument
    name = _root(inner, key)
    return name is not None and not _is_plain(values[name])


def _only_reads(called: ast.expr) -> bool:
    name = ast.unparse(called).rpartition(".")[2]
    return name in _READING or name.startswith("assert")


def _root(expression: ast.expr, key: Key) -> str | None:
    """Return the shared name that an expression is a part of."""
    while True:
        if name := key(expression):
            return name
        if not isinstance(expression, ast.Attribute | ast.Subscript):
            return None
        expression = expression.value


def _is_plain(value: ast.expr) -> bool:
    """Whether a value is built of literals and library values, so that only mutators change it."""
    for node in ast.walk(value):
        if isinstance(node, ast.Call):
            if ast.unparse(node.func).rpartition(".")[2] not in _PURE:
                return False
        elif isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
    return not isinstance(value, ast.Name | ast.Attribute)


def _is_own_class(owner: ast.expr) -> bool:
    """Whether an expression is `type(self)` or `self.__class__`."""
    return ast.unparse(owner) in {"type(self)", "self.__class__"}


def _sets_class_attribute(function: Function, classes: set[str]) -> bool:
    """Whether a function outside the fixtures sets an attribute of a class of the module."""
    if function.name in _RESETTING:
        return False
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
            owner = node.value
            if (isinstance(owner, ast.Name) and owner.id in classes | {"cls"}) or _is_own_class(
                owner
            ):
                return True
    return False
