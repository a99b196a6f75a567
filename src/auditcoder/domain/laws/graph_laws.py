"""The laws of planning: ids precede code, keep their goal, and are allocated once."""

from collections import Counter

from msgspec.structs import replace

from auditcoder.domain.docstring_examples import stated_examples
from auditcoder.domain.events import BriefCommitted, GraphCommitted, GraphRevised
from auditcoder.domain.evidence import Trust
from auditcoder.domain.graph import (
    GraphDelta,
    Node,
    Region,
    TaskGraph,
    apply,
    graph_faults,
    order_faults,
)
from auditcoder.domain.ids import ROOT, NodeId, allocated_under, is_node_id
from auditcoder.domain.laws.check_laws import LOADS, program_check
from auditcoder.domain.laws.common import (
    Law,
    committed_graph,
    listed,
    open_transaction,
    refuse,
    still_standing,
    task_of,
)
from auditcoder.domain.ledger import Ledger, change, rework
from auditcoder.domain.python_names import is_identifier
from auditcoder.domain.repair import TransactionKind
from auditcoder.domain.task import EXAMPLE_PREFIX, derived_examples
from auditcoder.domain.values import CheckId


def brief_committed(ledger: Ledger, event: BriefCommitted) -> Ledger:
    """Register a brief: a revision needs a reason and is not part of a bounded repair."""
    if ledger.working.brief is not None and not event.reason.strip():
        refuse(Law.OUT_OF_PLACE, ledger, "a revised brief needs a reason")
    if ledger.transaction is not None and ledger.transaction.kind is TransactionKind.BOUNDED:
        refuse(Law.BOUNDARY_CROSSED, ledger, "a bounded repair cannot revise the brief")
    checks, examples = dict(ledger.checks), dict(ledger.examples)
    derived = derived_examples(task_of(ledger))
    stated = stated_examples(task_of(ledger)) if ledger.format >= 4 else ()
    for planned in event.brief.requirements.checks:
        _refuse_reserved_name(ledger, planned.id)
        if planned.id in ledger.dropped:
            refuse(Law.MISDECLARED, ledger, f"check {planned.id} was dropped")
        if planned.trust is Trust.GIVEN and planned.id not in checks:
            refuse(Law.MISDECLARED, ledger, f"check {planned.id} was not given with the task")
        if planned.trust is Trust.DERIVED and planned.example not in derived:
            refuse(Law.MISDECLARED, ledger, f"check {planned.id} does not follow from an example")
        if planned.trust is Trust.STATED and planned.example not in stated:
            refuse(Law.MISDECLARED, ledger, f"no docstring states check {planned.id}")
        new = program_check(planned.example, planned.trust, planned.description)
        if checks.setdefault(planned.id, new) != new:
            refuse(Law.MISDECLARED, ledger, f"check {planned.id} changed its definition")
        if examples.setdefault(planned.id, planned.example) != planned.example:
            # The same texts in another form of example would be compared in another way.
            refuse(Law.MISDECLARED, ledger, f"check {planned.id} runs another example")
    return change(rework(ledger, brief=event.brief), checks=checks, examples=examples)


def _refuse_reserved_name(ledger: Ledger, check: CheckId) -> None:
    """Refuse a planned check under a name that other checks have: they could not run."""
    foreign = check.startswith(EXAMPLE_PREFIX) and check not in ledger.checks
    if check == LOADS or "." in check or foreign:
        refuse(Law.MISDECLARED, ledger, f"a brief cannot plan a check under the name {check}")


def graph_committed(ledger: Ledger, event: GraphCommitted) -> Ledger:
    """Register the graph: it is committed once, it is valid, and its ids are allocated now."""
    if ledger.working.graph is not None:
        refuse(Law.ID_REPURPOSED, ledger, "the graph is already committed; use a delta")
    _refuse_faulty_graph(ledger, event.graph)
    allocated = dict(ledger.allocated)
    for node in event.graph.nodes:
        if node.id != ROOT:
            _allocate(ledger, allocated, node)
    return change(rework(ledger, graph=event.graph), allocated=allocated)


def _refuse_faulty_graph(ledger: Ledger, graph: TaskGraph) -> None:
    if not graph.leaves:
        refuse(Law.GRAPH_INVALID, ledger, "the root must have a leaf below it")
    if faults := graph_faults(graph) + order_faults(graph):
        refuse(Law.GRAPH_INVALID, ledger, "; ".join(faults))
    for node in graph.nodes:
        if len(set(node.dependencies)) != len(node.dependencies) or _has_repeated_slot(node):
            refuse(Law.GRAPH_INVALID, ledger, f"{node.id} names something twice")
    names = [n.contract.name for n in graph.nodes if n.contract is not None]
    if unnamed := [name for name in names if name and not is_identifier(name)]:
        refuse(Law.GRAPH_INVALID, ledger, f"{listed(unnamed)} cannot name a function")
    if len(set(names)) != len(names):
        refuse(Law.SECOND_OWNER, ledger, "two contracts promise a function of the same name")


def _has_repeated_slot(node: Node) -> bool:
    params = node.contract.params if node.contract else ()
    return any(
        len({slot.name for slot in slots}) != len(slots)
        for slots in (params, node.inputs, node.outputs)
    )


def _allocate(ledger: Ledger, allocated: dict[NodeId, int], node: Node) -> None:
    if node.id in allocated:
        refuse(Law.ID_REUSED, ledger, f"{node.id} was allocated before")
    if not is_node_id(node.id) or allocated_under(node.id) != node.parent:
        refuse(Law.GRAPH_INVALID, ledger, f"{node.id} is not an id under {node.parent}")
    allocated[node.id] = ledger.seq


def graph_revised(ledger: Ledger, event: GraphRevised) -> Ledger:
    """Register a graph delta: it is in a transaction and changes no frozen node or interface."""
    graph, transaction, delta = committed_graph(ledger), open_transaction(ledger), event.delta
    _refuse_reaching_out(ledger, graph, transaction.region, delta)
    allocated = dict(ledger.allocated)
    for node in delta.added:
        _allocate(ledger, allocated, node)
    region = transaction.region | {node.id for node in delta.added}
    for node in delta.added:
        if node.parent not in region:
            refuse(Law.BOUNDARY_CROSSED, ledger, f"the parent of {node.id} is outside the region")
    for node in delta.revised:
        _refuse_revision(ledger, graph, region, node)
    after = apply(graph, delta)
    _refuse_faulty_graph(ledger, after)
    owners = ledger.working.owners()
    for name, promiser in after.promises.items():
        if owners.get(name, promiser) not in region | {promiser}:
            owner = owners[name]
            refuse(Law.SECOND_OWNER, ledger, f"{promiser} promises {name}, which {owner} owns")
    reshaped = _shape(after) != _shape(graph)
    gone = frozenset(delta.retired)
    new_contracts = {n.id for n in delta.revised if n.contract != graph.by_id[n.id].contract}
    revised = rework(
        ledger,
        graph=after,
        code={n: c for n, c in ledger.working.code.items() if n not in gone},
        bundles={n: b for n, b in ledger.working.bundles.items() if n not in gone},
        assembly=None if reshaped else ledger.working.assembly,
    )
    standing = still_standing(revised.working, gone | new_contracts)
    return change(
        rework(revised, evidence=standing),
        allocated=allocated,
        transaction=replace(transaction, region=region),
    )


def _shape(graph: TaskGraph) -> object:
    return [node.structure for node in graph.nodes], graph.order


def _refuse_reaching_out(
    ledger: Ledger, graph: TaskGraph, region: Region, delta: GraphDelta
) -> None:
    named = Counter([*(n.id for n in (*delta.added, *delta.revised)), *delta.retired])
    if twice := [node for node, times in named.items() if times > 1]:
        refuse(Law.GRAPH_INVALID, ledger, f"the delta names {listed(twice)} more than once")
    if unknown := delta.touched - graph.ids:
        refuse(Law.ID_REUSED, ledger, f"{listed(unknown)} cannot be changed: no such node")
    if outside := delta.touched - region:
        refuse(Law.BOUNDARY_CROSSED, ledger, f"{listed(outside)} are outside the region")
    if [n for n in graph.order if n not in region] != [
        n for n in delta.order if n not in region and n in graph.ids
    ]:
        refuse(Law.BOUNDARY_CROSSED, ledger, "the delta reorders frozen nodes")


def _refuse_revision(ledger: Ledger, graph: TaskGraph, region: Region, after: Node) -> None:
    before = graph.by_id[after.id]
    if before.goal != after.goal:
        refuse(Law.ID_REPURPOSED, ledger, f"the goal of {after.id} cannot change")
    if before.parent != after.parent and not {before.parent, after.parent} <= region:
        refuse(Law.BOUNDARY_CROSSED, ledger, f"{after.id} moves to or from a frozen parent")
    relying = graph.callers(after.id) - region
    if before.interface != after.interface and relying:
        refuse(
            Law.BOUNDARY_CROSSED,
            ledger,
            f"the interface of {after.id} changes, but {listed(relying)} outside the region use it",
        )
