"""The trace: the content of a record, `(G, S, E, H)` and the cost, folded from its events.

Folding applies the laws to every event, so a trace exists only for a legal history.
"""

from collections.abc import Iterable
from datetime import datetime

import msgspec

from auditcoder.domain.chain import EMPTY, Entry, EntryReader, Head, starts
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.drafting_record import DraftingRecord, with_event
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import (
    Adjudicated,
    Assembled,
    CheckDropped,
    CheckRan,
    CodeWritten,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
    Located,
    Manifest,
    ReplyRecorded,
    RolledBack,
    RunFinished,
    RunOutcome,
    RunResumed,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.evidence import Evidence, Trust, Verdict
from auditcoder.domain.graph import Node
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import IllegalHistory, ReadBlob, advance
from auditcoder.domain.ledger import Ledger, WorkingState
from auditcoder.domain.repair import IntegrationException, RollbackStatus, Transaction
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram
from auditcoder.domain.task import Task
from auditcoder.domain.usage import Usage, total
from auditcoder.domain.values import CheckId, Digest, RunId, Value, digest


class Moment(Value):
    """A sequence number in the record and the time of that event."""

    seq: int
    at: datetime


class RecordedEvidence(Value):
    """Evidence and when it was recorded."""

    when: Moment
    evidence: Evidence
    transaction: int | None = None
    """The open transaction, whose candidate the evidence is about."""
    program: Digest | None = None
    """The program when it was recorded; an observation is about the failure of that program."""


class CodeVersion(Value):
    """One version of a node's code."""

    when: Moment
    node: NodeId
    code: Digest
    agent: str = ""
    cause: NodeId | None = None
    reply: int | None = None
    transaction: int | None = None
    draft: int | None = None
    """The slot of the draft that it is; None if it is no draft."""


class RaisedException(Value):
    """An integration exception and when it was raised."""

    when: Moment
    exception: IntegrationException
    transaction: int | None = None


class RulingRecord(Value):
    """A ruling on a failing check, and when it was made."""

    when: Moment
    ruling: Adjudicated


class DiagnosisRecord(Value):
    """A diagnosis, when it was made, and the transaction that acted on it."""

    when: Moment
    diagnosis: Diagnosis
    symptom: Verdict | None = None
    """The verdict of the program's most trusted failing check."""
    locator: str = ""
    transaction: int | None = None


class BilledReply(Value):
    """A model's reply and when it was recorded."""

    when: Moment
    reply: ReplyRecorded
    transaction: int | None = None


class ProgramVersion(Value):
    """An assembled program and when it was recorded."""

    when: Moment
    program: Digest
    transaction: int | None = None


class RunEnd(Value):
    """How and when a run ended."""

    when: Moment
    outcome: RunOutcome
    reason: str = ""
    doubts: tuple[CheckId, ...] = ()


class Trace(Value):
    """The content of a record."""

    run: RunId
    task: Task
    started: Moment
    last: Moment
    head: Head
    manifest: Manifest
    working: WorkingState
    """The current graph, code, assembly and evidence."""
    committed: dict[NodeId, Moment]
    """When each id was allocated, including retired ones."""
    nodes: dict[NodeId, Node]
    """All nodes that ever existed, with their last description."""
    retired: dict[NodeId, Moment]
    versions: tuple[CodeVersion, ...]
    evidence: tuple[RecordedEvidence, ...]
    """E: all evidence, including what no longer stands."""
    dropped: dict[CheckId, str]
    history: tuple[Transaction, ...]
    """H: the transactions."""
    diagnoses: tuple[DiagnosisRecord, ...]
    exceptions: tuple[RaisedException, ...]
    replies: tuple[BilledReply, ...]
    programs: tuple[ProgramVersion, ...]
    resumed: tuple[Moment, ...] = ()
    finish: RunEnd | None = None
    rulings: tuple[RulingRecord, ...] = ()
    losses: tuple[tuple[Moment, str], ...] = ()
    """What replies said and neither graph nor code holds."""
    planner: str = ""
    """The planner's name."""
    granularity: str = ""
    """Why the graph has this number of nodes."""
    drafting: DraftingRecord | None = None
    """The drafts of the first code; None if none were planned."""

    def versions_of(self, node: NodeId) -> tuple[CodeVersion, ...]:
        """Return all versions of `node`'s code, oldest first."""
        return tuple(v for v in self.versions if v.node == node)

    def draft_of(self, node: NodeId) -> int | None:
        """Return the slot of the draft that `node`'s present code is; None if it is no draft."""
        code = self.working.code.get(node)
        versions = (v for v in self.versions if code is not None and v.when.seq == code.written)
        return next((v.draft for v in versions), None)

    def draft_usage(self, slot: int) -> Usage:
        """Return the cost of the request for a draft, including rejected replies."""
        draft = self.drafting.requested.get(slot) if self.drafting else None
        replies = draft.replies if draft else ()
        return total(b.reply.usage for b in self.replies if b.when.seq in replies)

    def evidence_of(self, node: NodeId) -> tuple[RecordedEvidence, ...]:
        """Return the evidence about `node` or its branch, oldest first."""
        return tuple(
            w
            for w in self.evidence
            if isinstance(w.evidence.subject, AtNode | AtBranch) and _subject(w.evidence) == node
        )

    def checks_of(self, node: NodeId) -> tuple[RecordedEvidence, ...]:
        """Return the evidence of the checks that judge `node` or its branch, oldest first."""
        return tuple(w for w in self.evidence_of(node) if w.evidence.kind.judges)

    def observations_of(self, node: NodeId) -> tuple[RecordedEvidence, ...]:
        """Return what was observed about `node` when the program failed, oldest first."""
        return tuple(w for w in self.evidence_of(node) if not w.evidence.kind.judges)

    def history_of(self, node: NodeId) -> tuple[Transaction, ...]:
        """Return the repairs whose region includes `node`."""
        return tuple(t for t in self.history if node in t.region)

    def stands(self, witness: RecordedEvidence) -> bool:
        """Whether the evidence is the latest of its check and about the current code."""
        standing = self.working.evidence.get(witness.evidence.check)
        return standing is not None and standing.seq == witness.when.seq

    def judges(self, witness: RecordedEvidence) -> bool:
        """Whether the evidence decides if the current code is correct."""
        return witness.evidence.kind.judges and self.stands(witness)


def _subject(evidence: Evidence) -> NodeId | None:
    match evidence.subject:
        case AtNode(node=node):
            return node
        case AtBranch(root=root):
            return root
        case AtProgram():
            return None


def _symptom(working: WorkingState) -> Verdict | None:
    weight = list(Trust).index
    failing = [
        (weight(s.trust), check, s.verdict)
        for check, s in working.evidence.items()
        if isinstance(s.subject, AtProgram) and s.verdict.failing
    ]
    return min(failing, key=lambda f: f[:2])[2] if failing else None


def fold(bodies: Iterable[bytes], read: ReadBlob) -> Trace:
    """Fold a record into its trace; raise RecordUnreadable if it is not a legal history."""
    reader = EntryReader()
    folding: _Folding | None = None
    head = EMPTY
    for body in bodies:
        entry = reader.read(body)
        if entry.seq != head.entries or entry.prev != head.digest:
            raise RecordUnreadable(
                "record.broken",
                f"the chain is broken at entry {head.entries}",
                "run `auditcoder verify` to list all violations",
            )
        folding = folding or _Folding(entry)
        try:
            folding.take(entry, read)
        except IllegalHistory as illegal:
            raise RecordUnreadable(
                "record.illegal",
                f"event {illegal.seq} violates a law: {illegal}",
                "run `auditcoder verify` to list all violations",
            ) from illegal
        head = Head(entries=head.entries + 1, digest=digest(body))
    if folding is None:
        raise RecordUnreadable("record.empty", "the record has no entries")
    return folding.trace(head)


class _Folding:
    """Collects the history of a run, which the bounded ledger does not keep."""

    def __init__(self, first: Entry) -> None:
        self.start = starts(first)
        self.ledger = Ledger()
        self.manifest = self.start.manifest
        self.started = self.now = Moment(seq=first.seq, at=first.at)
        self.committed: dict[NodeId, Moment] = {ROOT: self.started}
        self.nodes: dict[NodeId, Node] = {}
        self.retired: dict[NodeId, Moment] = {}
        self.versions: list[CodeVersion] = []
        self.evidence: list[RecordedEvidence] = []
        self.dropped: dict[CheckId, str] = {}
        self.history: list[Transaction] = []
        self.diagnoses: list[DiagnosisRecord] = []
        self.exceptions: list[RaisedException] = []
        self.replies: list[BilledReply] = []
        self.programs: list[ProgramVersion] = []
        self.resumed: list[Moment] = []
        self.finish: RunEnd | None = None
        self.rulings: list[RulingRecord] = []
        self.losses: list[tuple[Moment, str]] = []
        self.planner = self.granularity = ""
        self.drafting: DraftingRecord | None = None

    def take(self, entry: Entry, read: ReadBlob) -> None:  # noqa: C901  one case per event
        before, after = self.ledger, advance(self.ledger, entry.event, read)
        self.ledger = after
        self.now = Moment(seq=entry.seq, at=entry.at)
        open_now = after.transaction.number if after.transaction else None
        self.drafting = with_event(self.drafting, entry.event, after, read)
        match entry.event:
            case GraphCommitted(graph=graph) as committed:
                self._learn(graph.nodes)
                self.planner, self.granularity = committed.planner, committed.granularity
                self.losses += [(self.now, loss) for loss in committed.losses]
            case GraphRevised(delta=delta) as revised:
                self._learn((*delta.added, *delta.revised))
                self.losses += [(self.now, loss) for loss in revised.losses]
                self.retired |= dict.fromkeys(delta.retired, self.now)
            case ReplyRecorded() as reply:
                self.replies.append(BilledReply(when=self.now, reply=reply, transaction=open_now))
            case CodeWritten() as written:
                self.losses += [(self.now, loss) for loss in written.losses]
                self.versions.append(
                    CodeVersion(
                        when=self.now,
                        node=written.node,
                        code=written.code,
                        agent=written.agent,
                        cause=written.cause,
                        reply=written.reply,
                        transaction=open_now,
                        draft=self._draft(written),
                    )
                )
            case CheckRan(evidence=evidence):
                assembly = after.working.assembly
                self.evidence.append(
                    RecordedEvidence(
                        when=self.now,
                        evidence=evidence,
                        transaction=open_now,
                        program=assembly.program if assembly else None,
                    )
                )
                self._attach(evidence)
            case CheckDropped(check=check, reason=reason):
                self.dropped[check] = reason
            case Adjudicated() as ruling:
                self.rulings.append(RulingRecord(when=self.now, ruling=ruling))
            case Assembled(program=program):
                self.programs.append(
                    ProgramVersion(when=self.now, program=program, transaction=open_now)
                )
            case Located(diagnosis=diagnosis, locator=locator):
                self.diagnoses.append(
                    DiagnosisRecord(
                        when=self.now,
                        diagnosis=diagnosis,
                        symptom=_symptom(before.working),
                        locator=locator,
                    )
                )
            case TransactionOpened() as opened:
                self._open(opened, before)
            case ExceptionRaised(exception=exception):
                self.exceptions.append(
                    RaisedException(when=self.now, exception=exception, transaction=open_now)
                )
                if open_now is not None:
                    self._amend(exceptions=(*self.history[-1].exceptions, exception))
            case TransactionDecided() as decided:
                self._amend(
                    program_after=decided.program,
                    graph_delta=decided.graph_delta,
                    code_deltas=decided.code_deltas,
                    after=decided.after,
                    regressions=decided.regressions,
                    decision=decided.decision,
                    reason=decided.reason,
                    closed=self.now.seq,
                )
            case RolledBack():
                self._amend(rollback=RollbackStatus.RESTORED, closed=self.now.seq)
                self._forget_revisions()
            case RunFinished(outcome=outcome, reason=reason, doubts=doubts):
                self.finish = RunEnd(when=self.now, outcome=outcome, reason=reason, doubts=doubts)
            case RunResumed(manifest=manifest):
                self.manifest = manifest
                self.resumed.append(self.now)
            case _:
                pass
        if after.transaction is not None and self.history:
            self._amend(region=tuple(sorted(after.transaction.region)))

    def _draft(self, written: CodeWritten) -> int | None:
        if self.drafting is None:
            return None
        return self.drafting.slot_of(written.node, written.code, written.reply)

    def _learn(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            self.nodes[node.id] = node
            self.committed.setdefault(node.id, self.now)

    def _forget_revisions(self) -> None:
        """Restore the node descriptions and retired nodes from before a rolled-back transaction."""
        current = self.ledger.graph.by_id
        self.nodes |= current
        self.retired = {n: when for n, when in self.retired.items() if n not in current}
        for node in self.nodes:
            if node not in current:
                self.retired.setdefault(node, self.now)

    def _open(self, opened: TransactionOpened, before: Ledger) -> None:
        working = before.working
        assert working.assembly is not None
        self.diagnoses[-1] = msgspec.structs.replace(self.diagnoses[-1], transaction=opened.number)
        self.history.append(
            Transaction(
                number=opened.number,
                kind=opened.kind,
                opened=self.now.seq,
                diagnosis=self.diagnoses[-1].diagnosis,
                selected=opened.selected,
                region=opened.selected,
                frozen=opened.frozen,
                snapshot=opened.snapshot,
                pinned=opened.pinned,
                before=opened.rank,
                nodes_before=len(before.graph.nodes),
                verdicts_before={c: working.evidence[c].verdict for c in opened.pinned},
                program_before=working.assembly.program,
            )
        )

    def _attach(self, evidence: Evidence) -> None:
        if self.ledger.transaction is None:
            return
        if isinstance(evidence.subject, AtProgram):
            self._amend(global_evidence=(*self.history[-1].global_evidence, evidence))
        else:
            self._amend(local_evidence=(*self.history[-1].local_evidence, evidence))

    def _amend(self, **fields: object) -> None:
        self.history[-1] = msgspec.structs.replace(self.history[-1], **fields)

    def trace(self, head: Head) -> Trace:
        return Trace(
            run=self.start.run,
            task=self.start.task,
            started=self.started,
            last=self.now,
            head=head,
            manifest=self.manifest,
            working=self.ledger.working,
            committed=self.committed,
            nodes=self.nodes,
            retired=self.retired,
            versions=tuple(self.versions),
            evidence=tuple(self.evidence),
            dropped=self.dropped,
            history=tuple(self.history),
            diagnoses=tuple(self.diagnoses),
            exceptions=tuple(self.exceptions),
            replies=tuple(self.replies),
            programs=tuple(self.programs),
            resumed=tuple(self.resumed),
            finish=self.finish,
            rulings=tuple(self.rulings),
            losses=tuple(self.losses),
            planner=self.planner,
            granularity=self.granularity,
            drafting=self.drafting,
        )
