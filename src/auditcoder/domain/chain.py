"""The hash chain of a record: each entry contains the digest of the entry before it.

Inserting, removing, moving or changing an entry changes every later digest and so the head.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from inspect import cleandoc
from typing import Any, NamedTuple

import msgspec

from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import Event, RunStarted
from auditcoder.domain.values import NO_DIGEST, Digest, Value, digest, nests_deeper

FORMAT = 4
"""The version of the format that is written. Older versions can be read through UPGRADES."""

MAX_DEPTH = 64
"""Maximum number of levels of arrays and objects in an entry; the types need far fewer."""

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

UPGRADES: Mapping[int, Upgrade | None] = {1: None, 2: None, 3: None}
"""For each older format: a function that converts an entry, as plain JSON, to the next format.

None if only the encoding differs. Digests are computed over the bytes as written, so an upgrade
does not affect the chain. A new optional field needs no upgrade, because default values are not
written.
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

_encoder = msgspec.json.Encoder(order="deterministic")
_any_key_order = msgspec.json.Encoder()
"""Format 1 left the order of keys in maps to the writer; since format 2 they are sorted."""
_decoder = msgspec.json.Decoder(Entry)
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Sealed(NamedTuple):
    """An encoded entry that can be appended."""

    entry: Entry
    """As a reader will decode it; encoding may have changed 1 to 1.0."""
    body: bytes
    head: Head
    """The chain's head after the entry is appended."""


def seal(head: Head, event: Event, at: datetime, written_in: int = FORMAT) -> Sealed:
    """Encode `event` as the entry after `head`; raise ValueError if it cannot be encoded.

    A record keeps the format that it was started in.
    """
    encoder = _encoder_of(written_in)
    entry = Entry(seq=head.entries, prev=head.digest, at=at.astimezone(UTC), event=event)
    decoded = _decoder.decode(encoder.encode(entry))
    body = encoder.encode(decoded)
    return Sealed(decoded, body, Head(entries=head.entries + 1, digest=digest(body)))


def _encoder_of(written_in: int) -> msgspec.json.Encoder:
    return _any_key_order if written_in == 1 else _encoder


class EntryReader:
    """Decodes the entries of one record, written in the current or an older format."""

    def __init__(
        self, current: int = FORMAT, upgrades: Mapping[int, Upgrade | None] = UPGRADES
    ) -> None:
        self._current = current
        self._upgrades = upgrades
        self._format: int | None = None

    def read(self, body: bytes) -> Entry:
        """Decode one entry, or raise RecordUnreadable."""
        if nests_deeper(body, MAX_DEPTH):
            raise RecordUnreadable(
                "record.malformed", f"an entry is nested more than {MAX_DEPTH} levels deep"
            )
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
        upgrades = [u for n in range(written_in, self._current) if (u := self._upgrades[n])]
        if not upgrades:
            entry = _decoder.decode(body)
            _refuse_other_encoding(_encoder_of(written_in).encode(entry), body)
            return entry
        plain = msgspec.json.decode(body)
        _refuse_other_encoding(_any_key_order.encode(plain), body)
        for upgrade in upgrades:
            plain = upgrade(plain)
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


def _refuse_other_encoding(canonical: bytes, body: bytes) -> None:
    # Other decoders may treat a duplicate key or extra whitespace differently.
    if canonical != body:
        raise msgspec.DecodeError("it is not in canonical JSON encoding")


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
    for component in components.values():  # up to Python 3.12, docstrings keep their indentation
        if "description" in component:
            component["description"] = cleandoc(component["description"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"AuditCoder trace entry, format {FORMAT}",
        **reference,
        "$defs": dict(sorted(components.items())),
    }
