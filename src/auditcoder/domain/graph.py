"""The contract-annotated task graph: responsibilities, their tree, their dependencies."""

from collections.abc import Iterable
from enum import Enum
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TypeAlias

import msgspec

from auditcoder.domain.contract import Contract
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, Target
from auditcoder.domain.values import Digest, Value, digest_of

Region: TypeAlias = frozenset[NodeId]
"""The nodes that a repair may change."""


class NodeKind(Enum):
    """The routing category: who should carry a responsibility out. Never its identity."""

    ORCHESTRATION = "orchestration"
    BINARY_SEARCH = "binary_search"
    DP = "dp"
    BFS = "graph_bfs"
    DFS = "graph_dfs"
    GREEDY = "greedy"
    MATH = "math"
    SORTING = "sorting"
    STRING = "string"
    TWO_POINTERS = "two_pointer"
    UNION_FIND = "union_find"
    GENERAL = "general"


class FromTask(Value, tag="task"):
    """The value comes from the task's own input."""


class FromNode(Value, tag="node"):
    """The value is another node's output."""

    node: NodeId
    slot: str


class FromLocal(Value, tag="local"):
    """The value is a local intermediate."""


class FromSelf(Value, tag="self"):
    """The value is the object's own state, in a class."""


Source: TypeAlias = FromTask | FromNode | FromLocal | FromSelf


class Slot(Value):
    """One variable that a node takes, makes or keeps."""

    name: str
    type: str = ""
    description: str = ""
    source: Source | None = None
    """Where an input comes from; outputs have none."""


class Node(Value):
    """A responsibility: what it is for, what it promises, what it takes and gives."""

    id: NodeId
    goal: str
    """The commitment. An id keeps its goal for good; another goal is another id."""
    kind: NodeKind
    parent: NodeId | None = None
    dependencies: tuple[NodeId, ...] = ()
    """Nodes whose results or code this one calls for."""
    inputs: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    contract: Contract | None = None
    hints: tuple[str, ...] = ()
    context: str = ""
    validation: tuple[str, ...] = ()
    """The local validation requirement: what must be checked before this node is believed."""

    @property
    def interface(self) -> object:
        """What others rely on: the contract's signature and the outputs."""
        outputs = tuple((slot.name, slot.type) for slot in self.outputs)
        return self.contract.signature if self.contract else None, outputs

    @property
    def structure(self) -> object:
        """What the program's shape depends on."""
        return self.id, self.parent, self.dependencies, self.contract

    def provenance(self) -> dict[str, Source | None]:
        """Map each input to where it comes from; an empty map means none was declared."""
        return {slot.name: slot.source for slot in self.inputs}


class TaskGraph(Value, dict=True):
    """Nodes, their parent tree, their dependencies, and the order in which leaves are built."""

    nodes: tuple[Node, ...]
    order: tuple[NodeId, ...]
    """The execution order: every leaf, dependencies first."""
    root: NodeId = ROOT

    @cached_property
    def by_id(self) -> dict[NodeId, Node]:
        """The nodes by their ids."""
        return {node.id: node for node in self.nodes}

    @cached_property
    def digest(self) -> Digest:
        """What names this very graph."""
        return digest_of(self)

    @cached_property
    def ids(self) -> Region:
        """Every node's id."""
        return frozenset(self.by_id)

    @cached_property
    def commitments(self) -> dict[NodeId, Digest]:
        """Each node's description, by digest."""
        return {node.id: digest_of(node) for node in self.nodes}

    @cached_property
    def children(self) -> dict[NodeId, tuple[NodeId, ...]]:
        """Each node's children, in the order of the plan."""
        below: dict[NodeId, list[NodeId]] = {node.id: [] for node in self.nodes}
        for node in self.nodes:
            if node.parent in below:
                below[node.parent].append(node.id)
        return {node: tuple(kids) for node, kids in below.items()}

    @cached_property
    def leaves(self) -> tuple[NodeId, ...]:
        """Non-root nodes without children."""
        return tuple(i for i, kids in self.children.items() if not kids and i != self.root)

    @cached_property
    def inner(self) -> tuple[NodeId, ...]:
        """Everything that is no leaf, deepest first."""
        above = self.ids - set(self.order)
        return tuple(sorted(above, key=lambda n: (-len(self.path(n)), n)))

    @cached_property
    def promises(self) -> dict[str, NodeId]:
        """Who answers for each function that a contract names."""
        return {node.contract.name: node.id for node in self.nodes if node.contract}

    @cached_property
    def sole(self) -> NodeId | None:
        """The leaf that does everything, where there is one and the root merely starts it."""
        starts = self.by_id[self.root].contract is None
        return self.order[0] if starts and len(self.order) == 1 else None

    def subtree(self, top: NodeId) -> Region:
        """Return `top` and everything below it."""
        found = {top}
        waiting = [top]
        while waiting:
            new = [c for c in self.children[waiting.pop()] if c not in found]
            found.update(new)
            waiting.extend(new)
        return frozenset(found)

    def path(self, node: NodeId) -> tuple[NodeId, ...]:
        """Return the ancestors from the root down to `node` itself."""
        upwards = {node: None}
        while (parent := self.by_id[node].parent) is not None and parent not in upwards:
            upwards[parent] = None
            node = parent
        return tuple(reversed(upwards))

    def branch_root(self, node: NodeId) -> NodeId:
        """EB(z): the first non-root ancestor of `node`, itself if it has none."""
        path = self.path(node)
        return path[1] if len(path) > 1 else node

    def callers(self, node: NodeId) -> Region:
        """Return the nodes that rely on `node`'s interface: call it, or take what it makes."""
        return frozenset(
            n.id
            for n in self.nodes
            if node in n.dependencies
            or any(isinstance(s.source, FromNode) and s.source.node == node for s in n.inputs)
        )

    def relied_on_by(self, node: NodeId) -> Region:
        """Return the nodes that `node` calls for or has below it, directly or through others."""
        found: set[NodeId] = set()
        waiting = [node]
        while waiting:
            here = waiting.pop()
            new = {*self.by_id[here].dependencies, *self.children[here]} - found
            found |= new
            waiting.extend(new)
        return frozenset(found - {node})


def region_of(target: Target, graph: TaskGraph) -> Region:
    """R(z): the nodes that a diagnosis gives free for repair."""
    if isinstance(target, AtBranch):
        return graph.subtree(target.root)
    return frozenset(named_in(target))


def named_in(target: Target) -> tuple[NodeId, ...]:
    """Return the nodes that a target names outright, the likeliest first."""
    match target:
        case AtNode(node=node) | AtBranch(root=node):
            return (node,)
        case AtNodes(nodes=nodes):
            return nodes
        case AtInterface(provider=provider, consumer=consumer):
            return provider, consumer


def graph_faults(graph: TaskGraph) -> tuple[str, ...]:
    """Say what keeps `graph` from being valid; empty means the paper's GraphValid holds.

    GraphValid: nonempty unique ids, a resolvable root, valid parent and dependency
    references, an acyclic parent relation, no duplicate in the execution order, and an
    execution order that lists exactly the leaves.
    """
    ids = [node.id for node in graph.nodes]
    known = set(ids)
    faults = []
    if not ids:
        faults.append("the graph has no nodes")
    if "" in known:
        faults.append("a node has an empty id")
    if len(known) != len(ids):
        faults.append("a node id occurs twice")
    if graph.root not in known:
        faults.append(f"the root {graph.root} is not a node")
    for node in graph.nodes:
        if node.parent is not None and node.parent not in known:
            faults.append(f"{node.id} names the parent {node.parent}, which is not a node")
        faults.extend(
            f"{node.id} depends on {d}, which is not a node"
            for d in node.dependencies
            if d not in known
        )
    if _has_cycle((n.id, (n.parent,) if n.parent is not None else ()) for n in graph.nodes):
        faults.append("the parent relation has a cycle")
    if len(set(graph.order)) != len(graph.order):
        faults.append("the execution order lists a node twice")
    if set(graph.order) != set(graph.leaves):
        faults.append("the execution order does not list exactly the leaves")
    return tuple(faults)


def order_faults(graph: TaskGraph) -> tuple[str, ...]:
    """Say where dependencies run in a circle or the execution order runs against them.

    Separate from GraphValid, which does not ask for it. Also the shape that is settled for
    every graph of ours: one root, and provenance that names outputs which exist.
    """
    faults = []
    if _has_cycle((n.id, n.dependencies) for n in graph.nodes):
        faults.append("the dependencies have a cycle")
    place = {node: i for i, node in enumerate(graph.order)}
    for node in graph.nodes:
        if node.parent is None and node.id != graph.root:
            faults.append(f"{node.id} has no parent and is not the root")
        faults.extend(
            f"{node.id} is built before {d}, on which it depends"
            for d in node.dependencies
            if place.get(d, -1) > place.get(node.id, len(place))
        )
        for slot in node.inputs:
            if isinstance(slot.source, FromNode):
                maker = graph.by_id.get(slot.source.node)
                if maker is None or slot.source.slot not in {o.name for o in maker.outputs}:
                    faults.append(
                        f"{node.id}.{slot.name} comes from {slot.source.node}.{slot.source.slot},"
                        " which nobody makes"
                    )
    return tuple(faults)


def _has_cycle(edges: Iterable[tuple[NodeId, Iterable[NodeId]]]) -> bool:
    try:
        TopologicalSorter(dict(edges)).prepare()
    except CycleError:
        return True
    return False


class GraphDelta(Value):
    """A change of the graph, inside a repair: nothing in it is implied."""

    added: tuple[Node, ...] = ()
    """New responsibilities, under fresh ids."""
    revised: tuple[Node, ...] = ()
    """Surviving responsibilities whose hints, context, interface or edges changed."""
    retired: tuple[NodeId, ...] = ()
    """Responsibilities that no longer exist; their ids are never used again."""
    order: tuple[NodeId, ...] = ()
    """The execution order afterwards."""

    @property
    def touched(self) -> Region:
        """Every existing node that the delta changes or removes."""
        return frozenset({n.id for n in self.revised} | set(self.retired))


def apply(graph: TaskGraph, delta: GraphDelta) -> TaskGraph:
    """Return the graph after `delta`."""
    gone = set(delta.retired)
    new = {node.id: node for node in delta.revised}
    kept = tuple(new.get(n.id, n) for n in graph.nodes if n.id not in gone)
    return msgspec.structs.replace(graph, nodes=kept + delta.added, order=delta.order)


def diff(before: TaskGraph, after: TaskGraph) -> GraphDelta | None:
    """Return what turns `before` into `after`; None when nothing does."""
    if before == after:
        return None
    return GraphDelta(
        added=tuple(n for n in after.nodes if n.id not in before.by_id),
        revised=tuple(n for n in after.nodes if before.by_id.get(n.id, n) != n),
        retired=tuple(n.id for n in before.nodes if n.id not in after.by_id),
        order=after.order,
    )
