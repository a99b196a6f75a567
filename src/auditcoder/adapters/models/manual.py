"""A model whose replies a person, or an agent, writes as files in a folder.

Each request becomes a folder with `request.md` to read (and `request.json` for programs); the
reply is the file `reply.md` in it. Folders are named by digest and occurrence, so that a resumed
run finds the replies it already has.
"""

import stat
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable, StoreError
from auditcoder.domain.request import GENEROUS, FinishReason, Reply, Request, Traits
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, encode

_SETTLED = 0.25
"""Seconds without a change after which a reply counts as complete."""
_LARGEST = 16 << 20


class ManualModel:
    """Writes requests to a folder and waits for the replies."""

    def __init__(
        self,
        folder: Path,
        *,
        timeout: float | None = None,
        say: Callable[[str], None],
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.name = f"manual:{folder}"
        self.traits = Traits(parallel=8, limits=GENEROUS)
        self._folder = folder
        self._timeout = timeout
        self._say = say
        self._seen: Counter[Digest] = Counter()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._pause = pause or self._closed.wait

    def complete(self, request: Request) -> Reply:
        """Write the request to its folder, and wait for the reply in it."""
        started = time.monotonic()
        place = self._place(request)
        text = self._wait(place, request, started)
        return Reply(
            text=text,
            finish=FinishReason.STOP,
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
            with atomic_file(place / "request.json") as file:
                file.write(encode(request))
            with atomic_file(place / "request.md") as file:
                file.write(_readable(request).encode("utf-8", "replace"))
        except (OSError, ValueError, StoreError) as error:
            raise self._unusable(f"requests cannot be put into {self._folder}: {error}") from error

    def _wait(self, place: Path, request: Request, started: float) -> str:
        """Wait for a reply that has stopped changing; write the request again if it disappears."""
        last: tuple[int, int] | None = None
        announced = False
        while not self._closed.is_set():
            current = self._status(place / "reply.md")
            if current is not None and current == last:
                return self._read(place / "reply.md")
            last = current
            if current is None and not _exists(place / "request.md"):
                self._put(place, request)
            if current is None and not announced:
                announced = True
                self._say(f"waiting for {place / 'reply.md'}")
            if self._timeout is not None and time.monotonic() - started > self._timeout:
                raise ModelUnavailable(
                    "model.timeout",
                    f"no reply was written to {place} within {self._timeout:g} s",
                    f"write the reply to {place / 'reply.md'} and resume",
                )
            self._pause(_SETTLED)
        raise ModelMisconfigured("model.closed", "the model was closed")

    def _status(self, reply: Path) -> tuple[int, int] | None:
        """Return size and modification time of the reply; None if there is no reply."""
        try:
            status = reply.stat()
        except (OSError, ValueError):  # no such file, or an invalid name
            return None
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
            raise self._unusable(f"{reply} is not a regular file, or is too large")
        return status.st_size, status.st_mtime_ns

    def _read(self, reply: Path) -> str:
        try:
            return reply.read_text("utf-8", "replace")
        except OSError as error:
            raise self._unusable(f"{reply} cannot be read: {error.strerror}") from error

    def _unusable(self, why: str) -> ModelMisconfigured:
        return ModelMisconfigured(
            "model.folder", why, "name a folder that you can write to: `--model manual:FOLDER`"
        )

    def close(self) -> None:
        """Stop waiting."""
        self._closed.set()


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # the name is too long, for example; writing the file says why
        return False


def _readable(request: Request) -> str:
    parts = [f"## {message.speaker.value}\n\n{message.text}\n" for message in request.messages]
    if request.schema:
        parts.append(f"## JSON Schema of the answer\n\n```json\n{request.schema}\n```\n")
    parts.append(
        f"Answer in `reply.md`, in at most {request.max_tokens} tokens;"
        " write it elsewhere first and move it here.\n"
    )
    return "\n".join(parts)
