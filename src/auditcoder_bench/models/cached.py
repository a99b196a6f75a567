"""A model adapter that reuses recorded replies and sends only new requests."""

from auditcoder.domain.chain import EntryReader
from auditcoder.domain.events import ReplyRecorded, RunStarted
from auditcoder.domain.request import FinishReason, Reply, Request
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.ports import Model, TraceReader


class CachedModel:
    """Answers a request with the recorded reply to an identical request of any run in a store.

    This makes the common part of two variants of a run identical, so that they can be compared.
    The reported usage is that of the recorded reply.
    """

    def __init__(self, model: Model, reader: TraceReader) -> None:
        self.name = model.name
        self.traits = model.traits
        self._model = model
        self._reader = reader
        self._known: dict[Digest, ReplyRecorded] = {}
        for run in reader.runs():
            entries, same_model = EntryReader(), False
            for body in reader.read(run):
                event = entries.read(body).event
                if isinstance(event, RunStarted):
                    same_model = event.manifest.model == model.name
                if not same_model:
                    break  # replies of other models are not reused
                if isinstance(event, ReplyRecorded) and event.finish != FinishReason.FAILED.value:
                    self._known.setdefault(event.request, event)

    def complete(self, request: Request) -> Reply:
        """Return the recorded reply, or send the request to the model."""
        event = self._known.get(request.digest)
        if event is None:
            return self._model.complete(request)
        return event.answer(self._reader.blob(event.reply).decode("utf-8", "replace"))

    def close(self) -> None:
        """Close the model. The caller closes the store."""
        self._model.close()
