"""The lifecycle of a run on one page: plan, build, assemble, validate, locate, repair."""

from collections.abc import Callable
from itertools import chain
from typing import TypeAlias

from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.errors import BudgetExceeded, RecordRefused
from auditcoder.domain.events import (
    BriefCommitted,
    GraphCommitted,
    RunFinished,
    RunOutcome,
)
from auditcoder.domain.laws import open_doubts
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.clash_resolution import nodes_to_stub
from auditcoder.lifecycle.doubt_resolution import settle_doubts
from auditcoder.lifecycle.drafting import write_first_code
from auditcoder.lifecycle.full_replan import fall_back
from auditcoder.lifecycle.locating import LOCATORS
from auditcoder.lifecycle.locating.diagnosis_input import (
    DiagnosisState,
    Locator,
    most_trusted_failure,
)
from auditcoder.lifecycle.options import Build, Planner
from auditcoder.lifecycle.planning import (
    class_planner,
    sketch_planner,
    staged_planner,
    task_planner,
)
from auditcoder.lifecycle.planning.edge_cases import with_edge_cases
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.repair_choice import (
    after_acceptance,
    after_repair,
    choose,
    local_evidence,
)
from auditcoder.lifecycle.repair_transaction import PlannedRepair, repair
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation import validate_program, validate_region
from auditcoder.lifecycle.validation.contradicted_checks import (
    drop_contradicted_cases,
    drop_contradicted_clauses,
)

Strategy: TypeAlias = Callable[[RunContext], tuple[RunOutcome, str]]
"""Takes a run from its task to a program; returns its outcome and the reason."""


def run_strategy(context: RunContext, strategy: Strategy) -> RunOutcome:
    """Run a strategy and record its outcome; an exceeded budget stops it and keeps the program.

    A program that passes by then is the result.
    """
    try:
        outcome, reason = strategy(context)
    except BudgetExceeded as exceeded:
        if context.recorder.ledger.transaction is not None:
            context.recorder.decide("the budget was spent before the candidate was complete")
        outcome, reason = RunOutcome.STOPPED, str(exceeded)
        if passes(context):
            outcome, reason = RunOutcome.PASSED, ""
    if outcome is not RunOutcome.PASSED and context.client.cut:
        reason = "; ".join((reason, *context.client.cut))
    ledger = context.recorder.ledger
    assembly = ledger.working.assembly
    context.recorder.record(
        RunFinished(
            outcome=outcome,
            program=assembly.program if assembly else None,
            reason=reason,
            doubts=open_doubts(ledger) if outcome is RunOutcome.PASSED else (),
        )
    )
    return outcome


def auditcoder_strategy(context: RunContext) -> tuple[RunOutcome, str]:
    """Plan, build, validate and repair: the lifecycle of AuditCoder itself."""
    plan = with_edge_cases(context, make_plan(context))
    context.recorder.record(BriefCommitted(brief=plan.brief))
    context.recorder.record(
        GraphCommitted(
            graph=plan.graph,
            planner=plan.planner,
            granularity=plan.granularity,
            losses=plan.losses,
        )
    )
    drop_contradicted_cases(context)
    write_code(context, plan)
    local = validate_region(context, plan.graph.ids)
    assemble(context)
    validate_program(context)
    drop_contradicted_clauses(context, local)
    locator = LOCATORS[context.options.locator]()
    outcome, reason = repair_until_done(context, locator)
    settle_doubts(context, locator)
    return outcome, reason


def repair_until_done(context: RunContext, locator: Locator) -> tuple[RunOutcome, str]:
    """Repair until the program passes, the locator abstains, or `max_repairs` is reached."""
    state = DiagnosisState()
    repairs, most = 0, context.options.max_repairs
    may_fall_back = context.options.fallback
    while not passes(context):
        if undecided := _undecided(context):
            return RunOutcome.FAILED, f"no check fails, but {undecided} cannot decide anything"
        if repairs == most:
            return RunOutcome.FAILED, f"the program still fails after {most} repairs"
        chosen, state = choose(context, locator, state)
        if isinstance(chosen, PlannedRepair):
            repairs += 1
            state = after_repair(state, chosen, repair(context, chosen))
        elif may_fall_back and not chosen.flaky:
            may_fall_back = False  # at most once, and counted separately
            if fall_back(context, most_trusted_failure(context)) is Decision.ACCEPTED:
                state = after_acceptance(state)
        else:
            return RunOutcome.ABSTAINED, chosen.reason
        drop_contradicted_clauses(context, local_evidence(context))
    return RunOutcome.PASSED, ""


def _undecided(context: RunContext) -> str:
    """Return the inconclusive checks of a program that fails none; empty if it fails one."""
    standing = context.recorder.ledger.working.evidence
    program = {c: s.verdict for c, s in standing.items() if isinstance(s.subject, AtProgram)}
    if any(verdict.failing for verdict in program.values()):
        return ""
    return ", ".join(sorted(c for c, verdict in program.items() if not verdict.conclusive))


def make_plan(context: RunContext) -> Plan:
    """Plan with the planner that the form of the task and the options select."""
    form = context.task.form
    if context.options.planner is Planner.TASK:
        return task_planner.plan(context.task)
    if isinstance(form, ClassForm):
        return class_planner.plan(context.task, form)
    if context.options.planner is Planner.STAGED:
        return staged_planner.plan(context)
    return sketch_planner.plan(context)


def write_code(context: RunContext, plan: Plan) -> None:
    """Write the code that the plan gives and the rest, with the planner `task` from drafts.

    A whole program is always drafted, at least once: it has no function that could be requested.
    """
    options = context.options
    is_drafted = plan.graph.whole is not None or (
        options.drafts != 0 and options.build is Build.JOINT
    )
    if options.planner is not Planner.TASK or not is_drafted:
        code_builder.build(context, plan.given)
        return
    code_builder.write_all_given(context, plan.given)
    if nodes := code_builder.unwritten(context):
        write_first_code(context, nodes)


def assemble(context: RunContext) -> None:
    """Assemble the program; code that clashes with another node is replaced by a stub."""
    reason, clash = "it clashes with another part of the program", ""
    for node in chain([None], nodes_to_stub(context)):
        if node is not None:
            code_builder.write_stub(context, node, reason, (f"its code, because {clash}",))
        try:
            context.recorder.assemble()
        except (AssemblyConflict, RecordRefused) as conflict:
            clash = str(conflict.__cause__ or conflict)
            continue
        return
    raise AssertionError("stubs cannot clash")


def passes(context: RunContext) -> bool:
    """Whether the program may end a run as passed: it passes every check that decides."""
    return context.recorder.ledger.passes()
