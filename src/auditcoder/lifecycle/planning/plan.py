"""The plan that every planner returns: the brief (P, B, Q), the graph and the given code."""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import msgspec

from auditcoder.domain.brief import Approach, Brief, Parsed, PlannedCheck, Requirements
from auditcoder.domain.contract import RESULT, Contract
from auditcoder.domain.docstring_examples import stated_examples
from auditcoder.domain.evidence import Trust
from auditcoder.domain.graph import (
    FromTask,
    Node,
    NodeKind,
    Slot,
    TaskGraph,
    graph_faults,
    order_faults,
)
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.task import CodeExample, Example, Task, derived_examples
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.response_formats import FormatMismatch
from auditcoder.lifecycle.task_forms import RootFunction

MOST_CHILDREN = 5
MOST_DEPTH = 3
_ROOT_GOAL = "Answer the task"


GIVEN_BY = frozenset({"author", "form", "skeleton", "sketch"})
"""The agents of given code, which no model was asked to write for a node.

They are the author of a prepared program, the form of the task, the class skeleton and the sketch.
Locators do not substitute given code for a later version of a node.
"""


class GivenCode(NamedTuple):
    """Code of a node that comes with the task or with the plan, so that no model writes it."""

    source: str
    agent: str
    scope: str = ""
    reply: int | None = None


class Plan(NamedTuple):
    """A complete plan: the brief (P, B, Q) and the graph G, ready to be committed."""

    brief: Brief
    graph: TaskGraph
    planner: str
    granularity: str
    """The reason for the number of nodes."""
    given: dict[NodeId, GivenCode]
    losses: tuple[str, ...] = ()
    """What the planner's reply says and nothing here holds, one sentence for each."""


class PlanRefused(FormatMismatch):
    """A plan is invalid and cannot be committed."""


def brief_for(
    task: Task,
    approach: Approach,
    generated: tuple[tuple[Example, str], ...] = (),
    *,
    stated: bool = False,
) -> Brief:
    """Return the brief: what the task fixes, what the plan assumes and how the program is judged.

    With `stated`, the examples in docstrings of a class skeleton are among its checks.
    Examples that a model generated are hypotheses. One that repeats a given example is left out.
    One that contradicts a given example is kept here, so that its removal is recorded later.
    """
    checks = [
        PlannedCheck(
            id=CheckId(f"derived-{number}"),
            trust=Trust.DERIVED,
            example=example,
            description="the last line of the input need not be ended",
        )
        for number, example in enumerate(derived_examples(task), start=1)
    ]
    checks += [
        PlannedCheck(
            id=CheckId(f"stated-{number}"),
            trust=Trust.STATED,
            example=example,
            description="a docstring of the skeleton shows this result",
        )
        for number, example in enumerate(stated_examples(task) if stated else (), start=1)
    ]
    known = {msgspec.json.encode(e) for e in _without_explanations(task.examples)}
    for example, description in generated:
        if msgspec.json.encode(_without_explanations((example,))[0]) in known:
            continue
        checks.append(
            PlannedCheck(
                id=CheckId(f"generated-{len(checks) + 1}"),
                trust=Trust.GENERATED,
                example=example,
                description=description,
            )
        )
    return Brief(
        parsed=Parsed(title=task.title, limits=task.limits, samples=task.examples),
        approach=approach,
        requirements=Requirements(checks=tuple(checks)),
    )


def _without_explanations(examples: tuple[Example, ...]) -> list[Example]:
    public = (
        msgspec.structs.replace(e, private=False) if isinstance(e, CodeExample) else e
        for e in examples
    )
    return [msgspec.structs.replace(e, explanation="") for e in public]


def root_node(contract: Contract, dependencies: tuple[NodeId, ...], context: str = "") -> Node:
    """Return the root of a plan with several nodes; its inputs come from the task."""
    return Node(
        id=ROOT,
        goal=_ROOT_GOAL,
        context=context,
        kind=NodeKind.ORCHESTRATION,
        dependencies=dependencies,
        inputs=_from_task(contract),
        outputs=(Slot(name=RESULT, type=contract.returns),),
        contract=contract,
    )


def _from_task(contract: Contract) -> tuple[Slot, ...]:
    return tuple(Slot(name=p.name, type=p.type, source=FromTask()) for p in contract.params)


def single(
    task: Task,
    root: RootFunction,
    reason: str,
    planner: str,
    contract: Contract | None = None,
    allocated: Iterable[NodeId] = (ROOT,),
    goal: str = "",
    context: str = "",
) -> Plan:
    """Return a plan with one node that does everything, under a root that only starts it."""
    promised = contract or root.contract
    only = child_of(ROOT, set(allocated))
    node = Node(
        id=only,
        goal=goal or task.title or "Do what the task asks",
        context=context,
        kind=NodeKind.GENERAL,
        parent=ROOT,
        inputs=_from_task(promised),
        outputs=(Slot(name=RESULT, type=promised.returns),),
        contract=promised,
        validation=("the task's examples",),
    )
    top = Node(id=ROOT, goal=_ROOT_GOAL, kind=NodeKind.ORCHESTRATION, dependencies=(only,))
    around = root.given + root.main
    return Plan(
        brief=brief_for(task, Approach(strategy="one responsibility")),
        graph=TaskGraph(nodes=(top, node), order=(only,)),
        planner=planner,
        granularity=reason,
        given={ROOT: GivenCode(around, "form")} if around.strip() else {},
    )


def ordered(nodes: tuple[Node, ...]) -> tuple[NodeId, ...]:
    """Return the leaves in an order that respects their dependencies; raise PlanRefused if none."""
    parents = {n.parent for n in nodes}
    try:
        order = TopologicalSorter(
            {
                n.id: sorted({*n.dependencies, *(k.id for k in nodes if k.parent == n.id)})
                for n in nodes
            }
        ).static_order()
        return tuple(n for n in order if n not in parents and n != ROOT)
    except CycleError as error:
        raise PlanRefused("functions need each other in a circle") from error


def checked(graph: TaskGraph) -> TaskGraph:
    """Return the graph if it is valid; raise PlanRefused with all its faults otherwise."""
    if faults := graph_faults(graph) + order_faults(graph):
        raise PlanRefused("; ".join(faults))
    return graph
