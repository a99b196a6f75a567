"""The writer of a record. It refuses what the laws forbid, before anything is written."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Self, TypeAlias

import msgspec

from auditcoder.domain.assembly import assemble
from auditcoder.domain.chain import EMPTY, FORMAT, Entry, Head, Reader, Sealed, seal
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.errors import (
    AuditCoderError,
    EndOfRecord,
    NotFound,
    RecordRefused,
    RecordUnreadable,
    ReplayDiverged,
)
from auditcoder.domain.events import (
    Assembled,
    CheckDropped,
    CodeWritten,
    Event,
    Manifest,
    ReplyRecorded,
    RolledBack,
    RunResumed,
    RunStarted,
)
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.domain.law import (
    IllegalHistory,
    advance,
    committed_graph,
    deciding,
    opening,
    taken_names,
)
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.request import Reply, Request
from auditcoder.domain.task import Task
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import CheckId, Digest, RunId, digest, whole
from auditcoder.lifecycle.past import Past, brought_nothing
from auditcoder.lifecycle.ports import TraceStore

Clock: TypeAlias = Callable[[], datetime]
Watch: TypeAlias = Callable[[int, Event], None]
"""Is told of every event once it stands; an interface shows it."""

Charge: TypeAlias = Callable[[Request, Usage], None]
"""Is told of calls that brought no answer, and may have cost something all the same."""

_KEPT = 4096
_PATIENCE = 120.0
"""Seconds to wait, while retracing, for another thread to do what came first."""


class Recorder:
    """Appends events to one run. What `record` has returned from is durable.

    Safe to share between threads: events are put in one order, and each is judged
    against the state that it really follows.
    """

    def __init__(self, store: TraceStore, run: RunId, clock: Clock) -> None:
        self._store = store
        self._run = run
        self._clock = clock
        self._lock = threading.RLock()
        self._turn = threading.Condition(self._lock)
        self._past = Past()
        self._resuming: Manifest | None = None
        self._ends_with_past = False
        self.watch: Watch = lambda _seq, _event: None
        self._charged: Charge = lambda _request, _usage: None
        self._staged: dict[Digest, bytes] = {}
        self._kept: OrderedDict[Digest, None] = OrderedDict()
        self._reader = Reader()
        self._ledger = Ledger()
        self._head = EMPTY

    @classmethod
    def start(
        cls,
        store: TraceStore,
        run: RunId,
        task: Task,
        clock: Clock,
        manifest: Manifest | None = None,
    ) -> Self:
        """Begin a new run."""
        recorder = cls(store, run, clock)
        recorder.record(
            RunStarted(format=FORMAT, run=run, task=task, manifest=manifest or Manifest())
        )
        return recorder

    @classmethod
    def resume(cls, store: TraceStore, run: RunId, clock: Clock) -> Self:
        """Go on with a run where its record ends."""
        recorder = cls(store, run, clock)
        recorder._catch_up()
        if recorder._head == EMPTY:
            raise NotFound("run.unknown", f"there is no run {run} here")
        return recorder

    @classmethod
    def retrace(
        cls,
        store: TraceStore,
        run: RunId,
        clock: Clock,
        resuming: Manifest | None,
        charge: Charge,
    ) -> Self:
        """Go through a run again from its beginning, as its life does once more what it did.

        Where the record ends, `resuming` is recorded and the run goes on. Without it the run
        is only replayed: to go on is an error, and nothing is ever written. `charge` is told, in
        its place, of every call that brought no answer.
        """
        recorder = cls(store, run, clock)
        recorder._charged = charge
        recorder._past = Past(recorder._chained())
        if not recorder._past:
            raise NotFound("run.unknown", f"there is no run {run} here")
        recorder._resuming = resuming
        recorder._ends_with_past = resuming is None
        with recorder._turn:
            recorder._retraced()
        return recorder

    def _catch_up(self) -> None:
        for entry in self._chained():
            self._ledger = self._judge(entry.event)
            self._head = self._after(entry)

    def _chained(self) -> Iterator[Entry]:
        """Yield the record's entries as long as each follows from the one before."""
        head = EMPTY
        for body in self._store.read(self._run):
            entry = self._reader.read(body)
            if (entry.seq, entry.prev) != (head.entries, head.digest):
                raise RecordUnreadable(
                    "record.broken",
                    f"the chain of run {self._run} is broken at entry {head.entries}",
                    "`auditcoder verify` says what does not hold; nothing was written",
                )
            head = Head(entries=head.entries + 1, digest=digest(body))
            yield entry

    def _after(self, entry: Entry) -> Head:
        """Return the head once `entry` stands; its bytes are made anew, not copied."""
        _, _, head = seal(self._head, entry.event, entry.at)
        return head

    @property
    def run(self) -> RunId:
        """The run that is written."""
        return self._run

    @property
    def ledger(self) -> Ledger:
        """Where the run stands."""
        return self._ledger

    @property
    def head(self) -> Head:
        """Where the chain ends."""
        return self._head

    def put(self, content: str | bytes) -> Digest:
        """Keep some content; it is written together with the event that names it."""
        # What a model says can hold halves of characters, which no text can; they are marked.
        raw = content.encode("utf-8", "replace") if isinstance(content, str) else content
        name = digest(raw)
        with self._lock:
            if name not in self._kept:
                self._staged[name] = raw
        return name

    def read(self, name: Digest) -> bytes:
        """Return content that was put or recorded."""
        staged = self._staged.get(name)
        return self._store.blob(name) if staged is None else staged

    def text(self, name: Digest) -> str:
        """Return content as text."""
        return self.read(name).decode("utf-8", "replace")

    def record(self, event: Event) -> int:
        """Append `event` and return its number; raise RecordRefused if it may not follow."""
        with self._turn:
            if self._past and self._is_past(event):
                return self._retraced()
            if self._resuming is not None:
                resumed, self._resuming = RunResumed(manifest=self._resuming), None
                self._append(resumed)
            return self._append(event)

    def _is_past(self, event: Event) -> bool:
        """Wait until it is this event's turn; tell whether it was recorded before."""
        event = self._sealed(event).entry.event  # as a reader will read it
        while self._past:
            self._step_over()
            if self._past.is_next(event):
                return True
            if self._past:
                self._judge(event)  # what the laws refuse was refused then, too, and left no trace
            # Replies come in any order from several threads: each waits for those before it.
            patient = isinstance(event, ReplyRecorded) and threading.active_count() > 1
            if self._past and not (patient and self._turn.wait(_PATIENCE)):
                raise self._diverged(event)
        return False

    def _step_over(self) -> None:
        """Pass by what is no step of the life: a resumption, a call that brought nothing."""
        while (entry := self._past.next()) is not None and brought_nothing(entry.event):
            if isinstance(entry.event, ReplyRecorded):
                request = msgspec.json.decode(self.read(entry.event.request), type=Request)
                self._charged(request, entry.event.usage)
            self._retraced()

    def pass_by(self) -> None:
        """While retracing: pass by calls that brought nothing, before the next one is made."""
        with self._turn:
            self._step_over()

    def _retraced(self) -> int:
        entry = self._past.take()
        self._ledger = self._judge(entry.event)
        seq, self._head = self._head.entries, self._after(entry)
        self._settle({n: None for n in entry.event.blobs() if n in self._staged})
        self.watch(seq, entry.event)
        self._step_over()
        self._turn.notify_all()
        return seq

    def _diverged(self, event: Event) -> AuditCoderError:
        was = self._past.next()
        recorded = type(was.event).__name__ if was else "the end of the record"
        return ReplayDiverged(
            "replay.diverged",
            f"run {self._run} goes another way than its record at event {self._head.entries}:"
            f" {recorded} is recorded, {type(event).__name__} would follow now",
            "it was made by another version or with other settings; its record still verifies,"
            " and nothing was written",
        )

    def recall_reply(self, request: Digest) -> Reply | None:
        """Return the recorded answer to a request; None once the past is behind us."""
        with self._turn:
            self._step_over()
            event = self._past.reply_to(request)
            if event is None:
                while self._past and threading.active_count() > 1 and self._turn.wait(_PATIENCE):
                    pass
                if self._ends_with_past and not self._past:
                    raise EndOfRecord
                if self._past:
                    raise ReplayDiverged(
                        "replay.miss",
                        f"run {self._run} holds no answer to request {request[:16]}",
                        "it was made by another version or with other settings; its record still"
                        " verifies, and shows what was asked",
                    )
                return None
        return event.answer(self.text(event.reply))

    def recall_evidence(self, check: CheckId, against: Digest) -> Evidence | None:
        """Return what a check saw when it ran on the very same, if that comes next."""
        with self._turn:
            self._step_over()
            return self._past.evidence(check, against)

    def recall_drop(self) -> CheckDropped | None:
        """Return the dropping of a check, if that comes next."""
        with self._turn:
            self._step_over()
            entry = self._past.next()
            return entry.event if entry and isinstance(entry.event, CheckDropped) else None

    @property
    def retracing(self) -> bool:
        """Whether the past is not yet behind us."""
        return bool(self._past)

    def _append(self, event: Event) -> int:
        with self._lock:
            if self._ends_with_past:
                raise EndOfRecord
            entry, body, head = self._sealed(event)
            after = self._judge(entry.event)
            blobs = {n: self._staged[n] for n in event.blobs() if n in self._staged}
            self._store.append(self._run, self._head, [body], head, blobs)
            seq, self._ledger, self._head = self._head.entries, after, head
            self._settle(blobs)
            self.watch(seq, entry.event)
            return seq

    def _sealed(self, event: Event) -> Sealed:
        try:
            return seal(self._head, event, self._clock())
        # half characters, endless numbers, numbers out of range
        except (ValueError, RecursionError) as error:
            raise RecordRefused(
                "record.unwritable",
                f"event {self._head.entries} of run {self._run} cannot be written: {error}",
                "nothing was written; the record stands as it was",
            ) from error

    def _settle(self, blobs: Iterable[Digest]) -> None:
        """Remember what the store has, lest the same example be written with every check."""
        for name in blobs:
            del self._staged[name]
            self._kept[name] = None
        while len(self._kept) > _KEPT:
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
                "nothing was written; the record stands as it was",
            ) from illegal

    # The acts whose content follows from the state: stated here once, so that no caller
    # can get them wrong.

    def write_code(
        self,
        node: NodeId,
        source: str,
        *,
        agent: str = "",
        scope: str = "",
        cause: NodeId | None = None,
        reply: int | None = None,
        note: str = "",
    ) -> int:
        """Record `source` as the whole of `node`'s code, with the units that it registers.

        Line ends become line feeds: what else a text may end its lines in, the parser counts
        differently. The reply that it came from keeps them.
        """
        source = "\n".join(source.replace("\r\n", "\n").split("\r"))
        source = whole(source)
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
        """Open a repair on the newest diagnosis: freeze its complement, pin its checks."""
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
            self._roll_back()  # also where a writer was cut off between decision and rollback
            return Decision.REJECTED

    def _roll_back(self) -> None:
        transaction = self._ledger.transaction
        assert transaction is not None
        self.record(RolledBack(number=transaction.number, restored=transaction.before.digest()))
