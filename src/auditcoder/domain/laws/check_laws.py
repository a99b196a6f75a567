"""The laws of validation: a check never changes, and evidence is about the current code."""

from auditcoder.domain.events import Adjudicated, CheckDropped, CheckRan, Ruling
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, node_check_id
from auditcoder.domain.graph import Node
from auditcoder.domain.laws.common import Law, ReadBlob, covered, present, refuse
from auditcoder.domain.laws.verdict_laws import (
    DATA_KINDS,
    PARSED_KINDS,
    examples_of,
    refuse_false_frames,
    refuse_false_verdict,
)
from auditcoder.domain.ledger import CurrentCheck, Ledger, RegisteredCheck, change, rework
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram
from auditcoder.domain.task import CodeExample, Example, example_content
from auditcoder.domain.values import CheckId, Digest, digest, whole


def check_ran(ledger: Ledger, event: CheckRan, read: ReadBlob) -> Ledger:
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
    defined = _refuse_other_definition(ledger, evidence)
    refuse_false_verdict(ledger, evidence, read)
    refuse_false_frames(ledger, evidence)
    standing = CurrentCheck(
        seq=ledger.seq,
        kind=evidence.kind,
        subject=evidence.subject,
        trust=evidence.trust,
        verdict=evidence.verdict,
        against=evidence.against,
    )
    return change(
        rework(ledger, evidence=working.evidence | {evidence.check: standing}),
        checks=ledger.checks | {evidence.check: defined},
    )


def _refuse_other_definition(ledger: Ledger, evidence: Evidence) -> RegisteredCheck:
    """Return the definition of a check: the one that it had before, or a new one."""
    known, defined = ledger.checks.get(evidence.check), _definition(evidence)
    if known not in {None, defined}:
        refuse(Law.MISDECLARED, ledger, f"check {evidence.check} changed its definition")
    if known is None:
        _refuse_unfounded_check(ledger, evidence, defined)
    return defined


def _refuse_unfounded_check(ledger: Ledger, evidence: Evidence, defined: RegisteredCheck) -> None:
    """Refuse a new check that claims more trust, or another subject, than it can have."""
    check, subject = evidence.check, evidence.subject
    if evidence.trust is Trust.GIVEN:
        refuse(Law.MISDECLARED, ledger, f"check {check} was not given with the task")
    if evidence.trust is Trust.STATED:
        refuse(Law.MISDECLARED, ledger, f"the brief plans no check {check} that a docstring states")
    if evidence.kind is CheckKind.REVIEW and evidence.trust is not Trust.GENERATED:
        refuse(Law.MISDECLARED, ledger, "a model's opinion must have the trust 'generated'")
    if isinstance(subject, AtProgram):
        if (check, defined) != (LOADS, LOADS_CHECK):
            refuse(Law.MISDECLARED, ledger, f"no brief plans the check {check} of the program")
    else:
        _refuse_unfounded_check_of_nodes(ledger, evidence, defined, subject)


def _refuse_unfounded_check_of_nodes(
    ledger: Ledger, evidence: Evidence, defined: RegisteredCheck, subject: AtNode | AtBranch
) -> None:
    check = evidence.check
    node = subject.node if isinstance(subject, AtNode) else subject.root
    if not check.startswith(f"{node}."):
        refuse(Law.MISDECLARED, ledger, f"check {check} is not named after {node}")
    known = parsed_checks(ledger.graph.by_id[node])
    if (check in known or evidence.kind in PARSED_KINDS) and known.get(check) != defined:
        refuse(Law.MISDECLARED, ledger, f"{check} is not the check of {node} with that name")
    if evidence.expected is None:
        return
    if evidence.kind not in DATA_KINDS:
        refuse(Law.MISDECLARED, ledger, f"a check of kind {evidence.kind.value} compares nothing")
    if evidence.trust is Trust.DERIVED and not examples_of(ledger, evidence):
        refuse(Law.MISDECLARED, ledger, f"check {check} is not derived from an example of the task")


def parsed_checks(node: Node) -> dict[CheckId, RegisteredCheck]:
    """Return the checks of a node's code for which nothing runs: it compiles, and its header."""
    requirements = {CheckKind.COMPILE: ""}
    if node.contract is not None:
        requirements[CheckKind.SIGNATURE] = node.contract.header()
    return {
        node_check_id(node.id, kind.value, requirement): RegisteredCheck(
            kind=kind,
            subject=AtNode(node=node.id),
            trust=Trust.DERIVED,
            requirement=whole(requirement),
        )
        for kind, requirement in requirements.items()
    }


LOADS = CheckId("loads")
"""The check of every program, whatever the task, that it can be loaded."""

LOADS_CHECK = RegisteredCheck(
    kind=CheckKind.COMPILE,
    subject=AtProgram(),
    trust=Trust.DERIVED,
    requirement="the program can be loaded",
)


def _definition(evidence: Evidence) -> RegisteredCheck:
    return RegisteredCheck(
        kind=evidence.kind,
        subject=evidence.subject,
        trust=evidence.trust,
        requirement=evidence.requirement,
        input=evidence.input,
        expected=evidence.expected,
    )


def program_check(example: Example, trust: Trust, requirement: str) -> RegisteredCheck:
    """Return the only definition of the check that runs an example on the program."""
    content = example_content(example)
    return RegisteredCheck(
        kind=example_kind(example, trust),
        subject=AtProgram(),
        trust=trust,
        requirement=whole(requirement),
        input=_text_digest(content.input),
        expected=None if content.expected is None else _text_digest(content.expected),
    )


def _text_digest(text: str) -> Digest:
    return digest(text.encode("utf-8", "replace"))


def example_kind(example: Example, trust: Trust) -> CheckKind:
    """Return the kind of the check that runs an example."""
    if isinstance(example, CodeExample):
        return CheckKind.TEST
    return CheckKind.EXAMPLE if trust is Trust.GIVEN else CheckKind.BOUNDARY


def adjudicated(ledger: Ledger, event: Adjudicated) -> Ledger:
    """Register a ruling: it is about standing evidence against the program, and none was given."""
    standing = ledger.working.evidence.get(event.check)
    if ledger.format < 3:
        refuse(Law.OUT_OF_PLACE, ledger, "rulings exist since format 3")
    if standing is None or standing.seq != event.evidence or not standing.verdict.failing:
        refuse(Law.STALE_EVIDENCE, ledger, f"check {event.check} does not fail in this event")
    if standing.trust is Trust.GIVEN or not standing.kind.judges:
        refuse(Law.MISDECLARED, ledger, f"nobody rules on {event.check}")
    if not event.reason.strip():
        refuse(Law.MISDECLARED, ledger, "a ruling needs a reason")
    for opinion in event.opinions:
        if opinion.reply is not None and opinion.reply not in ledger.answers:
            refuse(Law.MISDECLARED, ledger, "an opinion names no usable reply")
    if event.ruling is not Ruling.UNDECIDED and not _agree(event):
        refuse(Law.MISDECLARED, ledger, f"the opinions on {event.check} do not decide so")
    return ledger


def _agree(event: Adjudicated) -> bool:
    """Whether all opinions say what was ruled; that of a model alone does not decide."""
    alone = len(event.opinions) == 1 and event.opinions[0].reply is not None
    return (
        bool(event.opinions) and not alone and {o.ruling for o in event.opinions} == {event.ruling}
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
