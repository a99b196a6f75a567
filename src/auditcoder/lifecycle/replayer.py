"""Replays a record: the run is executed again and every event is compared with the record.

A run depends only on its task, its settings, the model's replies and the evidence. All of these
are recorded, so the same code produces the same events from them. An interrupted run is resumed
by replaying its record and then appending to it; a finished run is replayed to show that it is
reproducible. Recorded calls are neither made nor paid again.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Self, TypeAlias

import msgspec

from auditcoder.domain.chain import Entry
from auditcoder.domain.errors import AuditCoderError, EndOfRecord, NotFound, ReplayDiverged
from auditcoder.domain.events import (
    Adjudicated,
    CheckDropped,
    CheckRan,
    Event,
    Manifest,
    ReplyRecorded,
    RunResumed,
    VariantTried,
)
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import FinishReason, Reply, Request
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import CheckId, Digest, RunId, encode
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Clock, Item, Recorder, Result

Charge: TypeAlias = Callable[[Request, Usage], None]
"""Receives calls without a reply, which may have been billed nevertheless."""


class ReplayLog:
    """The recorded entries that are still to be replayed. Not thread-safe."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = deque(entries)
        self._replies: dict[Digest, deque[ReplyRecorded]] = defaultdict(deque)
        for entry in self._entries:
            if isinstance(entry.event, ReplyRecorded) and not is_skipped(entry.event):
                self._replies[entry.event.request].append(entry.event)

    def __bool__(self) -> bool:
        """Whether any entry is left."""
        return bool(self._entries)

    def next(self) -> Entry | None:
        """Return the next entry; None if none is left."""
        return self._entries[0] if self._entries else None

    def take(self) -> Entry:
        """Remove the next entry and return it."""
        return self._entries.popleft()

    def is_next(self, event: Event) -> bool:
        """Whether `event` equals the next recorded event, byte for byte."""
        return bool(self._entries) and encode(self._entries[0].event) == encode(event)

    def reply_to(self, request: Digest) -> ReplyRecorded | None:
        """Return the next recorded reply to a request, each reply once; None if none is left."""
        waiting = self._replies.get(request)
        return waiting.popleft() if waiting else None

    def evidence(self, check: CheckId, against: Digest) -> Evidence | None:
        """Return the evidence of a check if that event comes next."""
        if self._entries and isinstance(event := self._entries[0].event, CheckRan):
            evidence = event.evidence
            if (evidence.check, evidence.against) == (check, against):
                return evidence
        return None


def is_skipped(event: Event) -> bool:
    """Whether the strategy does not produce an event: a resumption, or a call without a reply."""
    if isinstance(event, ReplyRecorded):
        return event.finish == FinishReason.FAILED.value
    return isinstance(event, RunResumed)


class Replayer(Recorder):
    """Compares a run's events with an existing record, then appends to it or ends.

    Every event must equal the next recorded one until the record ends.
    """

    def __init__(self, store: TraceStore, run: RunId, clock: Clock) -> None:
        super().__init__(store, run, clock)
        self._turn = threading.Condition(self._lock)
        self._unfinished = self._threads = 1
        self._waiting = 0
        self._log = ReplayLog()
        self._manifest: Manifest | None = None
        self._read_only = True
        self._charge: Charge = lambda _request, _usage: None

    @classmethod
    def open(
        cls,
        store: TraceStore,
        run: RunId,
        clock: Clock,
        resume_with: Manifest | None,
        charge: Charge,
    ) -> Self:
        """Return a replayer at the beginning of a run's record.

        At the end of the record, `resume_with` is recorded and the run continues. Without it the
        run is only replayed: an event beyond the record raises EndOfRecord, and nothing is
        written. `charge` receives every recorded call without a reply, in order.
        """
        replayer = cls(store, run, clock)
        replayer._charge = charge
        replayer._log = ReplayLog(replayer._chained())
        if not replayer._log:
            raise NotFound("run.unknown", f"there is no run {run} here")
        replayer._manifest = resume_with
        replayer._read_only = resume_with is None
        with replayer._turn:
            replayer._step()
        return replayer

    @property
    def replaying(self) -> bool:
        """Whether recorded events are left to replay."""
        return bool(self._log)

    def record(self, event: Event) -> int:
        """Advance past `event` if it is recorded, else append it; return its number."""
        with self._turn:
            if self._log and self._is_recorded(event):
                return self._step()
            if self._read_only:
                raise EndOfRecord
            if self._manifest is not None:
                resumed, self._manifest = RunResumed(manifest=self._manifest), None
                self._append(resumed)
            return self._append(event)

    def _is_recorded(self, event: Event) -> bool:
        """Wait until it is this event's turn; return whether it is recorded."""
        event = self._sealed(event).entry.event  # as decoded from the record
        while self._log:
            self._skip()
            if self._log.is_next(event):
                return True
            if self._log:
                self._judge(event)  # an event that the laws reject was not recorded either
            # Threads produce replies in any order: each waits for those recorded before it.
            may_wait = isinstance(event, ReplyRecorded)
            if self._log and not (may_wait and self._wait_for_others()):
                raise self._diverged(event)
        return False

    def _skip(self) -> None:
        """Advance past resumptions and calls without a reply."""
        while (entry := self._log.next()) is not None and is_skipped(entry.event):
            if isinstance(entry.event, ReplyRecorded):
                request = msgspec.json.decode(self.read(entry.event.request), type=Request)
                self._charge(request, entry.event.usage)
            self._step()

    def _step(self) -> int:
        entry = self._log.take()
        seq = self._advance(entry)
        self._settle({n: None for n in entry.event.blobs() if n in self._staged})
        self.watch(seq, entry.event)
        self._skip()
        self._wake_others()
        return seq

    def run_in_threads(
        self, work: Callable[[Item], Result], items: Sequence[Item], threads: int
    ) -> list[Result]:
        """Apply `work` to each item, several at a time; return the results in order.

        A failure wakes the threads that wait for their turn, which then diverge; the first
        failure is raised.
        """
        failures: list[BaseException] = []

        def counted(item: Item) -> Result:
            try:
                result = work(item)
            except BaseException as failure:
                failures.append(failure)
                self._give_up_waiting()
                raise
            with self._turn:
                self._unfinished -= 1
                self._wake_others()
            return result

        with self._turn:
            self._unfinished, self._threads = len(items), min(threads, len(items))
        try:
            return super().run_in_threads(counted, items, threads)
        except ReplayDiverged:
            raise failures[0] from failures[0].__cause__
        finally:
            with self._turn:
                self._unfinished = self._threads = 1

    def _wait_for_others(self) -> bool:
        """Wait until another thread advances; return False if none can."""
        if self._waiting + 1 >= min(self._unfinished, self._threads):
            return False
        self._waiting += 1
        self._turn.wait()
        return True

    def _wake_others(self) -> None:
        self._waiting = 0  # the number of threads waiting since the last step
        self._turn.notify_all()

    def _give_up_waiting(self) -> None:
        with self._turn:
            self._unfinished = 0
            self._wake_others()

    def _diverged(self, event: Event) -> AuditCoderError:
        entry = self._log.next()
        recorded = type(entry.event).__name__ if entry else "the end of the record"
        return ReplayDiverged(
            "replay.diverged",
            f"the replay of run {self._run} differs from its record at event"
            f" {self._head.entries}: {recorded} is recorded, the replay produces"
            f" {type(event).__name__}",
            "the run was made by another version or with other settings; nothing was written",
        )

    def skip_failed_calls(self) -> None:
        """Skip recorded calls without a reply, before the next call is made."""
        with self._turn:
            self._skip()

    def recall_reply(self, request: Digest) -> Reply | None:
        """Return the recorded reply to a request; None if the record has ended."""
        with self._turn:
            self._skip()
            event = self._log.reply_to(request)
            if event is None:
                while self._log and self._wait_for_others():
                    pass
                if self._read_only and not self._log:
                    raise EndOfRecord
                if self._log:
                    raise ReplayDiverged(
                        "replay.miss",
                        f"the record of run {self._run} has no reply to request {request[:16]}",
                        "the run was made by another version or with other settings",
                    )
                return None
        return event.answer(self.text(event.reply))

    def recall_evidence(self, check: CheckId, against: Digest) -> Evidence | None:
        """Return the recorded evidence of a check on the same code if that event comes next."""
        with self._turn:
            self._skip()
            return self._log.evidence(check, against)

    def recall_variant(self, versions: Mapping[NodeId, int]) -> VariantTried | None:
        """Return the recorded run of a variant if that event comes next."""
        with self._turn:
            self._skip()
            entry = self._log.next()
            event = entry.event if entry else None
            return event if isinstance(event, VariantTried) and event.versions == versions else None

    def recall_drop(self) -> CheckDropped | None:
        """Return the recorded dropping of a check if that event comes next."""
        with self._turn:
            self._skip()
            entry = self._log.next()
            return entry.event if entry and isinstance(entry.event, CheckDropped) else None

    def recall_ruling(self) -> Adjudicated | None:
        """Return the recorded ruling on a check if that event comes next."""
        with self._turn:
            self._skip()
            entry = self._log.next()
            return entry.event if entry and isinstance(entry.event, Adjudicated) else None
