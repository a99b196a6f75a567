"""Test drivers: the checks of a program as one module of test code, to be traced step by step.

The driver contains the expected answers. They come from examples of the task or its plan, which the
author of the program could read too, and a run of the driver never decides a verdict.
"""

import ast
from collections.abc import Collection, Iterable, Mapping
from copy import deepcopy
from functools import cache
from itertools import count
from pathlib import PurePosixPath
from typing import NamedTuple

from auditcoder.domain.contract import Contract
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.python_names import Function, bound_by, parsed
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    Form,
    FunctionForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.locating.trace_run import ContractExpressions, TracePlan
from auditcoder.lifecycle.planning.contract_parser import is_self_contained
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.lifecycle.suite_discovery import DiscoveredTests, discover
from auditcoder.lifecycle.validation.program_checks import bounds
from auditcoder.sandboxed import result_comparison

_GROUP = "Examples"
_COMPARISON = "__comparing__"
_INVARIANT = "invariant:"
_FUNCTIONS = "Functions"


def trace_plan_of(
    task: Task, examples: Iterable[Example], graph: TaskGraph, passed: Collection[int] = ()
) -> TracePlan | None:
    """Return a plan that traces all examples; None if there is nothing to run.

    `passed` has the indices of the examples that the program is known to pass.
    """
    bodies: list[str] = []
    groups: list[str] = []
    tests: dict[str, bool] = {}
    grouped: dict[str, bool] = {}
    taken = {_GROUP}
    defined: dict[str, str] = {}
    for index, example in enumerate(examples):
        suite = suite_of(example.code, taken, defined) if isinstance(example, CodeExample) else None
        if suite:
            groups.append(suite.code)
            tests |= dict.fromkeys(suite.tests, index in passed)
            taken |= {test.partition(".")[0] for test in suite.tests}
        else:
            bodies.append(_body(task, example))
            grouped[f"{_GROUP}.test_{len(bodies)}"] = index in passed
    if bodies:
        groups.append(_grouped(bodies))
        tests |= grouped
    if not tests:
        return None
    allowed = bounds(task)
    return TracePlan(
        driver="\n\n".join([_comparison_code(), *groups]),
        tests=tuple(tests),
        passing=frozenset(test for test, fine in tests.items() if fine),
        seconds=allowed.seconds,
        memory_bytes=allowed.memory_bytes,
        promises=promised(graph, task.form),
        invariants=invariants(task.form),
    )


def own_examples(contract: Contract) -> TracePlan | None:
    """Return a plan that traces the examples of a function's contract; None if it has none.

    Those with values of the program's own classes are left out: some cannot be compared.
    """
    bodies = [
        _call_statements(contract.name, e)
        for e in contract.examples
        if isinstance(e, CallExample) and is_self_contained(e)
    ]
    if not bodies:
        return None
    tests = tuple(f"{_GROUP}.test_{number}" for number in range(1, len(bodies) + 1))
    return TracePlan(driver="\n\n".join([_comparison_code(), _grouped(bodies)]), tests=tests)


def promised(graph: TaskGraph, form: Form) -> dict[str, ContractExpressions]:
    """Return the executable contract conditions of a graph's functions, by qualified name."""
    prefix = f"{form.name}." if isinstance(form, ClassForm) else ""
    contracts = (node.contract for node in graph.nodes)
    return {
        f"{prefix}{c.name}": p
        for c in contracts
        if c and (p := _promised(c)) != ContractExpressions()
    }


def invariants(form: Form) -> tuple[str, ...]:
    """Return the invariants of a class: the `invariant:` lines of its docstring."""
    if not isinstance(form, ClassForm):
        return ()
    tree = parsed(form.skeleton)
    for statement in tree.body if tree else ():
        if isinstance(statement, ast.ClassDef) and statement.name == form.name:
            lines = (line.strip() for line in (ast.get_docstring(statement) or "").splitlines())
            return tuple(
                line.removeprefix(_INVARIANT).strip()
                for line in lines
                if line.startswith(_INVARIANT)
            )
    return ()


def _promised(contract: Contract) -> ContractExpressions:
    # Clauses without an expression stay, as empty texts, so that the clause numbers match.
    return ContractExpressions(
        requires=tuple(clause.expression for clause in contract.requires),
        ensures=tuple(clause.expression for clause in contract.ensures),
    )


def _body(task: Task, example: Example) -> str:
    """Return the statements that run one example."""
    match example:
        case CallExample():
            entry = task.form.entry if isinstance(task.form, FunctionForm) else "solve"
            return _call_statements(entry, example)
        case StdioExample(input=given, output=expected):
            text = given.removesuffix("\n")
            return (
                f"result = solve({text!r})\n{_assert_same('output', f'{expected!r}, str(result)')}"
            )
        case FilesExample(inputs=inputs, artefacts=artefacts):
            return "\n".join(
                [
                    *(_create_file(name, text) for name, text in inputs.items()),
                    "solve()",
                    *(
                        _assert_same("output", f"{text!r}, open({name!r}).read()")
                        for name, text in artefacts.items()
                    ),
                ]
            )
        case CodeExample(code=code):
            return code


def _create_file(name: str, text: str) -> str:
    """Return statements that create an input file and its folder."""
    folder = str(PurePosixPath(name).parent)
    made = f"__import__('os').makedirs({folder!r}, exist_ok=True)\n" if folder != "." else ""
    return f"{made}open({name!r}, 'w').write({text!r})"


def _call_statements(function: str, example: CallExample) -> str:
    return (
        f"result = {function}({example.arguments})\n"
        f"assert {_COMPARISON}.same_value({example.result}, result)"
    )


def _assert_same(what: str, given: str) -> str:
    return f"assert {_COMPARISON}.same_{what}({given})"


def _grouped(bodies: list[str]) -> str:
    """Return a unittest class with one test per body, so that each has its own time and names."""
    tests: list[ast.stmt] = []
    stars: list[ast.stmt] = []
    for number, body in enumerate(bodies, start=1):
        tree = parsed(body)
        test = parsed(f"def test_{number}(self):\n    pass")
        assert test is not None
        function = test.body[0]
        assert isinstance(function, ast.FunctionDef)
        own = [
            statement for statement in (tree.body if tree else ()) if not _is_star_import(statement)
        ]
        function.body = own or function.body
        stars += [
            statement for statement in (tree.body if tree else ()) if _is_star_import(statement)
        ]
        tests.append(function)
    group = parsed(f"import unittest\nclass {_GROUP}(unittest.TestCase):\n    pass")
    assert group is not None
    statement = group.body[1]
    assert isinstance(statement, ast.ClassDef)
    statement.body = tests
    group.body[:0] = stars
    return ast.unparse(ast.fix_missing_locations(group))


def _is_star_import(statement: ast.stmt) -> bool:
    """Whether a statement is a star import, which is allowed at module level only."""
    return isinstance(statement, ast.ImportFrom) and any(a.name == "*" for a in statement.names)


@cache
def _comparison_code() -> str:
    """Return code that defines the comparison used for verdicts under a name no program uses."""
    code = joined_source(result_comparison.__name__)
    module = '__import__("types").ModuleType("comparing")'
    return f"{_COMPARISON} = {module}\nexec({code!r}, {_COMPARISON}.__dict__)"


class ExtractedTests(NamedTuple):
    """Test code in which every test is a method of a class."""

    code: str
    tests: tuple[str, ...]
    """Names of the form `Class.method`."""


def suite_of(
    code: str, taken: Collection[str] = (), defined: dict[str, str] | None = None
) -> ExtractedTests | None:
    """Return the tests of a piece of code, as the judge would discover them; None if it has none.

    Test functions become methods of a new class, and a class whose name is `taken` is renamed,
    because all tests of a driver share one module. Helpers that `defined` holds are left out.
    """
    tree = parsed(code)
    if tree is None:
        return None
    suite = discover(tree)
    dropped = defined is not None and _drop_repeated(tree, suite, defined)
    names = {group.name for group in suite.classes}
    renamed = {name: _free_name(name, taken) for name in names if name in taken}
    if renamed:
        tree = _Renaming(renamed).visit(tree)
    tests = [f"{renamed.get(g.name, g.name)}.{test}" for g in suite.classes for test in g.tests]
    if suite.functions:
        group = _as_methods(suite.functions, _free_name(_FUNCTIONS, {*taken, *names}))
        tree.body += [_statement("import unittest"), group]
        tests += [f"{group.name}.{function.name}" for function in suite.functions]
    changed = renamed or suite.functions or dropped
    text = ast.unparse(ast.fix_missing_locations(tree)) if changed else code
    return ExtractedTests(text, tuple(tests)) if tests else None


def _drop_repeated(tree: ast.Module, suite: DiscoveredTests, defined: dict[str, str]) -> bool:
    """Drop helpers that the driver has already, and return whether there were any.

    `defined` holds the last definition of each name.
    """
    tests = {group.statement for group in suite.classes}
    kept = []
    for part in tree.body:
        if isinstance(part, Function | ast.ClassDef) and part not in tests:
            text = ast.dump(part)
            if defined.get(part.name) == text:
                continue
            defined[part.name] = text
        else:
            for name in bound_by([part]):
                defined.pop(name, None)
        kept.append(part)
    dropped = len(kept) < len(tree.body)
    tree.body = kept
    return dropped


def _as_methods(functions: Iterable[ast.FunctionDef], name: str) -> ast.ClassDef:
    """Return a unittest class with copies of functions as its tests."""
    group = _statement(f"class {name}(unittest.TestCase):\n    pass")
    assert isinstance(group, ast.ClassDef)
    for function in functions:
        method = deepcopy(function)
        before = method.args.posonlyargs or method.args.args
        before.insert(0, ast.arg(arg="self"))
        group.body.append(method)
    return group


def _statement(text: str) -> ast.stmt:
    tree = parsed(text)
    assert tree is not None
    return tree.body[0]


def _free_name(name: str, taken: Collection[str]) -> str:
    numbered = (f"{name}{number}" for number in count(2))
    return name if name not in taken else next(n for n in numbered if n not in taken)


class _Renaming(ast.NodeTransformer):
    """Renames classes at their definitions and uses."""

    def __init__(self, names: Mapping[str, str]) -> None:
        self._names = names

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        node.name = self._names.get(node.name, node.name)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node
