"""Files of public data sets: fetched from their own home once, and what they must be."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import Request, build_opener

from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.values import Digest

_SECONDS = 60.0
_LARGEST = 1 << 30


def obtain(url: str, wanted: Digest | None, path: Path) -> Path:
    """Return `path`, which holds the file; fetch it if it is not there or not what it must be."""
    if path.is_file() and (wanted is None or digest_of_file(path) == wanted):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in _body(url):
                file.write(chunk)
        found = digest_of_file(part)
        if wanted is not None and found != wanted:
            raise DataUnavailable(
                "data.digest",
                f"what {url} gives is not what it was: sha256 {found[:16]}… instead of"
                f" {wanted[:16]}…",
                "somebody changed it; get the file elsewhere and name its folder with --data",
            )
        part.replace(path)
    except OSError as error:
        raise DataUnavailable(
            "data.offline",
            f"{url} cannot be fetched: {_reason(error)}",
            "try again when there is a network, or name a folder that has it with --data",
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _body(url: str) -> Iterator[bytes]:
    request = Request(url, headers={"User-Agent": "auditcoder"})  # noqa: S310 - our own addresses
    with contextlib.closing(build_opener().open(request, timeout=_SECONDS)) as reply:
        expected = reply.headers.get("Content-Length")
        got = 0
        while chunk := reply.read(1 << 20):
            got += len(chunk)
            if got > _LARGEST:
                raise OSError("it is larger than anything that is expected there")
            yield chunk
        if expected is not None and got != int(expected):
            raise OSError(f"it broke off after {got} of {expected} bytes")


def _reason(error: OSError) -> str:
    if isinstance(error, HTTPError):
        error.close()  # it is the answer, too
        return f"HTTP {error.code}"
    if isinstance(error, URLError):
        return str(error.reason)
    return error.strerror or str(error)


def digest_of_file(path: Path) -> Digest:
    """Return the SHA-256 of a file's content."""
    whole = sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            whole.update(chunk)
    return Digest(whole.hexdigest())
