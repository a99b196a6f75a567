"""The laws of validating: a check stays what it is, and evidence speaks about the present."""

from auditcoder.domain.events import CheckDropped, CheckRan
from auditcoder.domain.evidence import Evidence, Trust
from auditcoder.domain.law.common import Law, covered, present, refuse
from auditcoder.domain.ledger import Ledger, Registered, Standing, change, rework
from auditcoder.domain.places import AtProgram


def check_ran(ledger: Ledger, event: CheckRan) -> Ledger:
    """A check runs on what is there now, and is the check that it always was."""
    evidence, working, transaction = event.evidence, ledger.working, ledger.transaction
    if evidence.check in ledger.dropped:
        refuse(Law.STALE_EVIDENCE, ledger, f"check {evidence.check} was dropped")
    if evidence.against != present(working, evidence.subject):
        refuse(Law.STALE_EVIDENCE, ledger, f"check {evidence.check} is not about the present code")
    if transaction is not None:
        if not covered(working, evidence.subject) <= transaction.region:
            refuse(Law.FROZEN_CHANGED, ledger, "the evidence of frozen nodes is frozen too")
        if evidence.against == transaction.program and isinstance(evidence.subject, AtProgram):
            refuse(Law.STALE_EVIDENCE, ledger, "there is no candidate yet, only what was before")
    standing = Standing(
        seq=ledger.seq,
        kind=evidence.kind,
        subject=evidence.subject,
        trust=evidence.trust,
        verdict=evidence.verdict,
        against=evidence.against,
    )
    after = rework(ledger, evidence=working.evidence | {evidence.check: standing})
    registered = _registered(ledger, evidence)
    if registered == ledger.checks.get(evidence.check):
        return after
    return change(after, checks=ledger.checks | {evidence.check: registered})


def _registered(ledger: Ledger, evidence: Evidence) -> Registered:
    content = (evidence.kind, evidence.requirement, evidence.input, evidence.expected)
    known = ledger.checks.get(evidence.check)
    new = Registered(subject=evidence.subject, trust=evidence.trust, content=content)
    if known is not None and (
        (known.subject, known.trust) != (new.subject, new.trust)
        or known.content not in (None, content)
    ):
        refuse(Law.MISDECLARED, ledger, f"check {evidence.check} was another check before")
    return new


def check_dropped(ledger: Ledger, event: CheckDropped) -> Ledger:
    """Only a check that a model wrote is dropped, and not while it decides."""
    known = ledger.checks.get(event.check)
    if known is None:
        refuse(Law.MISDECLARED, ledger, f"there is no check {event.check}")
    if known.trust is Trust.GIVEN:
        refuse(Law.MISDECLARED, ledger, f"{event.check} came with the task and cannot be dropped")
    if ledger.transaction is not None:
        refuse(Law.WRONG_DECISION, ledger, "no check is dropped while a transaction is open")
    evidence = {c: s for c, s in ledger.working.evidence.items() if c != event.check}
    checks = {c: r for c, r in ledger.checks.items() if c != event.check}
    return change(
        rework(ledger, evidence=evidence), checks=checks, dropped=ledger.dropped | {event.check}
    )
