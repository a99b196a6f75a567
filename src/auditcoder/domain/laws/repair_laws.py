"""The laws of repair: a region from evidence, a frozen complement, strict improvement."""

from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Localised
from auditcoder.domain.events import (
    Located,
    RolledBack,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.graph import diff, named_in, region_of
from auditcoder.domain.laws.common import (
    Law,
    committed_graph,
    digest_in,
    listed,
    open_transaction,
    refuse,
)
from auditcoder.domain.ledger import Ledger, OpenTransaction, WorkingState, change, rework
from auditcoder.domain.repair import CodeDelta, Decision, TransactionKind, decide
from auditcoder.domain.values import CheckId, Digest


def located(ledger: Ledger, event: Located) -> Ledger:
    """Register a diagnosis: it cites standing evidence and, with a target, a failed check."""
    if ledger.transaction is not None:
        refuse(Law.OUT_OF_PLACE, ledger, "a transaction is already open")
    failing = _failures(ledger)
    if not failing:
        refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "there is no standing evidence of a failure")
    _refuse_fallen_evidence(ledger, event.diagnosis)
    match event.diagnosis:
        case Localised(target=target, evidence=cited, agents=agents):
            named = frozenset(named_in(target))
            if not named or not named <= committed_graph(ledger).ids:
                refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "the target is not a node of this run")
            if not failing & set(cited):
                refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "a target needs evidence of a failure")
            if agents != ledger.agents_of(target):
                refuse(Law.MISDECLARED, ledger, "the agents are not those of the target's code")
        case Abstained():
            pass
    return change(ledger, diagnosis=(ledger.seq, event.diagnosis))


def _failures(ledger: Ledger) -> set[int]:
    """Return the events whose evidence stands and is a failure; observations are none."""
    return {
        s.seq
        for s in ledger.working.evidence.values()
        if s.verdict.failing and (s.kind.judges or ledger.format < 3)
    }


def _refuse_fallen_evidence(ledger: Ledger, diagnosis: Diagnosis) -> None:
    if len(set(diagnosis.evidence)) != len(diagnosis.evidence):
        refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "the diagnosis cites an event twice")
    standing = {s.seq for s in ledger.working.evidence.values()}
    if fallen := set(diagnosis.evidence) - standing:
        refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, f"events {listed(fallen)} no longer stand")


def opening(ledger: Ledger, kind: TransactionKind) -> TransactionOpened:
    """Return the only legal event that opens a transaction on the newest diagnosis."""
    if ledger.diagnosis is None:
        refuse(Law.OUT_OF_PLACE, ledger, "no diagnosis is pending")
    seq, diagnosis = ledger.diagnosis
    _refuse_fallen_evidence(ledger, diagnosis)
    graph, working = committed_graph(ledger), ledger.working
    if not _failures(ledger):
        refuse(Law.UNSUPPORTED_DIAGNOSIS, ledger, "no failed check stands any more")
    match diagnosis, kind:
        case Localised(target=target), TransactionKind.BOUNDED:
            region = region_of(target, graph)
        case Abstained(), TransactionKind.FALLBACK:
            region = graph.ids
        case _:
            refuse(
                Law.WRONG_REGION,
                ledger,
                "a target needs a bounded transaction, an abstention a fallback",
            )
    pinned = ledger.program_checks()
    return TransactionOpened(
        number=ledger.transactions + 1,
        kind=kind,
        diagnosis=seq,
        selected=tuple(sorted(region)),
        frozen=working.freeze(region),
        snapshot=working.digest(),
        pinned=tuple(sorted(pinned)),
        rank=working.rank(pinned),
    )


def transaction_opened(ledger: Ledger, event: TransactionOpened) -> Ledger:
    """Open a transaction: there is a diagnosis, a program, and evidence of all its checks."""
    if ledger.transaction is not None:
        refuse(Law.OUT_OF_PLACE, ledger, "a transaction is already open")
    if ledger.working.assembly is None:
        refuse(Law.OUT_OF_PLACE, ledger, "there is no program to repair")
    pinned = ledger.program_checks()
    if missing := set(pinned) - set(ledger.working.evidence):
        # A check that only the candidate runs would look like an improvement.
        refuse(Law.WRONG_DECISION, ledger, f"checks {listed(missing)} must run first")
    legal = opening(ledger, event.kind)
    if event.selected != legal.selected:
        refuse(Law.WRONG_REGION, ledger, f"the diagnosis selects {listed(legal.selected)}")
    if event.frozen != legal.frozen:
        refuse(Law.FROZEN_CHANGED, ledger, "the frozen digests do not match the complement")
    if event != legal:
        refuse(Law.MISDECLARED, ledger, "snapshot, rank or checks do not match the state")
    return change(
        ledger,
        diagnosis=None,
        transactions=event.number,
        replies={},
        transaction=OpenTransaction(
            number=event.number,
            kind=event.kind,
            before=ledger.working,
            program=ledger.working.assembly.program,
            snapshot=event.snapshot,
            region=frozenset(event.selected),
            frozen=event.frozen,
            pinned=pinned,
            rank=event.rank,
        ),
    )


def deciding(ledger: Ledger, reason: str = "") -> TransactionDecided:
    """Return the only legal decision on the open transaction."""
    transaction = open_transaction(ledger)
    before, now = transaction.before, ledger.working
    after = now.rank(transaction.pinned)
    nodes = sorted(set(before.code) | set(now.code))
    passed = [c for c in transaction.pinned if _passes(before, c)]
    assert before.graph is not None
    return TransactionDecided(
        number=transaction.number,
        decision=decide(transaction.rank, after),
        before=transaction.rank,
        after=after,
        program=now.assembly.program if now.assembly else None,
        brief=_revised_brief(before, now),
        graph_delta=diff(before.graph, ledger.graph),
        code_deltas=tuple(
            CodeDelta(node=n, before=digest_in(before, n), after=digest_in(now, n))
            for n in nodes
            if _differs(before, now, n)
        ),
        regressions=tuple(sorted(c for c in passed if not _passes(now, c))),
        reason=reason,
    )


def _revised_brief(before: WorkingState, now: WorkingState) -> Digest | None:
    """Return the digest of a brief that has changed: equal values can be written differently."""
    earlier, present = (w.brief.digest if w.brief else None for w in (before, now))
    return None if present == earlier else present


def _differs(before: WorkingState, now: WorkingState, node: str) -> bool:
    a, b = (w.code.get(node) for w in (before, now))  # type: ignore[call-overload]
    return a is None or b is None or (a.digest, a.units) != (b.digest, b.units)


def _passes(working: WorkingState, check: CheckId) -> bool:
    standing = working.evidence.get(check)
    return standing is not None and standing.verdict is Verdict.PASSED


def transaction_decided(ledger: Ledger, event: TransactionDecided) -> Ledger:
    """Decide a transaction: frozen nodes are unchanged, and only a higher rank is accepted."""
    transaction = open_transaction(ledger)
    _refuse_changed_complement(ledger, transaction)
    legal = deciding(ledger, event.reason)
    if (event.before, event.after) != (legal.before, legal.after):
        refuse(Law.WRONG_DECISION, ledger, "the ranks do not follow from the evidence")
    if event.decision is not legal.decision:
        refuse(Law.WRONG_DECISION, ledger, "a candidate is accepted exactly when it ranks higher")
    if event != legal:
        refuse(Law.MISDECLARED, ledger, "the deltas do not match the changes")
    if event.decision is Decision.REJECTED:
        return change(ledger, transaction=replace(transaction, rejected=True))
    return change(_without_explanations(ledger), transaction=None, replies={})


def _without_explanations(ledger: Ledger) -> Ledger:
    """Return the ledger without evidence about the failure of the program that is replaced."""
    if ledger.format < 3:
        return ledger
    standing = ledger.working.evidence.items()
    evidence = {check: s for check, s in standing if not s.kind.explains_failure}
    return rework(ledger, evidence=evidence)


def _refuse_changed_complement(ledger: Ledger, transaction: OpenTransaction) -> None:
    """Refuse if description, code or evidence of a node outside the region has changed."""
    now = {f.node: f for f in ledger.working.freeze(transaction.region)}
    for frozen in transaction.frozen:
        if frozen.node not in transaction.region and now.get(frozen.node) != frozen:
            refuse(Law.FROZEN_CHANGED, ledger, f"{frozen.node} changed although it was frozen")


def rolled_back(ledger: Ledger, event: RolledBack) -> Ledger:
    """Roll back a rejected candidate: the whole state before the transaction is restored."""
    transaction = open_transaction(ledger)
    if event.number != transaction.number:
        refuse(Law.OUT_OF_PLACE, ledger, "the rollback is of another transaction")
    if event.restored != transaction.snapshot:
        refuse(Law.ROLLBACK_INCOMPLETE, ledger, "the earlier state is not restored completely")
    return change(ledger, working=transaction.before, transaction=None, replies={})
