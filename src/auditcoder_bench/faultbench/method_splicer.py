"""Replaces methods of a class in its source text; all other text is unchanged."""

import ast
import builtins
import symtable
import sys
from collections.abc import Collection, Iterator
from itertools import chain
from typing import TypeAlias

from auditcoder.domain.python_names import body_without_docstring, parse, parsed

_Method: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_KNOWN_IMPORTS = {
    "np": "import numpy as np",
    "pd": "import pandas as pd",
    **{
        name: f"from {module} import {name}"
        for module, names in (
            ("collections", ("Counter", "OrderedDict", "defaultdict", "deque", "namedtuple")),
            ("functools", ("lru_cache", "partial", "reduce", "wraps")),
            ("datetime", ("date", "timedelta", "timezone")),
            ("decimal", ("Decimal",)),
            ("fractions", ("Fraction",)),
            ("math", ("ceil", "factorial", "floor", "gcd", "pi", "sqrt")),
            ("itertools", ("combinations", "permutations", "product")),
            ("typing", ("Any", "Callable", "Dict", "List", "Optional", "Set", "Tuple", "Union")),
        )
        for name in names
    },
}
"""The most likely import for an unbound name; modules of the standard library need no entry."""


def class_in(code: str, class_name: str) -> ast.ClassDef | None:
    """Return the last class of that name; None if there is none or the code does not parse."""
    tree = parsed(code)
    body = tree.body if tree else []
    classes = [n for n in body if isinstance(n, ast.ClassDef) and n.name == class_name]
    return classes[-1] if classes else None


def methods_of(code: str, class_name: str) -> dict[str, list[_Method]]:
    """Return the definitions of each method; a name may be defined more than once."""
    methods: dict[str, list[_Method]] = {}
    class_node = class_in(code, class_name)
    for node in class_node.body if class_node else ():
        if isinstance(node, _Method):
            methods.setdefault(node.name, []).append(node)
    return methods


def different(code: str, reference: str, class_name: str) -> list[str]:
    """Return the reference's methods that the class lacks or implements differently.

    Docstrings are ignored.
    """
    own = methods_of(code, class_name)
    return [
        name
        for name, nodes in methods_of(reference, class_name).items()
        if list(map(meaning, own.get(name, ()))) != list(map(meaning, nodes))
    ]


def called_alike(code: str, reference: str, class_name: str) -> set[str]:
    """Return the methods with the same signature and decorators in both."""
    own = methods_of(code, class_name)
    return {
        name
        for name, nodes in methods_of(reference, class_name).items()
        if list(map(_signature, own.get(name, ()))) == list(map(_signature, nodes))
    }


def meaning(method: _Method) -> str:
    """Return a normalised form of a method: its syntax tree without the docstring."""
    return "\n".join([_signature(method), *map(ast.dump, body_without_docstring(method))])


def _signature(method: _Method) -> str:
    return "\n".join(map(ast.dump, [method.args, *method.decorator_list]))


def splice(code: str, reference: str, class_name: str, names: Collection[str]) -> str:
    """Return the code with these methods of the reference and the imports that they need.

    Methods that the class lacks are appended to it.
    """
    class_node = class_in(code, class_name)
    assert class_node is not None
    lines = _lines(code)
    theirs, ours = methods_of(code, class_name), methods_of(reference, class_name)
    indent = _indent(lines[_first_line(class_node.body[0]) - 1])
    start, end = _first_line(class_node) - 1, class_node.end_lineno or 0
    if class_node.body[0].lineno == class_node.lineno:  # a class on a single line
        lines[start:end] = [f"{line}\n" for line in ast.unparse(class_node).split("\n")]
        return splice("".join(lines), reference, class_name, names)
    changes = [(start, start, _needed_imports(code, reference, ours, names))]
    for name in names:
        new = [line for node in ours[name] for line in _method_lines(reference, node, indent)]
        old = [(_first_line(node) - 1, node.end_lineno or 0) for node in theirs.get(name, ())]
        changes += [(*span, []) for span in old[:-1]]
        changes.append((*(old[-1] if old else (end, end)), new))
    # From the bottom up, so that line numbers above a change stay valid.
    for begin, until, new in sorted(changes, key=lambda change: -change[0]):
        lines[begin:until] = new
    return "".join(lines)


def with_imports(code: str, imports: Collection[str]) -> str:
    """Insert imports at the top, after imports from `__future__`."""
    body = parse(code).body
    future = [n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    lines = _lines(code)
    index = (future[-1].end_lineno or 0) if future else 0
    lines[index:index] = [f"{line}\n" for line in imports]
    return "".join(lines)


def missing_imports(code: str) -> list[str]:
    """Return import statements for unbound names of the code, as far as they are known."""
    return [
        _KNOWN_IMPORTS.get(name, f"import {name}")
        for name in _unbound(code)
        if name in _KNOWN_IMPORTS or name in sys.stdlib_module_names
    ]


def initial_attributes(code: str, class_name: str) -> frozenset[str] | None:
    """Return the attributes that `__init__` sets; None if the class has no `__init__`."""
    constructors = methods_of(code, class_name).get("__init__")
    if constructors is None:
        return None
    return frozenset(
        node.attr
        for node in ast.walk(constructors[-1])
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def helpers_in(code: str, class_name: str, methods: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the methods of the class that are not in `methods`, each with its callers.

    Callers are those of `methods` that reach it, directly or through other helpers.
    """
    own = methods_of(code, class_name)
    calls = {name: _mentioned(nodes, own.keys()) for name, nodes in own.items()}
    reached = {name: _reached(name, calls, methods) for name in methods if name in own}
    return {
        helper: tuple(sorted(name for name, helpers in reached.items() if helper in helpers))
        for helper in own
        if helper not in methods
    }


def _mentioned(nodes: list[_Method], names: Collection[str]) -> set[str]:
    walked = chain.from_iterable(map(ast.walk, nodes))
    return {n.attr for n in walked if isinstance(n, ast.Attribute) and n.attr in names}


def _reached(start: str, calls: dict[str, set[str]], stops: Collection[str]) -> set[str]:
    """Return the helpers that a method reaches by calls; other methods (`stops`) end the search."""
    seen: set[str] = set()
    todo = list(calls[start])
    while todo:
        name = todo.pop()
        if name not in seen and name not in stops:
            seen.add(name)
            todo += calls[name]
    return seen


def _lines(code: str) -> list[str]:
    """Split text into lines as the Python parser does."""
    lines = [f"{line}\n" for line in code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return lines if lines[-1] != "\n" else lines[:-1]


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _method_lines(reference: str, node: _Method, indent: str) -> list[str]:
    """Return the lines of a method with this indentation."""
    lines = _lines(reference)[_first_line(node) - 1 : node.end_lineno]
    if _indent(lines[0]) == indent:
        return lines
    # Indenting the lines would change multi-line strings, so the method is unparsed.
    return [f"{indent}{line}\n" for line in ast.unparse(node).split("\n")]


def _needed_imports(
    code: str, reference: str, methods: dict[str, list[_Method]], names: Collection[str]
) -> list[str]:
    walked = chain.from_iterable(ast.walk(node) for name in names for node in methods[name])
    used = {node.id for node in walked if isinstance(node, ast.Name)}
    imported = {_bound(alias) for alias in _imported(code)}
    lines = []
    for node in parse(reference).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            missing = [a for a in node.names if _bound(a) in used and _bound(a) not in imported]
            if missing:
                node.names = missing
                lines.append(f"{ast.unparse(node)}\n")
    return lines


def _imported(code: str) -> Iterator[ast.alias]:
    for node in parse(code).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from node.names


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _unbound(code: str) -> list[str]:
    """Return names that are used as globals but bound nowhere."""
    top = symtable.symtable(code, "code", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    bound |= {s.get_name() for s in top.get_symbols() if s.is_namespace()} | set(dir(builtins))
    wanted: dict[str, None] = {}
    todo = [top]
    while todo:
        scope = todo.pop(0)
        todo += scope.get_children()
        for symbol in scope.get_symbols():
            inner = scope is not top and symbol.is_global()
            if symbol.is_referenced() and (inner or scope is top):
                wanted[symbol.get_name()] = None
            if inner and symbol.is_assigned():
                bound.add(symbol.get_name())
    return [name for name in wanted if name not in bound]
