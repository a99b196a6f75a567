"""Repairs a region inside a transaction; the candidate is accepted if its rank is higher.

One request asks for the cause and the code. The responses to the paper's six failure modes
(appendix G):

- implementation or algorithm: the code of the reply is written (`_write`), or that of a second
  opinion that is known to pass (`_write_second_opinion`);
- interface: the region is first widened to the callers (`_widen`), which are asked for next;
- decomposition or global: if the reply has no code, nothing is changed; the branch is repaired
  next, or the locator abstains (`repair_choice.choose`);
- ambiguous evidence: the locator has abstained before;
- regression: the rank of the measured candidate decides (`measure`).
"""

from typing import NamedTuple

import msgspec

from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.contract import Contract
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import ExceptionRaised, GraphRevised
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import GraphDelta, Region, TaskGraph, apply, diff, named_in
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.repair import (
    FAULT_ELSEWHERE,
    PLAN_AT_FAULT,
    Decision,
    IntegrationException,
    TransactionKind,
)
from auditcoder.domain.targets import AtBranch, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle import code_builder, repair_request
from auditcoder.lifecycle.definitions_repair import request_definitions
from auditcoder.lifecycle.failure_report import earlier_failure, failure_text
from auditcoder.lifecycle.fault_claims import record_claim
from auditcoder.lifecycle.import_completion import without_stars
from auditcoder.lifecycle.locating.diagnosis_input import SecondOpinion
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.plan_excerpts import blamable_names
from auditcoder.lifecycle.planning.branch_replan import graft_shape
from auditcoder.lifecycle.planning.signature_notes import shown_signature
from auditcoder.lifecycle.planning.sketch_writer import described
from auditcoder.lifecycle.repair_reply import (
    NO_REASON,
    CodeReplyFormat,
    FaultElsewhere,
    RepairAnswer,
    RepairedCode,
    RepairReplyFormat,
)
from auditcoder.lifecycle.reply_splitter import CodePiece, SplitReply
from auditcoder.lifecycle.response_formats import ParsedPython
from auditcoder.lifecycle.root_cause import PLAN_FAULTS, UNKNOWN_CAUSE, RootCause, StatedCause
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.second_opinions import opinion_role
from auditcoder.lifecycle.task_forms import stated, wanted, with_header_of
from auditcoder.lifecycle.token_limits import REPAIRED_CODE, REPAIRED_PROGRAM, SKETCH
from auditcoder.lifecycle.validation import validate_program, validate_region


class PlannedRepair(NamedTuple):
    """One bounded repair: its diagnosis, the failing check and what is known of the cause."""

    diagnosis: Localised
    failing: Evidence
    cause: StatedCause = UNKNOWN_CAUSE
    """What was said about the cause before this repair."""
    known: SecondOpinion | None = None
    """A second opinion on the first node with which every check is known to pass."""
    reasons: str = ""
    """The explanation of the diagnosis."""
    without_code: frozenset[RootCause] = frozenset()
    """The causes that may be answered without code, because another step can follow from them."""

    @property
    def target(self) -> Target:
        """What is to be repaired."""
        return self.diagnosis.target

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """The nodes that the target names, the most likely first."""
        return named_in(self.target)


class RepairResult(NamedTuple):
    """The result of a repair."""

    decision: Decision
    cause: StatedCause | None = None
    """The cause that the author of the code stated; None if there was none."""
    plan_fault: bool = False
    """Whether the cause came without code, because no code of the node can be right."""


def repair(context: RunContext, chosen: PlannedRepair) -> RepairResult:
    """Regenerate the region in a transaction; accept the candidate or roll back."""
    context.recorder.open_transaction(TransactionKind.BOUNDED)
    graph = context.recorder.ledger.graph
    is_function = graph.by_id[chosen.nodes[0]].contract is not None
    of_class = isinstance(context.task.form, ClassForm)
    if isinstance(chosen.target, AtBranch) and is_function and not of_class:
        answer = _repair_branch(context, chosen)
    else:
        answer = _repair_nodes(context, chosen)
    match answer:
        case FaultElsewhere():
            return RepairResult(_follow_claim(context, answer))
        case StatedCause(kind=kind, explanation=explanation):
            reason = f"{PLAN_AT_FAULT}{PLAN_FAULTS[kind]}, because {explanation or NO_REASON}"
            return RepairResult(context.recorder.decide(reason), answer, plan_fault=True)
        case RepairedCode(cause=cause) if cause.explanation:
            return RepairResult(measure(context, cause.explanation), cause)
        case _:
            planned = isinstance(chosen.target, AtBranch)
            done = "the branch was planned again" if planned else "no cause was stated"
            return RepairResult(measure(context, chosen.cause.explanation or done))


def _follow_claim(context: RunContext, claim: FaultElsewhere) -> Decision:
    node = context.recorder.ledger.graph.by_id[claim.node]
    decision = context.recorder.decide(f"{FAULT_ELSEWHERE}{claim.part}, because {claim.reason}")
    # After the rollback, which would remove it.
    record_claim(context, claim, code_builder.specialist(context, node))
    return decision


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


def _repair_nodes(context: RunContext, chosen: PlannedRepair) -> RepairAnswer | None:
    """Request and write the code of the first node, then that of the others and of callers.

    Return the answer for the first node; None if there is none, or if it names another node that
    is repaired here. If it is not code, nothing is written.
    """
    first, *others = chosen.nodes
    if chosen.known and _write_second_opinion(context, first, chosen.known):
        return None
    answer = _request(context, first, chosen, leads=True)
    said: RepairAnswer | None = answer.value if answer else None
    names_other = isinstance(said, FaultElsewhere) and said.node not in others
    if names_other or isinstance(said, StatedCause):
        return said
    if answer is not None and isinstance(said, RepairedCode):
        kind, explanation = said.cause
        cause = StatedCause(kind, explanation or chosen.cause.explanation)
        chosen = chosen._replace(cause=cause)
        callers = _widen(context, first, cause)
        _write(context, first, answer, said.code, cause, new_interface=bool(callers))
        # The reply may hold the callers' code as well.
        written = said.code.crossing if said.code.rationale else ()
        others += [caller for caller in callers if caller not in {*others, *written}]
    for node in others:
        further = _request(context, node, chosen)
        if further is not None and isinstance(further.value, RepairedCode):
            _write(context, node, further, *further.value)
    return None if isinstance(said, FaultElsewhere) else said


def _write_second_opinion(context: RunContext, node: NodeId, known: SecondOpinion) -> bool:
    """Record a second opinion as the node's code; return False if the laws reject it."""
    note = "written to see which part is at fault, and everything passed with it"
    return code_builder.write_piece(
        context, node, CodePiece(known.source, note), known.seq, opinion_role(context)
    )


def _callers(graph: TaskGraph, node: NodeId) -> Region:
    """Return the callers that a change of a node's interface must include; none if it is fixed.

    The task fixes the interface of the root, and the skeleton those of a class.
    """
    callers = graph.callers(node)
    fixed = node == ROOT or any(graph.by_id[caller].contract is None for caller in callers)
    return frozenset() if fixed else callers


def _widen(context: RunContext, node: NodeId, cause: StatedCause) -> list[NodeId]:
    """If the interface is wrong, record exceptions that widen the region; return all callers."""
    if cause.kind is not RootCause.INTERFACE:
        return []
    ledger = context.recorder.ledger
    assert ledger.transaction is not None
    callers = sorted(_callers(ledger.graph, node))
    for caller in callers:
        if caller in ledger.transaction.region:
            continue
        context.recorder.record(
            ExceptionRaised(
                exception=IntegrationException(
                    parent=node,
                    child=caller,
                    rationale=cause.explanation or "the interface is not what is meant",
                    region=(caller,),
                )
            )
        )
    return callers


def _revise(
    context: RunContext, node: NodeId, cause: StatedCause, contract: Contract | None = None
) -> None:
    """Record the cause on a node and, if one is given, its new contract."""
    graph = context.recorder.ledger.graph
    before = graph.by_id[node]
    after = msgspec.structs.replace(
        before,
        contract=contract or before.contract,
        context=_with_finding(before.context, cause.explanation),
    )
    if after == before:
        return
    delta = GraphDelta(revised=(after,), order=graph.order)
    try:
        context.recorder.record(GraphRevised(delta=delta, reason=cause.kind.value))
    except RecordRefused:
        if contract is not None:  # the contract stays
            _revise(context, node, cause)


def _with_finding(context: str, explanation: str) -> str:
    """Return what the plan says of a node, with what was found to be wrong with it."""
    lines = [line for line in context.splitlines() if not line.startswith(repair_request.FOUND)]
    found = [f"{repair_request.FOUND}{' '.join(explanation.split())}"] if explanation else []
    return "\n".join([*lines, *found])


def _request(
    context: RunContext, node: NodeId, chosen: PlannedRepair, *, leads: bool = False
) -> ModelAnswer[RepairAnswer] | ModelAnswer[RepairedCode] | None:
    """Request a node's code with the cause; return None if no answer is usable.

    Only the answer that leads a repair may change the interface or do without code.
    """
    recorder = context.recorder
    graph, working = recorder.ledger.graph, recorder.ledger.working
    described_node = graph.by_id[node]
    code, contract = working.code.get(node), described_node.contract
    reasons = {
        "suspicion": repair_request.suspicion(context, chosen.reasons),
        "told": repair_request.told(chosen.cause.explanation, described_node.hints),
    }
    if node in graph.defining:
        return request_definitions(context, node, chosen.failing, **reasons)
    if code is not None and node == graph.whole:
        return _request_whole(context, node, recorder.text(code.digest), chosen.failing, reasons)
    if contract is None or code is None:
        return None
    present = recorder.text(code.digest)
    form = context.task.form
    new_header = leads and bool(_callers(graph, node))
    without_code = chosen.without_code if leads else frozenset()
    interface = {RootCause.INTERFACE} if new_header else frozenset()
    try:
        return context.ask(
            "repair_method" if isinstance(form, ClassForm) else "repair_node",
            RepairReplyFormat(
                code_builder.draft_shape(context, [node], new_header=new_header),
                node,
                contract,
                present,
                blamable_names(graph, working, node),
                without_code,
            ),
            Phase.GENERATION,
            REPAIRED_CODE,
            role=code_builder.specialist(context, described_node),
            node=node,
            statement=context.statement,
            code=present.strip(),
            failure=failure_text(context, chosen.failing),
            header=shown_signature(described_node).header,
            advice=code_builder.advice_for(context, described_node),
            program=repair_request.surroundings(context, node),
            kinds=repair_request.kinds({*interface, *without_code}),
            elsewhere=repair_request.elsewhere(context),
            plan=repair_request.plan(context),
            **reasons,
            **({"name": form.name} if isinstance(form, ClassForm) else {}),
        )
    except ReplyUnusable:
        return None  # its answers are recorded; an unchanged candidate is rejected


def _request_whole(
    context: RunContext, node: NodeId, code: str, failing: Evidence, reasons: dict[str, str]
) -> ModelAnswer[RepairedCode] | None:
    """Request a whole program again; return None if no answer is usable."""
    task = context.task
    try:
        return context.ask(
            "repair_whole",
            CodeReplyFormat(ParsedPython(lambda text: CodePiece(*without_stars(text))), node),
            Phase.GENERATION,
            REPAIRED_PROGRAM,
            role=code_builder.specialist(context, context.recorder.ledger.graph.by_id[node]),
            node=node,
            statement=stated(task),
            code=code.strip(),
            failure=failure_text(context, failing),
            wanted=wanted(task),
            kinds=repair_request.kinds(()),
            **reasons,
        )
    except ReplyUnusable:
        return None


def _write(
    context: RunContext,
    node: NodeId,
    answer: ModelAnswer[RepairAnswer] | ModelAnswer[RepairedCode],
    code: SplitReply,
    cause: StatedCause,
    *,
    new_interface: bool = False,
) -> None:
    """Record the cause on a node, with the contract that a new interface needs; then its code."""
    described_node = context.recorder.ledger.graph.by_id[node]
    piece, contract = code.pieces.get(node), described_node.contract
    new = with_header_of(contract, piece.source) if contract and piece and new_interface else None
    _revise(context, node, cause, new)
    written = ModelAnswer(code, answer.reply, answer.seq)
    code_builder.write(context, [node], written, code_builder.specialist(context, described_node))


def _repair_branch(context: RunContext, chosen: PlannedRepair) -> RepairAnswer | None:
    """Replan a branch behind its unchanged interface, then request its code."""
    recorder = context.recorder
    top = chosen.nodes[0]
    graph = recorder.ledger.graph
    node = graph.by_id[top]
    assert node.contract is not None
    region = graph.subtree(top)
    _revise(context, top, chosen.cause)
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
            suspicion=repair_request.suspicion(context, chosen.reasons),
            told=repair_request.told(chosen.cause.explanation),
            header=node.contract.header(),
            taken=", ".join(taken) or "none",
        )
    except ReplyUnusable:
        return _repair_nodes(context, chosen)
    delta, sketch = answer.value
    revises = diff(graph, apply(graph, delta)) is not None
    if revises and not _record_delta(context, delta, sketch.losses):
        return _repair_nodes(context, chosen)
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
