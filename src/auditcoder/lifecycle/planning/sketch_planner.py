"""The sketch planner: one model call returns Python stubs, which become the graph."""

from collections.abc import Iterable

import msgspec

from auditcoder.domain.brief import Approach, Trap
from auditcoder.domain.code import read_bundle
from auditcoder.domain.contract import Contract
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.python_names import LITERAL_ERRORS, literal_value
from auditcoder.domain.task import (
    CallExample,
    Example,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import whole
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.model_client import why
from auditcoder.lifecycle.planning.contract_parser import example_text, read_cost
from auditcoder.lifecycle.planning.plan import (
    GivenCode,
    Plan,
    PlanRefused,
    brief_for,
    checked,
    ordered,
    root_node,
    single,
)
from auditcoder.lifecycle.planning.sketch_definitions import definitions_node
from auditcoder.lifecycle.planning.sketch_parser import (
    Sketch,
    context_of,
    nodes_of,
    reached,
    read_sketch,
    with_literal_examples,
)
from auditcoder.lifecycle.response_formats import ParsedPython
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import RootFunction, root_of
from auditcoder.lifecycle.token_limits import SKETCH

PLANNER = "sketch"
_MAX_GENERATED = 3


def sketch_shape(
    task: Task, root: RootFunction, allocated: tuple[NodeId, ...] = (ROOT,)
) -> ParsedPython[Plan]:
    """Return the response format of a sketch: a block of stubs that makes a valid plan."""
    return ParsedPython(lambda text: plan_of(text, task, root, allocated), "sketch")


def plan(context: RunContext) -> Plan:
    """Request a sketch and return its plan; if no reply is usable, a plan with one node."""
    task = context.task
    root = root_of(task)
    given = f"\nThis is given and stays as it is:\n```python\n{root.given}```" if root.given else ""
    try:
        answer = context.ask(
            "sketch",
            sketch_shape(task, root),
            Phase.PLANNING,
            SKETCH,
            role="planner",
            statement=context.statement,
            root=root.asked,
            given=given,
        )
    except ReplyUnusable as unusable:
        return single(
            task, root, f"one node, because no plan could be used: {why(unusable)}", PLANNER
        )
    return from_reply(answer.value, answer.seq)


def from_reply(found: Plan, seq: int) -> Plan:
    """Return the plan with the reply's event number added to the code from the sketch."""
    return found._replace(
        given={
            n: g._replace(reply=seq) if g.agent == PLANNER else g for n, g in found.given.items()
        }
    )


def plan_of(
    text: str, task: Task, root: RootFunction, allocated: Iterable[NodeId] = (ROOT,)
) -> Plan:
    """Parse a sketch into a plan with ids outside `allocated`; raise PlanRefused if invalid."""
    given = frozenset(n for part in read_bundle(root.given).parts for n in part.names)
    sketch = read_sketch(text, root.contract.name, given - {root.contract.name})
    _refuse_imported_names(sketch, root)
    sketch, unused = _without_unused(sketch)
    sketch = sketch if sketch.stubs else with_literal_examples(sketch)
    contract = root.contract if root.fixed else sketch.root.contract
    contract = _with_clauses(contract, sketch)
    generated = tuple((e, "planned") for e in _generated_examples(task, sketch))
    brief = brief_for(task, _approach(sketch), generated)
    if not sketch.stubs:
        said = f" (it says: {sketch.parts})" if sketch.parts else ""
        reason = f"one node: the sketch names no other function{said}"
        goal = sketch.root.goal if sketch.root.contract.params else sketch.strategy[:300]
        sole = single(
            task, root, reason + unused, PLANNER, contract, allocated, goal, _sole_context(sketch)
        )
        return sole._replace(brief=brief, losses=sketch.losses)
    taken = set(allocated)
    defining = child_of(ROOT, taken) if sketch.definitions.source else None
    shared = (definitions_node(defining),) if defining else ()
    nodes, directly = nodes_of(sketch, ROOT, {*taken, *(n.id for n in shared)}, defining)
    by_name = {n.contract.name: n.id for n in nodes if n.contract}
    called = (by_name[name] for name in directly)
    code = _given(sketch, root, contract)
    top = root_node(
        contract, (*(n.id for n in shared), *called), "" if code else _root_context(sketch)
    )
    graph = checked(TaskGraph(nodes=(top, *shared, *nodes), order=ordered((top, *shared, *nodes))))
    if defining:
        code = {defining: GivenCode(sketch.definitions.source, PLANNER), **code}
    return Plan(
        brief=brief,
        graph=graph,
        planner=PLANNER,
        granularity=f"{len(nodes)} nodes: {sketch.parts or 'so the sketch has it'}" + unused,
        given=code,
        losses=sketch.losses,
    )


def _refuse_imported_names(sketch: Sketch, root: RootFunction) -> None:
    """Raise PlanRefused if a name of the sketch is imported, by it or around the root."""
    around = read_bundle(f"{root.given}\n{root.main}\n{sketch.imports}")
    named = set(sketch.stubs) | sketch.definitions.names
    if clash := named & {i.name for i in around.imported}:
        raise PlanRefused(f"{', '.join(sorted(clash))} is imported; use another name for yours")


def _approach(sketch: Sketch) -> Approach:
    """Return what the docstring of the sketch says of the whole task."""
    said, own = sketch.docstring, sketch.root.contract.cost
    known = ("assumes", "cost", "limits", "parts", "strategy", "trap")
    notes = [f"{label}: {t}" for label in said.facts if label not in known for t in said.of(label)]
    return Approach(
        strategy="; ".join([*([sketch.strategy] if sketch.strategy else []), *said.of("strategy")]),
        observations=(*said.context.splitlines(), *notes),
        assumptions=tuple(said.of("assumes")),
        features=tuple(said.of("limits")),
        traps=tuple(Trap(trap=text) for text in said.of("trap")),
        cost=own if own.time else read_cost(said.of("cost")),
    )


def _root_context(sketch: Sketch) -> str:
    """Return what the sketch says of a root whose code is not taken from it."""
    return "\n".join(part for part in (sketch.root.goal, context_of(sketch.root)) if part)


def _sole_context(sketch: Sketch) -> str:
    """Return what the sketch says of its only function, with the definitions in the sketch."""
    root, source = sketch.root, sketch.definitions.source
    calls = (e for e in root.contract.examples if isinstance(e, CallExample))
    examples = [example_text(root.contract.name, e) for e in calls]
    shared = [f"definitions:\n{source.rstrip()}"] if source else []
    return "\n".join(text for text in (context_of(root), *examples, *shared) if text)


def _given(sketch: Sketch, root: RootFunction, contract: Contract) -> dict[NodeId, GivenCode]:
    """Return the code of the root if the sketch has a body for it with the right parameters."""
    written = [p.name for p in sketch.root.contract.params]
    if not sketch.body or written != [p.name for p in contract.params]:
        return {}
    known = set(sketch.stubs) | sketch.definitions.names
    known |= {i.name for i in read_bundle(root.given + sketch.imports).imported}
    imports = "\n".join([sketch.imports, *completing(sketch.body, known)]).strip()
    parts = (root.given, imports, sketch.body, root.main)
    source = "\n\n".join(part.strip("\n") for part in parts if part.strip())
    return {ROOT: GivenCode(f"{source}\n", PLANNER)}


def _without_unused(sketch: Sketch) -> tuple[Sketch, str]:
    """Drop all stubs if the root calls none; return the sketch and a note that names them.

    Otherwise a stub that nothing calls is kept: a function that is written later may call it.
    """
    kept = reached(sketch)
    idle = [name for name in sketch.stubs if name not in kept]
    if not idle:
        return sketch, ""
    if kept:
        return sketch, f"; nothing in the sketch calls: {', '.join(idle)}"
    note = f"; left out because nothing calls them: {', '.join(idle)}"
    lost = tuple(f"the function {name}, which the root does not call" for name in idle)
    return sketch._replace(stubs={}, body="", losses=(*sketch.losses, *lost)), note


def _with_clauses(contract: Contract, sketch: Sketch) -> Contract:
    """Add the clauses and the cost of the root in the sketch to the interface of the task."""
    planned = sketch.root.contract
    if [p.name for p in planned.params] != [p.name for p in contract.params]:
        return contract
    described = zip(contract.params, planned.params, strict=True)
    return msgspec.structs.replace(
        contract,
        params=tuple(msgspec.structs.replace(p, description=q.description) for p, q in described),
        requires=planned.requires,
        ensures=planned.ensures,
        invariants=planned.invariants,
        returns_description=planned.returns_description,
        cost=planned.cost,
    )


def _generated_examples(task: Task, sketch: Sketch) -> list[Example]:
    """Return the program-level examples that the sketch itself proposes."""
    proposed = [e for e in sketch.root.contract.examples if isinstance(e, CallExample)]
    match task.form:
        case FunctionForm():
            return list(proposed[:_MAX_GENERATED])
        case ProgramForm():
            return [e for p in proposed[:_MAX_GENERATED] if (e := as_stdio(p))]
        case _:
            return []


def as_stdio(example: CallExample) -> StdioExample | None:
    """Return a call of `solve` with a text as a run of the program; None if it is no such call."""
    try:
        stdin, stdout = literal_value(example.arguments), literal_value(example.result)
    except LITERAL_ERRORS:
        return None
    if not isinstance(stdin, str) or not isinstance(stdout, str):
        return None
    return StdioExample(input=whole(stdin), output=whole(stdout))
