"""Claims of a repair that another part is at fault: recorded as evidence and followed once."""

from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.events import CheckDropped
from auditcoder.domain.evidence import CheckKind, Trust, Verdict, node_check_id
from auditcoder.domain.targets import AtNode
from auditcoder.lifecycle.locating.diagnosis_input import (
    DiagnosisInput,
    RecordedCheck,
    diagnosis_input_of,
    localised,
)
from auditcoder.lifecycle.repair_reply import FaultElsewhere
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.check_recorder import (
    CheckObservation,
    CheckSpec,
    record_unless_dropped,
)

RULE = "claim"
_NAME = "elsewhere"


def record_claim(context: RunContext, claim: FaultElsewhere, author: str) -> None:
    """Record a claim as failing evidence about the node that it names."""
    check = CheckSpec(
        node_check_id(claim.node, _NAME, claim.reason),
        AtNode(node=claim.node),
        CheckKind.REVIEW,
        Trust.GENERATED,
        f"a repair of another part does not find: {claim.reason}",
    )
    observed = CheckObservation(Verdict.FAILED, claim.reason, judge=author)
    record_unless_dropped(context, check, lambda: observed)


def claimed(case: DiagnosisInput) -> Localised | None:
    """Return the diagnosis of the newest claim about the present program, if it can be followed.

    A claim is followed only while the repair of its node has not been tried.
    """
    failing = [s for s in case.program if s.evidence.verdict.failing]
    since = max((s.seq for s in case.program), default=0)
    claims = sorted((s for s in case.local if s.seq > since and _is_claim(s)), key=lambda s: s.seq)
    if not claims or not failing:
        return None
    newest = claims[-1]
    target = newest.evidence.subject
    if not isinstance(target, AtNode) or target in case.tried:
        return None
    why = f"the author of another repair blames {target.node}: {newest.evidence.message}"
    return localised(case, target, RULE, Level.LOW, (failing[0].seq, newest.seq), why)


def drop_refuted_claims(context: RunContext) -> None:
    """Drop the claims about code with which the program passes."""
    for standing in diagnosis_input_of(context).local:
        if _is_claim(standing):
            reason = "the program passes with this code"
            context.recorder.record(CheckDropped(check=standing.evidence.check, reason=reason))


def _is_claim(standing: RecordedCheck) -> bool:
    evidence = standing.evidence
    named = isinstance(evidence.subject, AtNode) and evidence.check.startswith(
        f"{evidence.subject.node}.{_NAME}-"
    )
    return named and evidence.kind is CheckKind.REVIEW and evidence.verdict.failing
