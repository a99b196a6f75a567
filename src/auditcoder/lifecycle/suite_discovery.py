"""Finds the tests in test code without running it, by the rule that the sandbox applies.

Tests are the methods `test…` of unittest classes, with those that they inherit; the methods `test…`
of plain classes `Test…`; and functions `test…` without required parameters.
"""

import ast
from collections.abc import Iterator
from typing import NamedTuple, TypeGuard

from auditcoder.domain.python_names import Function


class SuiteClass(NamedTuple):
    """A class that holds tests."""

    statement: ast.ClassDef
    tests: tuple[str, ...]
    """The names of its tests, inherited ones included."""
    bases: tuple[ast.ClassDef, ...]
    """The classes of the same code that it inherits from, itself excluded."""
    resolved: bool
    """Whether all its bases are classes of the same code or of unittest."""

    @property
    def name(self) -> str:
        """The name of the class."""
        return self.statement.name


class DiscoveredTests(NamedTuple):
    """The tests of a piece of code."""

    classes: tuple[SuiteClass, ...]
    functions: tuple[ast.FunctionDef, ...]

    @property
    def tests(self) -> tuple[str, ...]:
        """The names of all tests: `Class.method`, or the name of a function."""
        methods = [f"{each.name}.{test}" for each in self.classes for test in each.tests]
        return (*methods, *(function.name for function in self.functions))


def discover(tree: ast.Module) -> DiscoveredTests:
    """Return the tests of a module in their order."""
    classes = {part.name: part for part in tree.body if isinstance(part, ast.ClassDef)}
    found = [_suite_class(part, classes) for part in tree.body if isinstance(part, ast.ClassDef)]
    functions = [part for part in tree.body if is_test_function(part)]
    return DiscoveredTests(tuple(c for c in found if c is not None and c.tests), tuple(functions))


def is_test_function(part: ast.stmt) -> TypeGuard[ast.FunctionDef]:
    """Whether a statement is a function that is a test by itself."""
    if not isinstance(part, ast.FunctionDef):
        return False
    return (
        part.name.startswith("test")
        and not part.decorator_list
        and not _has_required_parameter(part)
    )


def is_test_method(part: ast.stmt) -> TypeGuard[Function]:
    """Whether a statement of a class is one of its tests."""
    return isinstance(part, Function) and part.name.startswith("test")


def _suite_class(part: ast.ClassDef, classes: dict[str, ast.ClassDef]) -> SuiteClass | None:
    """Return a class as one that may hold tests; None if the sandbox would not look into it."""
    bases: dict[str, ast.ClassDef] = {}
    outside = list(_outside_bases(part, classes, bases))
    bases.pop(part.name, None)
    unittest = any(base.rpartition(".")[2].endswith("TestCase") for base in outside)
    inherits = unittest or any(base not in _PLAIN_BASES for base in outside)
    if not (inherits or part.name.startswith("Test")):
        return None
    holders = (part, *bases.values()) if inherits else (part,)
    names = dict.fromkeys(m.name for h in holders for m in h.body if is_test_method(m))
    resolved = all(base in _KNOWN_BASES or base in _PLAIN_BASES for base in outside)
    return SuiteClass(part, tuple(names), tuple(bases.values()), resolved)


def _outside_bases(
    part: ast.ClassDef, classes: dict[str, ast.ClassDef], inside: dict[str, ast.ClassDef]
) -> Iterator[str]:
    """Yield the bases of a class that other code defines; collect the others in `inside`."""
    for base in part.bases:
        name = ast.unparse(base)
        if name not in classes:
            yield name
        elif name not in inside:
            inside[name] = classes[name]
            yield from _outside_bases(classes[name], classes, inside)


def _has_required_parameter(function: ast.FunctionDef) -> bool:
    """Whether a function has a required parameter, such as a fixture."""
    args = function.args
    first = len(args.posonlyargs) + len(args.args) > len(args.defaults)
    return first or any(default is None for default in args.kw_defaults)


_PLAIN_BASES = frozenset({"object", "ABC", "abc.ABC"})
_KNOWN_BASES = frozenset(
    prefix + name
    for name in ("TestCase", "IsolatedAsyncioTestCase")
    for prefix in ("", "unittest.")
)
