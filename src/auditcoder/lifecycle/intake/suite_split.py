"""Splits test code into its tests, each with the fixtures, helpers and imports that it needs.

Code is split only if each test can be seen to run alone as it runs among the others. A part where
this is unclear, such as a class whose tests change state that they share, stays one check.
"""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from auditcoder.domain.python_names import Function, parsed
from auditcoder.lifecycle.intake.shared_state import (
    changes_module_state,
    shares_class_state,
    shares_files,
)
from auditcoder.lifecycle.suite_discovery import (
    DiscoveredTests,
    SuiteClass,
    discover,
    is_test_method,
)

_MOST_CHARACTERS = 4_000_000
"""Maximum size of all parts together; each has a copy of what the tests share."""
_MOST_TESTS = 1_000
"""Maximum number of tests that are split; each costs a run of the sandbox for every program."""
_LONGEST_DESCRIPTION = 200
_DYNAMIC = frozenset(
    {"globals", "vars", "setattr", "delattr", "exec", "eval", "load_tests", "__init_subclass__"}
)
"""Names whose use can create tests, or tie them together, in ways that are not visible."""
_DECORATORS = frozenset({"skip", "skipIf", "skipUnless", "expectedFailure", "patch", "object"})
_HARMLESS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, Function, ast.ClassDef)


class SuitePart(NamedTuple):
    """One check of split test code."""

    name: str
    """`Class.method`, the name of a function, or that of a class that stays whole."""
    description: str
    """The name and the first line of the docstring."""
    code: str


class _Unit(NamedTuple):
    """Tests that run together."""

    name: str
    tests: tuple[str, ...]
    described_by: ast.AST | None = None


def split_suite(code: str) -> tuple[SuitePart, ...]:
    """Return the parts of test code; none if it has no tests or cannot be split safely."""
    text = code.replace("\r\n", "\n").replace("\r", "\n")
    tree = parsed(text)
    suite = discover(tree) if tree else None
    if tree is None or suite is None or not 0 < len(suite.tests) <= _MOST_TESTS:
        return ()
    if _stays_whole(tree, suite):
        return ()
    mentioned, source = _mentions(tree), _Source(text, tree)
    parts: list[SuitePart] = []
    size = 0
    for unit in _units(suite, mentioned):
        part = source.without(set(_surplus(tree, suite, unit, mentioned)))
        found = parsed(part)
        if found is None or set(discover(found).tests) != set(unit.tests):
            return ()
        parts.append(SuitePart(unit.name, _described(unit), part))
        size += len(part)
        if size > _MOST_CHARACTERS:
            return ()
    return tuple(parts)


def _stays_whole(tree: ast.Module, suite: DiscoveredTests) -> bool:
    """Whether the module as a whole ties its tests together, or makes some while it is loaded."""
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {n.name for n in ast.walk(tree) if isinstance(n, Function)}
    if names & _DYNAMIC or any(isinstance(n, ast.Global) for n in ast.walk(tree)):
        return True
    if not all(_is_harmless(part) for part in tree.body):
        return True
    defined = [part.name for part in tree.body if isinstance(part, Function | ast.ClassDef)]
    if len(set(defined)) < len(defined) or not all(each.resolved for each in suite.classes):
        return True  # which tests there are is only known when the code runs
    for part in tree.body:
        is_test = isinstance(part, Function) and part.name.startswith("test")
        if is_test and part not in suite.functions:
            return True  # it is decorated, asynchronous or needs a fixture
        if isinstance(part, ast.ClassDef) and (part.keywords or not _known_decorators(part)):
            return True
    return changes_module_state(tree) or shares_files(tree)


def _is_harmless(part: ast.stmt) -> bool:
    """Whether a top-level statement only defines something, or is not run when imported."""
    match part:
        case ast.Assign(targets=targets):
            return not any(name.lower().startswith("test") for name in _targets(targets))
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=function)):
            return ast.unparse(function) in {"sys.path.insert", "sys.path.append"}
        case ast.If(test=test, body=body, orelse=orelse):
            if "__name__" in ast.unparse(test):
                return not orelse
            return all(map(_defines_no_test, (*body, *orelse)))
        case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
            handled = [line for handler in handlers for line in handler.body]
            return all(map(_defines_no_test, (*body, *handled, *orelse, *final)))
        case ast.Pass():
            return True
        case _:
            return isinstance(part, _HARMLESS)


def _defines_no_test(part: ast.stmt) -> bool:
    if isinstance(part, Function | ast.ClassDef):
        return not part.name.lower().startswith("test") and isinstance(part, Function)
    return _is_harmless(part)


def _targets(targets: Iterable[ast.expr]) -> Iterator[str]:
    return (n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name))


def _known_decorators(part: Function | ast.ClassDef) -> bool:
    """Whether all decorators are ones that keep a test what it is."""
    for decorator in part.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if ast.unparse(called).rpartition(".")[2] not in _DECORATORS:
            return False
    return True


def _units(suite: DiscoveredTests, mentioned: set[str]) -> Iterator[_Unit]:
    """Yield the tests that run together, in the order of the code."""
    done: set[str] = set()
    for each in suite.classes:
        if each.name in done:
            continue
        family = _family(each, suite)
        done |= {other.name for other in family}
        if len(family) > 1 or not _splits(each, mentioned):
            tests = tuple(f"{other.name}.{test}" for other in family for test in other.tests)
            yield _Unit(" and ".join(c.name for c in family), tests, each.statement)
            continue
        holders = (*each.bases[::-1], each.statement)
        methods = {m.name: m for h in holders for m in h.body if is_test_method(m)}
        for test in each.tests:
            name = f"{each.name}.{test}"
            yield _Unit(name, (name,), methods[test])
    for function in suite.functions:
        yield _Unit(function.name, (function.name,), function)


def _family(first: SuiteClass, suite: DiscoveredTests) -> list[SuiteClass]:
    """Return the classes of tests that inherit from each other, and so cannot run alone."""
    family = {first.name}
    while True:
        more = {
            other.name
            for other in suite.classes
            for member in suite.classes
            if member.name in family and _inherits(other, member)
        }
        if more <= family:
            return [each for each in suite.classes if each.name in family]
        family |= more


def _inherits(one: SuiteClass, other: SuiteClass) -> bool:
    return one.statement in other.bases or other.statement in one.bases


def _splits(each: SuiteClass, mentioned: set[str]) -> bool:
    """Whether each test of a class can run alone."""
    holders = (each.statement, *each.bases)
    if mentioned & set(each.tests):
        return False
    for holder in holders:
        for part in holder.body:
            if isinstance(part, Function):
                if is_test_method(part) and not _known_decorators(part):
                    return False
            elif not isinstance(part, ast.Assign | ast.AnnAssign | ast.Pass | ast.ClassDef):
                if not (isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)):
                    return False  # statements that may make tests
            elif isinstance(part, ast.Assign) and any(
                name.startswith("test") for name in _targets(part.targets)
            ):
                return False
    return not shares_class_state(holders)


def _mentions(tree: ast.Module) -> set[str]:
    """Return the names that the code mentions other than by defining them."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.Constant(value=str(text)) if text.isidentifier():
                found.add(text)
    return found


def _surplus(
    tree: ast.Module, suite: DiscoveredTests, unit: _Unit, mentioned: set[str]
) -> Iterator[ast.stmt]:
    """Yield the statements that belong only to other tests."""
    owners = {name.partition(".")[0] for name in unit.tests}
    tests = {name.partition(".")[2] for name in unit.tests}
    bases = {b for each in suite.classes if each.name in owners for b in each.bases}
    discovered = {each.statement for each in suite.classes}
    for part in tree.body:
        if part in suite.functions:
            if unit.name != part.name:
                yield part
        elif isinstance(part, ast.ClassDef):
            methods = [m for m in part.body if is_test_method(m)]
            if part.name in owners or part in bases:
                yield from (m for m in methods if m.name not in tests)
            elif part in discovered and part.name not in mentioned:
                yield part
            elif part in discovered:
                yield from methods


class _Source:
    """The text of a module, from which statements can be left out."""

    def __init__(self, text: str, tree: ast.Module) -> None:
        self._lines = text.split("\n")
        self._tree = tree
        self._covered = set(_covered_lines(tree))

    def without(self, surplus: set[ast.stmt]) -> str:
        """Return the text without some functions and classes."""
        left_out: set[int] = set()
        filled = {h.body[0].lineno for h in self._classes() if surplus.issuperset(h.body)}
        for part in surplus:
            first, last = _first_line(part), part.end_lineno or part.lineno
            while first > 1 and first - 1 not in self._covered and self._is_comment(first - 1):
                first -= 1  # the comment above belongs to it
            left_out.update(range(first, last + 1))
        kept = []
        for number, line in enumerate(self._lines, start=1):
            if number not in left_out:
                kept.append(line)
            elif number in filled:
                kept.append(f"{line[: len(line) - len(line.lstrip())]}pass")
        return "\n".join(kept).strip("\n") + "\n"

    def _classes(self) -> Iterator[ast.ClassDef]:
        return (part for part in self._tree.body if isinstance(part, ast.ClassDef))

    def _is_comment(self, number: int) -> bool:
        line = self._lines[number - 1].strip()
        return not line or line.startswith("#")


def _first_line(part: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(part, "decorator_list", [])
    return min([part.lineno, *(decorator.lineno for decorator in decorators)])


def _covered_lines(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of all lines that an expression or a simple statement takes up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) or (isinstance(node, ast.stmt) and not hasattr(node, "body")):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _described(unit: _Unit) -> str:
    """Return the name of a test and the first line of its docstring."""
    node = unit.described_by
    text = ast.get_docstring(node) if isinstance(node, Function | ast.ClassDef) else None
    first = (text or "").strip().split("\n")[0].strip()
    return f"{unit.name}: {first}"[:_LONGEST_DESCRIPTION] if first else unit.name
