"""The chain: each entry holds the digest of the one before it, so that none can be slipped
in, taken out, moved or altered without every later digest, and so the head, changing too.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import Event, RunStarted
from auditcoder.domain.values import NO_DIGEST, Digest, Value, digest

FORMAT = 1
"""The version of what is written. Reading older ones stays possible: see UPGRADES."""

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: Mapping[int, Upgrade] = {}
"""For each older format, what turns its entries, as plain JSON, into the next one's.

Digests are taken over the bytes as they were written, so an upgrade never touches the chain.
An added optional field needs none: defaults are not written.
"""


class Entry(Value):
    """An event in its place."""

    seq: int
    prev: Digest
    """Digest of the entry before; zeros for the first."""
    at: datetime
    event: Event


class Head(Value):
    """How long a chain is, and the digest of its last entry: its whole history in a line."""

    entries: int
    digest: Digest


EMPTY = Head(entries=0, digest=NO_DIGEST)

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Entry)
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Sealed(NamedTuple):
    """An entry, ready to be appended."""

    entry: Entry
    """As a reader will read it: 1 may have become 1.0."""
    body: bytes
    head: Head
    """The chain's head once it is appended."""


def seal(head: Head, event: Event, at: datetime) -> Sealed:
    """Write `event` as the entry after `head`; raise ValueError if it cannot be written."""
    entry = Entry(seq=head.entries, prev=head.digest, at=at.astimezone(UTC), event=event)
    read = _decoder.decode(_encoder.encode(entry))
    body = _encoder.encode(read)
    return Sealed(read, body, Head(entries=head.entries + 1, digest=digest(body)))


class EntryReader:
    """Reads entries of one record, whatever format they were written in."""

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
            raise RecordUnreadable("record.malformed", "an entry's time is not universal time")
        return entry

    def _decode(self, body: bytes, written_in: int) -> Entry:
        if written_in == self._current:
            entry = _decoder.decode(body)
            # Twice the same key, or a stray blank, would read differently elsewhere.
            if _encoder.encode(entry) != body:
                raise msgspec.DecodeError("it is not written as entries are")
            return entry
        plain = msgspec.json.decode(body)
        for version in range(written_in, self._current):
            plain = self._upgrades[version](plain)
        return msgspec.convert(plain, Entry)

    def _format_of(self, first: bytes) -> int:
        try:
            found = msgspec.json.decode(first, type=_First).event.format
        except _UNDECODABLE as error:
            raise RecordUnreadable(
                "record.malformed", f"the first entry is not the start of a run: {error}"
            ) from error
        if found > self._current:
            raise RecordUnreadable(
                "record.newer-format",
                f"the record has format {found}; this version reads up to {self._current}",
                "install a newer auditcoder",
            )
        if found < self._current and found not in self._upgrades:
            raise RecordUnreadable("record.malformed", f"there is no format {found}")
        return found


class _FormatOnly(msgspec.Struct):
    format: int


class _First(msgspec.Struct):
    event: _FormatOnly


def starts(entry: Entry) -> RunStarted:
    """Return the event that starts a record, which only its first entry holds."""
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
