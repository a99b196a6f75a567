"""The fallback: plans and writes the whole program again when no node can be located."""

import msgspec

from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import GraphRevised
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import GraphDelta, Node
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.failure_report import earlier_failure, failure_text
from auditcoder.lifecycle.model_client import why
from auditcoder.lifecycle.planning.plan import GivenCode, Plan
from auditcoder.lifecycle.planning.sketch_planner import from_reply, sketch_shape
from auditcoder.lifecycle.repair_transaction import measure
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import root_of
from auditcoder.lifecycle.token_limits import SKETCH


def fall_back(context: RunContext, failing: Evidence) -> Decision:
    """Plan and write the whole program again, in a transaction of its own kind.

    It does not count towards `max_repairs`. A class keeps its plan; its methods are written again.
    """
    recorder, task = context.recorder, context.task
    recorder.open_transaction(TransactionKind.FALLBACK)
    ledger = recorder.ledger
    if isinstance(task.form, ClassForm):
        nodes = [n for n in ledger.graph.order if ledger.working.code[n].agent != "skeleton"]
        code_builder.ask_for(context, nodes, earlier_failure(context, failing))
        return measure(context, "all methods were written again")
    root = root_of(task)
    assert ledger.transaction is not None
    program = recorder.text(ledger.transaction.program)
    taken = sorted(set(ledger.graph.promises) - {root.contract.name})
    try:
        answer = context.ask(
            "redo",
            sketch_shape(task, root, tuple(ledger.allocated)),
            Phase.PLANNING,
            SKETCH,
            role="planner",
            statement=context.statement,
            program=program.strip(),
            failure=failure_text(context, failing),
            root=root.asked,
            taken=", ".join(taken) or "none",
        )
    except ReplyUnusable as unusable:
        return recorder.decide(f"no new plan could be used: {why(unusable)}")
    plan = from_reply(answer.value, answer.seq)
    delta = _replacing(ledger.graph.by_id[ROOT], ledger.graph.ids - {ROOT}, plan)
    try:
        reason = "the whole was planned again"
        recorder.record(GraphRevised(delta=delta, reason=reason, losses=plan.losses))
    except RecordRefused as refused:
        return recorder.decide(f"the new plan does not fit: {refused}")
    _rewrite(context, plan.given)
    return measure(context, "the whole was planned and written again")


def _rewrite(context: RunContext, given: dict[NodeId, GivenCode]) -> None:
    graph = context.recorder.ledger.graph
    top = graph.by_id[ROOT]
    if ROOT not in given and top.contract is None and ROOT in context.recorder.ledger.working.code:
        given = {ROOT: GivenCode("# The root has no code of its own.\n", "form"), **given}
    for node, known in given.items():
        code_builder.write_given(context, node, known)
    inner = [n for n in sorted(graph.ids, reverse=True) if n not in graph.order and n != ROOT]
    wanted = [*graph.order, *inner, *([] if ROOT in given else [ROOT])]
    code_builder.ask_for(context, [n for n in wanted if graph.by_id[n].contract])


def _replacing(root: Node, old: frozenset[NodeId], plan: Plan) -> GraphDelta:
    """Return the delta that replaces every node below the root by those of a new plan."""
    top = msgspec.structs.replace(plan.graph.by_id[ROOT], goal=root.goal)
    return GraphDelta(
        added=tuple(n for n in plan.graph.nodes if n.id != ROOT),
        revised=(top,) if top != root else (),
        retired=tuple(sorted(old)),
        order=plan.graph.order,
    )
