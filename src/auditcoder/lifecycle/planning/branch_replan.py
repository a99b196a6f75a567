"""Replans one branch: a new sketch within the fixed interface becomes a graph delta."""

from collections.abc import Iterable

import msgspec

from auditcoder.domain.graph import GraphDelta, Node, Region, TaskGraph, apply
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.ledger import Ledger
from auditcoder.lifecycle.planning.plan import PlanRefused, checked, ordered
from auditcoder.lifecycle.planning.sketch_definitions import definitions_node
from auditcoder.lifecycle.planning.sketch_parser import Sketch, nodes_of, reached, read_sketch
from auditcoder.lifecycle.response_formats import ParsedPython


def graft_shape(ledger: Ledger, top: NodeId) -> ParsedPython[tuple[GraphDelta, Sketch]]:
    """Return the response format of a sketch that replaces one branch of the graph."""
    graph, allocated = ledger.graph, tuple(ledger.allocated)
    below = graph.subtree(top)
    owners = ledger.working.owners().items()
    owned = frozenset(name for name, node in owners if node not in below) - set(graph.promises)
    return ParsedPython(lambda text: graft(text, graph, top, allocated, owned), "sketch")


def graft(
    text: str,
    graph: TaskGraph,
    top: NodeId,
    allocated: Iterable[NodeId],
    owned: frozenset[str] = frozenset(),
) -> tuple[GraphDelta, Sketch]:
    """Return the changes that a sketch makes under `top`, whose interface stays the same.

    A stub with the name and goal of an existing node keeps its id. Other stubs get new ids, and
    nodes without a stub are retired. Names in `owned` belong to the rest of the program: they
    need no stub and cannot be used for one.
    """
    anchor = graph.by_id[top]
    assert anchor.contract is not None
    sketch = read_sketch(text, anchor.contract.name, owned - {anchor.contract.name})
    kept = reached(sketch)
    lost = tuple(f"the function {n}, which nothing calls" for n in sketch.stubs if n not in kept)
    sketch = sketch._replace(
        stubs={n: s for n, s in sketch.stubs.items() if n in kept}, losses=(*sketch.losses, *lost)
    )
    if [p.name for p in sketch.root.contract.params] != [p.name for p in anchor.contract.params]:
        raise PlanRefused(f"the root function must stay {anchor.contract.header()}")
    below = graph.subtree(top) - {top}
    outside = {name for name, node in graph.promises.items() if node not in below}
    if taken := set(sketch.stubs) & outside:
        raise PlanRefused(f"{', '.join(sorted(taken))} is a name of the rest of the program")
    old = {name: graph.by_id[node] for name, node in graph.promises.items() if node in below}
    surviving = {
        name: old[name]
        for name, stub in sketch.stubs.items()
        if name in old and old[name].goal == stub.goal
    }
    return _delta(sketch, graph, anchor, surviving, allocated), sketch


def _delta(
    sketch: Sketch,
    graph: TaskGraph,
    anchor: Node,
    surviving: dict[str, Node],
    allocated: Iterable[NodeId],
) -> GraphDelta:
    taken, source = set(allocated), sketch.definitions.source
    defining = child_of(anchor.id, taken) if source and sketch.stubs else None
    shared = (definitions_node(defining, anchor.id),) if defining else ()
    nodes, directly = nodes_of(sketch, anchor.id, {*taken, *(n.id for n in shared)}, defining)
    nodes = (*shared, *nodes)
    if source and not defining:
        context = f"{anchor.context}\ndefinitions:\n{source.rstrip()}".strip()
        anchor = msgspec.structs.replace(anchor, context=context)
    by_name = {n.contract.name: n for n in nodes if n.contract}
    # A node keeps its id only under the same parent, because an id contains the parent's.
    same = {
        by_name[name].id: old.id
        for name, old in surviving.items()
        if old.parent == anchor.id and by_name[name].parent == anchor.id
    }
    moved = [_renamed(n, same) for n in nodes]
    if anchor.id != ROOT and _depth(graph, anchor.id) + _height(moved, anchor.id) > 4:
        raise PlanRefused("the part would become too deep")
    below = graph.subtree(anchor.id) - {anchor.id}
    ids = {n.id for n in moved}
    top = msgspec.structs.replace(
        anchor,
        dependencies=tuple(
            sorted(
                {d for d in anchor.dependencies if d not in below}
                | {same.get(by_name[n].id, by_name[n].id) for n in directly}
                | {n.id for n in shared}
            )
        ),
    )
    revised = [n for n in moved if n.id in graph.by_id and graph.by_id[n.id] != n]
    if top != graph.by_id[anchor.id]:
        revised.insert(0, top)
    delta = GraphDelta(
        added=tuple(n for n in moved if n.id not in graph.by_id),
        revised=tuple(revised),
        retired=tuple(sorted(below - ids)),
    )
    after = apply(graph, delta)
    delta = msgspec.structs.replace(delta, order=_order(graph, after, below | {anchor.id} | ids))
    checked(apply(graph, delta))
    return delta


def _renamed(node: Node, same: dict[NodeId, NodeId]) -> Node:
    if not same:
        return node

    def new(name: NodeId) -> NodeId:
        return same.get(name, name)

    inputs = tuple(
        msgspec.structs.replace(
            s, source=msgspec.structs.replace(s.source, node=new(s.source.node))
        )
        if s.source is not None and hasattr(s.source, "node")
        else s
        for s in node.inputs
    )
    return msgspec.structs.replace(
        node,
        id=new(node.id),
        parent=new(node.parent) if node.parent else None,
        dependencies=tuple(sorted(new(d) for d in node.dependencies)),
        inputs=inputs,
    )


def _depth(graph: TaskGraph, node: NodeId) -> int:
    return len(graph.path(node))


def _height(nodes: Iterable[Node], top: NodeId) -> int:
    parents = {n.id: n.parent for n in nodes}
    best = 0
    for start in parents:
        steps, here = 0, start
        while here in parents and here != top:
            steps, here = steps + 1, parents[here] or top
        best = max(best, steps)
    return best


def _order(before: TaskGraph, after: TaskGraph, region: Region) -> tuple[NodeId, ...]:
    """Return an execution order in which the frozen nodes keep their relative order."""
    new_order = ordered(after.nodes)
    frozen = iter(n for n in before.order if n not in region)
    return tuple(n if n in region else next(frozen) for n in new_order)
