"""Downloads files of public data sets once, and verifies their checksums."""

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
_MAX_BYTES = 1 << 30


def obtain(url: str, expected_digest: Digest | None, path: Path) -> Path:
    """Return `path`; download the file if it is missing or its checksum does not match."""
    if path.is_file() and (expected_digest is None or digest_of_file(path) == expected_digest):
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            for chunk in _body(url):
                file.write(chunk)
        actual = digest_of_file(part)
        if expected_digest is not None and actual != expected_digest:
            raise DataUnavailable(
                "data.digest",
                f"checksum mismatch for {url}: sha256 is {actual[:16]}…,"
                f" expected {expected_digest[:16]}…",
                "the file was changed; get the original elsewhere and pass its folder as --data",
            )
        part.replace(path)
    except OSError as error:
        raise DataUnavailable(
            "data.offline",
            f"cannot download {url}: {_reason(error)}",
            "check the network, or pass a folder that has the file as --data",
        ) from error
    finally:
        part.unlink(missing_ok=True)
    return path


def _body(url: str) -> Iterator[bytes]:
    request = Request(url, headers={"User-Agent": "auditcoder"})  # noqa: S310 - a fixed address
    with contextlib.closing(build_opener().open(request, timeout=_SECONDS)) as reply:
        expected = reply.headers.get("Content-Length")
        received = 0
        while chunk := reply.read(1 << 20):
            received += len(chunk)
            if received > _MAX_BYTES:
                raise OSError(f"it is larger than {_MAX_BYTES} bytes")
            yield chunk
        if expected is not None and received != int(expected):
            raise OSError(f"the connection ended after {received} of {expected} bytes")


def _reason(error: OSError) -> str:
    if isinstance(error, HTTPError):
        error.close()  # the error is also the open response
        return f"HTTP {error.code}"
    if isinstance(error, URLError):
        return str(error.reason)
    return error.strerror or str(error)


def digest_of_file(path: Path) -> Digest:
    """Return the SHA-256 of a file's content."""
    hashed = sha256()
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            hashed.update(chunk)
    return Digest(hashed.hexdigest())
