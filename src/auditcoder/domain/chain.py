"""The hash chain of a record: each entry contains the digest of the entry before it.

Inserting, removing, moving or changing an entry changes every later digest and so the head.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import Event, RunStarted
from auditcoder.domain.values import NO_DIGEST, Digest, Value, digest

FORMAT = 1
"""The version of the format that is written. Older versions can be read through UPGRADES."""

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: Mapping[int, Upgrade] = {}
"""For each older format: a function that converts an entry, as plain JSON, to the next format.

Digests are computed over the bytes as written, so an upgrade does not affect the chain. A new
optional field needs no upgrade, because default values are not written.
"""


class Entry(Value):
    """An event with its sequence number, its time and the digest of the entry before it."""

    seq: int
    prev: Digest
    """Digest of the entry before; all zeros for the first."""
    at: datetime
    event: Event


class Head(Value):
    """The length of a chain and the digest of its last entry, which names the whole history."""

    entries: int
    digest: Digest


EMPTY = Head(entries=0, digest=NO_DIGEST)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Sealed(NamedTuple):
    """An encoded entry that can be appended."""

    entry: Entry
    """As a reader will decode it; encoding may have changed 1 to 1.0."""
    body: bytes
    head: Head
    """The chain's head after the entry is appended."""


def seal(head: Head, event: Event, at: datetime) -> Sealed:
    """Encode `event` as the entry after `head`; raise ValueError if it cannot be encoded."""
    entry = Entry(seq=head.entries, prev=head.digest, at=at.astimezone(UTC), event=event)
    decoded = _decoder.decode(_encoder.encode(entry))
    body = _encoder.encode(decoded)
    return Sealed(decoded, body, Head(entries=head.entries + 1, digest=digest(body)))


class EntryReader:
    """Decodes the entries of one record, written in the current or an older format."""

    def __init__(self, current: int = FORMAT, upgrades: Mapping[int, Upgrade] = UPGRADES) -> None:
        self._current = current
        self._upgrades = upgrades
        self._format: int | None = None

    def read(self, body: bytes) -> Entry:
        """Decode one entry, or raise RecordUnreadable."""
        if self._format is None:
            self._format = self._format_of(body)
        try:
            entry = self._decode(body, self._format)
        except _UNDECODABLE as error:
            raise RecordUnreadable(
                "record.malformed", f"an entry cannot be read: {error}"
            ) from error
        if entry.at.utcoffset() != timedelta(0):
            raise RecordUnreadable("record.malformed", "the time of an entry is not in UTC")
        return entry

    def _decode(self, body: bytes, written_in: int) -> Entry:
        if written_in == self._current:
            entry = _decoder.decode(body)
            # Other decoders may treat a duplicate key or extra whitespace differently.
            if _encoder.encode(entry) != body:
                raise msgspec.DecodeError("it is not in canonical JSON encoding")
            return entry
        plain = msgspec.json.decode(body)
        for version in range(written_in, self._current):
            plain = self._upgrades[version](plain)
        return msgspec.convert(plain, Entry)

    def _format_of(self, first: bytes) -> int:
        try:
            version = msgspec.json.decode(first, type=_First).event.format
        except _UNDECODABLE as error:
            raise RecordUnreadable(
                "record.malformed", f"the first entry is not the start of a run: {error}"
            ) from error
        if version > self._current:
            raise RecordUnreadable(
                "record.newer-format",
                f"the record has format {version}; this version reads up to {self._current}",
                "install a newer auditcoder",
            )
        if version < self._current and version not in self._upgrades:
            raise RecordUnreadable("record.malformed", f"there is no format {version}")
        return version


class _FormatOnly(msgspec.Struct):
    format: int


class _First(msgspec.Struct):
    event: _FormatOnly


def starts(entry: Entry) -> RunStarted:
    """Return the start event of a record from its first entry."""
    if not isinstance(entry.event, RunStarted):
        raise RecordUnreadable("record.malformed", "the first entry is not the start of a run")
    return entry.event


def entry_schema() -> dict[str, Any]:
    """Return the JSON Schema of one entry, generated from the types."""
    (reference,), components = msgspec.json.schema_components([Entry])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"AuditCoder trace entry, format {FORMAT}",
        **reference,
        "$defs": dict(sorted(components.items())),
    }
