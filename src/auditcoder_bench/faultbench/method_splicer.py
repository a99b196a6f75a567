"""Methods in and out of a class: everything else keeps its text."""

import ast
import builtins
import symtable
import sys
from collections.abc import Collection, Iterator
from itertools import chain
from typing import TypeAlias

from auditcoder.domain.python_names import body_without_docstring, parse, parsed

_Method: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef

_KNOWN = {
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
"""What a name that is nowhere bound most likely was to be; modules are known by their names."""


def class_in(code: str, class_name: str) -> ast.ClassDef | None:
    """Return the class of that name, the last one if there are more; None if there is none."""
    tree = parsed(code)
    body = tree.body if tree else []
    found = [n for n in body if isinstance(n, ast.ClassDef) and n.name == class_name]
    return found[-1] if found else None


def methods_of(code: str, class_name: str) -> dict[str, list[_Method]]:
    """Return the class's methods by name; one name may be said more than once."""
    found: dict[str, list[_Method]] = {}
    holder = class_in(code, class_name)
    for node in holder.body if holder else ():
        if isinstance(node, _Method):
            found.setdefault(node.name, []).append(node)
    return found


def different(code: str, reference: str, class_name: str) -> list[str]:
    """Return the reference's methods that the class lacks or has otherwise; words aside."""
    own = methods_of(code, class_name)
    return [
        name
        for name, nodes in methods_of(reference, class_name).items()
        if list(map(meaning, own.get(name, ()))) != list(map(meaning, nodes))
    ]


def called_alike(code: str, reference: str, class_name: str) -> set[str]:
    """Return the methods that are called in the same way in both."""
    own = methods_of(code, class_name)
    return {
        name
        for name, nodes in methods_of(reference, class_name).items()
        if list(map(_head, own.get(name, ()))) == list(map(_head, nodes))
    }


def meaning(method: _Method) -> str:
    """Return what a method does, as far as text can say: without its docstring."""
    return "\n".join([_head(method), *map(ast.dump, body_without_docstring(method))])


def _head(method: _Method) -> str:
    return "\n".join(map(ast.dump, [method.args, *method.decorator_list]))


def splice(code: str, reference: str, class_name: str, names: Collection[str]) -> str:
    """Return the code with these methods as the reference has them, and what they import.

    A method that the class lacks is put at its end.
    """
    holder = class_in(code, class_name)
    assert holder is not None
    lines = _lines(code)
    theirs, ours = methods_of(code, class_name), methods_of(reference, class_name)
    indent = _indent(lines[_first(holder.body[0]) - 1])
    start, end = _first(holder) - 1, holder.end_lineno or 0
    if holder.body[0].lineno == holder.lineno:  # all on one line, and so there is none below it
        lines[start:end] = [f"{line}\n" for line in ast.unparse(holder).split("\n")]
        return splice("".join(lines), reference, class_name, names)
    changes = [(start, start, _needed_imports(code, reference, ours, names))]
    for name in names:
        new = [line for node in ours[name] for line in _written(reference, node, indent)]
        old = [(_first(node) - 1, node.end_lineno or 0) for node in theirs.get(name, ())]
        changes += [(*span, []) for span in old[:-1]]
        changes.append((*(old[-1] if old else (end, end)), new))
    # From the bottom up, so that what is above keeps its place.
    for begin, until, new in sorted(changes, key=lambda change: -change[0]):
        lines[begin:until] = new
    return "".join(lines)


def with_imports(code: str, imports: Collection[str]) -> str:
    """Put imports in front, behind those that must come first."""
    body = parse(code).body
    late = [n for n in body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    lines = _lines(code)
    place = (late[-1].end_lineno or 0) if late else 0
    lines[place:place] = [f"{line}\n" for line in imports]
    return "".join(lines)


def missing_imports(code: str) -> list[str]:
    """Return imports of what the code uses and nowhere binds, where it is known what that is."""
    return [
        _KNOWN.get(name, f"import {name}")
        for name in _unbound(code)
        if name in _KNOWN or name in sys.stdlib_module_names
    ]


def initial_attributes(code: str, class_name: str) -> frozenset[str] | None:
    """Return which attributes the class sets as it is made; None if it says nothing of that."""
    made = methods_of(code, class_name).get("__init__")
    if made is None:
        return None
    return frozenset(
        node.attr
        for node in ast.walk(made[-1])
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    )


def helpers_in(code: str, class_name: str, methods: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Return the class's other methods, and those of `methods` that call them, however far."""
    own = methods_of(code, class_name)
    calls = {name: _mentioned(nodes, own.keys()) for name, nodes in own.items()}
    reached = {name: _reached(name, calls, methods) for name in methods if name in own}
    return {
        helper: tuple(sorted(name for name, far in reached.items() if helper in far))
        for helper in own
        if helper not in methods
    }


def _mentioned(nodes: list[_Method], names: Collection[str]) -> set[str]:
    walked = chain.from_iterable(map(ast.walk, nodes))
    return {n.attr for n in walked if isinstance(n, ast.Attribute) and n.attr in names}


def _reached(start: str, calls: dict[str, set[str]], stops: Collection[str]) -> set[str]:
    """Follow calls from a method through helpers, but not through other methods."""
    seen: set[str] = set()
    todo = list(calls[start])
    while todo:
        name = todo.pop()
        if name not in seen and name not in stops:
            seen.add(name)
            todo += calls[name]
    return seen


def _lines(code: str) -> list[str]:
    """Split text into lines as the parser counts them."""
    lines = [f"{line}\n" for line in code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return lines if lines[-1] != "\n" else lines[:-1]


def _first(node: ast.stmt) -> int:
    marks: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(mark.lineno for mark in marks)])


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _written(reference: str, node: _Method, indent: str) -> list[str]:
    """Return a method's lines, to stand at this depth."""
    lines = _lines(reference)[_first(node) - 1 : node.end_lineno]
    if _indent(lines[0]) == indent:
        return lines
    # Moving lines would move what is inside of strings; the parser knows the difference.
    return [f"{indent}{line}\n" for line in ast.unparse(node).split("\n")]


def _needed_imports(
    code: str, reference: str, methods: dict[str, list[_Method]], names: Collection[str]
) -> list[str]:
    walked = chain.from_iterable(ast.walk(node) for name in names for node in methods[name])
    used = {node.id for node in walked if isinstance(node, ast.Name)}
    there = {_bound(alias) for alias in _imported(code)}
    lines = []
    for node in parse(reference).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            lacking = [a for a in node.names if _bound(a) in used and _bound(a) not in there]
            if lacking:
                node.names = lacking
                lines.append(f"{ast.unparse(node)}\n")
    return lines


def _imported(code: str) -> Iterator[ast.alias]:
    for node in parse(code).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from node.names


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _unbound(code: str) -> list[str]:
    """Return names that some scope takes from the module, and the module does not have."""
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
