"""Building: code for every node, one owner each. Asked for jointly, or node by node."""

from collections.abc import Iterable, Mapping, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from auditcoder.domain.contract import Contract
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import ExceptionRaised
from auditcoder.domain.graph import Kind, Node, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.repair import IntegrationException
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.asking import Answer
from auditcoder.lifecycle.drafts import Draft, DraftShape, Piece
from auditcoder.lifecycle.forms import root_of
from auditcoder.lifecycle.planning.plan import Given
from auditcoder.lifecycle.planning.rendering import sketch_text
from auditcoder.lifecycle.workshop import Build, Workshop
from auditcoder.prompts import advice

DEGRADED = "degraded"
"""The agent of code that stands in for an answer that never came."""
_FIRST = 300
_EACH = 200
_MOST = 1600


def build(workshop: Workshop, given: Mapping[NodeId, Given]) -> None:
    """Write down what is given, then ask for the rest."""
    for node, known in given.items():
        write_given(workshop, node, known)
    ask_for(workshop, _unwritten(workshop))


def write_given(workshop: Workshop, node: NodeId, known: Given) -> None:
    """Write what is given; a plan's own code that the laws refuse is asked for instead."""
    try:
        workshop.recorder.write_code(
            node, known.source, agent=known.agent, scope=known.scope, reply=known.reply
        )
    except RecordRefused:
        if workshop.recorder.ledger.graph.by_id[node].contract is None:
            raise


def _unwritten(workshop: Workshop) -> list[NodeId]:
    """Return the nodes that promise code and have none, leaves first, the root last."""
    graph, code = workshop.recorder.ledger.graph, workshop.recorder.ledger.working.code
    return [n for n in (*graph.order, *graph.inner) if graph.by_id[n].contract and n not in code]


def ask_for(workshop: Workshop, nodes: list[NodeId], lesson: str = "") -> None:
    """Ask for the code of `nodes` as the options say, and write it down.

    `lesson` is what went wrong before, where something did.
    """
    if not nodes:
        return
    if workshop.options.build is Build.JOINT:
        write(workshop, nodes, joint(workshop, nodes, lesson), "joint")
        return
    # Within a budget one after another: what others have set aside must not decide who is refused.
    budget = workshop.options.budget
    if workshop.parallel > 1 and budget.tokens is budget.usd is None:
        with ThreadPoolExecutor(max_workers=min(workshop.parallel, len(nodes))) as pool:
            drafts = list(pool.map(lambda node: alone(workshop, node, lesson), nodes))
    else:
        drafts = [alone(workshop, node, lesson) for node in nodes]
    for node, draft in zip(nodes, drafts, strict=True):
        write(
            workshop,
            [node],
            draft,
            specialist(workshop, workshop.recorder.ledger.graph.by_id[node]),
        )


def specialist(workshop: Workshop, node: Node) -> str:
    """Name the agent that a node's kind routes to."""
    return f"agent_{(node.kind if workshop.options.specialists else Kind.GENERAL).value}"


def joint(workshop: Workshop, nodes: list[NodeId], lesson: str = "") -> Answer[Draft] | None:
    """Ask for all of `nodes` in one call; None if no usable answer came."""
    graph = workshop.recorder.ledger.graph
    hints = "".join(f"\n- {h}" for n in nodes for h in graph.by_id[n].hints)
    prompt, told = _whole(workshop, nodes)
    try:
        return workshop.ask(
            prompt,
            draft_shape(workshop, nodes),
            Phase.GENERATION,
            room_for(nodes),
            role="joint builder",
            node=None,
            statement=workshop.statement,
            advice=(f"\n{hints}" if hints else "") + (f"\n\n{lesson}" if lesson else ""),
            **told,
        )
    except ReplyUnusable:
        return None


def room_for(nodes: Sized) -> int:
    """Return how many tokens the code of so many nodes may take."""
    return min(_FIRST + _EACH * len(nodes), _MOST)


def _whole(workshop: Workshop, nodes: list[NodeId]) -> tuple[str, dict[str, str]]:
    """Return the prompt that asks for all of `nodes`, with what it shows of them."""
    wanted = contracts(workshop.recorder.ledger.graph, nodes).values()
    if isinstance(workshop.task.form, ClassForm):
        prompt = "methods"
    elif len(workshop.recorder.ledger.graph.promises) == 1:
        # A sketch of one function has nothing to say to who writes it.
        return "sole", {"header": next(iter(wanted)).header()}
    else:
        prompt = "joint"
    functions = ", ".join(f"`{contract.name}`" for contract in wanted)
    return prompt, {"functions": functions, **around(workshop, nodes)}


def alone(workshop: Workshop, node: NodeId, lesson: str = "") -> Answer[Draft] | None:
    """Ask the specialist of a node's kind for its code; None if no usable answer came."""
    chosen = workshop.recorder.ledger.graph.by_id[node]
    assert chosen.contract is not None
    hints = (*chosen.hints, *([lesson] if lesson else ()))
    try:
        return workshop.ask(
            "method" if isinstance(workshop.task.form, ClassForm) else "node",
            draft_shape(workshop, [node]),
            Phase.GENERATION,
            _FIRST + _EACH,
            role=specialist(workshop, chosen),
            node=node,
            statement=workshop.statement,
            header=chosen.contract.header(),
            hints="".join(f"\n- {hint}" for hint in hints),
            advice=advice_for(workshop, chosen),
            **around(workshop, [node]),
        )
    except ReplyUnusable:
        return None


def around(workshop: Workshop, nodes: list[NodeId]) -> dict[str, str]:
    """Return what a prompt shows around the code: a sketch; a class is in the statement."""
    form = workshop.task.form
    if isinstance(form, ClassForm):
        return {"name": form.name}
    graph = workshop.recorder.ledger.graph
    return {"sketch": sketch_text(graph, root_code(workshop, nodes))}


def draft_shape(workshop: Workshop, nodes: list[NodeId], *, strict: bool = True) -> DraftShape:
    """Ask for the code of `nodes`, beside what is there already."""
    graph = workshop.recorder.ledger.graph
    return DraftShape(
        contracts(graph, nodes),
        _others(graph, nodes),
        _scope(workshop),
        _present(workshop),
        strict=strict,
    )


def advice_for(workshop: Workshop, node: Node) -> str:
    """Return what the specialist of a node's kind knows."""
    plain = node.id == ROOT or not workshop.options.specialists
    return advice("general" if plain else node.kind.value)


def contracts(graph: TaskGraph, nodes: Iterable[NodeId]) -> dict[NodeId, Contract]:
    """Return what `nodes` promise."""
    return {n: c for n in nodes if (c := graph.by_id[n].contract)}


def _others(graph: TaskGraph, nodes: Iterable[NodeId]) -> dict[str, NodeId]:
    asked = set(nodes)
    return {name: node for name, node in graph.promises.items() if node not in asked}


def _present(workshop: Workshop) -> dict[NodeId, str]:
    """Return all code that is there already: to write it once more changes nothing."""
    code = workshop.recorder.ledger.working.code
    return {node: workshop.recorder.text(known.digest) for node, known in code.items()}


def _scope(workshop: Workshop) -> str:
    form = workshop.task.form
    return form.name if isinstance(form, ClassForm) else ""


def root_code(workshop: Workshop, nodes: Iterable[NodeId] = ()) -> str:
    """Return the root's code, for a reader, unless it is what is asked for."""
    code = workshop.recorder.ledger.working.code.get(ROOT)
    promises = workshop.recorder.ledger.graph.by_id[ROOT].contract is not None
    if code is None or ROOT in nodes or not promises:
        return ""
    text = workshop.recorder.text(code.digest)
    return text.split('\nif __name__ == "__main__":')[0]


def write(
    workshop: Workshop, nodes: list[NodeId], answer: Answer[Draft] | None, agent: str
) -> None:
    """Write down what an answer holds for `nodes`; where it holds nothing, that it did not."""
    draft = answer.value if answer else Draft({})
    seq = answer.seq if answer else None
    if draft.shared:
        _share(workshop, nodes[0], draft.shared, seq, agent)
    # What replaces old code comes first: it lets go of names that new nodes are promised.
    code = workshop.recorder.ledger.working.code
    for node in sorted(nodes, key=lambda n: n not in code):
        piece = draft.pieces.get(node)
        reason = draft.missing.get(node, "no usable answer came")
        if piece is None or not write_piece(workshop, node, piece, seq, agent):
            degrade(workshop, node, reason)
    # An edit may cross a boundary that the model insists on and gives a reason for.
    if draft.rationale and len(nodes) == 1:
        for other, piece in draft.crossing.items():
            _cross(workshop, nodes[0], other, draft.rationale, piece, seq, agent)


def _share(workshop: Workshop, node: NodeId, shared: str, seq: int | None, agent: str) -> None:
    """Put module-level helpers of a class before its statement, which is the root's.

    In a repair the root may be frozen; then that edit crosses a boundary, and says so first.
    """
    recorder = workshop.recorder
    transaction = recorder.ledger.transaction
    source = f"{shared}\n{recorder.text(recorder.ledger.working.code[ROOT].digest)}"
    if transaction is None or ROOT in transaction.region:
        write_piece(workshop, ROOT, Piece(source), seq, agent)
        return
    _cross(workshop, node, ROOT, "its helpers stand beside the class", Piece(source), seq, agent)


def write_piece(
    workshop: Workshop, node: NodeId, piece: Piece, seq: int | None, agent: str
) -> bool:
    """Write one node's code; False if the laws refuse it, such as for a name that is taken."""
    try:
        _write(workshop, node, piece, seq, agent)
    except RecordRefused:
        return False
    return True


def _write(
    workshop: Workshop,
    node: NodeId,
    piece: Piece,
    seq: int | None,
    agent: str,
    cause: NodeId | None = None,
) -> None:
    workshop.recorder.write_code(
        node,
        _dressed(workshop, node, piece.source),
        agent=agent,
        scope=_scope(workshop) if node != ROOT else "",
        cause=cause,
        reply=seq,
        note=piece.note,
    )
    written = workshop.recorder.ledger.working.code[node].digest
    workshop.versions.setdefault(node, []).append(written)


def _dressed(workshop: Workshop, node: NodeId, source: str) -> str:
    """Return the root's function with what its form puts around it; other code as it is."""
    if node != ROOT or isinstance(workshop.task.form, ClassForm):
        return source
    root = root_of(workshop.task)
    parts = [root.given, source, root.main]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def degrade(workshop: Workshop, node: NodeId, reason: str) -> None:
    """Stand in for an answer that never came; in a repair, what is there is better.

    Even that can be refused in a repair, where old code still owns the name: then the candidate
    has no code for the node, and is rejected.
    """
    if node not in workshop.recorder.ledger.working.code:
        with suppress(RecordRefused):
            replace(workshop, node, reason)


def replace(workshop: Workshop, node: NodeId, reason: str) -> None:
    """Let a node say, when it is called, that it was never written."""
    contract = workshop.recorder.ledger.graph.by_id[node].contract
    assert contract is not None
    names = ", ".join(p.name for p in contract.params)
    source = f"def {contract.name}({names}):\n    raise NotImplementedError({reason[:200]!r})\n"
    _write(workshop, node, Piece(source, reason), None, DEGRADED)


def _cross(
    workshop: Workshop,
    node: NodeId,
    other: NodeId,
    rationale: str,
    piece: Piece,
    seq: int | None,
    agent: str,
) -> None:
    transaction = workshop.recorder.ledger.transaction
    exception = IntegrationException(parent=node, child=other, rationale=rationale, region=(other,))
    try:
        if transaction is None or other not in transaction.region:
            workshop.recorder.record(ExceptionRaised(exception=exception))
        _write(workshop, other, piece, seq, agent, cause=node)
    except RecordRefused:
        return  # nothing was written; the boundary holds
