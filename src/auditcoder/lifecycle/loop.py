"""The life of a run, on one page: plan, build, assemble, validate, locate, repair."""

from collections.abc import Callable
from typing import TypeAlias

from auditcoder.domain.assembly import AssemblyConflict
from auditcoder.domain.errors import BudgetExceeded, RecordRefused
from auditcoder.domain.events import (
    BriefCommitted,
    GraphCommitted,
    Outcome,
    RunFinished,
)
from auditcoder.domain.places import Target
from auditcoder.domain.repair import Decision
from auditcoder.domain.task import ClassForm
from auditcoder.lifecycle import building
from auditcoder.lifecycle.considering import Finding
from auditcoder.lifecycle.diagnosing import choose, local_evidence
from auditcoder.lifecycle.falling_back import fall_back
from auditcoder.lifecycle.locating import LOCATORS
from auditcoder.lifecycle.locating.case import Locator, weightiest
from auditcoder.lifecycle.planning import skeleton, sketch, staged
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.repairing import Repair, repair
from auditcoder.lifecycle.validating import validate_program, validate_region
from auditcoder.lifecycle.validating.contradictions import (
    drop_contradicted_cases,
    drop_contradicted_promises,
)
from auditcoder.lifecycle.workshop import Planner, Workshop

Life: TypeAlias = Callable[[Workshop], tuple[Outcome, str]]
"""A way from a task to a program: how it ended, and why."""


def live(workshop: Workshop, life: Life) -> Outcome:
    """Take a run from its task to its end. A spent budget ends it; what stands is kept."""
    try:
        outcome, reason = life(workshop)
    except BudgetExceeded as spent:
        if workshop.recorder.ledger.transaction is not None:
            workshop.recorder.decide("the budget was spent before the candidate was complete")
        outcome, reason = Outcome.STOPPED, str(spent)
    assembly = workshop.recorder.ledger.working.assembly
    program = assembly.program if assembly else None
    workshop.recorder.record(RunFinished(outcome=outcome, program=program, reason=reason))
    return outcome


def audited(workshop: Workshop) -> tuple[Outcome, str]:
    """Live as this page says: responsibilities first, then code, then bounded repair."""
    plan = make_plan(workshop)
    workshop.recorder.record(BriefCommitted(brief=plan.brief))
    workshop.recorder.record(
        GraphCommitted(graph=plan.graph, planner=plan.planner, granularity=plan.granularity)
    )
    drop_contradicted_cases(workshop)
    building.build(workshop, plan.given)
    local = validate_region(workshop, plan.graph.ids)
    assemble(workshop)
    validate_program(workshop)
    drop_contradicted_promises(workshop, local)
    return _mend(workshop, LOCATORS[workshop.options.locator]())


def _mend(workshop: Workshop, locator: Locator) -> tuple[Outcome, str]:
    """Repair within bounds until the program passes, nothing is supported, or K is reached."""
    tried: list[Target] = []
    known: dict[tuple[int, ...], Finding] = {}
    repairs, most = 0, workshop.options.max_repairs
    may_fall_back = workshop.options.fallback
    while not passes(workshop):
        if repairs == most:
            return Outcome.FAILED, f"the program still fails after {most} repairs"
        chosen = choose(workshop, locator, tuple(tried), known)
        if isinstance(chosen, Repair):
            repairs += 1
            decision = repair(workshop, chosen)
        elif may_fall_back and not chosen.flaky:
            may_fall_back = False  # once, and counted apart
            decision = fall_back(workshop, weightiest(workshop))
        else:
            return Outcome.ABSTAINED, chosen.reason
        if decision is Decision.ACCEPTED:
            tried = []
        elif isinstance(chosen, Repair):
            tried.append(chosen.target)
        drop_contradicted_promises(workshop, local_evidence(workshop))
    return Outcome.PASSED, ""


def make_plan(workshop: Workshop) -> Plan:
    """Plan as the task's form and the options say."""
    form = workshop.task.form
    if isinstance(form, ClassForm):
        return skeleton.plan(workshop.task, form)
    if workshop.options.planner is Planner.STAGED:
        return staged.plan(workshop)
    return sketch.plan(workshop)


def assemble(workshop: Workshop) -> None:
    """Put the program together; a part that cannot stand beside the others is not used."""
    graph = workshop.recorder.ledger.graph
    promising = [n for n in (*reversed(graph.order), *graph.inner) if graph.by_id[n].contract]
    for node in (None, *promising):
        if node is not None:
            building.replace(workshop, node, "it clashes with another part of the program")
        try:
            workshop.recorder.assemble()
        except (AssemblyConflict, RecordRefused):
            continue
        return
    raise AssertionError("what only says that it was never written clashes with nothing")


def passes(workshop: Workshop) -> bool:
    """Whether every check that decides has passed."""
    ledger = workshop.recorder.ledger
    return ledger.working.rank(ledger.program_checks()).full
