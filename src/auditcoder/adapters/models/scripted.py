"""A model with prepared replies, for tests."""

import threading
from collections.abc import Callable, Iterable
from typing import TypeAlias

from auditcoder.domain.errors import ModelError, ModelMisconfigured
from auditcoder.domain.request import FREE, FinishReason, Reply, Request, Traits
from auditcoder.domain.usage import Usage

Line: TypeAlias = str | Reply | ModelError | Callable[[Request], "str | Reply"]
"""A text, a whole reply, an error to raise, or a function of the request."""


class ScriptedModel:
    """Answers each request with the next of its lines."""

    name = "scripted"

    def __init__(self, lines: Iterable[Line], traits: Traits | None = None) -> None:
        self._lines = iter(tuple(lines))
        self._lock = threading.Lock()
        self.traits = traits or Traits(price=FREE, parallel=8)
        self.asked: list[Request] = []

    def complete(self, request: Request) -> Reply:
        """Return the next line as a reply, or raise it."""
        with self._lock:
            self.asked.append(request)
            line = next(self._lines, None)
        match line:
            case None:
                raise ModelMisconfigured(
                    "model.script-ended", f"the script has no line for request {len(self.asked)}"
                )
            case ModelError():
                raise line
            case str() | Reply():
                return _reply(line, request)
            case _:
                return _reply(line(request), request)

    def close(self) -> None:
        """Do nothing."""


def _reply(line: str | Reply, request: Request) -> Reply:
    if isinstance(line, Reply):
        return line
    words = sum(len(message.text.split()) for message in request.messages)
    usage = Usage(calls=1, prompt_tokens=words, completion_tokens=len(line.split()))
    return Reply(text=line, finish=FinishReason.STOP, usage=usage, model="scripted")
