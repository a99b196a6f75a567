"""Bundle files: one run in one zip file, with its entries and the blobs that they name.

    manifest.json   the bundle version, the run, and the head of its chain
    events.jsonl    the entries, byte for byte, one per line
    blobs/<digest>  content by digest

A bundle is untrusted: nothing is extracted to the disk, every name and size is checked before
anything is decompressed, and sizes are limited.
"""

import errno
import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO

import msgspec

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.domain.chain import EMPTY, EntryReader, Head
from auditcoder.domain.errors import BundleUnreadable, NotFound, RecordUnreadable
from auditcoder.domain.values import Digest, RunId, Value, is_run_id
from auditcoder.domain.verification import checked_blob
from auditcoder.lifecycle.ports import TraceReader

VERSION = 1
SUFFIX = ".acb"

MOST_BYTES = 4 << 30
"""Maximum uncompressed size of a bundle."""
MOST_BLOB_BYTES = 64 << 20
"""Maximum size of one blob or entry."""
MOST_RATIO = 200
"""Maximum compression ratio of a large part; that of text is far lower."""
_LARGE = 1 << 20
_CHUNK = 1 << 16

_END = struct.Struct("<4s16xH")
"""The record that ends a zip file: its signature, and the length of a comment after it."""
_END_SIGNATURE = b"PK\x05\x06"
_LOCAL = struct.Struct("<4s22xHH")
"""The header of a part: its signature, and the lengths of the name and the extra field after it."""
_LOCAL_SIGNATURE = b"PK\x03\x04"

_BLOB = re.compile(r"blobs/([0-9a-f]{64})", re.ASCII)
_EPOCH = (1980, 1, 1, 0, 0, 0)

_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,  # encrypted; NotImplementedError for an unknown version or compression
    ValueError,  # invalid names and sizes
    OverflowError,
)
"""The exceptions by which zipfile reports a damaged or malicious file."""


class BundleManifest(Value):
    """A bundle's description of itself. Verification does not rely on it."""

    bundle: int
    """The bundle version."""
    run: RunId
    entries: int
    head: Digest


def write_bundle(source: TraceReader, run: RunId, path: Path) -> Head:
    """Write `run` to `path` atomically; return the head that was written."""
    head = source.head(run)
    if head == EMPTY:
        raise NotFound("run.unknown", f"no run {run!r}")
    with atomic_file(path) as file:
        _write(source, run, head, file)
    return head


def _write(source: TraceReader, run: RunId, head: Head, file: IO[bytes]) -> None:
    manifest = BundleManifest(bundle=VERSION, run=run, entries=head.entries, head=head.digest)
    reader = EntryReader()
    names: dict[Digest, None] = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as zipped:
        zipped.writestr(_part("manifest.json"), msgspec.json.encode(manifest))
        with zipped.open(_part("events.jsonl"), "w", force_zip64=True) as events:
            for number, body in enumerate(source.read(run)):
                if number == head.entries:
                    break  # the run has grown meanwhile; the bundle ends at the stated head
                names |= dict.fromkeys(reader.read(body).event.blobs())
                events.write(body + b"\n")
        for name in names:
            zipped.writestr(_part(f"blobs/{name}"), source.blob(name))


def _part(name: str) -> zipfile.ZipInfo:
    """Describe a part, with a fixed time and mode: the same run gives the same bundle."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    return info


class BundleFile:
    """A bundle opened for reading: a trace reader of one run."""

    def __init__(self, path: Path) -> None:
        """Open the bundle and check everything that needs no decompression."""
        self._path = path
        try:
            if not stat.S_ISREG(path.stat().st_mode):
                raise OSError(errno.EINVAL, "it is not a regular file")
            self._file = path.open("rb")
        except FileNotFoundError as error:
            raise NotFound(
                "bundle.missing", f"there is no file {path}", "check the path"
            ) from error
        except OSError as error:
            raise BundleUnreadable(
                "bundle.unreadable",
                f"{path} cannot be read: {error.strerror}",
                "name a bundle file that you may read",
            ) from error
        try:
            self._zip = self._opened()
            self._refuse_surroundings()
            self._refuse_unsafe()
            self.manifest = self._manifest()
            self._refuse_unnamed()
        except BaseException:
            self._file.close()
            raise

    def _opened(self) -> zipfile.ZipFile:
        try:
            return zipfile.ZipFile(self._file)
        except _DAMAGE as error:
            raise BundleUnreadable(
                "bundle.not-a-bundle",
                f"{self._path} is not a bundle, or is incomplete: {error}",
                "get the file again from its source",
            ) from error

    def _refuse_surroundings(self) -> None:
        """Refuse bytes around or between the parts: another reader could take them for a file."""
        self._file.seek(-_END.size, os.SEEK_END)
        signature, comment = _END.unpack(self._file.read(_END.size))
        if signature != _END_SIGNATURE or comment or not self._is_contiguous():
            raise self._unsafe(
                "bundle.surrounded", "there is data before, between or after its parts"
            )

    def _is_contiguous(self) -> bool:
        """Whether every part begins where the one before it ends, and the first at the start."""
        at = 0
        for part in sorted(self._zip.infolist(), key=lambda part: part.header_offset):
            if part.header_offset != at:
                return False
            self._file.seek(at)
            header = self._file.read(_LOCAL.size)
            if len(header) < _LOCAL.size:
                return False
            signature, name, extra = _LOCAL.unpack(header)
            if signature != _LOCAL_SIGNATURE:
                return False
            at += _LOCAL.size + name + extra + part.compress_size
        return at == self._zip.start_dir

    def _refuse_unsafe(self) -> None:
        seen: set[str] = set()
        total = 0
        for part in self._zip.infolist():
            name = part.filename
            if name not in {"manifest.json", "events.jsonl"} and not _BLOB.fullmatch(name):
                raise self._unsafe("bundle.foreign-entry", f"{name!r} does not belong in a bundle")
            if name in seen:
                raise self._unsafe("bundle.foreign-entry", f"{name!r} occurs twice")
            seen.add(name)
            total += part.file_size
            inflated = part.file_size > max(_LARGE, part.compress_size * MOST_RATIO)
            if total > MOST_BYTES or inflated:
                raise self._unsafe("bundle.bomb", "its uncompressed size exceeds the limits")
            if part.file_size > MOST_BLOB_BYTES and name != "events.jsonl":
                raise self._unsafe("bundle.bomb", f"{name!r} exceeds the size limit of a part")
            if part.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:
                raise self._unsafe("bundle.foreign-entry", f"{name!r} is compressed in another way")
        for needed in ("manifest.json", "events.jsonl"):
            if needed not in seen:
                raise BundleUnreadable(
                    "bundle.not-a-bundle",
                    f"{self._path} is a zip file, but not a bundle",
                    "name a file that `auditcoder export` made",
                )

    def _refuse_unnamed(self) -> None:
        """Refuse blobs that no entry names: they would travel with the run, but unverified."""
        unnamed = {part.filename for part in self._zip.infolist()} - {
            "manifest.json",
            "events.jsonl",
        }
        reader = EntryReader()
        with suppress(RecordUnreadable):  # verification reports that entry
            for body in self._lines():
                unnamed -= {f"blobs/{name}" for name in reader.read(body).event.blobs()}
            if unnamed:
                raise self._unsafe("bundle.foreign-entry", f"no event names {min(unnamed)!r}")

    def _unsafe(self, code: str, why: str) -> BundleUnreadable:
        return BundleUnreadable(code, f"{self._path} is refused: {why}", "nothing was unpacked")

    def _manifest(self) -> BundleManifest:
        raw = self._content(self._zip.getinfo("manifest.json"))
        try:
            version = msgspec.json.decode(raw, type=_Version).bundle
            if version == VERSION:
                manifest = msgspec.json.decode(raw, type=BundleManifest)
                if is_run_id(manifest.run):
                    return manifest
                raise msgspec.DecodeError("its run id is invalid")
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BundleUnreadable(
                "bundle.not-a-bundle",
                f"{self._path} has no readable manifest: {error}",
                "get the file again from its source",
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
                "get the file again from its source",
            ) from error

    def runs(self) -> list[RunId]:
        """Return the one run."""
        return [self.manifest.run]

    def head(self, run: RunId) -> Head:
        """Return the head that the bundle states; `EMPTY` for another run."""
        if run != self.manifest.run:
            return EMPTY
        return Head(entries=self.manifest.entries, digest=self.manifest.head)

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the entries, one line at a time."""
        if run == self.manifest.run:
            yield from islice(self._lines(), start, None)

    def _lines(self) -> Iterator[bytes]:
        pending = b""
        with self._damage_reported(), self._zip.open("events.jsonl") as events:
            while chunk := events.read(_CHUNK):
                *whole, pending = (pending + chunk).split(b"\n")
                yield from whole
                if len(pending) > MOST_BLOB_BYTES:
                    break
        if pending:
            raise BundleUnreadable(
                "bundle.damaged",
                f"{self._path} is damaged: an entry is incomplete or too long",
                "get the file again from its source",
            )

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content, which matches its digest."""
        try:
            part = self._zip.getinfo(f"blobs/{name}")
        except KeyError as error:
            raise NotFound("blob.missing", f"there is no blob {name} here") from error
        return checked_blob(name, self._content(part))

    def _content(self, part: zipfile.ZipInfo) -> bytes:
        """Decompress a part in chunks: its stated size may be wrong."""
        content = bytearray()
        with self._damage_reported(), self._zip.open(part) as opened:
            while chunk := opened.read(_CHUNK):
                content += chunk
        return bytes(content)

    def close(self) -> None:
        """Close the file; nothing can be read from it any more."""
        self._zip.close()
        self._file.close()


class _Version(msgspec.Struct):
    bundle: int
