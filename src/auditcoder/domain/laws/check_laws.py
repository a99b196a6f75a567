"""The laws of validation: a check never changes, and evidence is about the current code."""

from msgspec.structs import replace

from auditcoder.domain.events import CheckDropped, CheckRan
from auditcoder.domain.evidence import CheckKind, Evidence, Trust
from auditcoder.domain.laws.common import Law, covered, present, refuse
from auditcoder.domain.ledger import CurrentCheck, Ledger, RegisteredCheck, change, rework
from auditcoder.domain.targets import AtProgram
from auditcoder.domain.task import Example, StdioExample
from auditcoder.domain.values import digest, digest_of


def check_ran(ledger: Ledger, event: CheckRan) -> Ledger:
    """Register evidence: it is about the current code, and the check keeps its definition."""
    evidence, working, transaction = event.evidence, ledger.working, ledger.transaction
    if evidence.check in ledger.dropped:
        refuse(Law.STALE_EVIDENCE, ledger, f"check {evidence.check} was dropped")
    if evidence.against != present(working, evidence.subject):
        refuse(Law.STALE_EVIDENCE, ledger, f"check {evidence.check} is not about the current code")
    if transaction is not None:
        if not covered(working, evidence.subject) <= transaction.region:
            refuse(Law.FROZEN_CHANGED, ledger, "the evidence of a frozen node cannot change")
        if evidence.against == transaction.program and isinstance(evidence.subject, AtProgram):
            refuse(Law.STALE_EVIDENCE, ledger, "the transaction has no candidate yet")
    standing = CurrentCheck(
        seq=ledger.seq,
        kind=evidence.kind,
        subject=evidence.subject,
        trust=evidence.trust,
        verdict=evidence.verdict,
        against=evidence.against,
    )
    after = rework(ledger, evidence=working.evidence | {evidence.check: standing})
    known = ledger.checks.get(evidence.check)
    if known is not None and _is_the_same(known, evidence):
        return after
    registered = _registered(ledger, evidence, known)
    return change(after, checks=ledger.checks | {evidence.check: registered})


def _is_the_same(known: RegisteredCheck, evidence: Evidence) -> bool:
    return (
        known.kind is evidence.kind
        and known.trust is evidence.trust
        and known.subject == evidence.subject
        and known.requirement == evidence.requirement
        and known.input == evidence.input
        and known.expected == evidence.expected
    )


def registered_example(example: Example, trust: Trust) -> RegisteredCheck:
    """Return the definition of the program check for an example, before it has run."""
    plain = RegisteredCheck(subject=AtProgram(), trust=trust, example=digest_of(example))
    if not isinstance(example, StdioExample):
        return plain
    return replace(
        plain, input=digest(example.input.encode()), expected=digest(example.output.encode())
    )


def _registered(
    ledger: Ledger, evidence: Evidence, known: RegisteredCheck | None
) -> RegisteredCheck:
    new = RegisteredCheck(
        subject=evidence.subject,
        trust=evidence.trust,
        example=known.example if known else None,
        kind=evidence.kind,
        requirement=evidence.requirement,
        input=evidence.input,
        expected=evidence.expected,
    )
    if known is None:
        if evidence.trust is Trust.GIVEN and not isinstance(evidence.subject, AtProgram):
            refuse(Law.MISDECLARED, ledger, "a given check must be about the program")
    elif not _first_run(known, new):
        refuse(Law.MISDECLARED, ledger, f"check {evidence.check} changed its definition")
    if evidence.kind is CheckKind.REVIEW and evidence.trust is not Trust.GENERATED:
        refuse(Law.MISDECLARED, ledger, "a model's opinion must have the trust 'generated'")
    return new


def _first_run(planned: RegisteredCheck, new: RegisteredCheck) -> bool:
    """Whether `new` is the first run of `planned`, with the planned input and output."""
    if planned.kind is not None or planned.example is None:
        return False
    bound = planned.input is not None
    return new == replace(
        planned,
        kind=new.kind,
        requirement=new.requirement,
        input=planned.input if bound else new.input,
        expected=planned.expected if bound else new.expected,
    )


def check_dropped(ledger: Ledger, event: CheckDropped) -> Ledger:
    """Drop a check: a model wrote it, and no transaction is open."""
    known = ledger.checks.get(event.check)
    if known is None:
        refuse(Law.MISDECLARED, ledger, f"there is no check {event.check}")
    if known.trust is not Trust.GENERATED:
        refuse(Law.MISDECLARED, ledger, f"{event.check} is not a generated check")
    if ledger.transaction is not None:
        refuse(Law.WRONG_DECISION, ledger, "a check cannot be dropped during a transaction")
    evidence = {c: s for c, s in ledger.working.evidence.items() if c != event.check}
    checks = {c: r for c, r in ledger.checks.items() if c != event.check}
    return change(
        rework(ledger, evidence=evidence), checks=checks, dropped=ledger.dropped | {event.check}
    )
