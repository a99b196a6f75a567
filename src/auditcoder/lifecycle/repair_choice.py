"""The choice of a repair: diagnose the failure, ask for its cause, decide what to repair."""

import msgspec

from auditcoder.domain.diagnosis import Abstained, Diagnosis
from auditcoder.domain.events import Located
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.targets import AtBranch, AtNode, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import digest
from auditcoder.lifecycle.fault_claims import claimed
from auditcoder.lifecycle.locating import constant_substitution
from auditcoder.lifecycle.locating.diagnosis_input import (
    DiagnosisState,
    Locator,
    SecondOpinion,
    diagnosis_input_of,
    most_trusted_failure,
    retargeted,
)
from auditcoder.lifecycle.locating.substitution import with_code
from auditcoder.lifecycle.repair_transaction import PlannedRepair
from auditcoder.lifecycle.root_cause import (
    PASSED_WITH_SUBSTITUTE,
    UNKNOWN_CAUSE,
    RootCause,
    analyse_cause,
    first_node,
)
from auditcoder.lifecycle.run_context import RunContext


def choose(
    context: RunContext,
    locator: Locator,
    state: DiagnosisState,
    failing: Evidence | None = None,
) -> tuple[PlannedRepair | Abstained, DiagnosisState]:
    """Diagnose the failure, ask the model for its cause, and plan a repair or abstain.

    `failing` is the check to repair; by default the most trusted one that fails.
    The cause is asked once per evidence: after a rejected repair the evidence, and so the answer,
    is the same. It is not asked if the program passed with a second opinion or another constant, or
    if the author of a repair named another part, which is repaired next.
    """
    failing = failing or most_trusted_failure(context)
    if (claim := claimed(diagnosis_input_of(context, state.rejected))) is not None:
        _record(context, locator, claim)
        blamed = msgspec.structs.replace(UNKNOWN_CAUSE, explanation=claim.explanation)
        return PlannedRepair(claim.target, failing, blamed), state
    diagnosis, state = diagnose(context, locator, state)
    if isinstance(diagnosis, Abstained):
        return diagnosis, state
    if diagnosis.rule == constant_substitution.RULE:
        healed = msgspec.structs.replace(UNKNOWN_CAUSE, explanation=diagnosis.explanation)
        return PlannedRepair(diagnosis.target, failing, healed), state
    if known_to_pass := _passing_opinion(context, state, diagnosis.target):
        return PlannedRepair(
            diagnosis.target, failing, PASSED_WITH_SUBSTITUTE, known_to_pass
        ), state
    finding = state.causes.get(diagnosis.evidence) or analyse_cause(
        context, diagnosis.target, failing
    )
    state = state.with_cause(diagnosis.evidence, finding)
    graph, why_here = context.recorder.ledger.graph, diagnosis.explanation
    match finding.cause, diagnosis.target:
        case RootCause.DECOMPOSITION, AtNode(node=node):
            branch = AtBranch(root=graph.branch_root(node))
            fixed_plan = isinstance(context.task.form, ClassForm)
            if node != graph.root and branch not in state.rejected and not fixed_plan:
                why = "the task was cut in the wrong places"
                lifted = retargeted(
                    diagnosis_input_of(context, state.rejected), diagnosis, branch, why
                )
                _record(context, locator, lifted)
                return PlannedRepair(branch, failing, finding, reasons=why_here), state
        case RootCause.GLOBAL, _ if len(graph.order) > 1:
            abstained = Abstained(
                reason=f"no single part can be right alone: {finding.explanation}",
                evidence=diagnosis.evidence,
            )
            _record(context, locator, abstained)
            return abstained, state
        case _:
            pass
    return PlannedRepair(diagnosis.target, failing, finding, reasons=why_here), state


def _passing_opinion(
    context: RunContext, state: DiagnosisState, target: Target
) -> SecondOpinion | None:
    """Return the second opinion on a target with which every check passed; None if none did."""
    node = first_node(target)
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
