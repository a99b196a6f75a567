"""Repairs a region inside a transaction; the candidate is accepted if its rank is higher.

The responses to the paper's six failure modes (appendix G):

- implementation or algorithm: the node is written again (`_revise`), or replaced by a second
  opinion that is known to pass (`_write_second_opinion`);
- interface: the region is first widened to the callers (`_widen`);
- decomposition: the branch is repaired instead, and a global cause leads to an abstention
  (`repair_choice.choose`);
- ambiguous evidence: the locator has abstained before;
- regression: the rank of the measured candidate decides (`measure`).
"""

import ast
from typing import NamedTuple

import msgspec

from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.contract import Contract, CostBudget
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import ExceptionRaised, GraphRevised
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import GraphDelta, apply, diff, named_in
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import PARSE_ERRORS, parse
from auditcoder.domain.repair import (
    FAULT_ELSEWHERE,
    Decision,
    IntegrationException,
    TransactionKind,
)
from auditcoder.domain.targets import AtBranch, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle import code_builder, repair_request
from auditcoder.lifecycle.definitions_repair import write_definitions_again
from auditcoder.lifecycle.failure_report import earlier_failure, failure_text
from auditcoder.lifecycle.fault_claims import record_claim
from auditcoder.lifecycle.locating.diagnosis_input import SecondOpinion
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.plan_excerpts import blamable_names
from auditcoder.lifecycle.planning.branch_replan import graft_shape
from auditcoder.lifecycle.planning.signature_notes import shown_signature
from auditcoder.lifecycle.planning.sketch_writer import described
from auditcoder.lifecycle.repair_reply import FaultElsewhere, RepairReplyFormat
from auditcoder.lifecycle.reply_splitter import CodePiece
from auditcoder.lifecycle.root_cause import CauseAnalysis, RootCause, first_node
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.second_opinions import opinion_role
from auditcoder.lifecycle.task_forms import contract_of
from auditcoder.lifecycle.token_limits import REPAIRED_CODE, SKETCH
from auditcoder.lifecycle.validation import validate_program, validate_region


class PlannedRepair(NamedTuple):
    """One bounded repair: its target, the failing check and the cause."""

    target: Target
    failing: Evidence
    finding: CauseAnalysis
    known: SecondOpinion | None = None
    """A second opinion on the first node with which every check is known to pass."""
    reasons: str = ""
    """The explanation of the diagnosis."""


def repair(context: RunContext, chosen: PlannedRepair) -> Decision:
    """Regenerate the region in a transaction; accept the candidate or roll back."""
    context.recorder.open_transaction(TransactionKind.BOUNDED)
    graph = context.recorder.ledger.graph
    is_function = graph.by_id[first_node(chosen.target)].contract is not None
    of_class = isinstance(context.task.form, ClassForm)
    if isinstance(chosen.target, AtBranch) and is_function and not of_class:
        claim = _repair_branch(context, chosen)
    else:
        claim = _repair_nodes(context, chosen)
    if claim is not None:
        node = context.recorder.ledger.graph.by_id[claim.node]
        decision = context.recorder.decide(f"{FAULT_ELSEWHERE}{claim.part}, because {claim.reason}")
        # After the rollback, which would remove it.
        record_claim(context, claim, code_builder.specialist(context, node))
        return decision
    return measure(context, chosen.finding.explanation)


def measure(context: RunContext, reason: str) -> Decision:
    """Run the same checks on the candidate as on its predecessor, and decide by rank."""
    recorder = context.recorder
    transaction = recorder.ledger.transaction
    assert transaction is not None
    try:
        if recorder.ledger.working.assembly is None:
            recorder.assemble()
    except (AssemblyConflict, RecordRefused) as conflict:
        return recorder.decide(f"the candidate cannot be put together: {conflict}")
    assembly = recorder.ledger.working.assembly
    assert assembly is not None
    if assembly.program == transaction.program:
        return recorder.decide("nothing was changed")
    validate_region(context, transaction.region)
    validate_program(context)
    return recorder.decide(reason)


def _repair_nodes(context: RunContext, chosen: PlannedRepair) -> FaultElsewhere | None:
    """Revise the first node's description, widen the region if needed, request the code again.

    If the first answer names another part instead, nothing is written and its claim is returned.
    """
    nodes = named_in(chosen.target)
    if chosen.known and _write_second_opinion(context, nodes[0], chosen.known):
        return None
    callers = _widen(context, nodes[0], chosen.finding)
    _revise(context, nodes[0], chosen.finding, may_change_interface=bool(callers))
    claim = _write_again(context, nodes[0], chosen)
    if claim is not None and claim.node not in {*nodes, *callers}:
        return claim
    for node in (*nodes[1:], *callers):
        _write_again(context, node, chosen)
    return None


def _write_second_opinion(context: RunContext, node: NodeId, known: SecondOpinion) -> bool:
    """Record a second opinion as the node's code; return False if the laws reject it."""
    note = "written to see which part is at fault, and everything passed with it"
    return code_builder.write_piece(
        context, node, CodePiece(known.source, note), known.seq, opinion_role(context)
    )


def _widen(context: RunContext, node: NodeId, finding: CauseAnalysis) -> list[NodeId]:
    """If the interface is wrong, record exceptions that widen the region; return the callers."""
    if finding.cause is not RootCause.INTERFACE:
        return []
    ledger = context.recorder.ledger
    assert ledger.transaction is not None
    callers = sorted(ledger.graph.callers(node) - ledger.transaction.region)
    widened = []
    for caller in callers:
        if ledger.graph.by_id[caller].contract is None:
            continue
        context.recorder.record(
            ExceptionRaised(
                exception=IntegrationException(
                    parent=node,
                    child=caller,
                    rationale=finding.explanation.strip() or "the interface is not what is meant",
                    region=(caller,),
                )
            )
        )
        widened.append(caller)
    return widened


def _revise(
    context: RunContext, node: NodeId, finding: CauseAnalysis, *, may_change_interface: bool
) -> None:
    """Update the node's hints, context, cost and, if allowed, interface from the analysis."""
    graph = context.recorder.ledger.graph
    before = graph.by_id[node]
    contract = before.contract
    if contract is not None and finding.cost.strip().startswith("O("):
        contract = msgspec.structs.replace(
            contract, cost=CostBudget(time=finding.cost.strip(), space=contract.cost.space)
        )
    if contract is not None and may_change_interface:
        contract = _with_header(contract, finding.signature)
    hints = tuple(h.strip() for h in finding.hints if h.strip())[:3]
    if finding.cause is RootCause.ALGORITHM:
        hints = (*hints, "the idea so far cannot work; use another one")
    after = msgspec.structs.replace(
        before,
        contract=contract,
        hints=hints or before.hints,
        context=_with_finding(before.context, finding.explanation.strip()),
    )
    if after == before:
        return
    delta = GraphDelta(revised=(after,), order=graph.order)
    try:
        context.recorder.record(GraphRevised(delta=delta, reason=finding.cause.value))
    except RecordRefused:
        return  # nodes outside the region rely on the interface, so the contract stays


def _with_finding(context: str, explanation: str) -> str:
    """Return what the plan says of a node, with what was found to be wrong with it."""
    lines = [line for line in context.splitlines() if not line.startswith(repair_request.FOUND)]
    found = [f"{repair_request.FOUND}{' '.join(explanation.split())}"] if explanation else []
    return "\n".join([*lines, *found])


def _with_header(contract: Contract, header: str) -> Contract:
    """Return the contract with another header, unless it is invalid or of another function."""
    try:
        text = header.strip().removeprefix("def ").removesuffix(":").strip("` ")
        function = parse(f"def {text}:\n    ...").body[0]
    except (*PARSE_ERRORS, IndexError):
        return contract
    if not isinstance(function, ast.FunctionDef) or function.name != contract.name:
        return contract
    new = contract_of(function)
    return msgspec.structs.replace(contract, params=new.params, returns=new.returns)


def _write_again(context: RunContext, node: NodeId, chosen: PlannedRepair) -> FaultElsewhere | None:
    """Request a node's code again; return the claim of an answer that names another part."""
    recorder = context.recorder
    graph, working = recorder.ledger.graph, recorder.ledger.working
    described_node = graph.by_id[node]
    code = working.code.get(node)
    contract = described_node.contract
    if node in graph.defining:
        reason = chosen.finding.explanation
        write_definitions_again(context, node, chosen.failing, reason)
    if contract is None or code is None:
        return None
    present = recorder.text(code.digest)
    hints = "".join(f"\n- {hint}" for hint in described_node.hints)
    of_class = isinstance(context.task.form, ClassForm)
    try:
        answer = context.ask(
            "repair_method" if of_class else "repair_node",
            RepairReplyFormat(
                code_builder.draft_shape(context, [node]),
                node,
                present,
                blamable_names(graph, working, node),
            ),
            Phase.GENERATION,
            REPAIRED_CODE,
            role=code_builder.specialist(context, described_node),
            node=node,
            statement=context.statement,
            code=present.strip(),
            failure=failure_text(context, chosen.failing),
            reason=f"{chosen.finding.explanation}{hints}",
            header=shown_signature(described_node).header,
            advice=code_builder.advice_for(context, described_node),
            program=repair_request.surroundings(context, node),
            suspicion=repair_request.suspicion(context, chosen.reasons),
            elsewhere=repair_request.elsewhere(context),
            plan=repair_request.plan(context),
            **(
                {"name": context.task.form.name} if isinstance(context.task.form, ClassForm) else {}
            ),
        )
    except ReplyUnusable:
        return None  # its answers are recorded; an unchanged candidate is rejected
    if isinstance(answer.value, FaultElsewhere):
        return answer.value
    written = ModelAnswer(answer.value, answer.reply, answer.seq)
    code_builder.write(context, [node], written, code_builder.specialist(context, described_node))
    return None


def _repair_branch(context: RunContext, chosen: PlannedRepair) -> FaultElsewhere | None:
    """Replan a branch behind its unchanged interface, then request its code."""
    recorder = context.recorder
    top = first_node(chosen.target)
    graph = recorder.ledger.graph
    node = graph.by_id[top]
    assert node.contract is not None
    region = graph.subtree(top)
    _revise(context, top, chosen.finding, may_change_interface=False)
    taken = sorted(name for name, n in graph.promises.items() if n not in region)
    try:
        answer = context.ask(
            "replan_branch",
            graft_shape(recorder.ledger, top),
            Phase.PLANNING,
            SKETCH,
            role="branch replanner",
            node=top,
            statement=context.statement,
            about=described(node),
            code=_codes(context, sorted(region)),
            failure=failure_text(context, chosen.failing),
            reason=chosen.finding.explanation,
            header=node.contract.header(),
            taken=", ".join(taken) or "none",
        )
    except ReplyUnusable:
        return _write_again(context, top, chosen)
    delta, sketch = answer.value
    revises = diff(graph, apply(graph, delta)) is not None
    if revises and not _record_delta(context, delta, sketch.losses):
        return _write_again(context, top, chosen)
    after = recorder.ledger.graph
    for added in delta.added:
        if added.contract is None:
            piece = CodePiece(sketch.definitions.source)
            code_builder.write_piece(context, added.id, piece, answer.seq, "branch replanner", top)
    todo = [n for n in after.order if n in after.subtree(top)]
    inner = [n for n in sorted(after.subtree(top), reverse=True) if n not in todo]
    if sketch.body and top not in todo:
        source = f"{sketch.imports}\n\n{sketch.body}" if sketch.imports else sketch.body
        if code_builder.write_piece(
            context, top, CodePiece(source), answer.seq, "branch replanner"
        ):
            inner.remove(top)
    promising = [n for n in (*todo, *inner) if after.by_id[n].contract]
    code_builder.ask_for(context, promising, earlier_failure(context, chosen.failing))
    return None


def _record_delta(context: RunContext, delta: GraphDelta, losses: tuple[str, ...]) -> bool:
    reason = "the branch was planned again"
    try:
        context.recorder.record(GraphRevised(delta=delta, reason=reason, losses=losses))
    except RecordRefused:
        return False
    return True


def _codes(context: RunContext, nodes: list[NodeId]) -> str:
    code = context.recorder.ledger.working.code
    return "\n\n".join(context.recorder.text(code[n].digest).strip() for n in nodes if n in code)
