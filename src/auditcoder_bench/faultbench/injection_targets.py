"""Targets of fault injection: solved programs, classes and runs with plan and code.

They also hold other implementations of single nodes, which serve as second opinions.
"""

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
from auditcoder.lifecycle.locating.program_outline import normal_form
from auditcoder.lifecycle.planning import class_planner, sketch_planner
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.response_formats import FormatMismatch
from auditcoder.lifecycle.task_forms import root_of
from auditcoder_bench.faultbench.method_splicer import class_in, meaning, methods_of
from auditcoder_bench.faultbench.observations import MOST_SWAPS
from auditcoder_bench.faultbench.published_answers import Subject

_LIMITS = Limits(seconds=1.0)
"""Examples take milliseconds; one that exceeds the limit has an endless loop."""
_FOLDER = "auditcoder_bench.faultbench.solved"
_RUN_PREFIX, _CLASS_SEPARATOR = "run:", "|"
"""The prefix of the names of solved runs; a separator in the names of published classes."""


class SolvedProgram(NamedTuple):
    """A task with a plan and code that passes every example."""

    name: str
    task: Task
    plan: Plan
    codes: Mapping[NodeId, str]
    others: Mapping[NodeId, tuple[str, ...]]
    """Other implementations of single nodes; some of them are wrong."""
    stubs: str = ""
    """The sketch of a program without its root; empty for classes and runs."""
    large: str = ""
    """A call with a large input, which detects slow code; empty if there is none."""

    def with_examples(self, more: tuple[Example, ...]) -> "SolvedProgram":
        """Return it with more examples; one with the same input as an old one replaces it."""
        inputs = {_input(example) for example in more}
        kept = (example for example in self.task.examples if _input(example) not in inputs)
        return self._replace(task=replace(self.task, examples=(*kept, *more)))

    def with_promises(self, promises: Mapping[NodeId, tuple[CallExample, ...]]) -> "SolvedProgram":
        """Return it with contracts that promise only these examples."""
        nodes = tuple(
            replace(node, contract=_promising(node.contract, promises[node.id]))
            if node.id in promises and node.contract
            else node
            for node in self.plan.graph.nodes
        )
        return self._replace(plan=self.plan._replace(graph=replace(self.plan.graph, nodes=nodes)))


def _promising(contract: Contract, examples: tuple[CallExample, ...]) -> Contract:
    return replace(contract, requires=(), ensures=(), examples=examples)


def _input(example: Example) -> str:
    match example:
        case CallExample(arguments=text) | StdioExample(input=text) | CodeExample(code=text):
            return text
        case FilesExample(inputs=files):
            return repr(files)


def programs() -> Iterator[SolvedProgram]:
    """Yield the programs in the package, ordered by name."""
    folder = resources.files(_FOLDER)
    for file in sorted(folder.iterdir(), key=lambda f: f.name):
        name = file.name.removesuffix(".py")
        if file.name.endswith(".py") and not name.startswith("_"):
            again = folder.joinpath("again").joinpath(file.name)
            yield program(name, file.read_text("utf-8"), again.read_text("utf-8"))


def program(name: str, text: str, again: str = "") -> SolvedProgram:
    """Read a program: functions with contracts, of which the last is the root, and `EXAMPLES`.

    `again` is a module with second implementations of the same functions.
    """
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
    """Return the value of a module constant; None if there is none of that name."""
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value) if target == name:
                return ast.literal_eval(value)
    return None


def _stubs(tree: ast.Module, root: str) -> str:
    """Return the sketch that a planner would have written, without the root."""
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
    """Return the source of each function with the imports that it uses."""
    imports = [s for s in tree.body if isinstance(s, ast.Import | ast.ImportFrom)]
    sources = {}
    for function in tree.body:
        if isinstance(function, Function):
            used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
            needed = [ast.unparse(s) for s in imports if _bound(s) & used]
            source = ast.get_source_segment(text, function) or ""
            sources[function.name] = "\n".join([*needed, *([""] * bool(needed)), source]) + "\n"
    return sources


def _bound(statement: ast.Import | ast.ImportFrom) -> set[str]:
    return {(alias.asname or alias.name).split(".")[0] for alias in statement.names}


def is_run_name(name: str) -> bool:
    """Whether this is the name of a solved run, or the id of a fault in one."""
    return name.startswith(_RUN_PREFIX)


def is_class_name(name: str) -> bool:
    """Whether this is the name of a published class."""
    return _CLASS_SEPARATOR in name and not is_run_name(name)


def from_run(trace: Trace, read: ReadBlob) -> SolvedProgram | None:
    """Read a run that passed and whose plan has several nodes; None for any other run.

    Earlier versions of a node serve as its other implementations.
    """
    working = trace.working
    passed = trace.finish is not None and trace.finish.outcome is RunOutcome.PASSED
    if not passed or working.graph is None or working.brief is None or working.graph.sole:
        return None
    plan = Plan(
        _brief_of_passed_checks(working), working.graph, trace.planner, trace.granularity, {}
    )
    codes = {node: read(code.digest).decode() for node, code in working.code.items()}
    before = {
        node: _earlier_versions(working.graph.by_id[node].contract, code, versions)
        for node, code in codes.items()
        if (versions := [read(version.code).decode() for version in trace.versions_of(node)])
    }
    others = {node: texts for node, texts in before.items() if texts}
    task = replace(trace.task, limits=_LIMITS)
    return SolvedProgram(f"{_RUN_PREFIX}{trace.run}", task, plan, codes, others)


def _brief_of_passed_checks(working: WorkingState) -> Brief:
    """Return the brief of a run with only those required checks that the run passes."""
    assert working.brief is not None
    checks = working.brief.requirements.checks
    passed = {name for name, s in working.evidence.items() if s.verdict is Verdict.PASSED}
    kept = tuple(check for check in checks if check.id in passed)
    requirements = replace(working.brief.requirements, checks=kept)
    return replace(working.brief, requirements=requirements)


def _earlier_versions(
    contract: Contract | None, code: str, versions: Iterable[str]
) -> tuple[str, ...]:
    """Return earlier versions of a node with the same signature and different behaviour."""
    earlier = {
        normal_form(text): text for text in versions if contract and sig_match(contract, text)
    }
    earlier.pop(normal_form(code), None)
    return tuple(earlier.values())[-MOST_SWAPS:]


def from_class(
    name: str, subject: Subject, code: str, others: Iterable[str]
) -> SolvedProgram | None:
    """Read a passing class, with a node per method; None if its methods are not its skeleton's."""
    tests, name_of_class = _integration_tests(subject), subject.class_name
    if not tests or not all(class_in(text, name_of_class) for text in (subject.skeleton, code)):
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
    """Return other implementations of each method, the most common first."""
    by_meaning: dict[NodeId, dict[str, list[str]]] = {}
    for code in others:
        try:
            split = reply_splitter.split(code, contracts, {}, subject.class_name)
        except FormatMismatch:
            continue
        # A method that needs helpers outside its class cannot be moved to another class.
        for node, piece in split.pieces.items() if not split.shared else ():
            key = _meaning(piece.source)
            if key != _meaning(own[node].source):
                by_meaning.setdefault(node, {}).setdefault(key, []).append(piece.source)
    return {
        node: tuple(s[0] for s in sorted(alike.values(), key=len, reverse=True)[:MOST_SWAPS])
        for node, alike in by_meaning.items()
    }


def _meaning(source: str) -> str:
    return "\n".join(meaning(s) for s in parse(source).body if isinstance(s, Function))


def _integration_tests(subject: Subject) -> str:
    """Return the code of the integration tests; empty if there are none."""
    kept = [
        statement
        for statement in parse(subject.tests).body
        if not isinstance(statement, ast.ClassDef) or statement.name == subject.integration_class
    ]
    has_tests = any(isinstance(statement, ast.ClassDef) for statement in kept)
    return ast.unparse(ast.Module(body=kept, type_ignores=[])) if has_tests else ""
