"""Writes files atomically."""

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from auditcoder.domain.errors import StoreError, StoreFull


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write to; it replaces `path` once it is complete and on the disk.

    A link is followed. A device or pipe at `path` is refused.
    """
    temporary: Path | None = None
    try:
        path = _resolved(path)
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is not a regular file")
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
        temporary = Path(name)
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    except OSError as error:
        full = error.errno in {errno.ENOSPC, errno.EDQUOT}
        raise (StoreFull if full else StoreError)(
            "file.full" if full else "file.unwritable",
            f"{path} cannot be written: {error.strerror}",
            "name another file; an existing file is unchanged",
        ) from error
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()


def _resolved(path: Path) -> Path:
    """Follow links; raise OSError if they form a loop."""
    try:
        resolved = path.resolve()
    except RuntimeError:  # a loop, before Python 3.13
        resolved = path
    if resolved.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    return resolved


def _umask() -> int:
    """Return the mask for new files, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
