"""One run in one file, to hand to somebody else: a zip of the entries and the blobs they name.

    manifest.json   what this is, which run, and where its chain ends
    events.jsonl    the entries, byte for byte, one a line
    blobs/<digest>  content by digest

A bundle comes from anywhere, so it is read with suspicion: nothing is ever extracted to the
disk, every name and size is checked before a byte is inflated, and sizes are bounded.
"""

import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from auditcoder.domain.chain import EMPTY, Head, Reader
from auditcoder.domain.errors import BundleUnreadable, NotFound, StoreError, StoreFull
from auditcoder.domain.values import Digest, RunId, Value
from auditcoder.lifecycle.ports import TraceReader

VERSION = 1
SUFFIX = ".acb"

MOST_BYTES = 4 << 30
"""The most that a bundle may inflate to."""
MOST_BLOB_BYTES = 64 << 20
"""The most that one blob, or one entry, may hold."""
MOST_RATIO = 200
"""How many times its size a large part may inflate to; text stays far below."""
_LARGE = 1 << 20

_BLOB = re.compile(r"blobs/([0-9a-f]{64})", re.ASCII)
_EPOCH = (1980, 1, 1, 0, 0, 0)

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted; and, as NotImplementedError, a version or method from elsewhere
    ValueError,  # names and sizes that are none
    OverflowError,
)
"""All the ways in which zipfile reports a file that is damaged or made to do damage."""


class BundleManifest(Value):
    """What a bundle says of itself. Verification believes none of it."""

    bundle: int
    """The bundle version."""
    run: RunId
    entries: int
    head: Digest


def write_bundle(source: TraceReader, run: RunId, path: Path) -> Head:
    """Write `run` to `path`: whole, or not at all."""
    head = source.head(run)
    if head == EMPTY:
        raise NotFound("run.unknown", f"there is no run {run} here")
    try:
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise _cannot_write(path, error) from error
    try:
        with os.fdopen(handle, "wb") as file:
            _write(source, run, head, file)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError as error:
        raise _cannot_write(path, error) from error
    finally:
        with suppress(FileNotFoundError):
            Path(temporary).unlink()
    return head


def _write(source: TraceReader, run: RunId, head: Head, file: object) -> None:
    manifest = BundleManifest(bundle=VERSION, run=run, entries=head.entries, head=head.digest)
    reader = Reader()
    names: dict[Digest, None] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:  # type: ignore[call-overload]
        zipped.writestr(_part("manifest.json"), msgspec.json.encode(manifest))
        with zipped.open(_part("events.jsonl"), "w", force_zip64=True) as events:
            for number, body in enumerate(source.read(run)):
                if number == head.entries:
                    break  # the run has grown meanwhile; this bundle ends where it said
                names |= dict.fromkeys(reader.read(body).event.blobs())
                events.write(body + b"\n")
        for name in names:
            zipped.writestr(_part(f"blobs/{name}"), source.blob(name))


def _part(name: str) -> zipfile.ZipInfo:
    """A fixed time and mode: the same run makes the same bundle."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


def _cannot_write(path: Path, error: OSError) -> StoreError:
    full = error.errno is not None and os.strerror(error.errno) == os.strerror(28)
    return (StoreFull if full else StoreError)(
        "bundle.full" if full else "bundle.unwritable",
        f"{path} cannot be written: {error.strerror}",
        "name another file; nothing was left behind",
    )


class Bundle:
    """A bundle, opened for reading: a trace reader of one run."""

    def __init__(self, path: Path) -> None:
        """Open the bundle and check everything about it that needs no inflating."""
        self._path = path
        try:
            self._file = path.open("rb")
        except FileNotFoundError as error:
            raise NotFound("bundle.missing", f"there is no file {path}") from error
        except OSError as error:
            raise BundleUnreadable(
                "bundle.unreadable", f"{path} cannot be read: {error.strerror}"
            ) from error
        try:
            self._zip = self._opened()
            self._refuse_unsafe()
            self.manifest = self._manifest()
        except BaseException:
            self._file.close()
            raise

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._file)
        except _DAMAGE as error:
            raise BundleUnreadable(
                "bundle.not-a-bundle",
                f"{self._path} is not a bundle, or only part of one: {error}",
                "get the file again from whoever made it",
            ) from error

    def _refuse_unsafe(self) -> None:
        seen: set[str] = set()
        total = 0
        for part in self._zip.infolist():
            name = part.filename
            if name not in {"manifest.json", "events.jsonl"} and not _BLOB.fullmatch(name):
                raise self._unsafe("bundle.foreign-entry", f"{name!r} has no place in a bundle")
            if name in seen:
                raise self._unsafe("bundle.foreign-entry", f"{name!r} is there twice")
            seen.add(name)
            total += part.file_size
            swollen = part.file_size > max(_LARGE, part.compress_size * MOST_RATIO)
            if total > MOST_BYTES or swollen:
                raise self._unsafe("bundle.bomb", "it would inflate out of all proportion")
            if part.file_size > MOST_BLOB_BYTES and name != "events.jsonl":
                raise self._unsafe("bundle.bomb", f"{name!r} is larger than a part may be")
            if part.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise self._unsafe("bundle.foreign-entry", f"{name!r} is packed another way")
        for needed in ("manifest.json", "events.jsonl"):
            if needed not in seen:
                raise BundleUnreadable(
                    "bundle.not-a-bundle", f"{self._path} is a zip file, but not a bundle"
                )

    def _unsafe(self, code: str, why: str) -> BundleUnreadable:
        return BundleUnreadable(
            code, f"{self._path} is refused: {why}", "nothing of it was unpacked"
        )

    def _manifest(self) -> BundleManifest:
        with self._damage_reported():
            raw = self._zip.read("manifest.json")
        try:
            version = msgspec.json.decode(raw, type=_Version).bundle
            if version == VERSION:
                return msgspec.json.decode(raw, type=BundleManifest)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise BundleUnreadable(
                "bundle.not-a-bundle", f"{self._path} has no readable manifest: {error}"
            ) from error
        raise BundleUnreadable(
            "bundle.version",
            f"{self._path} is a bundle of version {version}; this program reads {VERSION}",
            "install the version of auditcoder that wrote it",
        )

    @contextmanager
    def _damage_reported(self) -> Iterator[None]:
        try:
            yield
        except _DAMAGE as error:
            raise BundleUnreadable(
                "bundle.damaged",
                f"{self._path} is damaged: {error}",
                "get the file again from whoever made it",
            ) from error

    def runs(self) -> list[RunId]:
        """Return the one run."""
        return [self.manifest.run]

    def head(self, run: RunId) -> Head:
        """Return where the bundle says its chain ends."""
        if run != self.manifest.run:
            return EMPTY
        return Head(entries=self.manifest.entries, digest=self.manifest.head)

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the entries, one line at a time."""
        if run != self.manifest.run:
            return
        with self._damage_reported(), self._zip.open("events.jsonl") as events:
            number = 0
            while line := events.readline(MOST_BLOB_BYTES):
                if not line.endswith(b"\n"):
                    raise BundleUnreadable(
                        "bundle.damaged",
                        f"{self._path} is damaged: entry {number} has no end",
                        "get the file again from whoever made it",
                    )
                if number >= start:
                    yield line[:-1]
                number += 1

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content."""
        try:
            part = self._zip.getinfo(f"blobs/{name}")
        except KeyError as error:
            raise NotFound("blob.missing", f"there is no blob {name} here") from error
        with self._damage_reported():
            return self._zip.read(part)

    def close(self) -> None:
        """Close the file, and with it whatever is still being read from it."""
        self._zip.close()
        self._file.close()


class _Version(msgspec.Struct):
    bundle: int
