"""Building: code for every node, one owner each. Asked for jointly, or node by node."""

from collections.abc import Iterable, Mapping, Sized
from contextlib import suppress

from auditcoder.domain.contract import Contract
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import ExceptionRaised
from auditcoder.domain.graph import Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.repair import IntegrationException
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.options import Build
from auditcoder.lifecycle.planning.plan import GivenCode
from auditcoder.lifecycle.planning.sketch_writer import sketch_text
from auditcoder.lifecycle.reply_splitter import CodePiece, SplitReply, SplitReplyFormat
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import root_of
from auditcoder.prompts import advice

DEGRADED = "degraded"
"""The agent of code that stands in for an answer that never came."""
_FIRST = 300
_EACH = 200
_MOST = 1600


def build(context: RunContext, given: Mapping[NodeId, GivenCode]) -> None:
    """Write down what is given, then ask for the rest."""
    for node, known in given.items():
        write_given(context, node, known)
    ask_for(context, _unwritten(context))


def write_given(context: RunContext, node: NodeId, known: GivenCode) -> None:
    """Write what is given; a plan's own code that the laws refuse is asked for instead."""
    try:
        context.recorder.write_code(
            node, known.source, agent=known.agent, scope=known.scope, reply=known.reply
        )
    except RecordRefused:
        if context.recorder.ledger.graph.by_id[node].contract is None:
            raise


def _unwritten(context: RunContext) -> list[NodeId]:
    """Return the nodes that promise code and have none, leaves first, the root last."""
    graph, code = context.recorder.ledger.graph, context.recorder.ledger.working.code
    return [n for n in (*graph.order, *graph.inner) if graph.by_id[n].contract and n not in code]


def ask_for(context: RunContext, nodes: list[NodeId], lesson: str = "") -> None:
    """Ask for the code of `nodes` as the options say, and write it down.

    `lesson` is what went wrong before, where something did.
    """
    if not nodes:
        return
    if context.options.build is Build.JOINT:
        write(context, nodes, joint(context, nodes, lesson), "joint")
        return
    # Within a budget one after another: what others have set aside must not decide who is refused.
    budget = context.options.budget
    if context.parallel > 1 and budget.tokens is budget.usd is None:
        drafts = context.recorder.run_in_threads(
            lambda node: alone(context, node, lesson), nodes, context.parallel
        )
    else:
        drafts = [alone(context, node, lesson) for node in nodes]
    for node, draft in zip(nodes, drafts, strict=True):
        write(
            context,
            [node],
            draft,
            specialist(context, context.recorder.ledger.graph.by_id[node]),
        )


def specialist(context: RunContext, node: Node) -> str:
    """Name the agent that a node's kind routes to."""
    return f"agent_{(node.kind if context.options.specialists else NodeKind.GENERAL).value}"


def joint(
    context: RunContext, nodes: list[NodeId], lesson: str = ""
) -> ModelAnswer[SplitReply] | None:
    """Ask for all of `nodes` in one call; None if no usable answer came."""
    graph = context.recorder.ledger.graph
    hints = "".join(f"\n- {h}" for n in nodes for h in graph.by_id[n].hints)
    prompt, told = _whole(context, nodes)
    try:
        return context.ask(
            prompt,
            draft_shape(context, nodes),
            Phase.GENERATION,
            room_for(nodes),
            role="joint builder",
            node=None,
            statement=context.statement,
            advice=(f"\n{hints}" if hints else "") + (f"\n\n{lesson}" if lesson else ""),
            **told,
        )
    except ReplyUnusable:
        return None


def room_for(nodes: Sized) -> int:
    """Return how many tokens the code of so many nodes may take."""
    return min(_FIRST + _EACH * len(nodes), _MOST)


def _whole(context: RunContext, nodes: list[NodeId]) -> tuple[str, dict[str, str]]:
    """Return the prompt that asks for all of `nodes`, with what it shows of them."""
    wanted = contracts(context.recorder.ledger.graph, nodes).values()
    if isinstance(context.task.form, ClassForm):
        prompt = "methods"
    elif len(context.recorder.ledger.graph.promises) == 1:
        # A sketch of one function has nothing to say to who writes it.
        return "sole", {"header": next(iter(wanted)).header()}
    else:
        prompt = "joint"
    functions = ", ".join(f"`{contract.name}`" for contract in wanted)
    return prompt, {"functions": functions, **around(context, nodes)}


def alone(context: RunContext, node: NodeId, lesson: str = "") -> ModelAnswer[SplitReply] | None:
    """Ask the specialist of a node's kind for its code; None if no usable answer came."""
    chosen = context.recorder.ledger.graph.by_id[node]
    assert chosen.contract is not None
    hints = (*chosen.hints, *([lesson] if lesson else ()))
    try:
        return context.ask(
            "method" if isinstance(context.task.form, ClassForm) else "node",
            draft_shape(context, [node]),
            Phase.GENERATION,
            _FIRST + _EACH,
            role=specialist(context, chosen),
            node=node,
            statement=context.statement,
            header=chosen.contract.header(),
            hints="".join(f"\n- {hint}" for hint in hints),
            advice=advice_for(context, chosen),
            **around(context, [node]),
        )
    except ReplyUnusable:
        return None


def around(context: RunContext, nodes: list[NodeId]) -> dict[str, str]:
    """Return what a prompt shows around the code: a sketch; a class is in the statement."""
    form = context.task.form
    if isinstance(form, ClassForm):
        return {"name": form.name}
    graph = context.recorder.ledger.graph
    return {"sketch": sketch_text(graph, root_code(context, nodes))}


def draft_shape(
    context: RunContext, nodes: list[NodeId], *, strict: bool = True
) -> SplitReplyFormat:
    """Ask for the code of `nodes`, beside what is there already."""
    graph = context.recorder.ledger.graph
    return SplitReplyFormat(
        contracts(graph, nodes),
        _others(graph, nodes),
        _scope(context),
        _present(context),
        strict=strict,
    )


def advice_for(context: RunContext, node: Node) -> str:
    """Return what the specialist of a node's kind knows."""
    plain = node.id == ROOT or not context.options.specialists
    return advice("general" if plain else node.kind.value)


def contracts(graph: TaskGraph, nodes: Iterable[NodeId]) -> dict[NodeId, Contract]:
    """Return what `nodes` promise."""
    return {n: c for n in nodes if (c := graph.by_id[n].contract)}


def _others(graph: TaskGraph, nodes: Iterable[NodeId]) -> dict[str, NodeId]:
    asked = set(nodes)
    return {name: node for name, node in graph.promises.items() if node not in asked}


def _present(context: RunContext) -> dict[NodeId, str]:
    """Return all code that is there already: to write it once more changes nothing."""
    code = context.recorder.ledger.working.code
    return {node: context.recorder.text(known.digest) for node, known in code.items()}


def _scope(context: RunContext) -> str:
    form = context.task.form
    return form.name if isinstance(form, ClassForm) else ""


def root_code(context: RunContext, nodes: Iterable[NodeId] = ()) -> str:
    """Return the root's code, for a reader, unless it is what is asked for."""
    code = context.recorder.ledger.working.code.get(ROOT)
    promises = context.recorder.ledger.graph.by_id[ROOT].contract is not None
    if code is None or ROOT in nodes or not promises:
        return ""
    text = context.recorder.text(code.digest)
    return text.split('\nif __name__ == "__main__":')[0]


def write(
    context: RunContext, nodes: list[NodeId], answer: ModelAnswer[SplitReply] | None, agent: str
) -> None:
    """Write down what an answer holds for `nodes`; where it holds nothing, that it did not."""
    draft = answer.value if answer else SplitReply({})
    seq = answer.seq if answer else None
    if draft.shared:
        _share(context, nodes[0], draft.shared, seq, agent)
    # What replaces old code comes first: it lets go of names that new nodes are promised.
    code = context.recorder.ledger.working.code
    for node in sorted(nodes, key=lambda n: n not in code):
        piece = draft.pieces.get(node)
        reason = draft.missing.get(node, "no usable answer came")
        if piece is None or not write_piece(context, node, piece, seq, agent):
            degrade(context, node, reason)
    # An edit may cross a boundary that the model insists on and gives a reason for.
    if draft.rationale and len(nodes) == 1:
        for other, piece in draft.crossing.items():
            _cross(context, nodes[0], other, draft.rationale, piece, seq, agent)


def _share(context: RunContext, node: NodeId, shared: str, seq: int | None, agent: str) -> None:
    """Put module-level helpers of a class before its statement, which is the root's.

    In a repair the root may be frozen; then that edit crosses a boundary, and says so first.
    """
    recorder = context.recorder
    transaction = recorder.ledger.transaction
    source = f"{shared}\n{recorder.text(recorder.ledger.working.code[ROOT].digest)}"
    if transaction is None or ROOT in transaction.region:
        write_piece(context, ROOT, CodePiece(source), seq, agent)
        return
    _cross(context, node, ROOT, "its helpers stand beside the class", CodePiece(source), seq, agent)


def write_piece(
    context: RunContext, node: NodeId, piece: CodePiece, seq: int | None, agent: str
) -> bool:
    """Write one node's code; False if the laws refuse it, such as for a name that is taken."""
    try:
        _write(context, node, piece, seq, agent)
    except RecordRefused:
        return False
    return True


def _write(
    context: RunContext,
    node: NodeId,
    piece: CodePiece,
    seq: int | None,
    agent: str,
    cause: NodeId | None = None,
) -> None:
    context.recorder.write_code(
        node,
        _dressed(context, node, piece.source),
        agent=agent,
        scope=_scope(context) if node != ROOT else "",
        cause=cause,
        reply=seq,
        note=piece.note,
    )


def _dressed(context: RunContext, node: NodeId, source: str) -> str:
    """Return the root's function with what its form puts around it; other code as it is."""
    if node != ROOT or isinstance(context.task.form, ClassForm):
        return source
    root = root_of(context.task)
    parts = [root.given, source, root.main]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def degrade(context: RunContext, node: NodeId, reason: str) -> None:
    """Stand in for an answer that never came; in a repair, what is there is better.

    Even that can be refused in a repair, where old code still owns the name: then the candidate
    has no code for the node, and is rejected.
    """
    if node not in context.recorder.ledger.working.code:
        with suppress(RecordRefused):
            replace(context, node, reason)


def replace(context: RunContext, node: NodeId, reason: str) -> None:
    """Let a node say, when it is called, that it was never written."""
    contract = context.recorder.ledger.graph.by_id[node].contract
    assert contract is not None
    names = ", ".join(p.name for p in contract.params)
    source = f"def {contract.name}({names}):\n    raise NotImplementedError({reason[:200]!r})\n"
    _write(context, node, CodePiece(source, reason), None, DEGRADED)


def _cross(
    context: RunContext,
    node: NodeId,
    other: NodeId,
    rationale: str,
    piece: CodePiece,
    seq: int | None,
    agent: str,
) -> None:
    transaction = context.recorder.ledger.transaction
    exception = IntegrationException(parent=node, child=other, rationale=rationale, region=(other,))
    try:
        if transaction is None or other not in transaction.region:
            context.recorder.record(ExceptionRaised(exception=exception))
        _write(context, other, piece, seq, agent, cause=node)
    except RecordRefused:
        return  # nothing was written; the boundary holds
