"""A model whose first answers are given: what happens next is asked of a real one."""

import threading
from collections.abc import Iterable

from auditcoder.domain.request import Finish, Reply, Request
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.ports import Model


class PrefacedModel:
    """Begins with given answers, in their order, and asks a model from there on."""

    def __init__(self, model: Model, answers: Iterable[str]) -> None:
        self.name = model.name
        self.traits = model.traits
        self._model = model
        self._answers = iter(tuple(answers))
        self._lock = threading.Lock()

    def complete(self, request: Request) -> Reply:
        """Give the next answer; it cost nothing."""
        with self._lock:
            text = next(self._answers, None)
        if text is None:
            return self._model.complete(request)
        return Reply(text=text, finish=Finish.STOP, usage=Usage(calls=1), model="preface")

    def close(self) -> None:
        """Close the model."""
        self._model.close()
