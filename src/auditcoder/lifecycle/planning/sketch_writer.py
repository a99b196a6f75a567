"""Writes a graph as a sketch, which is shown to the roles that write code."""

from auditcoder.domain.graph import Node, TaskGraph
from auditcoder.domain.ids import ROOT
from auditcoder.domain.task import CallExample
from auditcoder.lifecycle.planning.signature_notes import shown_signature
from auditcoder.lifecycle.task_forms import stub_text


def sketch_text(graph: TaskGraph, root_code: str = "", definitions: str = "") -> str:
    """Return every function of the graph as a stub, and the code of the root if it is given.

    `definitions` is the code of what the functions share.
    """
    shown = [n for n in graph.nodes if n.contract and not (n.id == ROOT and root_code)]
    if len(shown) == 1 and not root_code:
        return f"def {shown[0].contract.header()}:\n    ..." if shown[0].contract else ""
    stubs = [stub_of(n) for n in shown]
    stubs[:0] = [f"{definitions}\n"] if definitions else []
    return "\n\n".join([*stubs, root_code.strip()] if root_code else stubs).strip()


def stub_of(node: Node) -> str:
    """Return the stub that a node has in a sketch."""
    return stub_text(shown_signature(node).header, docstring(node))


def docstring(node: Node) -> str:
    """Return the docstring that a node has in a sketch: its goal, context and contract."""
    said = shown_signature(node).context.splitlines()
    lines = [node.goal, *(["", *said] if said else [])]
    facts = [f"kind: {node.kind.value}"] if node.id != ROOT else []
    facts += [fact for fact in facts_of(node) if not any(line.startswith(fact) for line in said)]
    text = "\n".join([*lines, "", *facts] if facts else lines)
    return text.replace("\\", "\\\\").replace('"""', "'''")


def facts_of(node: Node) -> list[str]:
    """Return what the contract of a node says beside its header, a labelled line for each fact."""
    contract = node.contract
    if contract is None:
        return []
    facts = [f"param {p.name}: {p.description}" for p in contract.params if p.description]
    facts += [f"returns: {contract.returns_description}"] * bool(contract.returns_description)
    facts += [f"requires: {c.expression or c.text}" for c in contract.requires]
    facts += [f"ensures: {c.expression or c.text}" for c in contract.ensures]
    facts += [f"invariant: {c.expression or c.text}" for c in contract.invariants]
    facts += [f"cost: {contract.cost.time}"] if contract.cost.time else []
    return facts + [
        f"example: {contract.name}({e.arguments}) == {e.result}"
        for e in contract.examples
        if isinstance(e, CallExample)
    ]


def described(node: Node) -> str:
    """Return a short description of one node: header, goal, cost and hints."""
    header = f"`{node.contract.header()}`: " if node.contract else ""
    hints = "".join(f"\n- hint: {hint}" for hint in node.hints)
    cost = node.contract.cost.time if node.contract else ""
    return f"{header}{node.goal}" + (f"\n- cost: {cost}" if cost else "") + hints
