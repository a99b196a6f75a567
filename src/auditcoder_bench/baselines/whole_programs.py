"""Methods that draft whole programs and choose one: the first that passes, or by consensus."""

from auditcoder.domain.drafts import Sufficiency
from auditcoder.domain.events import BriefCommitted, GraphCommitted, RunOutcome
from auditcoder.domain.laws.draft_laws import MOST_SLOTS
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.drafting import write_first_code
from auditcoder.lifecycle.planning import task_planner
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation import validate_program

_NEVER = Sufficiency(examples=1_000_000, others=1_000_000, agreeing=MOST_SLOTS + 1)
"""Every draft is requested."""


def best_of_k(context: RunContext) -> tuple[RunOutcome, str]:
    """Draft whole programs until one passes the given examples."""
    return _chosen(context, Sufficiency())


def consensus(context: RunContext) -> tuple[RunOutcome, str]:
    """Draft all whole programs; choose by the given examples, then by plurality of outputs."""
    return _chosen(context, _NEVER)


def _chosen(context: RunContext, enough: Sufficiency) -> tuple[RunOutcome, str]:
    plan = task_planner.whole(context.task)
    recorder = context.recorder
    recorder.record(BriefCommitted(brief=plan.brief))
    recorder.record(
        GraphCommitted(graph=plan.graph, planner=plan.planner, granularity=plan.granularity)
    )
    code_builder.write_all_given(context, plan.given)
    write_first_code(context, code_builder.unwritten(context), enough)
    recorder.assemble()
    validate_program(context)
    if recorder.ledger.passes():
        return RunOutcome.PASSED, ""
    return RunOutcome.FAILED, "the program fails, and the method ends here"
