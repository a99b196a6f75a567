"""From parts and interfaces, as models name them, to a graph whose ids we allocate.

Five of the nine checks need nothing but a look while the graph is put together: they are made
here. Whatever keeps it from being put together at all leaves the outline without a graph.
"""

import ast
from keyword import iskeyword
from typing import NamedTuple

import msgspec

from auditcoder.domain.binding import (
    BUILTINS,
    PARSE_ERRORS,
    bound_by,
    expression,
    imported_by,
    parse,
)
from auditcoder.domain.contract import RESULT, Contract, Cost, Param
from auditcoder.domain.graph import (
    FromLocal,
    FromNode,
    FromTask,
    Kind,
    Node,
    Slot,
    Source,
    TaskGraph,
)
from auditcoder.domain.ids import ROOT, NodeId, child_of
from auditcoder.lifecycle.forms import Root
from auditcoder.lifecycle.planning.plan import (
    MOST_CHILDREN,
    MOST_DEPTH,
    PlanRefused,
    checked,
    ordered,
    root_node,
)
from auditcoder.lifecycle.planning.promises import (
    call_example,
    read_clause,
    read_cost,
    read_kind,
    validation_of,
)
from auditcoder.lifecycle.planning.review import Check, Finding, finding
from auditcoder.lifecycle.planning.roles import Decomposition, Interface, Interfaces, Part, Role

_NOTHING = {"", "none", "null", "s0", "root"}
"""What models write where they mean the root, or nothing."""

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
    """A plan as far as it could be put together, and what does not hold of it."""

    root: Contract | None
    """What the root promises; None if nobody said."""
    parts: dict[NodeId, Part]
    """The parts by the ids that we gave them; empty if they form no tree."""
    graph: TaskGraph | None
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether it can be committed, whatever else is found."""
        return self.graph is not None or self.only is not None

    @property
    def only(self) -> Part | None:
        """The one part that does everything, where there is only one."""
        return next(iter(self.parts.values())) if len(self.parts) == 1 else None

    @property
    def costs(self) -> dict[str, Cost]:
        """What each leaf may cost, by its label."""
        parents = {(part.parent or "").strip() for part in self.parts.values()}
        return {
            p.label: read_cost((p.cost,)) for p in self.parts.values() if p.label not in parents
        }


def outlined(
    root: Root, decomposition: Decomposition, interfaces: Interfaces, cost: Cost
) -> Outline:
    """Put a plan together from what the decomposer and the interface designer said."""
    outlining = _Outlining(root, interfaces, cost)
    tree = outlining.arrange(decomposition)
    only = next(iter(tree.ids)) if len(tree.ids) == 1 else ""
    top = outlining.root_contract(only)
    graph = None
    if tree.ids and not only:
        nodes = outlining.nodes(tree)
        if top is not None and all(node.contract for node in nodes):
            graph = outlining.graph(root_node(top, tuple(tree.below(ROOT))), nodes)
    return Outline(top, tree.parts, graph, tuple(outlining.findings))


class _Tree(NamedTuple):
    parts: dict[NodeId, Part] = {}
    parents: dict[NodeId, NodeId] = {}
    ids: dict[str, NodeId] = {}
    """By the model's labels."""

    def below(self, top: NodeId) -> list[NodeId]:
        return [node for node, parent in self.parents.items() if parent == top]

    def above(self, node: NodeId) -> set[NodeId]:
        found = set()
        while (node := self.parents.get(node, ROOT)) != ROOT:
            found.add(node)
        return found


class _Outlining:
    """Puts one outline together and keeps what does not hold."""

    def __init__(self, root: Root, interfaces: Interfaces, cost: Cost) -> None:
        self.findings: list[Finding] = []
        self._root = root
        self._cost = cost
        self._means_root = set(_NOTHING)
        self._interfaces: dict[str, Interface] = {}
        for interface in interfaces.interfaces:
            self._interfaces.setdefault(interface.label.strip(), interface)
        self._taken = {root.contract.name, *names_around(root)}
        self._types = _TYPES | self._taken

    def _found(self, check: Check, text: str) -> None:
        self.findings.append(finding(check, text))

    def arrange(self, decomposition: Decomposition) -> _Tree:
        """Allocate an id for every part, in the order listed; nothing if they form no tree."""
        parts: dict[str, Part] = {}
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
            self._found(Check.TREE, fault)
        return _Tree() if faults else tree

    def _is_root(self, part: Part) -> bool:
        return part.kind.strip().lower() == Kind.ORCHESTRATION.value and not self._parent(part)

    def _parent(self, part: Part) -> str:
        parent = (part.parent or "").strip()
        return "" if parent.lower() in self._means_root else parent

    def root_contract(self, only: str) -> Contract | None:
        """Return what the root promises: the task's interface, or the designed one if it has none.

        A part that does everything speaks for the root.
        """
        fixed = self._root.contract
        spoken = [i for n, i in self._interfaces.items() if n and n.lower() in self._means_root]
        spoken += [self._interfaces[only]] if only in self._interfaces else []
        said = next((c for i in spoken if (c := self._promised(i, fixed.name))), None)
        if self._root.fixed:
            promised = said if said and _names(said) == _names(fixed) else fixed
            return msgspec.structs.replace(
                fixed, requires=promised.requires, ensures=promised.ensures, cost=self._cost
            )
        if said is None:
            self._found(Check.LEAVES, f"the root, {fixed.name}, has no usable interface")
            return None
        return msgspec.structs.replace(said, cost=self._cost)

    def nodes(self, tree: _Tree) -> list[Node]:
        """Return a node for every part, with its contract if there is a usable one."""
        return [self._node(node, part, tree) for node, part in tree.parts.items()]

    def _node(self, node: NodeId, part: Part, tree: _Tree) -> Node:
        below = tree.below(node)
        if not below and not part.kind.strip():
            text = f"{part.label} has no kind"
            self.findings.append(Finding(Check.LEAVES, text, Role.TASK_DECOMPOSER))
        contract = self._contract(part, leaf=not below)
        declared = [
            Slot(
                name=said.name,
                type=said.type,
                description=said.description,
                source=self._source(node, part, said.name, said.source, tree),
            )
            for said in part.inputs
        ]
        needed = {s.source.node for s in declared if isinstance(s.source, FromNode)}
        needed |= {*below, *self._needed(node, part, tree)}
        return Node(
            id=node,
            goal=part.goal.strip() or f"Do the part called {part.label}",
            kind=read_kind((part.kind,)),
            parent=tree.parents[node],
            dependencies=tuple(n for n in tree.parts if n in needed),
            inputs=_passed(contract, declared) if contract else tuple(declared),
            outputs=tuple(
                Slot(name=o.name, type=o.type, description=o.description) for o in part.outputs
            )
            or (Slot(name=RESULT, type=contract.returns if contract else ""),),
            contract=contract,
            hints=part.hints,
            context=part.context,
            validation=validation_of(contract) if contract else (),
        )

    def _needed(self, node: NodeId, part: Part, tree: _Tree) -> list[NodeId]:
        """Return the parts that a part says it depends on, without what cannot be."""
        found = []
        for label in part.dependencies:
            other = tree.ids.get(label.strip())
            if other is None or other == node:
                self._found(
                    Check.DEPENDENCIES, f"{part.label} depends on {label}, which is no other part"
                )
            elif other in tree.above(node):
                self._found(
                    Check.DEPENDENCIES, f"{part.label} depends on {label}, of which it is a part"
                )
            else:
                found.append(other)
        return found

    def _source(self, node: NodeId, part: Part, name: str, said: str | None, tree: _Tree) -> Source:
        """Read where a value comes from: the task, whoever calls, or another part's output."""
        text = (said or "").strip()
        if text.lower() in self._means_root:
            return FromTask() if tree.parents[node] == ROOT else FromLocal()
        label, _, output = (text, "", "") if text in tree.ids else text.rpartition(".")
        if label and label.lower() in self._means_root:
            return FromTask()
        maker = tree.ids.get(label)
        if maker in tree.above(node):
            return FromLocal()
        made = [o.name for o in tree.parts[maker].outputs] or [RESULT] if maker else []
        slot = made[0] if len(made) == 1 and not output else output
        if maker is None or maker == node or slot not in made:
            self._found(
                Check.FLOW, f"{part.label} takes {name} from {text}, which is no part's output"
            )
            return FromLocal()
        return FromNode(node=maker, slot=slot)

    def _contract(self, part: Part, leaf: bool) -> Contract | None:
        """Return a part's contract; None, and why, if it has none that code could keep."""
        said = self._interfaces.get(part.label)
        if said is None:
            self._found(Check.LEAVES, f"{part.label} has no interface")
            return None
        name = said.name.strip().removesuffix("()")
        contract = self._promised(said, name)
        if not _is_name(name) or name in BUILTINS:
            self._found(Check.LEAVES, f"{part.label}: {name!r} cannot name a function of ours")
        elif name in self._taken:
            self._found(Check.LEAVES, f"{part.label}: the name {name} is taken")
        elif contract is None:
            self._found(Check.LEAVES, f"{part.label}: {name} has parameters that Python refuses")
        else:
            self._taken.add(name)
            wanted: dict[str, object] = {"returns": contract.returns}
            wanted |= {"requires": contract.requires, "ensures": contract.ensures} if leaf else {}
            if missing := [field for field, value in wanted.items() if not value]:
                self._found(Check.LEAVES, f"{part.label}: {name} lacks {', '.join(missing)}")
            return msgspec.structs.replace(contract, cost=read_cost((part.cost,)))
        return None

    def _promised(self, said: Interface, name: str) -> Contract | None:
        """Read an interface under a name; None if its parameters are none."""
        names = [p.name.strip() for p in said.params]
        if not all(map(_is_name, names)) or len(set(names)) < len(names):
            return None
        known = set(names)
        return Contract(
            name=name,
            params=tuple(
                Param(name=n, type=self._type(p.type), description=p.description)
                for n, p in zip(names, said.params, strict=True)
            ),
            returns=self._type(said.returns),
            returns_description=said.returns_description,
            requires=tuple(read_clause(t, known) for t in said.requires if t.strip()),
            ensures=tuple(read_clause(t, known | {RESULT}) for t in said.ensures if t.strip()),
            examples=tuple(e for t in said.examples if (e := call_example(t.strip("` "), name))),
        )

    def _type(self, text: str) -> str:
        """Return an annotation on one line; nothing for one that would not mean anything."""
        try:
            tree = expression(text)
            inside = list(ast.walk(tree))
            known = all(n.id in self._types for n in inside if isinstance(n, ast.Name))
            plain = all(isinstance(n, _TYPE_PARTS) for n in inside)
            return ast.unparse(tree) if known and plain else ""
        except PARSE_ERRORS:
            return ""

    def graph(self, top: Node, nodes: list[Node]) -> TaskGraph | None:
        """Return the whole in its execution order; None if there is none."""
        every = (top, *nodes)
        try:
            order = ordered(every)
        except PlanRefused:
            self._found(Check.DEPENDENCIES, "the parts need each other in a circle")
            return None
        try:
            return checked(TaskGraph(nodes=every, order=order))
        except PlanRefused as refused:
            self._found(Check.ORDER, str(refused))
            return None


def names_around(root: Root) -> set[str]:
    """Return the names that stand around the root: what came with the task, and the main block."""
    around = parse(root.given + root.main)
    return bound_by(around.body) | imported_by(around)


def _is_name(text: str) -> bool:
    return (
        text.isidentifier() and text.isascii() and not iskeyword(text) and not text.startswith("__")
    )


def _names(contract: Contract) -> list[str]:
    return [param.name for param in contract.params]


def _passed(contract: Contract, declared: list[Slot]) -> tuple[Slot, ...]:
    """Return where each parameter comes from: the input of its name, else the one in its place."""
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
