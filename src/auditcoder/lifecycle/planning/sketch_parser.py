"""Parses a sketch: a Python module of stubs becomes nodes with newly allocated ids."""

import ast
import re
from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from auditcoder.domain.code import read_bundle
from auditcoder.domain.contract import RESULT, Clause, Contract, Param
from auditcoder.domain.graph import FromLocal, FromNode, FromTask, Node, NodeKind, Slot, Source
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.python_names import (
    BUILTINS,
    PARSE_ERRORS,
    Function,
    bound_by,
    imported_by,
    on_a_fresh_stack,
    parse,
)
from auditcoder.domain.task import CallExample
from auditcoder.lifecycle.module_statements import source_of
from auditcoder.lifecycle.planning.contract_parser import (
    EXAMPLE,
    call_example,
    example_text,
    is_self_contained,
    read_clause,
    read_cost,
    read_kind,
    validation_of,
)
from auditcoder.lifecycle.planning.docstring_reader import StubDocstring, read_docstring
from auditcoder.lifecycle.planning.plan import MOST_CHILDREN, MOST_DEPTH, PlanRefused
from auditcoder.lifecycle.planning.planned_code import with_planned_code
from auditcoder.lifecycle.planning.signature_notes import signature_notes
from auditcoder.lifecycle.planning.sketch_definitions import SharedDefinitions, read_definitions
from auditcoder.lifecycle.task_forms import contract_of, is_stub


class Stub(NamedTuple):
    """One function of a sketch."""

    contract: Contract
    goal: str
    context: str
    """What else its docstring says: further prose, and facts that are no part of a contract."""
    kind: NodeKind
    uses: frozenset[str]
    """Other functions of the sketch that its body calls or its docstring names."""
    words: frozenset[str]
    """All words of its text, to see which definitions it names."""
    written: str
    """Its code, if the sketch has it in full; else empty."""


class Sketch(NamedTuple):
    """A parsed sketch."""

    docstring: StubDocstring
    """The docstring of the module: strategy, and facts about the whole task."""

    strategy: str
    parts: str
    stubs: dict[str, Stub]
    root: Stub
    body: str
    """The root function as written; empty if it is only a stub."""
    imports: str
    flow: dict[str, dict[str, Source | str]]
    """For each stub that the root calls: the source of each argument. A text names a stub."""
    definitions: SharedDefinitions
    losses: tuple[str, ...]
    """What the sketch says and nothing here holds, one sentence for each."""


def read_sketch(text: str, root: str, given: frozenset[str] = frozenset()) -> Sketch:
    """Parse a sketch whose root function is called `root`; raise PlanRefused if it is invalid.

    Names in `given` come with the task: they need no stub, and a stub for one is ignored.
    """
    try:
        module = on_a_fresh_stack(lambda: parse(text))
    except PARSE_ERRORS as error:
        raise PlanRefused(f"the sketch is not Python: {error}") from error
    functions: dict[str, Function] = {}
    imports = []
    others: list[ast.stmt] = []
    losses = []
    for statement in module.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                if statement.name in functions:
                    raise PlanRefused(f"the sketch names {statement.name} twice")
                if statement.name not in given:
                    functions[statement.name] = statement
            case ast.Import() | ast.ImportFrom():
                if any(alias.name == "*" for alias in statement.names):
                    losses.append(f"`{ast.unparse(statement)}`, whose names are unknown")
                else:
                    imports.append(ast.unparse(statement))
            case _:
                others.append(statement)
    if not functions:
        functions[root] = _empty_function(root)  # a strategy without functions
    if root not in functions:
        raise PlanRefused(f"there is no root function {root} in the sketch")
    definitions = read_definitions(text, others, imports, functions, given)
    shared = definitions.names
    stubs = {
        name: _stub(f, functions, text, shared) for name, f in functions.items() if name != root
    }
    _refuse_builtin_names({*stubs, *definitions.names})
    if twice := definitions.names & set(functions):
        raise PlanRefused(f"the sketch names {', '.join(sorted(twice))} twice")
    top = functions[root]
    usable = stubs and not is_stub(top)
    if usable:
        _refuse_unknown_calls(top, {*functions, *given, *definitions.names}, module)
    docstring = read_docstring(module, text)
    parts = docstring.of("parts")
    return Sketch(
        docstring=docstring,
        strategy=docstring.goal,
        parts="; ".join(parts),
        stubs=stubs,
        root=_stub(top, functions, text, shared),
        body=source_of(read_bundle(text), top) if usable else "",
        imports="\n".join(imports),
        flow=_flow(top, stubs) if usable else {},
        definitions=definitions,
        losses=(*losses, *definitions.losses),
    )


def _empty_function(name: str) -> Function:
    function = parse(f"def {name}():\n    ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return function


def _refuse_builtin_names(stubs: Iterable[str]) -> None:
    for name in stubs:
        if name in BUILTINS or name.startswith("__"):
            raise PlanRefused(f"{name} is Python's own name; choose another")


def _stub(
    function: Function, functions: Iterable[str], source: str, shared: frozenset[str]
) -> Stub:
    docstring = read_docstring(function, source)
    interface = contract_of(function)
    names = {p.name for p in interface.params}
    declared = {word for text in docstring.of("uses") for word in re.findall(r"\w+", text)}
    named = set(re.findall(r"(\w+)\(|`(\w+)`", f"{docstring.goal}\n{docstring.context}"))
    mentioned = {word for pair in named for word in pair if word}
    called = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    examples, unread = _examples(function.name, docstring.of("example"), shared)
    facts = [*unread, *signature_notes(function), *_notes(docstring, names)]
    facts += _uses(docstring, {*functions} - {function.name})
    return Stub(
        contract=Contract(
            name=interface.name,
            params=tuple(_described(p, docstring) for p in interface.params),
            returns=interface.returns,
            returns_description="; ".join(docstring.of("returns")),
            requires=tuple(read_clause(t, names, shared) for t in docstring.of("requires")),
            ensures=tuple(
                read_clause(t, names | {RESULT}, shared) for t in docstring.of("ensures")
            ),
            invariants=tuple(Clause(text=t) for t in docstring.of("invariant")),
            cost=read_cost(docstring.of("cost")),
            examples=examples,
        ),
        goal=docstring.goal or f"Do what {function.name} says",
        context="\n".join([*docstring.context.splitlines(), *facts]),
        kind=read_kind(docstring.of("kind")),
        uses=frozenset((declared | mentioned | called) & set(functions) - {function.name}),
        words=frozenset(re.findall(r"\w+", ast.unparse(function))),
        written=_written(function, source),
    )


def _written(function: Function, source: str) -> str:
    """Return a function that the sketch has in full; empty if it is a stub."""
    return "" if is_stub(function) else source_of(read_bundle(source), function)


def _described(param: Param, docstring: StubDocstring) -> Param:
    description = "; ".join(docstring.of(f"param {param.name.lower()}"))
    return msgspec.structs.replace(param, description=description)


def _examples(
    name: str, texts: Iterable[str], shared: frozenset[str]
) -> tuple[tuple[CallExample, ...], list[str]]:
    """Return the examples that can be checked, and the others as sentences."""
    examples: dict[str, CallExample] = {}
    unread = []
    for text in texts:
        example = call_example(text.strip("` "), name, shared)
        if example is None:
            unread.append(f"{EXAMPLE}{text}")
        else:
            examples.setdefault(example.arguments, example)
    return tuple(examples.values()), unread


def with_literal_examples(sketch: Sketch) -> Sketch:
    """Turn the root's examples with values of the sketch's own classes into sentences.

    A sketch of one function has no node for its definitions, so that nothing could evaluate them.
    """
    root = sketch.root
    calls = [e for e in root.contract.examples if isinstance(e, CallExample)]
    kept = tuple(e for e in calls if is_self_contained(e))
    unread = [example_text(root.contract.name, e) for e in calls if e not in kept]
    return sketch._replace(
        root=root._replace(
            contract=msgspec.structs.replace(root.contract, examples=kept),
            context="\n".join([*root.context.splitlines(), *unread]),
        )
    )


def _notes(docstring: StubDocstring, params: set[str]) -> list[str]:
    """Return the facts that no part of a contract holds, with their labels."""
    described = [label for label in docstring.facts if label.startswith("param ")]
    unknown = [label for label in described if label[6:] not in {p.lower() for p in params}]
    kinds = [t for t in docstring.of("kind") if read_kind([t]) is NodeKind.GENERAL]
    costs = [t for t in docstring.of("cost") if read_cost([t]).time != t.strip("` .")]
    return [
        f"{label}: {text}"
        for label in ("assumes", "limits", "trap", "units", "note", "strategy", "parts", *unknown)
        for text in docstring.of(label)
    ] + [
        *(f"kind: {text}" for text in kinds if text.strip(" `.").lower() != "general"),
        *(f"cost: {text}" for text in costs),
    ]


def _uses(docstring: StubDocstring, functions: set[str]) -> list[str]:
    """Return the lines in which a docstring names other functions of the sketch."""
    said = docstring.of("uses")
    return [f"uses: {text}" for text in said if functions & {*re.findall(r"\w+", text)}]


def _refuse_unknown_calls(top: Function, functions: Iterable[str], module: ast.Module) -> None:
    """Raise PlanRefused if the root calls a function that is nowhere defined."""
    local = bound_by(top.body) | {a.arg for a in ast.walk(top) if isinstance(a, ast.arg)}
    local |= {
        n.id for n in ast.walk(top) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    known = set(functions) | imported_by(module) | local | BUILTINS
    called = {
        n.func.id for n in ast.walk(top) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
    }
    if unknown := called - known:
        raise PlanRefused(f"the root calls {', '.join(sorted(unknown))}, which has no stub")


def _flow(top: Function, stubs: Iterable[str]) -> dict[str, dict[str, Source | str]]:
    """Return where the arguments of each call in the body of the root come from."""
    params = {a.arg for a in (*top.args.posonlyargs, *top.args.args)}
    results = _stub_results(top, stubs)

    def source(value: ast.expr) -> Source | str:
        match value:
            case ast.Call(func=ast.Name(id=name)) if name in stubs:
                return name
            case ast.Name(id=name) if name in results:
                return results[name]
            case ast.Name(id=name) if name in params:
                return FromTask()
            case ast.Starred(value=inner):
                return source(inner)
            case _:
                return FromLocal()

    flow: dict[str, dict[str, Source | str]] = {}
    for node in ast.walk(top):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in stubs:
            slots = flow.setdefault(node.func.id, {})
            for number, value in enumerate(node.args):
                slots.setdefault(str(number), source(value))
            for keyword in node.keywords:
                slots.setdefault(keyword.arg or "", source(keyword.value))
    return flow


def _stub_results(top: Function, stubs: Iterable[str]) -> dict[str, str]:
    """Return the variables of the root that hold a stub's result, with the stub's name."""
    return {
        inner.id: node.value.func.id
        for node in ast.walk(top)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Name)
        and node.value.func.id in stubs
        for target in node.targets
        for inner in ast.walk(target)
        if isinstance(inner, ast.Name)
    }


def _parents(sketch: Sketch) -> dict[str, str]:
    """Return the parent of each stub: its only caller, or the root, whose name is empty."""
    called_by_root = sketch.root.uses if sketch.body else frozenset()
    callers = {
        name: {n for n, s in sketch.stubs.items() if name in s.uses} for name in sketch.stubs
    }
    parents = {}
    for name, calling in callers.items():
        only_caller = len(calling) == 1 and name not in called_by_root
        parents[name] = next(iter(calling)) if only_caller else ""
    return parents


def reached(sketch: Sketch) -> set[str]:
    """Return the stubs reachable by calls from the root's body; all if it has no body."""
    if not sketch.body:
        return set(sketch.stubs)
    visited: set[str] = set()
    pending = [n for n in sketch.root.uses if n in sketch.stubs]
    while pending:
        name = pending.pop()
        if name not in visited:
            visited.add(name)
            pending.extend(sketch.stubs[name].uses & set(sketch.stubs))
    return visited


def nodes_of(
    sketch: Sketch, top: NodeId, allocated: Iterable[NodeId], defining: NodeId | None = None
) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Return a node for every stub under `top`, and the names of the direct children of `top`.

    `defining` is the node of the definitions, if there is one.
    """
    parents = _parents(sketch)
    ids: dict[str, NodeId] = {}
    taken = set(allocated)

    def allocate(parent: str, under: NodeId, depth: int) -> None:
        children = [n for n in sketch.stubs if parents[n] == parent]
        if len(children) > MOST_CHILDREN:
            raise PlanRefused(
                f"{len(children)} functions on one level; use at most {MOST_CHILDREN}"
            )
        if children and depth > MOST_DEPTH:
            raise PlanRefused(f"functions stand {depth} levels deep; use at most {MOST_DEPTH}")
        for name in children:
            ids[name] = child_of(under, taken)
            taken.add(ids[name])
            allocate(name, ids[name], depth + 1)

    allocate("", top, len(top.split("_")) + (top != ROOT))
    if missing := set(sketch.stubs) - set(ids):
        raise PlanRefused(f"{', '.join(sorted(missing))} call each other in a circle")
    directly = tuple(n for n in sketch.stubs if parents[n] == "")
    nodes = []
    for name, stub in sketch.stubs.items():
        inputs = _inputs(stub, sketch.flow.get(name, {}), ids)
        makers = {s.source.node for s in inputs if isinstance(s.source, FromNode)}
        needed = {ids[n] for n in stub.uses if n in ids}
        needed |= {defining} if defining and sketch.definitions.names & stub.words else set()
        nodes.append(
            Node(
                id=ids[name],
                goal=stub.goal,
                context=context_of(stub),
                kind=stub.kind,
                parent=ids[parents[name]] if parents[name] else top,
                dependencies=tuple(sorted((makers | needed) - {ids[name]})),
                inputs=inputs,
                outputs=(Slot(name=RESULT, type=stub.contract.returns),),
                contract=stub.contract,
                validation=validation_of(stub.contract),
            )
        )
    return tuple(nodes), directly


def context_of(stub: Stub) -> str:
    """Return what else a sketch says of a function, and the function if the sketch has it whole."""
    return with_planned_code(stub.context, stub.written)


def _inputs(stub: Stub, flow: dict[str, Source | str], ids: dict[str, NodeId]) -> tuple[Slot, ...]:
    slots = []
    for number, param in enumerate(stub.contract.params):
        source = flow.get(param.name, flow.get(str(number), FromLocal()))
        if isinstance(source, str):
            maker = ids.get(source)
            own = maker is None or source == stub.contract.name
            source = FromLocal() if own or maker is None else FromNode(node=maker, slot=RESULT)
        slots.append(Slot(name=param.name, type=param.type, source=source))
    return tuple(slots)
