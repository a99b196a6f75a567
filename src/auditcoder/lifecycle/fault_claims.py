"""Claims of a repair that another part is at fault: recorded as evidence and followed once.

Like every explanation of a failure, a claim falls when another program is accepted.
"""

from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.evidence import (
    CLAIM,
    CheckKind,
    Trust,
    Verdict,
    is_claim,
    node_check_id,
)
from auditcoder.domain.targets import AtNode
from auditcoder.lifecycle.locating.diagnosis_input import (
    DiagnosisInput,
    RecordedCheck,
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


def record_claim(context: RunContext, claim: FaultElsewhere, author: str) -> None:
    """Record a claim as failing evidence about the node that it names."""
    check = CheckSpec(
        node_check_id(claim.node, CLAIM, claim.reason),
        AtNode(node=claim.node),
        CheckKind.REVIEW,
        Trust.GENERATED,
        "no author of another repair names it as the fault",
    )
    blames = f"the author of another repair blames {claim.part}: {claim.reason}"
    observed = CheckObservation(Verdict.FAILED, blames, judge=author)
    record_unless_dropped(context, check, lambda: observed)


def claimed(case: DiagnosisInput) -> Localised | None:
    """Return the diagnosis of the newest claim about the present program, if it can be followed.

    A claim is followed only while the repair of its node has not been tried.
    """
    failing = [s for s in case.program if s.evidence.verdict.failing]
    since = max((s.seq for s in case.program), default=0)
    claims = sorted((s for s in case.local if s.seq > since and _blames(s)), key=lambda s: s.seq)
    if not claims or not failing:
        return None
    newest = claims[-1]
    target = newest.evidence.subject
    if not isinstance(target, AtNode) or target in case.tried:
        return None
    events = (failing[0].seq, newest.seq)
    return localised(case, target, RULE, Level.LOW, events, newest.evidence.message)


def _blames(standing: RecordedCheck) -> bool:
    return is_claim(standing.evidence) and standing.evidence.verdict.failing
