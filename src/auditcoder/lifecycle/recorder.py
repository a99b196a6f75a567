"""Writes the record of a run. An event that the laws forbid is rejected before it is written."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from typing import Self, TypeAlias, TypeVar

from auditcoder.domain.assembly import assemble
from auditcoder.domain.chain import EMPTY, FORMAT, Entry, EntryReader, Head, Sealed, seal
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.contract import Contract
from auditcoder.domain.errors import (
    NotFound,
    RecordRefused,
    RecordUnreadable,
)
from auditcoder.domain.events import (
    Adjudicated,
    Assembled,
    CheckDropped,
    CheckRan,
    CodeWritten,
    Event,
    Manifest,
    RolledBack,
    RunStarted,
    VariantTried,
)
from auditcoder.domain.evidence import CheckKind, Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import (
    IllegalHistory,
    advance,
    committed_graph,
    deciding,
    opening,
    taken_names,
)
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.request import Reply
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import Task
from auditcoder.domain.values import CheckId, Digest, RunId, digest, whole
from auditcoder.lifecycle.ports import TraceStore

Clock: TypeAlias = Callable[[], datetime]
Watch: TypeAlias = Callable[[int, Event], None]
"""Receives every event with its number once it is recorded; an interface displays it."""

Item = TypeVar("Item")
Result = TypeVar("Result")

_MAX_REMEMBERED = 4096
"""Maximum number of stored blobs whose digests are remembered."""


def plain_lines(source: str) -> str:
    """Return code as it is recorded: valid Unicode, with line feeds as line ends."""
    return whole("\n".join(source.replace("\r\n", "\n").split("\r")))


class RunHistory:
    """All code, evidence and references that a run recorded, including rolled-back ones."""

    def __init__(self) -> None:
        self._evidence: dict[int, Evidence] = {}
        self._versions: dict[NodeId, list[CodeWritten]] = {}
        self._references: dict[tuple[NodeId, Contract | None], Digest] = {}

    def evidence(self, seq: int) -> Evidence:
        """Return the evidence that an event recorded."""
        return self._evidence[seq]

    def versions(self, node: NodeId) -> tuple[CodeWritten, ...]:
        """Return every version of a node's code, oldest first."""
        return tuple(self._versions.get(node, ()))

    def reference(self, node: NodeId, contract: Contract | None) -> Digest | None:
        """Return the last slow reference that a node with this contract was compared with."""
        return self._references.get((node, contract))

    def add(self, seq: int, event: Event, ledger: Ledger) -> None:
        """Add one event; `ledger` is the state after it."""
        match event:
            case CodeWritten(node=node):
                self._versions.setdefault(node, []).append(event)
            case CheckRan(evidence=evidence):
                self._evidence[seq] = evidence
                subject, source = evidence.subject, evidence.input
                compared = evidence.kind is CheckKind.DIFFERENTIAL
                if compared and isinstance(subject, AtNode) and source is not None:
                    contract = ledger.graph.by_id[subject.node].contract
                    self._references[subject.node, contract] = source
            case _:
                pass


class Recorder:
    """Appends events to one run. An event is durable once `record` has returned.

    Safe to share between threads: events are serialised, and the laws judge each of them against
    the state that it follows.
    """

    def __init__(self, store: TraceStore, run: RunId, clock: Clock) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._lock = threading.RLock()
        self.watch: Watch = lambda _seq, _event: None
        self._staged: dict[Digest, bytes] = {}
        self._kept: OrderedDict[Digest, None] = OrderedDict()
        self._reader = EntryReader()
        self._ledger = Ledger()
        self._head = EMPTY
        self.history = RunHistory()

    @classmethod
    def start(
        cls,
        store: TraceStore,
        run: RunId,
        task: Task,
        clock: Clock,
        manifest: Manifest | None = None,
    ) -> Self:
        """Start a new run and record its first event."""
        recorder = cls(store, run, clock)
        recorder.record(
            RunStarted(format=FORMAT, run=run, task=task, manifest=manifest or Manifest())
        )
        return recorder

    @classmethod
    def resume(cls, store: TraceStore, run: RunId, clock: Clock) -> Self:
        """Continue a run at the end of its record."""
        recorder = cls(store, run, clock)
        recorder._catch_up()
        if recorder._head == EMPTY:
            raise NotFound("run.unknown", f"there is no run {run} here")
        return recorder

    def _catch_up(self) -> None:
        for entry in self._chained():
            self._advance(entry)

    def _chained(self) -> Iterator[Entry]:
        """Yield the record's entries; raise RecordUnreadable where the chain is broken."""
        head = EMPTY
        for body in self._store.read(self._run):
            entry = self._reader.read(body)
            if (entry.seq, entry.prev) != (head.entries, head.digest):
                raise RecordUnreadable(
                    "record.broken",
                    f"the chain of run {self._run} is broken at entry {head.entries}",
                    "`auditcoder verify` lists all findings; nothing was written",
                )
            head = Head(entries=head.entries + 1, digest=digest(body))
            yield entry

    def _advance(self, entry: Entry) -> int:
        """Move the state past a recorded entry and return the entry's number."""
        self._ledger = self._judge(entry.event)
        # Encoding the entry again, instead of copying its bytes, detects a reader that alters it.
        _, _, head = seal(self._head, entry.event, entry.at, self._ledger.format)
        seq, self._head = self._head.entries, head
        self.history.add(seq, entry.event, self._ledger)
        return seq

    @property
    def run(self) -> RunId:
        """The id of the run."""
        return self._run

    @property
    def ledger(self) -> Ledger:
        """The present state of the run."""
        return self._ledger

    @property
    def head(self) -> Head:
        """The head of the chain."""
        return self._head

    def put(self, content: str | bytes) -> Digest:
        """Stage content as a blob; it is stored together with the event that names it."""
        # Model output can hold unpaired surrogates, which UTF-8 cannot encode.
        raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
        name = digest(raw)
        with self._lock:
            if name not in self._kept:
                self._staged[name] = raw
        return name

    def read(self, name: Digest) -> bytes:
        """Return the content of a staged or stored blob."""
        staged = self._staged.get(name)
        return self._store.blob(name) if staged is None else staged

    def text(self, name: Digest) -> str:
        """Return the content of a blob as text."""
        return self.read(name).decode("utf-8", "replace")

    def record(self, event: Event) -> int:
        """Append `event` and return its number; raise RecordRefused if a law forbids it."""
        return self._append(event)

    # The Replayer overrides these methods to take results from an existing record.

    def run_in_threads(
        self, work: Callable[[Item], Result], items: Sequence[Item], threads: int
    ) -> list[Result]:
        """Apply `work` to each item, several at a time; return the results in order."""
        with ThreadPoolExecutor(max_workers=min(threads, len(items))) as pool:
            try:
                return list(pool.map(work, items))
            except BaseException:
                self._give_up_waiting()  # the pool waits for its threads before it raises
                raise

    def _give_up_waiting(self) -> None:
        """Wake the threads that wait for one another; only a Replayer's threads do."""

    @property
    def replaying(self) -> bool:
        """Whether recorded events are left to replay."""
        return False

    def skip_failed_calls(self) -> None:
        """Skip recorded calls without a reply, before the next call is made."""

    def recall_reply(self, request: Digest) -> Reply | None:  # noqa: ARG002
        """Return the recorded reply to a request; None if the model must be called."""
        return None

    def recall_evidence(self, check: CheckId, against: Digest) -> Evidence | None:  # noqa: ARG002
        """Return the recorded evidence of a check if that event comes next."""
        return None

    def recall_variant(self, versions: Mapping[NodeId, int]) -> VariantTried | None:  # noqa: ARG002
        """Return the recorded run of a variant if that event comes next."""
        return None

    def recall_drop(self) -> CheckDropped | None:
        """Return the recorded dropping of a check if that event comes next."""
        return None

    def recall_ruling(self) -> Adjudicated | None:
        """Return the recorded ruling on a check if that event comes next."""
        return None

    def _append(self, event: Event) -> int:
        with self._lock:
            entry, body, head = self._sealed(event)
            after = self._judge(entry.event)
            blobs = {n: self._staged[n] for n in event.blobs() if n in self._staged}
            self._store.append(self._run, self._head, [body], head, blobs)
            seq, self._ledger, self._head = self._head.entries, after, head
            self.history.add(seq, entry.event, after)
            self._settle(blobs)
            self.watch(seq, entry.event)
            return seq

    def _sealed(self, event: Event) -> Sealed:
        try:
            started_in = event.format if isinstance(event, RunStarted) else self._ledger.format
            return seal(self._head, event, self._clock(), started_in)
        # unpaired surrogates, recursive values, numbers out of range
        except (ValueError, RecursionError) as error:
            raise RecordRefused(
                "record.unwritable",
                f"event {self._head.entries} of run {self._run} cannot be written: {error}",
                "nothing was written; the record is unchanged",
            ) from error

    def _settle(self, blobs: Iterable[Digest]) -> None:
        """Remember stored blobs, so that they are not sent to the store again."""
        for name in blobs:
            del self._staged[name]
            self._kept[name] = None
        while len(self._kept) > _MAX_REMEMBERED:
            self._kept.popitem(last=False)

    def _judge(self, event: Event) -> Ledger:
        for name in event.blobs():
            if name not in self._kept:
                self.read(name)
        with self._refusing():
            return advance(self._ledger, event, self.read)

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except IllegalHistory as illegal:
            raise RecordRefused(
                f"law.{illegal.law.value}",
                f"event {illegal.seq} of run {self._run} is refused: {illegal}",
                "nothing was written; the record is unchanged",
            ) from illegal

    # Events whose content follows from the state are made here, so that callers cannot get them
    # wrong.

    def write_code(
        self,
        node: NodeId,
        source: str,
        *,
        agent: str = "",
        scope: str = "",
        cause: NodeId | None = None,
        reply: int | None = None,
        losses: tuple[str, ...] = (),
        note: str = "",
    ) -> int:
        """Record `source` as the complete code of `node`, with the units that it registers.

        Line ends become line feeds, because the parser counts other line ends differently. The
        recorded reply keeps the original ones.
        """
        source = plain_lines(source)
        with self._lock:
            with self._refusing():
                taken = taken_names(self._ledger, node)
            return self.record(
                CodeWritten(
                    node=node,
                    code=self.put(source),
                    units=units_of(read_bundle(source), node, scope, taken),
                    scope=scope,
                    agent=agent,
                    cause=cause,
                    reply=reply,
                    losses=losses,
                    note=note,
                )
            )

    def assemble(self) -> Digest:
        """Assemble the bundles and record the program; raise AssemblyConflict if they clash."""
        with self._lock:
            working = self._ledger.working
            with self._refusing():
                draft = assemble(committed_graph(self._ledger), working.code, working.bundles)
            program = self.put(draft.text)
            self.record(Assembled(program=program, segments=draft.segments))
            return program

    def open_transaction(self, kind: TransactionKind = TransactionKind.BOUNDED) -> int:
        """Open a repair for the newest diagnosis: freeze its complement and pin its checks."""
        with self._lock:
            with self._refusing():
                event = opening(self._ledger, kind)
            return self.record(event)

    def decide(self, reason: str = "") -> Decision:
        """Accept the candidate if it ranks strictly higher, else reject it and roll back."""
        with self._lock:
            transaction = self._ledger.transaction
            if transaction is None or not transaction.rejected:
                with self._refusing():
                    event = deciding(self._ledger, reason)
                self.record(event)
                if event.decision is Decision.ACCEPTED:
                    return event.decision
            self._roll_back()  # also after an interruption between decision and rollback
            return Decision.REJECTED

    def _roll_back(self) -> None:
        transaction = self._ledger.transaction
        assert transaction is not None
        self.record(RolledBack(number=transaction.number, restored=transaction.before.digest()))
