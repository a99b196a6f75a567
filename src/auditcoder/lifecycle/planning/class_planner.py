"""The class planner: makes a plan of a class skeleton without a model call."""

import ast

from auditcoder.domain.brief import Approach
from auditcoder.domain.code import read_bundle
from auditcoder.domain.contract import RESULT, Contract
from auditcoder.domain.graph import FromSelf, FromTask, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.python_names import Function, parse
from auditcoder.domain.task import ClassForm, Task
from auditcoder.domain.values import whole
from auditcoder.lifecycle.planning.plan import GivenCode, Plan, brief_for
from auditcoder.lifecycle.task_forms import contract_of, is_stub

PLANNER = "skeleton"


def contracts(form: ClassForm) -> list[Contract]:
    """Return the contract of each method of a skeleton."""
    return [contract_of(functions[0]) for functions in _methods(_read(form)[1]).values()]


def _read(form: ClassForm) -> tuple[ast.Module, ast.ClassDef]:
    module = parse(form.skeleton)
    body = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == form.name)
    return module, body


def _methods(body: ast.ClassDef) -> dict[str, list[Function]]:
    methods: dict[str, list[Function]] = {}
    for statement in body.body:
        if isinstance(statement, Function):
            methods.setdefault(statement.name, []).append(statement)
    return methods


def plan(task: Task, form: ClassForm, *, stated: bool = False) -> Plan:
    """Return a plan with a node for every method; the root owns the class statement.

    With `stated`, the examples in docstrings are among the checks of the program.
    """
    module, body = _read(form)
    methods = _methods(body)
    bundle = read_bundle(form.skeleton)
    nodes, given, taken = [], {ROOT: GivenCode(_statement(form, module, body), PLANNER)}, {ROOT}
    for name, functions in methods.items():
        node = child_of(ROOT, taken)
        taken.add(node)
        nodes.append(_node(node, name, functions))
        if not any(is_stub(f) for f in functions):
            text = "\n\n".join(bundle.at_margin(f) for f in functions)
            given[node] = GivenCode(text, PLANNER, form.name)
    docstring = whole(ast.get_docstring(body) or f"Be the class {form.name}")
    top = Node(
        id=ROOT,
        goal=" ".join(docstring.split("\n\n")[0].split()),
        kind=NodeKind.ORCHESTRATION,
        dependencies=tuple(n.id for n in nodes),
    )
    return Plan(
        brief=brief_for(task, Approach(strategy="the skeleton is the plan"), stated=stated),
        graph=TaskGraph(nodes=(top, *nodes), order=tuple(n.id for n in nodes)),
        planner=PLANNER,
        granularity=f"{len(nodes)} nodes: the skeleton's methods, one each; nothing was asked",
        given=given,
    )


def _node(node: NodeId, name: str, functions: list[Function]) -> Node:
    contract = contract_of(functions[0])
    docstring = whole(ast.get_docstring(functions[0]) or f"Do what {name} says")
    prose = docstring.split(">>>")[0].split("\n\n")[0].split("\n:")[0]
    slots = tuple(
        Slot(name=p.name, type=p.type, source=FromSelf() if p.name == "self" else FromTask())
        for p in contract.params
    )
    return Node(
        id=node,
        goal=" ".join(prose.split())[:300],
        kind=NodeKind.GENERAL,
        parent=ROOT,
        inputs=slots,
        outputs=(Slot(name=RESULT, type=contract.returns),),
        contract=contract,
        validation=("it compiles", "its signature is the skeleton's"),
    )


def _statement(form: ClassForm, module: ast.Module, body: ast.ClassDef) -> str:
    """Return the code around the methods: the class with its attributes, and the module."""
    kept: list[ast.stmt] = [s for s in body.body if not isinstance(s, Function)]
    bare = ast.ClassDef(
        name=form.name,
        bases=body.bases,
        keywords=body.keywords,
        body=kept or [ast.Pass()],
        decorator_list=body.decorator_list,
    )
    around = [s for s in module.body if s is not body and not _is_main(s) and not _is_star(s)]
    new = ast.Module(body=[*around, bare], type_ignores=[])
    return ast.unparse(ast.fix_missing_locations(new)) + "\n"


def _is_main(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and "__name__" in ast.unparse(statement.test)


def _is_star(statement: ast.stmt) -> bool:
    """Whether a statement is a star import, whose names are unknown."""
    return isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*"
