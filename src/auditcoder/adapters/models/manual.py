"""A folder in which a person, or an agent, is the model.

Each request becomes a folder with `request.md` to read (and `request.json` for programs); the
answer is whatever is put beside it as `reply.md`. Named by digest and occurrence, so that a run
that is resumed finds the answers it already has.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from auditcoder.adapters.files import whole_file
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable
from auditcoder.domain.request import Finish, Reply, Request, Traits
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, encode

_POLL = 0.1
_SETTLED = 0.3
"""A reply that was written to more recently may not be whole yet."""


class ManualModel:
    """Waits for answers in a folder."""

    def __init__(
        self, folder: Path, *, patience: float | None = None, say: Callable[[str], None]
    ) -> None:
        self.name = f"manual:{folder}"
        self.traits = Traits(parallel=8)
        self._folder = folder
        self._patience = patience
        self._say = say
        self._seen: Counter[Digest] = Counter()
        self._lock = threading.Lock()
        self._closed = threading.Event()

    def at_most_tokens(self, request: Request) -> int:
        """Count bytes."""
        return request.at_most_tokens()

    def complete(self, request: Request) -> Reply:
        """Put the request where it can be read, and wait for the reply beside it."""
        started = time.monotonic()
        place = self._place(request)
        reply = place / "reply.md"
        if not reply.exists():
            self._put(place, request)
            self._say(f"waiting for {reply}")
        text = self._wait(reply, started)
        return Reply(
            text=text,
            finish=Finish.STOP,
            usage=Usage(calls=1, unmeasured=1, unpriced=1),
            model="manual",
            seconds=time.monotonic() - started,
        )

    def _place(self, request: Request) -> Path:
        with self._lock:
            self._seen[request.digest] += 1
            return self._folder / f"{request.digest[:16]}-{self._seen[request.digest]}"

    def _put(self, place: Path, request: Request) -> None:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelMisconfigured(
                "model.folder",
                f"requests cannot be put into {self._folder}: {error.strerror}",
                "name a folder that can be written to: `--model manual:FOLDER`",
            ) from error
        with whole_file(place / "request.json") as file:
            file.write(encode(request))
        with whole_file(place / "request.md") as file:
            file.write(_readable(request).encode("utf-8", "replace"))

    def _wait(self, reply: Path, started: float) -> str:
        while not self._closed.is_set():
            try:
                if time.time() - reply.stat().st_mtime >= _SETTLED:
                    return reply.read_text("utf-8", "replace")
            except OSError:
                pass  # not there yet, or being replaced
            if self._patience is not None and time.monotonic() - started > self._patience:
                raise ModelUnavailable(
                    "model.timeout",
                    f"nobody answered in {reply.parent} within {self._patience:g} s",
                    f"write the answer to {reply} and resume",
                )
            self._closed.wait(_POLL)
        raise ModelMisconfigured("model.closed", "the model was closed")

    def close(self) -> None:
        """Stop waiting."""
        self._closed.set()


def _readable(request: Request) -> str:
    parts = [f"## {message.speaker.value}\n\n{message.text}\n" for message in request.messages]
    if request.schema:
        parts.append(f"## The answer is JSON that obeys\n\n```json\n{request.schema}\n```\n")
    parts.append(
        f"Answer in `reply.md`, in at most {request.max_tokens} tokens;"
        " write it elsewhere first and move it here.\n"
    )
    return "\n".join(parts)
