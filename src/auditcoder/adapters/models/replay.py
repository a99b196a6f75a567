"""A model that answers from a record."""

import threading
from collections import defaultdict, deque

from auditcoder.domain.chain import EMPTY, EntryReader
from auditcoder.domain.errors import ModelError, ModelMisconfigured, ModelUnavailable, NotFound
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.values import Digest, RunId
from auditcoder.lifecycle.ports import TraceReader


class ReplayModel:
    """Answers from the replies of one run: the nth request with a digest gets its nth reply."""

    def __init__(self, reader: TraceReader, run: RunId) -> None:
        self.name = f"replay:{run}"
        self._reader = reader
        self._run = run
        self._lock = threading.Lock()
        self._replies: dict[Digest, deque[ReplyRecorded]] = defaultdict(deque)
        self._requests: dict[Digest, int] = defaultdict(int)
        if reader.head(run) == EMPTY:
            raise NotFound("run.unknown", f"no run {run!r} to replay")
        entries = EntryReader()
        for body in reader.read(run):
            event = entries.read(body).event
            if isinstance(event, ReplyRecorded):
                self._replies[event.request].append(event)
        self.traits = Traits(price=FREE, parallel=8)

    def complete(self, request: Request) -> Reply:
        """Return the recorded reply; a request without one is an error."""
        name = request.digest
        with self._lock:
            self._requests[name] += 1
            remaining = self._replies.get(name)
            event = remaining.popleft() if remaining else None
        if event is None:
            raise ModelMisconfigured(
                "replay.miss",
                f"run {self._run} has no reply to request {name[:16]}, "
                f"occurrence {self._requests[name]}",
                "the run was made by another version or with other settings;"
                " its record can still be verified and read",
            )
        if event.finish == FinishReason.FAILED.value:
            raise _failure(event)
        return event.answer(self._reader.blob(event.reply).decode("utf-8", "replace"))

    def close(self) -> None:
        """Do nothing: the caller closes the record."""


def _failure(event: ReplyRecorded) -> ModelError:
    """Return the error that was raised when the run was recorded, with its attempts."""
    code, _, message = event.rejected.partition(": ")
    advice = "this error occurred when the run was recorded"
    if not event.attempts or event.attempts[-1].problem != code:
        return ModelMisconfigured(code, message, advice)
    error = ModelUnavailable(code, message, advice)
    error.attempts = event.attempts
    return error
