"""Repairing: the region is written again inside a transaction, and the ranks decide.

The responses to the paper's six failure modes (appendix G): an implementation or an algorithm is
written again in its node (`_revise`), unless what passes in its place is known already (`_take`);
an interface widens the region to its callers first (`_widen`); a wrong cut lifts the repair to the
branch, and what is global is not repaired within bounds (`diagnosing.choose`); ambiguous evidence
was an abstention already; and whether a repair made something worse is decided by rank, when the
candidate has been measured (`measure`).
"""

import ast
from typing import NamedTuple

import msgspec

from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.binding import PARSE_ERRORS, parse
from auditcoder.domain.contract import Contract, Cost
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import ExceptionRaised, GraphRevised
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import GraphDelta, apply, diff, named_in
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtBranch, Target
from auditcoder.domain.repair import Decision, IntegrationException, TransactionKind
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle import building
from auditcoder.lifecycle.asking import SECOND_OPINION
from auditcoder.lifecycle.considering import Cause, Finding, top_of
from auditcoder.lifecycle.drafts import Piece
from auditcoder.lifecycle.failures import failure_text, lesson
from auditcoder.lifecycle.forms import contract_of
from auditcoder.lifecycle.planning.grafting import graft_shape
from auditcoder.lifecycle.planning.rendering import described
from auditcoder.lifecycle.validating import validate_program, validate_region
from auditcoder.lifecycle.workshop import SecondOpinion, Workshop

_CODE_TOKENS = 500
_SKETCH_TOKENS = 500


class Repair(NamedTuple):
    """One bounded repair, about to happen."""

    target: Target
    failing: Evidence
    finding: Finding
    known: SecondOpinion | None = None
    """What passes every check in the first node's place, if that was seen already."""


def repair(workshop: Workshop, chosen: Repair) -> Decision:
    """Regenerate the region inside a transaction, measure the candidate, accept or restore."""
    workshop.recorder.open_transaction(TransactionKind.BOUNDED)
    if isinstance(chosen.target, AtBranch) and not isinstance(workshop.task.form, ClassForm):
        _branch(workshop, chosen)
    else:
        _nodes(workshop, chosen)
    return measure(workshop, chosen.finding.explanation)


def measure(workshop: Workshop, reason: str) -> Decision:
    """Check the candidate as its predecessor was checked, and let the ranks decide."""
    recorder = workshop.recorder
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
    validate_region(workshop, transaction.region)
    validate_program(workshop)
    return recorder.decide(reason)


def _nodes(workshop: Workshop, chosen: Repair) -> None:
    """Revise what the first node is told, widen where its interface is at stake, ask again."""
    nodes = named_in(chosen.target)
    if chosen.known and _take(workshop, nodes[0], chosen.known):
        return
    callers = _widen(workshop, nodes[0], chosen.finding)
    _revise(workshop, nodes[0], chosen.finding, may_change_interface=bool(callers))
    for node in (*nodes, *callers):
        _write_again(workshop, node, chosen)


def _take(workshop: Workshop, node: NodeId, known: SecondOpinion) -> bool:
    """Write what was seen to pass in a node's place; False if the laws refuse it."""
    note = "written to see which part is at fault, and everything passed with it"
    return building.write_piece(
        workshop, node, Piece(known.source, note), known.seq, SECOND_OPINION
    )


def _widen(workshop: Workshop, node: NodeId, finding: Finding) -> list[NodeId]:
    """Announce that callers must change too, where the interface between them is wrong."""
    if finding.cause is not Cause.INTERFACE:
        return []
    ledger = workshop.recorder.ledger
    assert ledger.transaction is not None
    callers = sorted(ledger.graph.callers(node) - ledger.transaction.region)
    widened = []
    for caller in callers:
        if ledger.graph.by_id[caller].contract is None:
            continue
        workshop.recorder.record(
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
    workshop: Workshop, node: NodeId, finding: Finding, *, may_change_interface: bool
) -> None:
    """Put what was learned into the node's hints, context, cost and, if allowed, interface."""
    graph = workshop.recorder.ledger.graph
    before = graph.by_id[node]
    contract = before.contract
    if contract is not None and finding.cost.strip().startswith("O("):
        contract = msgspec.structs.replace(
            contract, cost=Cost(time=finding.cost.strip(), space=contract.cost.space)
        )
    if contract is not None and may_change_interface:
        contract = _reheaded(contract, finding.signature)
    hints = tuple(h.strip() for h in finding.hints if h.strip())[:3]
    if finding.cause is Cause.ALGORITHM:
        hints = (*hints, "the idea so far cannot work; use another one")
    after = msgspec.structs.replace(
        before,
        contract=contract,
        hints=hints or before.hints,
        context=finding.explanation.strip() or before.context,
    )
    if after == before:
        return
    delta = GraphDelta(revised=(after,), order=graph.order)
    try:
        workshop.recorder.record(GraphRevised(delta=delta, reason=finding.cause.value))
    except RecordRefused:
        return  # the interface is relied on outside; the node is written again as it was promised


def _reheaded(contract: Contract, header: str) -> Contract:
    """Return the contract with another header, if that is one of the same function."""
    try:
        text = header.strip().removeprefix("def ").removesuffix(":").strip("` ")
        function = parse(f"def {text}:\n    ...").body[0]
    except (*PARSE_ERRORS, IndexError):
        return contract
    if not isinstance(function, ast.FunctionDef) or function.name != contract.name:
        return contract
    new = contract_of(function)
    return msgspec.structs.replace(contract, params=new.params, returns=new.returns)


def _write_again(workshop: Workshop, node: NodeId, chosen: Repair) -> None:
    recorder = workshop.recorder
    graph, working = recorder.ledger.graph, recorder.ledger.working
    described_node = graph.by_id[node]
    code = working.code.get(node)
    contract = described_node.contract
    if contract is None or code is None:
        return
    hints = "".join(f"\n- {hint}" for hint in described_node.hints)
    of_class = isinstance(workshop.task.form, ClassForm)
    try:
        answer = workshop.ask(
            "repair_method" if of_class else "repair_node",
            building.draft_shape(workshop, [node]),
            Phase.GENERATION,
            _CODE_TOKENS,
            role=building.specialist(workshop, described_node),
            node=node,
            statement=workshop.statement,
            code=recorder.text(code.digest).strip(),
            failure=failure_text(workshop, chosen.failing),
            reason=f"{chosen.finding.explanation}{hints}",
            header=contract.header(),
            advice=building.advice_for(workshop, described_node),
            **building.around(workshop, [node]),
        )
    except ReplyUnusable:
        return  # both answers are on record; without a candidate the state is restored
    building.write(workshop, [node], answer, building.specialist(workshop, described_node))


def _branch(workshop: Workshop, chosen: Repair) -> None:
    """Replan inside the branch's frozen interface, then ask for the code of what is new."""
    recorder = workshop.recorder
    top = top_of(chosen.target)
    graph = recorder.ledger.graph
    node = graph.by_id[top]
    assert node.contract is not None
    region = graph.subtree(top)
    _revise(workshop, top, chosen.finding, may_change_interface=False)
    taken = sorted(name for name, n in graph.promises.items() if n not in region)
    try:
        answer = workshop.ask(
            "replan_branch",
            graft_shape(recorder.ledger, top),
            Phase.PLANNING,
            _SKETCH_TOKENS,
            role="branch replanner",
            node=top,
            statement=workshop.statement,
            about=described(node),
            code=_codes(workshop, sorted(region)),
            failure=failure_text(workshop, chosen.failing),
            reason=chosen.finding.explanation,
            header=node.contract.header(),
            taken=", ".join(taken) or "none",
        )
    except ReplyUnusable:
        _write_again(workshop, top, chosen)
        return
    delta, sketch = answer.value
    if diff(graph, apply(graph, delta)) is not None and not _grafted(workshop, delta):
        _write_again(workshop, top, chosen)
        return
    after = recorder.ledger.graph
    todo = [n for n in after.order if n in after.subtree(top)]
    inner = [n for n in sorted(after.subtree(top), reverse=True) if n not in todo]
    if sketch.body and top not in todo:
        source = f"{sketch.imports}\n\n{sketch.body}" if sketch.imports else sketch.body
        if building.write_piece(workshop, top, Piece(source), answer.seq, "branch replanner"):
            inner.remove(top)
    promising = [n for n in (*todo, *inner) if after.by_id[n].contract]
    building.ask_for(workshop, promising, lesson(workshop, chosen.failing))


def _grafted(workshop: Workshop, delta: GraphDelta) -> bool:
    try:
        workshop.recorder.record(GraphRevised(delta=delta, reason="the branch was planned again"))
    except RecordRefused:
        return False
    return True


def _codes(workshop: Workshop, nodes: list[NodeId]) -> str:
    code = workshop.recorder.ledger.working.code
    return "\n\n".join(workshop.recorder.text(code[n].digest).strip() for n in nodes if n in code)
