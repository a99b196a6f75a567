"""Writes a graph as a sketch, which is shown to the roles that write code."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from auditcoder.domain.code import is_from_the_future, read_bundle
from auditcoder.domain.contract import sig_match
from auditcoder.domain.graph import Node, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import CallExample
from auditcoder.lifecycle.planning.contract_parser import example_text
from auditcoder.lifecycle.planning.planned_code import split_context
from auditcoder.lifecycle.planning.signature_notes import shown_signature
from auditcoder.lifecycle.task_forms import stub_text

_DRAFTED = "# The plan has a draft of this function: write it again, as it is or better."


def sketch_text(
    graph: TaskGraph,
    root_code: str = "",
    definitions: str = "",
    drafted: Collection[NodeId] = (),
) -> str:
    """Return every function of the graph as a stub, and the code of the root if it is given.

    `definitions` is the code of what the functions share. Functions in `drafted` are shown as the
    planner wrote them, if it did.
    """
    shown = [n for n in graph.nodes if n.contract and not (n.id == ROOT and root_code)]
    if len(shown) == 1 and not root_code:
        return f"def {shown[0].contract.header()}:\n    ..." if shown[0].contract else ""
    imports, (shared, top) = imports_first([definitions.strip(), root_code.strip()])
    stubs = [draft_of(n) or stub_of(n) if n.id in drafted else stub_of(n) for n in shown]
    parts = [imports, f"{shared}\n" if shared else "", *stubs, top]
    return "\n\n".join(part for part in parts if part).strip()


class ImportsFirst(NamedTuple):
    """Pieces of one module."""

    imports: str
    """The imports of all pieces, each once."""
    pieces: list[str]
    """The pieces without them."""


def imports_first(pieces: Iterable[str]) -> ImportsFirst:
    """Separate the imports of several pieces of a module, so that they can be shown at its top.

    An import stays where it is if its place could matter, or if its name is imported as something
    else before.
    """
    known: dict[str, str] = {}
    imports: dict[str, bool] = {}
    rest = []
    for piece in pieces:
        bundle = read_bundle(piece)
        kept: list[str] = []
        for part in bundle.parts:
            lines = bundle.lines[part.first - 1 : part.last]
            if not part.lifted or any(
                known.get(i.name, i.meaning) != i.meaning for i in part.imported
            ):
                kept += lines
                continue
            new = [i for i in part.imported if i.name not in known]
            known |= {i.name: i.meaning for i in new}
            whole = "\n".join(lines).strip()
            texts = [whole] if len(new) == len(part.imported) else [i.statement for i in new]
            imports |= dict.fromkeys(texts, is_from_the_future(part.imported))
        rest.append("\n".join(kept).strip("\n"))
    return ImportsFirst("\n".join(sorted(imports, key=lambda text: not imports[text])), rest)


def stub_of(node: Node) -> str:
    """Return the stub that a node has in a sketch."""
    return stub_text(shown_signature(node).header, docstring(node))


def draft_of(node: Node) -> str:
    """Return a node's function as the planner wrote it; empty if it did not, or for other inputs.

    Its docstring holds what the stub would say.
    """
    draft = split_context(node.context).code
    if not draft or node.contract is None or not sig_match(node.contract, draft):
        return ""
    return f"{_DRAFTED}\n{draft}\n"


def docstring(node: Node) -> str:
    """Return the docstring that a node has in a sketch: its goal, context and contract."""
    said = split_context(shown_signature(node).context).rest
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
        example_text(contract.name, e) for e in contract.examples if isinstance(e, CallExample)
    ]


def described(node: Node) -> str:
    """Return a short description of one node: header, goal, cost and hints."""
    header = f"`{node.contract.header()}`: " if node.contract else ""
    hints = "".join(f"\n- hint: {hint}" for hint in node.hints)
    cost = node.contract.cost.time if node.contract else ""
    return f"{header}{node.goal}" + (f"\n- cost: {cost}" if cost else "") + hints
