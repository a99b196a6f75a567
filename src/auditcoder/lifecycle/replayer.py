"""The replayer of a record: a run is executed again and every event is compared with its record.

A run depends only on its task, its settings, the model's replies and the evidence. All of these
are recorded, so the same code, given them again, produces the same events. An interrupted run is
resumed by replaying its record and then writing on; a finished run is replayed to show that it is
reproducible. No model is called and nothing is paid twice.
"""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from typing import Self, TypeAlias

import msgspec

from auditcoder.domain.chain import Entry
from auditcoder.domain.errors import AuditCoderError, EndOfRecord, NotFound, ReplayDiverged
from auditcoder.domain.events import (
    CheckDropped,
    CheckRan,
    Event,
    Manifest,
    ReplyRecorded,
    RunResumed,
)
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.request import FinishReason, Reply, Request
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import CheckId, Digest, RunId, encode
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Clock, Item, Recorder, Result

Charge: TypeAlias = Callable[[Request, Usage], None]
"""Receives calls that brought no reply; they may have cost something nevertheless."""


class ReplayLog:
    """The recorded entries that are still to be replayed. Not safe for threads by itself."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries = deque(entries)
        self._replies: dict[Digest, deque[ReplyRecorded]] = defaultdict(deque)
        for entry in self._entries:
            if isinstance(entry.event, ReplyRecorded) and not is_no_step(entry.event):
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
        """Return the next recorded reply to a request; each is returned once."""
        waiting = self._replies.get(request)
        return waiting.popleft() if waiting else None

    def evidence(self, check: CheckId, against: Digest) -> Evidence | None:
        """Return the evidence of a check if that event comes next."""
        if self._entries and isinstance(event := self._entries[0].event, CheckRan):
            found = event.evidence
            if (found.check, found.against) == (check, against):
                return found
        return None


def is_no_step(event: Event) -> bool:
    """Whether an event is no step of the strategy: a resumption, or a call without a reply."""
    if isinstance(event, ReplyRecorded):
        return event.finish == FinishReason.FAILED.value
    return isinstance(event, RunResumed)


class Replayer(Recorder):
    """Goes through an existing record, then hands over to writing or ends.

    Every event that is recorded again must equal the next one on record.
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

        At the end of the record, `resume_with` is recorded and the run goes on. Without it the
        run is only replayed: an event beyond the record raises EndOfRecord, and nothing is ever
        written. `charge` receives every recorded call that brought no reply, in its order.
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
        """Whether recorded events are left to go through."""
        return bool(self._log)

    def record(self, event: Event) -> int:
        """Step past `event` if it is on record, else append it; return its number."""
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
        """Wait until it is this event's turn; return whether it is on record."""
        event = self._sealed(event).entry.event  # as a reader will read it
        while self._log:
            self._skip()
            if self._log.is_next(event):
                return True
            if self._log:
                self._judge(event)  # an event that the laws reject was rejected then, too
            # Replies arrive in any order from several threads: each waits for those before it.
            may_wait = isinstance(event, ReplyRecorded)
            if self._log and not (may_wait and self._wait_for_others()):
                raise self._diverged(event)
        return False

    def _skip(self) -> None:
        """Step over resumptions and calls that brought no reply."""
        while (entry := self._log.next()) is not None and is_no_step(entry.event):
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

        A failure releases the threads that wait for their turn. They diverge then; what is
        raised is the failure that came first.
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
        """Wait until another thread has taken a step; return False if none can take one."""
        if self._waiting + 1 >= min(self._unfinished, self._threads):
            return False
        self._waiting += 1
        self._turn.wait()
        return True

    def _wake_others(self) -> None:
        self._waiting = 0  # counts those who wait since the last step
        self._turn.notify_all()

    def _give_up_waiting(self) -> None:
        with self._turn:
            self._unfinished = 0
            self._wake_others()

    def _diverged(self, event: Event) -> AuditCoderError:
        was = self._log.next()
        recorded = type(was.event).__name__ if was else "the end of the record"
        return ReplayDiverged(
            "replay.diverged",
            f"run {self._run} goes another way than its record at event {self._head.entries}:"
            f" {recorded} is recorded, {type(event).__name__} would follow now",
            "it was made by another version or with other settings; its record still verifies,"
            " and nothing was written",
        )

    def skip_failed_calls(self) -> None:
        """Step over recorded calls that brought no reply, before the next call is made."""
        with self._turn:
            self._skip()

    def recall_reply(self, request: Digest) -> Reply | None:
        """Return the recorded reply to a request; None once the record is used up."""
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
                        f"run {self._run} holds no answer to request {request[:16]}",
                        "it was made by another version or with other settings; its record still"
                        " verifies, and shows what was asked",
                    )
                return None
        return event.answer(self.text(event.reply))

    def recall_evidence(self, check: CheckId, against: Digest) -> Evidence | None:
        """Return the recorded evidence of a check on the same code if that event comes next."""
        with self._turn:
            self._skip()
            return self._log.evidence(check, against)

    def recall_drop(self) -> CheckDropped | None:
        """Return the recorded dropping of a check if that event comes next."""
        with self._turn:
            self._skip()
            entry = self._log.next()
            return entry.event if entry and isinstance(entry.event, CheckDropped) else None
