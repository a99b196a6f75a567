"""What faults are put into: solved programs, classes and runs, with plan, code and opinions."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from typing import Any, NamedTuple

from msgspec.structs import replace

from auditcoder.domain.brief import Brief
from auditcoder.domain.contract import Contract, sig_match
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.ledger import WorkingState
from auditcoder.domain.python_names import Function, parse
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.trace import Trace
from auditcoder.lifecycle import reply_splitter
from auditcoder.lifecycle.locating.program_outline import does
from auditcoder.lifecycle.planning import class_planner, sketch_planner
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.response_formats import FormatMismatch
from auditcoder.lifecycle.task_forms import root_of
from auditcoder_bench.faultbench.method_splicer import class_in, meaning, methods_of
from auditcoder_bench.faultbench.observations import MOST_SWAPS
from auditcoder_bench.faultbench.published_answers import Subject

_LIMITS = Limits(seconds=1.0)
"""Examples take milliseconds; what takes longer has a fault that makes it endless."""
_FOLDER = "auditcoder_bench.faultbench.solved"
_RUN, _CLASS = "run:", "|"
"""What the names of solved runs begin with, and what is in those of published classes."""


class SolvedProgram(NamedTuple):
    """A task with a plan, and code that passes every example."""

    name: str
    task: Task
    plan: Plan
    codes: Mapping[NodeId, str]
    others: Mapping[NodeId, tuple[str, ...]]
    """Other implementations of single nodes, by their contracts alone; not all are right."""
    stubs: str = ""
    """The plan of a program as a planner writes it, without the root."""
    large: str = ""
    """A call with a large input, to see what takes long."""

    def with_examples(self, more: tuple[Example, ...]) -> "SolvedProgram":
        """Return it with more to be checked by; what asks the same takes the other's place."""
        asked = {_asked(example) for example in more}
        kept = (example for example in self.task.examples if _asked(example) not in asked)
        return self._replace(task=replace(self.task, examples=(*kept, *more)))

    def with_promises(self, promises: Mapping[NodeId, tuple[CallExample, ...]]) -> "SolvedProgram":
        """Return it with contracts that promise these examples, and nothing else."""
        nodes = tuple(
            replace(node, contract=_promising(node.contract, promises[node.id]))
            if node.id in promises and node.contract
            else node
            for node in self.plan.graph.nodes
        )
        return self._replace(plan=self.plan._replace(graph=replace(self.plan.graph, nodes=nodes)))


def _promising(contract: Contract, examples: tuple[CallExample, ...]) -> Contract:
    return replace(contract, requires=(), ensures=(), examples=examples)


def _asked(example: Example) -> str:
    match example:
        case CallExample(arguments=asked) | StdioExample(input=asked) | CodeExample(code=asked):
            return asked
        case FilesExample(inputs=files):
            return repr(files)


def programs() -> Iterator[SolvedProgram]:
    """Yield the programs that come with the package, by name."""
    folder = resources.files(_FOLDER)
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        name = file.name.removesuffix(".py")
        if file.name.endswith(".py") and not name.startswith("_"):
            again = folder.joinpath("again").joinpath(file.name)
            yield program(name, file.read_text("utf-8"), again.read_text("utf-8"))


def program(name: str, text: str, again: str = "") -> SolvedProgram:
    """Read a program: functions with contracts, the last of them the root, and `EXAMPLES`."""
    tree = parse(text)
    functions = {f.name: f for f in tree.body if isinstance(f, Function)}
    root = list(functions)[-1]
    statement = ast.get_docstring(tree) or ""
    whole = root == "solve"
    form = ProgramForm() if whole else _function_form(functions[root])
    examples = tuple(_examples(tree, whole=whole))
    task = Task(title=name, statement=statement, form=form, examples=examples, limits=_LIMITS)
    stubs = _stubs(tree, root)
    plan = sketch_planner.plan_of(f"{stubs}\n\n{ast.unparse(functions[root])}", task, root_of(task))
    nodes = {n.contract.name: n.id for n in plan.graph.nodes if n.contract}
    pieces = _pieces(tree, text)
    codes = {nodes[name]: code for name, code in pieces.items() if name != root}
    second = _pieces(parse(again), again) if again else {}
    return SolvedProgram(
        name,
        task,
        plan,
        {**codes, ROOT: plan.given[ROOT].source},
        {nodes[name]: (code,) for name, code in second.items() if name in nodes and name != root},
        stubs,
        f"{root}({large})" if (large := _constant(tree, "LARGE")) else "",
    )


def _function_form(function: Function) -> FunctionForm:
    returns = f" -> {ast.unparse(function.returns)}" if function.returns else ""
    signature = f"def {function.name}({ast.unparse(function.args)}){returns}"
    return FunctionForm(entry=function.name, signature=signature)


def _examples(tree: ast.Module, *, whole: bool) -> Iterator[Example]:
    for given, made in _constant(tree, "EXAMPLES") or ():
        if whole:
            yield StdioExample(input=given, output=made)
        else:
            yield CallExample(arguments=given, result=made)


def _constant(tree: ast.Module, name: str) -> Any:
    """Return what a constant of the module is; None if it is not there."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                return ast.literal_eval(value)
    return None


def _stubs(tree: ast.Module, root: str) -> str:
    """Write what a planner would have said, but for the root."""
    kept: list[ast.stmt] = []
    for statement in tree.body:
        match statement:
            case ast.Import() | ast.ImportFrom():
                kept.append(statement)
            case ast.FunctionDef(name=name, body=[docstring, *_]) if name != root:
                stub = parse("def f(): ...").body[0]
                assert isinstance(stub, ast.FunctionDef)
                stub.name, stub.args, stub.returns = name, statement.args, statement.returns
                stub.body = [docstring, ast.Expr(ast.Constant(...))]
                kept.append(stub)
    return ast.unparse(ast.Module(body=kept, type_ignores=[]))


def _pieces(tree: ast.Module, text: str) -> dict[str, str]:
    """Return each function with the imports that it uses."""
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    found = {}
    for function in tree.body:
        if isinstance(function, Function):
            used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
            needed = [ast.unparse(s) for s in imports if _bound(s) & used]
            source = ast.get_source_segment(text, function) or ""
            found[function.name] = "\n".join([*needed, *([""] * bool(needed)), source]) + "\n"
    return found


def _bound(statement: ast.Import | ast.ImportFrom) -> set[str]:
    return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}


def of_a_run(name: str) -> bool:
    """Whether that is the name of a solved run, or of a fault in one."""
    return name.startswith(_RUN)


def of_a_class(name: str) -> bool:
    """Whether that is the name of a published class."""
    return _CLASS in name and not of_a_run(name)


def from_run(trace: Trace, read: ReadBlob) -> SolvedProgram | None:
    """Read a run that ended well, and whose plan has several parts; None for any other.

    What it had written for a part before is another implementation of that part.
    """
    working = trace.working
    passed = trace.finish is not None and trace.finish.outcome is RunOutcome.PASSED
    if not passed or working.graph is None or working.brief is None or working.graph.sole:
        return None
    plan = Plan(_fulfilled(working), working.graph, trace.planner, trace.granularity, {})
    codes = {node: read(code.digest).decode() for node, code in working.code.items()}
    before = {
        node: _before(working.graph.by_id[node].contract, code, versions)
        for node, code in codes.items()
        if (versions := [read(version.code).decode() for version in trace.versions_of(node)])
    }
    others = {node: texts for node, texts in before.items() if texts}
    task = replace(trace.task, limits=_LIMITS)
    return SolvedProgram(f"{_RUN}{trace.run}", task, plan, codes, others)


def _fulfilled(working: WorkingState) -> Brief:
    """Return what a run had to do, but for checks that it does not pass or that were dropped."""
    assert working.brief is not None
    checks = working.brief.requirements.checks
    stands = {name for name, s in working.evidence.items() if s.verdict is Verdict.PASSED}
    kept = tuple(check for check in checks if check.id in stands)
    requirements = replace(working.brief.requirements, checks=kept)
    return replace(working.brief, requirements=requirements)


def _before(contract: Contract | None, code: str, versions: Iterable[str]) -> tuple[str, ...]:
    """Return what a node had before that does something else, for the same interface."""
    found = {does(text): text for text in versions if contract and sig_match(contract, text)}
    found.pop(does(code), None)
    return tuple(found.values())[-MOST_SWAPS:]


def from_class(
    name: str, subject: Subject, code: str, others: Iterable[str]
) -> SolvedProgram | None:
    """Read a class that passes, a node a method; None if it is not cut as its skeleton is."""
    tests, holder = _integration_tests(subject), subject.class_name
    if not tests or not all(class_in(text, holder) for text in (subject.skeleton, code)):
        return None
    form = ClassForm(name=subject.class_name, skeleton=subject.skeleton)
    task = Task(
        title=subject.task_id,
        statement=subject.skeleton,
        form=form,
        examples=(CodeExample(code=tests),),
        limits=_LIMITS,
        source=subject.task_id,
    )
    plan = class_planner.plan(task, form)
    contracts = {n.id: n.contract for n in plan.graph.nodes if n.contract}
    split = reply_splitter.split(code, contracts, {}, subject.class_name)
    if split.missing or set(methods_of(code, subject.class_name)) != {
        contract.name for contract in contracts.values()
    }:
        return None
    given = {node: known.source for node, known in plan.given.items()}
    top = f"{subject.imports}\n{split.shared}\n{given[ROOT]}"
    return SolvedProgram(
        name,
        task,
        plan,
        {**given, **{node: piece.source for node, piece in split.pieces.items()}, ROOT: top},
        _others(subject, contracts, split.pieces, others),
    )


def _others(
    subject: Subject,
    contracts: Mapping[NodeId, Contract],
    own: Mapping[NodeId, reply_splitter.CodePiece],
    others: Iterable[str],
) -> dict[NodeId, tuple[str, ...]]:
    """Return what others wrote for each method: what most of them agree on first."""
    found: dict[NodeId, dict[str, list[str]]] = {}
    for code in others:
        try:
            split = reply_splitter.split(code, contracts, {}, subject.class_name)
        except FormatMismatch:
            continue
        # What relies on helpers beside the class cannot stand in another.
        for node, piece in split.pieces.items() if not split.shared else ():
            means = _meaning(piece.source)
            if means != _meaning(own[node].source):
                found.setdefault(node, {}).setdefault(means, []).append(piece.source)
    return {
        node: tuple(s[0] for s in sorted(alike.values(), key=len, reverse=True)[:MOST_SWAPS])
        for node, alike in found.items()
    }


def _meaning(source: str) -> str:
    return "\n".join(meaning(s) for s in parse(source).body if isinstance(s, Function))


def _integration_tests(subject: Subject) -> str:
    """Write the tests that belong to no one method; empty if there are none."""
    kept = [
        statement
        for statement in parse(subject.tests).body
        if not isinstance(statement, ast.ClassDef) or statement.name == subject.integration_class
    ]
    there = any(isinstance(statement, ast.ClassDef) for statement in kept)
    return ast.unparse(ast.Module(body=kept, type_ignores=[])) if there else ""
