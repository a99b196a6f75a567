"""A model adapter whose first replies are given; later requests go to a real model."""

import threading
from collections.abc import Iterable

from auditcoder.domain.request import FinishReason, Reply, Request
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.ports import Model


class SeededModel:
    """Returns the given replies in order, then forwards requests to the model."""

    def __init__(self, model: Model, answers: Iterable[str]) -> None:
        self.name = model.name
        self.traits = model.traits
        self._model = model
        self._answers = iter(tuple(answers))
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Reply:
        """Return the next given reply at no cost, or send the request to the model."""
        with self._lock:
            text = next(self._answers, None)
        if text is None:
            return self._model.complete(request)
        return Reply(text=text, finish=FinishReason.STOP, usage=Usage(calls=1), model="preface")

    def close(self) -> None:
        """Close the model."""
        self._model.close()
