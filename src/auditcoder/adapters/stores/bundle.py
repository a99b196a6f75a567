"""Bundle files: one run in one zip file, with its entries and the blobs that they name.

    manifest.json   the bundle version, the run, and the head of its chain
    events.jsonl    the entries, byte for byte, one per line
    blobs/<digest>  content by digest

A bundle is untrusted: nothing is extracted to the disk, every name and size is checked before
anything is decompressed, and sizes are limited. A run has one bundle, up to the version of zlib
that compressed its parts: every other byte must be the one that is written for it, so that no two
programs read different histories from the same file.
"""

import errno
import re
import stat
import struct
import threading
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Annotated

import msgspec

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.adapters.stores.zip_layout import Part, Writer, directory, header
from auditcoder.domain.chain import EMPTY, EntryReader, Head
from auditcoder.domain.errors import BundleUnreadable, NotFound, RecordUnreadable
from auditcoder.domain.values import Digest, RunId, Value, encode, is_run_id
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

_MANIFEST = "manifest.json"
_EVENTS = "events.jsonl"
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
    entries: Annotated[int, msgspec.Meta(ge=1, le=(1 << 63) - 1)]
    head: Annotated[Digest, msgspec.Meta(pattern=r"\A[0-9a-f]{64}\Z")]


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
        zipped.writestr(_part(_MANIFEST), encode(manifest))
        with zipped.open(_part(_EVENTS), "w", force_zip64=True) as events:
            for number, body in enumerate(source.read(run)):
                if number == head.entries:
                    break  # the run has grown meanwhile; the bundle ends at the stated head
                names |= dict.fromkeys(reader.read(body).event.blobs())
                events.write(body + b"\n")
        for name in names:
            zipped.writestr(_part(f"blobs/{name}"), source.blob(name))


def _part(name: str) -> zipfile.ZipInfo:
    """Describe a part, with a fixed time, mode and system: the same run gives the same bundle."""
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 3
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
        self._lock = threading.Lock()
        self._parts: dict[str, Part] = {}
        self._starts: dict[str, int] = {}
        try:
            infos = self._listed()
            self._refuse_unsafe(infos)
            self._refuse_other_layout(infos)
            self.manifest = self._manifest()
            self._refuse_other_blobs()
        except BaseException:
            self._file.close()
            raise

    def _listed(self) -> list[zipfile.ZipInfo]:
        try:
            with zipfile.ZipFile(self._file) as zipped:
                return zipped.infolist()
        except _DAMAGE as error:
            raise BundleUnreadable(
                "bundle.not-a-bundle",
                f"{self._path} is not a bundle, or is incomplete: {error}",
                "get the file again from its source",
            ) from error

    def _refuse_unsafe(self, infos: list[zipfile.ZipInfo]) -> None:
        seen: set[str] = set()
        total = 0
        for part in infos:
            name = part.filename
            if name not in {_MANIFEST, _EVENTS} and not _BLOB.fullmatch(name):
                raise self._unsafe("bundle.foreign-entry", f"{name!r} does not belong in a bundle")
            if name in seen:
                raise self._unsafe("bundle.foreign-entry", f"{name!r} occurs twice")
            seen.add(name)
            total += part.file_size
            inflated = part.file_size > max(_LARGE, part.compress_size * MOST_RATIO)
            if total > MOST_BYTES or inflated:
                raise self._unsafe("bundle.bomb", "its uncompressed size exceeds the limits")
            if part.file_size > MOST_BLOB_BYTES and name != _EVENTS:
                raise self._unsafe("bundle.bomb", f"{name!r} exceeds the size limit of a part")
        if not {_MANIFEST, _EVENTS} <= seen:
            raise BundleUnreadable(
                "bundle.not-a-bundle",
                f"{self._path} is a zip file, but not a bundle",
                "name a file that `auditcoder export` made",
            )

    def _refuse_other_layout(self, infos: list[zipfile.ZipInfo]) -> None:
        """Refuse a file in which a byte around the compressed parts is not as it is written.

        Another program could take the byte for other parts, or for other content of a part.
        """
        streamed = next(info for info in infos if info.filename == _EVENTS)
        writer = Writer(system=streamed.create_system, streamed_version=streamed.extract_version)
        same = writer.known and [info.filename for info in infos[:2]] == [_MANIFEST, _EVENTS]
        at = 0
        with self._damage_reported():
            for info in infos:
                name = info.filename
                part = Part(name, info.CRC, info.compress_size, info.file_size, name == _EVENTS)
                before = header(part, writer)
                same = same and self._bytes(at, len(before)) == before
                self._parts[name] = part
                self._starts[name] = at + len(before)
                at += len(before) + part.compressed
            behind = directory(self._parts.values(), writer)
            same = same and self._bytes(at, len(behind) + 1) == behind
        if not same:
            raise self._unsafe(
                "bundle.surrounded",
                "what is before, between and after its parts is not as `auditcoder export`"
                " writes it, so that another program could read something else",
            )

    def _refuse_other_blobs(self) -> None:
        """Refuse blobs that no entry names, which no verification covers, and another order."""
        present = [name for name in self._parts if name not in {_MANIFEST, _EVENTS}]
        named: dict[str, None] = {}
        reader = EntryReader()
        with suppress(RecordUnreadable):  # verification reports that entry
            for body in self._lines():
                blobs = reader.read(body).event.blobs()
                named |= dict.fromkeys(f"blobs/{name}" for name in blobs)
            if unnamed := set(present) - named.keys():
                raise self._unsafe("bundle.foreign-entry", f"no event names {min(unnamed)!r}")
            if present != [name for name in named if name in self._parts]:
                raise self._unsafe(
                    "bundle.foreign-entry", "its blobs are not in the order of the entries"
                )

    def _unsafe(self, code: str, why: str) -> BundleUnreadable:
        return BundleUnreadable(code, f"{self._path} is refused: {why}", "nothing was unpacked")

    def _manifest(self) -> BundleManifest:
        raw = self._content(_MANIFEST)
        try:
            version = msgspec.json.decode(raw, type=_Version).bundle
            if version == VERSION:
                manifest = msgspec.json.decode(raw, type=BundleManifest)
                if not is_run_id(manifest.run):
                    raise msgspec.DecodeError("its run id is invalid")
                if encode(manifest) != raw:
                    raise msgspec.DecodeError("it is not in canonical JSON encoding")
                return manifest
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
            raise self._damaged(str(error)) from error

    def _damaged(self, why: str) -> BundleUnreadable:
        return BundleUnreadable(
            "bundle.damaged",
            f"{self._path} is damaged: {why}",
            "get the file again from its source",
        )

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
        pieces: list[bytes] = []
        length = 0
        for chunk in self._inflated(_EVENTS):
            for number, piece in enumerate(chunk.split(b"\n")):
                if number:
                    yield b"".join(pieces)
                    pieces, length = [], 0
                pieces.append(piece)
                length += len(piece)
                if length > MOST_BLOB_BYTES:
                    raise self._damaged(f"an entry is longer than {MOST_BLOB_BYTES:,} bytes")
        if length:
            raise self._damaged("the last entry has no line end")

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content, which matches its digest."""
        if f"blobs/{name}" not in self._parts:
            raise NotFound("blob.missing", f"there is no blob {name} here")
        return checked_blob(name, self._content(f"blobs/{name}"))

    def _content(self, name: str) -> bytes:
        return b"".join(self._inflated(name))

    def _inflated(self, name: str) -> Iterator[bytes]:
        """Yield a part's content; its stream must end where the part ends, at the stated size."""
        part, at = self._parts[name], self._starts[name]
        end = at + part.compressed
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        pending = b""
        size = crc = 0
        with self._damage_reported():
            while not inflater.eof:
                if not pending:
                    pending = self._bytes(at, min(_CHUNK, end - at))
                    at += len(pending)
                chunk = inflater.decompress(pending, _CHUNK)
                size += len(chunk)
                if size > part.size or not (pending or chunk):
                    break
                pending = inflater.unconsumed_tail
                crc = zlib.crc32(chunk, crc)
                yield chunk
        ended = inflater.eof and at == end and not inflater.unused_data
        if not ended or (size, crc) != (part.size, part.crc):
            raise self._damaged(f"the content of {name!r} is not that of its size and checksum")

    def _bytes(self, at: int, size: int) -> bytes:
        """Read from the file, which several threads may use."""
        with self._lock:
            self._file.seek(at)
            return self._file.read(size)

    def close(self) -> None:
        """Close the file; nothing can be read from it any more."""
        self._file.close()


class _Version(msgspec.Struct):
    bundle: int
