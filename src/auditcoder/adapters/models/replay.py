"""A model that answers from a record: the same request, for the same time, the same answer."""

import threading
from collections import defaultdict, deque

from auditcoder.domain.chain import EMPTY, EntryReader
from auditcoder.domain.errors import ModelError, ModelMisconfigured, ModelUnavailable, NotFound
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.values import Digest, RunId
from auditcoder.lifecycle.ports import TraceReader


class ReplayModel:
    """Answers from the replies of one run, keyed by the request's digest and its occurrence."""

    def __init__(self, reader: TraceReader, run: RunId) -> None:
        self.name = f"replay:{run}"
        self._reader = reader
        self._run = run
        self._lock = threading.Lock()
        self._replies: dict[Digest, deque[ReplyRecorded]] = defaultdict(deque)
        self._asked: dict[Digest, int] = defaultdict(int)
        if reader.head(run) == EMPTY:
            raise NotFound("run.unknown", f"there is no run {run} to replay here")
        entries = EntryReader()
        for body in reader.read(run):
            event = entries.read(body).event
            if isinstance(event, ReplyRecorded):
                self._replies[event.request].append(event)
        self.traits = Traits(price=FREE, parallel=8)

    def complete(self, request: Request) -> Reply:
        """Give the recorded answer; a request that was never made is an error."""
        name = request.digest
        with self._lock:
            self._asked[name] += 1
            waiting = self._replies.get(name)
            event = waiting.popleft() if waiting else None
        if event is None:
            raise ModelMisconfigured(
                "replay.miss",
                f"run {self._run} holds no answer to request {name[:16]}, "
                f"asked for time {self._asked[name]}",
                "the run was made by another version or with other settings; its record still"
                " verifies, and shows what was asked",
            )
        if event.finish == FinishReason.FAILED.value:
            raise _failure(event)
        return event.answer(self._reader.blob(event.reply).decode("utf-8", "replace"))

    def close(self) -> None:
        """Do nothing; the record is its owner's to close."""


def _failure(event: ReplyRecorded) -> ModelError:
    """Return what was raised when the run was recorded, with all that had been tried."""
    code, _, message = event.rejected.partition(": ")
    advice = "so it went when the run was recorded"
    if not event.attempts or event.attempts[-1].problem != code:
        return ModelMisconfigured(code, message, advice)
    error = ModelUnavailable(code, message, advice)
    error.attempts = event.attempts
    return error
