"""Builds a graph with allocated ids from the parts and interfaces that models named.

Five of the nine checks of a plan are made here while the graph is built. If it cannot be built,
the outline has no graph, and the findings say why.
"""

import ast
from collections.abc import Iterable
from keyword import iskeyword
from typing import NamedTuple

import msgspec

from auditcoder.domain.contract import RESULT, Contract, CostBudget, Param
from auditcoder.domain.graph import (
    FromLocal,
    FromNode,
    FromTask,
    Node,
    NodeKind,
    Slot,
    Source,
    TaskGraph,
)
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.domain.python_names import (
    BUILTINS,
    PARSE_ERRORS,
    bound_by,
    expression,
    imported_by,
    parse,
)
from auditcoder.lifecycle.planning.contract_parser import (
    call_example,
    read_clause,
    read_cost,
    read_kind,
    validation_of,
)
from auditcoder.lifecycle.planning.plan import (
    MOST_CHILDREN,
    MOST_DEPTH,
    PlanRefused,
    checked,
    ordered,
    root_node,
)
from auditcoder.lifecycle.planning.plan_review import ReviewCheck, ReviewFinding, finding
from auditcoder.lifecycle.planning.planner_roles import (
    Decomposition,
    Interface,
    Interfaces,
    PlannedPart,
    Role,
)
from auditcoder.lifecycle.task_forms import RootFunction

_ROOT_LABELS = {"", "none", "null", "s0", "root"}
"""Labels that models write for the root or for no part."""

_TYPES = BUILTINS | {
    *("Any", "Callable", "Counter", "Dict", "Iterable", "Iterator", "List", "Mapping"),
    *("Optional", "Sequence", "Set", "Tuple", "Union", "defaultdict", "deque"),
}
_TYPE_PARTS = (
    ast.Name,
    ast.Subscript,
    ast.Tuple,
    ast.List,
    ast.Constant,
    ast.BinOp,
    ast.BitOr,
    ast.Load,
)


class Outline(NamedTuple):
    """A plan as far as it could be built, and the findings about it."""

    root: Contract | None
    """The contract of the root; None if it has no usable interface."""
    parts: dict[NodeId, PlannedPart]
    """The parts by their allocated ids; empty if they form no tree."""
    graph: TaskGraph | None
    findings: tuple[ReviewFinding, ...]

    @property
    def usable(self) -> bool:
        """Whether it can be committed despite its findings."""
        return self.graph is not None or self.only is not None

    @property
    def only(self) -> PlannedPart | None:
        """The single part of a plan; None if there are several or none."""
        return next(iter(self.parts.values())) if len(self.parts) == 1 else None

    @property
    def costs(self) -> dict[str, CostBudget]:
        """The cost budget of each leaf, by its label."""
        parents = {(part.parent or "").strip() for part in self.parts.values()}
        return {
            p.label: read_cost((p.cost,)) for p in self.parts.values() if p.label not in parents
        }


def outlined(
    root: RootFunction, decomposition: Decomposition, interfaces: Interfaces, cost: CostBudget
) -> Outline:
    """Build an outline from the answers of the decomposer and the interface designer."""
    builder = _OutlineBuilder(root, interfaces, cost)
    tree = builder.arrange(decomposition)
    only = next(iter(tree.ids)) if len(tree.ids) == 1 else ""
    top = builder.root_contract(only)
    graph = None
    if tree.ids and not only:
        nodes = builder.nodes(tree)
        if top is not None and all(node.contract for node in nodes):
            graph = builder.graph(root_node(top, tuple(tree.below(ROOT))), nodes)
    return Outline(top, tree.parts, graph, tuple(builder.findings))


class _Tree(NamedTuple):
    parts: dict[NodeId, PlannedPart] = {}
    parents: dict[NodeId, NodeId] = {}
    ids: dict[str, NodeId] = {}
    """The ids by the labels of the model."""

    def below(self, top: NodeId) -> list[NodeId]:
        return [node for node, parent in self.parents.items() if parent == top]

    def above(self, node: NodeId) -> set[NodeId]:
        ancestors = set()
        while (node := self.parents.get(node, ROOT)) != ROOT:
            ancestors.add(node)
        return ancestors


class _OutlineBuilder:
    """Builds one outline and collects its findings."""

    def __init__(self, root: RootFunction, interfaces: Interfaces, cost: CostBudget) -> None:
        self.findings: list[ReviewFinding] = []
        self._root = root
        self._cost = cost
        self._means_root = set(_ROOT_LABELS)
        self._interfaces: dict[str, Interface] = {}
        for interface in interfaces.interfaces:
            self._interfaces.setdefault(interface.label.strip(), interface)
        self._taken = {root.contract.name, *names_around(root)}
        self._types = _TYPES | self._taken

    def _add_finding(self, check: ReviewCheck, text: str) -> None:
        self.findings.append(finding(check, text))

    def arrange(self, decomposition: Decomposition) -> _Tree:
        """Allocate an id for every part, in the order listed; empty if the parts form no tree."""
        parts: dict[str, PlannedPart] = {}
        faults = []
        for number, part in enumerate(decomposition.parts, start=1):
            label = part.label.strip() or f"part {number}"
            if label.lower() in self._means_root or self._is_root(part):
                self._means_root.add(label.lower())
            elif label in parts:
                faults.append(f"two parts have the label {label}")
            else:
                parts[label] = msgspec.structs.replace(part, label=label)
        if self._root.contract.name not in parts:
            self._means_root.add(self._root.contract.name.lower())
        above = {label: self._parent(part) for label, part in parts.items()}
        faults += [
            f"{label} has the parent {parent}, which is no part"
            for label, parent in above.items()
            if parent and parent not in parts
        ]
        tree = _Tree({}, {}, {})

        def allocate(parent: str, under: NodeId, depth: int) -> None:
            children = [label for label in parts if above[label] == parent]
            if len(children) > MOST_CHILDREN:
                faults.append(f"{len(children)} parts under one; use at most {MOST_CHILDREN}")
            if children and depth > MOST_DEPTH:
                faults.append(f"parts stand {depth} levels deep; use at most {MOST_DEPTH}")
                return
            for label in children:
                node = child_of(under, tree.parts)
                tree.ids[label], tree.parts[node], tree.parents[node] = node, parts[label], under
                allocate(label, node, depth + 1)

        allocate("", ROOT, 1)
        if not parts:
            faults.append("there are no parts")
        elif not faults and len(tree.ids) < len(parts):
            circle = ", ".join(label for label in parts if label not in tree.ids)
            faults.append(f"{circle} are each other's parents in a circle")
        for fault in faults:
            self._add_finding(ReviewCheck.TREE, fault)
        return _Tree() if faults else tree

    def _is_root(self, part: PlannedPart) -> bool:
        return part.kind.strip().lower() == NodeKind.ORCHESTRATION.value and not self._parent(part)

    def _parent(self, part: PlannedPart) -> str:
        parent = (part.parent or "").strip()
        return "" if parent.lower() in self._means_root else parent

    def root_contract(self, only: str) -> Contract | None:
        """Return the contract of the root: the interface of the task, or else the designed one.

        If there is only one part, its interface counts as the interface of the root.
        """
        fixed = self._root.contract
        proposed = [i for n, i in self._interfaces.items() if n and n.lower() in self._means_root]
        proposed += [self._interfaces[only]] if only in self._interfaces else []
        designed = next((c for i in proposed if (c := self._as_contract(i, fixed.name))), None)
        if self._root.fixed:
            promised = designed if designed and _names(designed) == _names(fixed) else fixed
            return msgspec.structs.replace(
                fixed, requires=promised.requires, ensures=promised.ensures, cost=self._cost
            )
        if designed is None:
            self._add_finding(
                ReviewCheck.LEAVES, f"the root, {fixed.name}, has no usable interface"
            )
            return None
        return msgspec.structs.replace(designed, cost=self._cost)

    def nodes(self, tree: _Tree) -> list[Node]:
        """Return a node for every part, with its contract if that is usable."""
        return [self._node(node, part, tree) for node, part in tree.parts.items()]

    def _node(self, node: NodeId, part: PlannedPart, tree: _Tree) -> Node:
        below = tree.below(node)
        if not below and not part.kind.strip():
            text = f"{part.label} has no kind"
            self.findings.append(ReviewFinding(ReviewCheck.LEAVES, text, Role.TASK_DECOMPOSER))
        contract = self._contract(part, leaf=not below)
        declared = [
            Slot(
                name=value.name,
                type=value.type,
                source=self._source(node, part, value.name, value.source, tree),
            )
            for value in part.inputs
        ]
        needed = {s.source.node for s in declared if isinstance(s.source, FromNode)}
        needed |= {*below, *self._needed(node, part, tree)}
        return Node(
            id=node,
            goal=part.goal.strip() or f"Do the part called {part.label}",
            kind=read_kind((part.kind,)),
            parent=tree.parents[node],
            dependencies=tuple(n for n in tree.parts if n in needed),
            inputs=_parameter_sources(contract, declared) if contract else _once_each(declared),
            outputs=_once_each(Slot(name=o.name, type=o.type) for o in part.outputs)
            or (Slot(name=RESULT, type=contract.returns if contract else ""),),
            contract=contract,
            hints=part.hints,
            context=part.context,
            validation=validation_of(contract) if contract else (),
        )

    def _needed(self, node: NodeId, part: PlannedPart, tree: _Tree) -> list[NodeId]:
        """Return the valid dependencies of a part; the others become findings."""
        needed = []
        for label in part.dependencies:
            other = tree.ids.get(label.strip())
            if other is None or other == node:
                self._add_finding(
                    ReviewCheck.DEPENDENCIES,
                    f"{part.label} depends on {label}, which is no other part",
                )
            elif other in tree.above(node):
                self._add_finding(
                    ReviewCheck.DEPENDENCIES,
                    f"{part.label} depends on {label}, of which it is a part",
                )
            else:
                needed.append(other)
        return needed

    def _source(
        self, node: NodeId, part: PlannedPart, name: str, declared: str | None, tree: _Tree
    ) -> Source:
        """Return the source of an input: the task, the caller or the output of another part."""
        text = (declared or "").strip()
        if text.lower() in self._means_root:
            return FromTask() if tree.parents[node] == ROOT else FromLocal()
        label, _, output = (text, "", "") if text in tree.ids else text.rpartition(".")
        if label and label.lower() in self._means_root:
            return FromTask()
        maker = tree.ids.get(label)
        if maker in tree.above(node):
            return FromLocal()
        outputs = [o.name for o in tree.parts[maker].outputs] or [RESULT] if maker else []
        slot = outputs[0] if len(outputs) == 1 and not output else output
        if maker is None or maker == node or slot not in outputs:
            self._add_finding(
                ReviewCheck.FLOW,
                f"{part.label} takes {name} from {text}, which is no part's output",
            )
            return FromLocal()
        return FromNode(node=maker, slot=slot)

    def _contract(self, part: PlannedPart, leaf: bool) -> Contract | None:
        """Return the contract of a part; None, with a finding, if it is missing or unusable."""
        interface = self._interfaces.get(part.label)
        if interface is None:
            self._add_finding(ReviewCheck.LEAVES, f"{part.label} has no interface")
            return None
        name = interface.name.strip().removesuffix("()")
        contract = self._as_contract(interface, name)
        if not _is_name(name) or name in BUILTINS:
            self._add_finding(
                ReviewCheck.LEAVES, f"{part.label}: {name!r} cannot name a function of ours"
            )
        elif name in self._taken:
            self._add_finding(ReviewCheck.LEAVES, f"{part.label}: the name {name} is taken")
        elif contract is None:
            self._add_finding(
                ReviewCheck.LEAVES, f"{part.label}: {name} has parameters that Python refuses"
            )
        else:
            self._taken.add(name)
            fields: dict[str, object] = {"returns": contract.returns}
            fields |= {"requires": contract.requires, "ensures": contract.ensures} if leaf else {}
            if missing := [field for field, value in fields.items() if not value]:
                self._add_finding(
                    ReviewCheck.LEAVES, f"{part.label}: {name} lacks {', '.join(missing)}"
                )
            return msgspec.structs.replace(contract, cost=read_cost((part.cost,)))
        return None

    def _as_contract(self, interface: Interface, name: str) -> Contract | None:
        """Return an interface as a contract; None if its parameter names are invalid."""
        names = [p.name.strip() for p in interface.params]
        if not all(map(_is_name, names)) or len(set(names)) < len(names):
            return None
        known = set(names)
        return Contract(
            name=name,
            params=tuple(
                Param(name=n, type=self._type(p.type), description=p.description)
                for n, p in zip(names, interface.params, strict=True)
            ),
            returns=self._type(interface.returns),
            returns_description=interface.returns_description,
            requires=tuple(read_clause(t, known) for t in interface.requires if t.strip()),
            ensures=tuple(read_clause(t, known | {RESULT}) for t in interface.ensures if t.strip()),
            examples=tuple(
                e for t in interface.examples if (e := call_example(t.strip("` "), name))
            ),
        )

    def _type(self, text: str) -> str:
        """Return an annotation on one line; empty if it is not a known type."""
        try:
            tree = expression(text)
            inside = list(ast.walk(tree))
            known = all(n.id in self._types for n in inside if isinstance(n, ast.Name))
            plain = all(isinstance(n, _TYPE_PARTS) for n in inside)
            return ast.unparse(tree) if known and plain else ""
        except PARSE_ERRORS:
            return ""

    def graph(self, top: Node, nodes: list[Node]) -> TaskGraph | None:
        """Return the graph with its execution order; None, with a finding, if it is invalid."""
        every = (top, *nodes)
        try:
            order = ordered(every)
        except PlanRefused:
            self._add_finding(ReviewCheck.DEPENDENCIES, "the parts need each other in a circle")
            return None
        try:
            return checked(TaskGraph(nodes=every, order=order))
        except PlanRefused as refused:
            self._add_finding(ReviewCheck.ORDER, str(refused))
            return None


def names_around(root: RootFunction) -> set[str]:
    """Return the names that the given code and the main block bind around the root."""
    around = parse(root.given + root.main)
    return bound_by(around.body) | imported_by(around)


def _is_name(text: str) -> bool:
    return (
        text.isidentifier() and text.isascii() and not iskeyword(text) and not text.startswith("__")
    )


def _names(contract: Contract) -> list[str]:
    return [param.name for param in contract.params]


def _once_each(slots: Iterable[Slot]) -> tuple[Slot, ...]:
    """Return the slots without repeated names."""
    named: dict[str, Slot] = {}
    for slot in slots:
        named.setdefault(slot.name, slot)
    return tuple(named.values())


def _parameter_sources(contract: Contract, declared: list[Slot]) -> tuple[Slot, ...]:
    """Return the source of each parameter: the input of its name, else the one at its index."""
    named = {slot.name: slot.source for slot in declared}
    aligned = len(declared) == len(contract.params)
    return tuple(
        Slot(
            name=param.name,
            type=param.type,
            description=param.description,
            source=named.get(param.name, declared[at].source if aligned else FromLocal()),
        )
        for at, param in enumerate(contract.params)
    )
