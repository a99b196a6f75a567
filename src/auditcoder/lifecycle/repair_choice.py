"""The choice of a repair: what the last answer leads to, else a diagnosis of the failure."""

from dataclasses import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis
from auditcoder.domain.events import Located
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import named_in
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtBranch, AtNode, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import digest
from auditcoder.lifecycle.fault_claims import claimed
from auditcoder.lifecycle.locating import constant_substitution
from auditcoder.lifecycle.locating.diagnosis_input import (
    DiagnosisState,
    Locator,
    PlanFault,
    SecondOpinion,
    diagnosis_input_of,
    most_trusted_failure,
    retargeted,
)
from auditcoder.lifecycle.locating.substitution import with_code
from auditcoder.lifecycle.repair_reply import NO_REASON
from auditcoder.lifecycle.repair_transaction import PlannedRepair, RepairResult
from auditcoder.lifecycle.root_cause import (
    PASSED_WITH_SUBSTITUTE,
    PLAN_FAULTS,
    UNKNOWN_CAUSE,
    RootCause,
    StatedCause,
)
from auditcoder.lifecycle.run_context import RunContext


def choose(
    context: RunContext,
    locator: Locator,
    state: DiagnosisState,
    failing: Evidence | None = None,
) -> tuple[PlannedRepair | Abstained, DiagnosisState]:
    """Diagnose the failure, and plan a repair or abstain.

    `failing` is the check to repair; by default the most trusted one that fails.
    If the author of the last repair named another part, that is repaired next; if the plan was
    named, its branch is, or the locator abstains. Neither needs another diagnosis.
    """
    failing = failing or most_trusted_failure(context)
    if (claim := claimed(diagnosis_input_of(context, state.rejected))) is not None:
        _record(context, locator, claim)
        blamed = StatedCause(explanation=claim.explanation)
        return _planned(context, state, PlannedRepair(claim, failing, blamed)), state
    if (followed := _after_plan_fault(context, state)) is not None:
        diagnosis: Diagnosis = followed
        _record(context, locator, diagnosis)
    else:
        diagnosis, state = diagnose(context, locator, state)
    if isinstance(diagnosis, Abstained):
        return diagnosis, state
    planned = PlannedRepair(diagnosis, failing)
    if known_to_pass := _passing_opinion(context, state, diagnosis.target):
        planned = planned._replace(cause=PASSED_WITH_SUBSTITUTE, known=known_to_pass)
    elif diagnosis.rule == constant_substitution.RULE:
        planned = planned._replace(cause=StatedCause(explanation=diagnosis.explanation))
    else:
        stated = state.causes.get(diagnosis.evidence, UNKNOWN_CAUSE)
        planned = planned._replace(cause=stated, reasons=diagnosis.explanation)
    return _planned(context, state, planned), state


def after_repair(
    state: DiagnosisState, chosen: PlannedRepair, result: RepairResult
) -> DiagnosisState:
    """Return the state after a repair was accepted or rejected."""
    if result.decision is Decision.ACCEPTED:
        return after_acceptance(state)
    fault = None
    if result.cause is not None:
        state = state.with_cause(chosen.diagnosis.evidence, result.cause)
        fault = PlanFault(chosen.diagnosis, result.cause) if result.plan_fault else None
    return replace(state.with_rejected(chosen.target), plan_fault=fault)


def after_acceptance(state: DiagnosisState) -> DiagnosisState:
    """Return the state once another program was accepted: everything may be tried again."""
    return replace(state, rejected=(), plan_fault=None)


def _after_plan_fault(context: RunContext, state: DiagnosisState) -> Diagnosis | None:
    """Return what follows from the answer that the plan is at fault; None if nothing does."""
    case = diagnosis_input_of(context, state.rejected)
    standing = {each.seq for each in (*case.program, *case.local)}
    if state.plan_fault is None or not standing.issuperset(state.plan_fault.diagnosis.evidence):
        return None
    diagnosis, (kind, explanation) = state.plan_fault
    branch = _branch_to_replan(context, state, diagnosis.target)
    if kind is RootCause.DECOMPOSITION and branch is not None:
        return retargeted(case, diagnosis, branch, PLAN_FAULTS[kind])
    if kind is RootCause.GLOBAL:
        return Abstained(
            reason=f"{PLAN_FAULTS[kind]}: {explanation or NO_REASON}",
            evidence=diagnosis.evidence,
        )
    return None


def _planned(context: RunContext, state: DiagnosisState, repair: PlannedRepair) -> PlannedRepair:
    """Return a repair with the causes that its author may state without code."""
    causes = set()
    if _branch_to_replan(context, state, repair.target) is not None:
        causes.add(RootCause.DECOMPOSITION)
    if len(context.recorder.ledger.graph.order) > 1:
        causes.add(RootCause.GLOBAL)
    return repair._replace(without_code=frozenset(causes))


def _branch_to_replan(
    context: RunContext, state: DiagnosisState, target: Target
) -> AtBranch | None:
    """Return the branch of a node that can be planned again; None if it cannot or was already."""
    graph = context.recorder.ledger.graph
    if not isinstance(target, AtNode) or target.node == graph.root:
        return None
    branch = AtBranch(root=graph.branch_root(target.node))
    fixed_plan = isinstance(context.task.form, ClassForm)
    return None if fixed_plan or branch in state.rejected else branch


def _passing_opinion(
    context: RunContext, state: DiagnosisState, target: Target
) -> SecondOpinion | None:
    """Return the second opinion on a target with which every check passed; None if none did."""
    node = named_in(target)[0]
    contract = context.recorder.ledger.graph.by_id[node].contract
    opinion = state.opinions.get((node, contract), SecondOpinion())
    _, clue = diagnosis_input_of(context).swapped.get(node, (0, None))
    if clue is None or not opinion.source or isinstance(target, AtBranch):
        return None
    # The substitute that passed may also be a slow reference, which is no candidate.
    passed = digest(with_code(context, node, opinion.source).encode()) in clue.healers
    return opinion if passed else None


def diagnose(
    context: RunContext, locator: Locator, state: DiagnosisState
) -> tuple[Diagnosis, DiagnosisState]:
    """Collect evidence, cheapest first, until the locator needs no more; then locate."""
    for collect in locator.collectors:
        wanted = locator.unsettled(diagnosis_input_of(context, state.rejected))
        if not wanted:
            break
        state = collect(context, state, wanted)
    diagnosis = locator.locate(diagnosis_input_of(context, state.rejected))
    _record(context, locator, diagnosis)
    return diagnosis, state


def _record(context: RunContext, locator: Locator, diagnosis: Diagnosis) -> None:
    context.recorder.record(Located(diagnosis=diagnosis, locator=locator.name))


def local_evidence(context: RunContext) -> list[Evidence]:
    """Return the standing evidence about single nodes."""
    return [s.evidence for s in diagnosis_input_of(context).local]
