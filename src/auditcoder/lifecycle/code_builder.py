"""Requests the code of every node, in one joint call or in one call per node, and records it."""

import ast
from collections.abc import Iterable, Mapping

from auditcoder.domain.contract import Contract
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import ExceptionRaised
from auditcoder.domain.graph import Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import parse
from auditcoder.domain.repair import IntegrationException
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.module_statements import binds, definition_form
from auditcoder.lifecycle.options import Build
from auditcoder.lifecycle.plan_excerpts import defined_text, shown_plan
from auditcoder.lifecycle.planning.plan import GivenCode
from auditcoder.lifecycle.planning.signature_notes import shown_signature
from auditcoder.lifecycle.planning.sketch_writer import sketch_text
from auditcoder.lifecycle.reply_splitter import (
    CodePiece,
    SplitReply,
    SplitReplyFormat,
)
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import root_of
from auditcoder.lifecycle.token_limits import code_size
from auditcoder.prompts import advice

DEGRADED = "degraded"
"""The agent recorded for a stub that replaces missing or unusable code."""


def build(context: RunContext, given: Mapping[NodeId, GivenCode]) -> None:
    """Record the code that the plan gives, then request the rest."""
    write_all_given(context, given)
    ask_for(context, unwritten(context))


def write_all_given(context: RunContext, given: Mapping[NodeId, GivenCode]) -> None:
    """Record the code that the plan gives."""
    for node, known in given.items():
        write_given(context, node, known)


def write_given(context: RunContext, node: NodeId, known: GivenCode) -> None:
    """Record given code. A rejection is ignored if the node has a contract: `build` requests it."""
    try:
        context.recorder.write_code(
            node, known.source, agent=known.agent, scope=known.scope, reply=known.reply
        )
    except RecordRefused as refused:
        if context.recorder.ledger.graph.by_id[node].contract is not None:
            return
        if node == ROOT:
            raise
        write_stub(context, node, str(refused), losses=(f"the definitions, because {refused}",))


def unwritten(context: RunContext) -> list[NodeId]:
    """Return the nodes whose code is to be written, leaves first and the root last.

    They are those with a contract and without code, and a leaf that is a whole program.
    """
    graph, code = context.recorder.ledger.graph, context.recorder.ledger.working.code
    wanted = {n.id for n in graph.nodes if n.contract} | {graph.whole} - {None}
    return [n for n in (*graph.order, *graph.inner) if n in wanted and n not in code]


def ask_for(context: RunContext, nodes: list[NodeId], lesson: str = "") -> None:
    """Request the code of `nodes`, jointly or one by one as the options say, and record it.

    `lesson` describes an earlier failure for the prompt; empty if there was none.
    """
    if not nodes:
        return
    if context.options.build is Build.JOINT:
        write(context, nodes, request_joint(context, nodes, lesson), "joint")
        return
    # Sequential under a budget: with parallel calls, the reservations of other threads would
    # decide which call exceeds it, so the run would not be reproducible.
    budget = context.options.budget
    if context.parallel > 1 and budget.tokens is budget.usd is None:
        drafts = context.recorder.run_in_threads(
            lambda node: request_node(context, node, lesson), nodes, context.parallel
        )
    else:
        drafts = [request_node(context, node, lesson) for node in nodes]
    for node, draft in zip(nodes, drafts, strict=True):
        write(
            context,
            [node],
            draft,
            specialist(context, context.recorder.ledger.graph.by_id[node]),
        )


def specialist(context: RunContext, node: Node) -> str:
    """Return the name of the agent for a node's kind."""
    return f"agent_{(node.kind if context.options.specialists else NodeKind.GENERAL).value}"


def request_joint(
    context: RunContext, nodes: list[NodeId], lesson: str = ""
) -> ModelAnswer[SplitReply] | None:
    """Request the code of all `nodes` in one call; return None if no answer is usable."""
    prompt, values = joint_prompt(context, nodes)
    try:
        return context.ask(
            prompt,
            draft_shape(context, nodes),
            Phase.GENERATION,
            code_size(nodes),
            role="joint builder",
            node=None,
            statement=context.statement,
            advice=hints_for(context, nodes) + (f"\n\n{lesson}" if lesson else ""),
            **values,
        )
    except ReplyUnusable:
        return None


def hints_for(context: RunContext, nodes: list[NodeId]) -> str:
    """Return the hints of the plan for these nodes as a list; empty if it has none."""
    graph = context.recorder.ledger.graph
    hints = "".join(f"\n- {h}" for n in nodes for h in graph.by_id[n].hints)
    return f"\n{hints}" if hints else ""


def joint_prompt(context: RunContext, nodes: list[NodeId]) -> tuple[str, dict[str, str]]:
    """Return the name of the prompt that requests all `nodes`, and its variables."""
    ledger = context.recorder.ledger
    wanted = contracts(ledger.graph, nodes).values()
    brief = ledger.working.brief
    if isinstance(context.task.form, ClassForm):
        prompt = "methods"
    elif len(ledger.graph.promises) == 1:
        # A sketch of a single function adds nothing to its header and what the plan says of it, and
        # a small model writes better code without its own plan (decision 021).
        known = None if context.limits.small else brief
        sole = shown_plan(known, ledger.graph.by_id[nodes[0]] if known else None)
        return "sole", {"header": next(iter(wanted)).header(), "plan": sole}
    else:
        prompt = "joint"
    functions = ", ".join(f"`{contract.name}`" for contract in wanted)
    return prompt, {
        "functions": functions,
        "plan": shown_plan(brief),
        **surrounding_code(context, nodes),
    }


def request_node(
    context: RunContext, node: NodeId, lesson: str = ""
) -> ModelAnswer[SplitReply] | None:
    """Request a node's code from its specialist; return None if no answer is usable."""
    chosen = context.recorder.ledger.graph.by_id[node]
    assert chosen.contract is not None
    hints = (*chosen.hints, *([lesson] if lesson else ()))
    try:
        return context.ask(
            "method" if isinstance(context.task.form, ClassForm) else "node",
            draft_shape(context, [node]),
            Phase.GENERATION,
            code_size([node]),
            role=specialist(context, chosen),
            node=node,
            statement=context.statement,
            header=shown_signature(chosen).header,
            plan=shown_plan(context.recorder.ledger.working.brief),
            hints="".join(f"\n- {hint}" for hint in hints),
            advice=advice_for(context, chosen),
            **surrounding_code(context, [node]),
        )
    except ReplyUnusable:
        return None


def surrounding_code(context: RunContext, nodes: list[NodeId]) -> dict[str, str]:
    """Return the prompt variables for the surrounding program.

    These are the sketch, or only the class name, since a class is part of the statement. A draft of
    the planner is shown to the first writer of its function only: a second opinion is independent.
    """
    form = context.task.form
    if isinstance(form, ClassForm):
        return {"name": form.name}
    ledger = context.recorder.ledger
    shared = defined_text(ledger.graph, ledger.working, nodes)
    drafted = {node for node in nodes if node not in ledger.working.code}
    return {"sketch": sketch_text(ledger.graph, root_code(context, nodes), shared, drafted)}


def draft_shape(
    context: RunContext, nodes: list[NodeId], *, strict: bool = True, new_header: bool = False
) -> SplitReplyFormat:
    """Return the format of a reply with the code of `nodes`, given the present code.

    A second opinion is not read strictly, and its pieces are tried alone. With `new_header`, the
    reply may change the parameters of a function.
    """
    graph = context.recorder.ledger.graph
    return SplitReplyFormat(
        contracts(graph, nodes),
        _others(graph, nodes),
        _scope(context),
        _present(context),
        strict=strict,
        known=_known(context, nodes),
        alone=not strict,
        new_header=new_header,
    )


def advice_for(context: RunContext, node: Node) -> str:
    """Return the advice text of a node's specialist."""
    plain = node.id == ROOT or not context.options.specialists
    return advice("general" if plain else node.kind.value)


def contracts(graph: TaskGraph, nodes: Iterable[NodeId]) -> dict[NodeId, Contract]:
    """Return the contracts of those `nodes` that have one."""
    return {n: c for n in nodes if (c := graph.by_id[n].contract)}


def _others(graph: TaskGraph, nodes: Iterable[NodeId]) -> dict[str, NodeId]:
    requested = set(nodes)
    return {name: node for name, node in graph.promises.items() if node not in requested}


def _present(context: RunContext) -> dict[NodeId, str]:
    """Return all present code, so that a reply that merely repeats it is not taken as an edit."""
    code = context.recorder.ledger.working.code
    return {node: context.recorder.text(known.digest) for node, known in code.items()}


def _known(context: RunContext, nodes: Iterable[NodeId]) -> dict[str, str]:
    """Return the definitions of other nodes by name, and their classes.

    A reply need not repeat them, and a copy of a class would be another class.
    """
    ledger = context.recorder.ledger
    requested = {ROOT, *nodes}
    known: dict[str, str] = {}
    for node, bundle in ledger.working.bundles.items():
        if node in requested or not bundle.parses or ledger.working.code[node].scope:
            continue
        for statement in parse(bundle.source).body:
            if isinstance(statement, ast.ClassDef) or node in ledger.graph.defining:
                known |= dict.fromkeys(binds(statement), definition_form(statement))
    return known


def _scope(context: RunContext) -> str:
    form = context.task.form
    return form.name if isinstance(form, ClassForm) else ""


def root_code(context: RunContext, nodes: Iterable[NodeId] = ()) -> str:
    """Return the root's code without its main block; empty if the root is one of `nodes`.

    It is also empty for a root without code or without a contract.
    """
    code = context.recorder.ledger.working.code.get(ROOT)
    promises = context.recorder.ledger.graph.by_id[ROOT].contract is not None
    if code is None or ROOT in nodes or not promises:
        return ""
    text = context.recorder.text(code.digest)
    return text.split('\nif __name__ == "__main__":')[0]


def write(
    context: RunContext, nodes: list[NodeId], answer: ModelAnswer[SplitReply] | None, agent: str
) -> None:
    """Record an answer's code for `nodes`; a node without usable code gets a stub."""
    draft = answer.value if answer else SplitReply({})
    seq = answer.seq if answer else None
    lost = draft.losses
    if draft.shared and not _write_shared(context, nodes[0], draft.shared, seq, agent):
        lost = (*lost, "the code beside the class, which cannot be written there")
    # The model may edit another node if it gives a reason.
    may_cross = bool(draft.rationale) and len(nodes) == 1
    if not may_cross:
        lost = (*lost, *(f"another version of {other}" for other in sorted(draft.crossing)))
    # Nodes with old code come first: replacing it can free names that new nodes need.
    code = context.recorder.ledger.working.code
    for node in sorted(nodes, key=lambda n: n not in code):
        piece = draft.pieces.get(node)
        reason = draft.missing.get(node, "no usable answer came")
        if piece is None:
            lost = () if degrade(context, node, reason, lost) else lost
            continue
        piece = piece._replace(losses=(*piece.losses, *lost))
        refusal = _refusal(context, node, piece, seq, agent)
        if refusal:
            degrade(context, node, refusal, (*piece.losses, f"its code, because {refusal}"))
        lost = ()
    if may_cross:
        for other, piece in draft.crossing.items():
            _cross(context, nodes[0], other, draft.rationale, piece, seq, agent)


def _write_shared(
    context: RunContext, node: NodeId, shared: str, seq: int | None, agent: str
) -> bool:
    """Write module-level helpers of a class into the root, before the class statement.

    If a repair has frozen the root, or the reply was for one node, an integration exception is
    recorded first. Return False if the laws reject the code.
    """
    recorder = context.recorder
    transaction = recorder.ledger.transaction
    source = f"{shared}\n{recorder.text(recorder.ledger.working.code[ROOT].digest)}"
    may_write = transaction is None or ROOT in transaction.region
    if may_write and write_piece(context, ROOT, CodePiece(source), seq, agent):
        return True
    why = "its helpers stand beside the class"
    return _cross(context, node, ROOT, why, CodePiece(source), seq, agent)


def write_piece(
    context: RunContext,
    node: NodeId,
    piece: CodePiece,
    seq: int | None,
    agent: str,
    cause: NodeId | None = None,
) -> bool:
    """Record one node's code; return False if the laws reject it, as for a name already in use.

    `cause` is the node that the reply was for, if that is another one.
    """
    return not _refusal(context, node, piece, seq, agent, cause)


def _refusal(
    context: RunContext,
    node: NodeId,
    piece: CodePiece,
    seq: int | None,
    agent: str,
    cause: NodeId | None = None,
) -> str:
    """Record one node's code; return why the laws reject it, or nothing."""
    try:
        _write(context, node, piece, seq, agent, cause)
    except RecordRefused as refused:
        return str(refused.__cause__ or refused)
    return ""


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
        with_main(context, node, piece.source),
        agent=agent,
        scope=scope_of(context, node),
        cause=cause,
        reply=seq,
        losses=piece.losses,
        note=piece.note,
    )


def scope_of(context: RunContext, node: NodeId) -> str:
    """Return the class that the code of a node is placed in; empty for module level."""
    return _scope(context) if node != ROOT else ""


def with_main(context: RunContext, node: NodeId, source: str) -> str:
    """Return the root's code with the given code and main block of its form; others unchanged."""
    if node != ROOT or isinstance(context.task.form, ClassForm):
        return source
    root = root_of(context.task)
    parts = [root.given, source, root.main]
    return "\n\n".join(part.strip("\n") for part in parts if part.strip()) + "\n"


def degrade(context: RunContext, node: NodeId, reason: str, losses: tuple[str, ...] = ()) -> bool:
    """Record a stub for a node without usable code; code that exists already is kept.

    In a repair the laws reject the stub if old code still owns the name. Then the candidate has
    no code for the node, and is rejected. Return whether a stub was recorded.
    """
    if node in context.recorder.ledger.working.code:
        return False
    try:
        write_stub(context, node, reason, losses)
    except RecordRefused:
        return False
    return True


def write_stub(
    context: RunContext, node: NodeId, reason: str, losses: tuple[str, ...] = ()
) -> None:
    """Replace a node's code by a stub that raises NotImplementedError with the reason.

    A node without a contract has no function that could raise it; its stub is a comment.
    """
    source = stub_of(context.recorder.ledger.graph.by_id[node], reason)
    _write(context, node, CodePiece(source, reason, losses), None, DEGRADED)


def stub_of(node: Node, reason: str) -> str:
    """Return the code of a node's stub."""
    if node.contract is None:
        return "# The definitions could not be used.\n"
    names = "*_" if node.contract.any_params else ", ".join(p.name for p in node.contract.params)
    raising = f"raise NotImplementedError({reason[:200]!r})"
    return f"def {node.contract.name}({names}):\n    {raising}\n"


def _cross(
    context: RunContext,
    node: NodeId,
    other: NodeId,
    rationale: str,
    piece: CodePiece,
    seq: int | None,
    agent: str,
) -> bool:
    """Record an edit of another node with its reason; return False if the laws reject it."""
    transaction = context.recorder.ledger.transaction
    exception = IntegrationException(parent=node, child=other, rationale=rationale, region=(other,))
    try:
        if transaction is None or other not in transaction.region:
            context.recorder.record(ExceptionRaised(exception=exception))
        _write(context, other, piece, seq, agent, cause=node)
    except RecordRefused:
        return False  # the edit is optional, so a rejection leaves the other node unchanged
    return True
