"""The task graph: nodes with contracts, their tree and their dependencies."""

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
    """The routing category of a node, which selects its agent."""

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
    """The value is computed locally."""


class FromSelf(Value, tag="self"):
    """The value is an attribute of the object, in a class."""


Source: TypeAlias = FromTask | FromNode | FromLocal | FromSelf


class Slot(Value):
    """One input or output variable of a node."""

    name: str
    type: str = ""
    description: str = ""
    source: Source | None = None
    """The origin of an input; None for outputs."""


class Node(Value):
    """A responsibility: its goal, contract, inputs and outputs."""

    id: NodeId
    goal: str
    """What the node is for. It never changes; another goal needs another id."""
    kind: NodeKind
    parent: NodeId | None = None
    dependencies: tuple[NodeId, ...] = ()
    """Nodes whose results or code this one uses."""
    inputs: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    contract: Contract | None = None
    hints: tuple[str, ...] = ()
    context: str = ""
    validation: tuple[str, ...] = ()
    """The checks that this node's code must pass, as sentences."""

    @property
    def interface(self) -> object:
        """The parts that other nodes rely on: the contract's signature and the outputs."""
        outputs = tuple((slot.name, slot.type) for slot in self.outputs)
        return self.contract.signature if self.contract else None, outputs

    @property
    def structure(self) -> object:
        """The parts that the assembled program depends on."""
        return self.id, self.parent, self.dependencies, self.contract

    def provenance(self) -> dict[str, Source | None]:
        """Return the origin of each input; empty if the node declares no inputs."""
        return {slot.name: slot.source for slot in self.inputs}


class TaskGraph(Value, dict=True):
    """Nodes with their parent tree and dependencies, and the order in which leaves are built."""

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
        """The digest of this graph."""
        return digest_of(self)

    @cached_property
    def ids(self) -> Region:
        """The ids of all nodes."""
        return frozenset(self.by_id)

    @cached_property
    def commitments(self) -> dict[NodeId, Digest]:
        """The digest of each node's description."""
        return {node.id: digest_of(node) for node in self.nodes}

    @cached_property
    def children(self) -> dict[NodeId, tuple[NodeId, ...]]:
        """The children of each node, in the order of the plan."""
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
        """The root and all other nodes with children, deepest first."""
        above = self.ids - set(self.order)
        return tuple(sorted(above, key=lambda n: (-len(self.path(n)), n)))

    @cached_property
    def whole(self) -> NodeId | None:
        """The only leaf, if it is a whole program and so promises no function; else None."""
        alone = len(self.order) == 1 and not any(node.contract for node in self.nodes)
        return self.order[0] if alone else None

    @cached_property
    def promises(self) -> dict[str, NodeId]:
        """The node of each function that a contract names."""
        return {node.contract.name: node.id for node in self.nodes if node.contract}

    @cached_property
    def defining(self) -> tuple[NodeId, ...]:
        """The leaves that own definitions: they have no contract, but another leaf has one."""
        bare = tuple(n for n in self.order if self.by_id[n].contract is None)
        return bare if len(bare) < len(self.order) else ()

    @cached_property
    def sole(self) -> NodeId | None:
        """The only leaf, if the root has no contract of its own; else None."""
        starts = self.by_id[self.root].contract is None
        return self.order[0] if starts and len(self.order) == 1 else None

    def subtree(self, top: NodeId) -> Region:
        """Return `top` and all its descendants."""
        members = {top}
        waiting = [top]
        while waiting:
            new = [c for c in self.children[waiting.pop()] if c not in members]
            members.update(new)
            waiting.extend(new)
        return frozenset(members)

    def path(self, node: NodeId) -> tuple[NodeId, ...]:
        """Return the ancestors from the root down to `node` itself."""
        upwards = {node: None}
        while (parent := self.by_id[node].parent) is not None and parent not in upwards:
            upwards[parent] = None
            node = parent
        return tuple(reversed(upwards))

    def branch_root(self, node: NodeId) -> NodeId:
        """Return EB(z): the first node below the root on the path to `node`, or the root itself."""
        path = self.path(node)
        return path[1] if len(path) > 1 else node

    def callers(self, node: NodeId) -> Region:
        """Return the nodes that rely on `node`'s interface: its dependents and consumers."""
        return frozenset(
            n.id
            for n in self.nodes
            if node in n.dependencies
            or any(isinstance(s.source, FromNode) and s.source.node == node for s in n.inputs)
        )

    def relied_on_by(self, node: NodeId) -> Region:
        """Return all direct and indirect dependencies and descendants of `node`."""
        reached: set[NodeId] = set()
        waiting = [node]
        while waiting:
            here = waiting.pop()
            new = {*self.by_id[here].dependencies, *self.children[here]} - reached
            reached |= new
            waiting.extend(new)
        return frozenset(reached - {node})


def region_of(target: Target, graph: TaskGraph) -> Region:
    """Return R(z): the nodes that a repair of `target` may change."""
    if isinstance(target, AtBranch):
        return graph.subtree(target.root)
    return frozenset(named_in(target))


def named_in(target: Target) -> tuple[NodeId, ...]:
    """Return the nodes that a target names itself, the most likely first."""
    match target:
        case AtNode(node=node) | AtBranch(root=node):
            return (node,)
        case AtNodes(nodes=nodes):
            return nodes
        case AtInterface(provider=provider, consumer=consumer):
            return provider, consumer


def graph_faults(graph: TaskGraph) -> tuple[str, ...]:
    """Return why `graph` is not valid; empty if the paper's GraphValid holds.

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
    """Return dependency cycles, and where the execution order violates dependencies.

    GraphValid does not cover these. Two more conditions are checked: there is one root, and each
    provenance names an existing output.
    """
    faults = []
    if _has_cycle((n.id, n.dependencies) for n in graph.nodes):
        faults.append("the dependencies have a cycle")
    position = {node: i for i, node in enumerate(graph.order)}
    for node in graph.nodes:
        if node.parent is None and node.id != graph.root:
            faults.append(f"{node.id} has no parent and is not the root")
        faults.extend(
            f"{node.id} is built before {d}, on which it depends"
            for d in node.dependencies
            if position.get(d, -1) > position.get(node.id, len(position))
        )
        for slot in node.inputs:
            if isinstance(slot.source, FromNode):
                producer = graph.by_id.get(slot.source.node)
                if producer is None or slot.source.slot not in {o.name for o in producer.outputs}:
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
    """A complete description of how a repair changes the graph."""

    added: tuple[Node, ...] = ()
    """New nodes, with new ids."""
    revised: tuple[Node, ...] = ()
    """Existing nodes whose description changed, as they are after the change."""
    retired: tuple[NodeId, ...] = ()
    """Removed nodes; their ids are never used again."""
    order: tuple[NodeId, ...] = ()
    """The execution order after the change."""

    @property
    def touched(self) -> Region:
        """The existing nodes that the delta changes or removes."""
        return frozenset({n.id for n in self.revised} | set(self.retired))


def apply(graph: TaskGraph, delta: GraphDelta) -> TaskGraph:
    """Return the graph after `delta`."""
    gone = set(delta.retired)
    new = {node.id: node for node in delta.revised}
    kept = tuple(new.get(n.id, n) for n in graph.nodes if n.id not in gone)
    return msgspec.structs.replace(graph, nodes=kept + delta.added, order=delta.order)


def diff(before: TaskGraph, after: TaskGraph) -> GraphDelta | None:
    """Return the delta from `before` to `after`; None if they are equal."""
    if before == after:
        return None
    return GraphDelta(
        added=tuple(n for n in after.nodes if n.id not in before.by_id),
        revised=tuple(n for n in after.nodes if before.by_id.get(n.id, n) != n),
        retired=tuple(n.id for n in before.nodes if n.id not in after.by_id),
        order=after.order,
    )
