"""One event of a record with all stored content that it refers to."""

import base64
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from typing import Any

import msgspec

from auditcoder.domain.chain import EntryReader
from auditcoder.domain.errors import NotFound
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.values import Digest, RunId, Value

_DIGEST_LENGTH = 64


class StoredContent(Value):
    """A piece of content that an event refers to by its digest."""

    name: str
    """The field that refers to it: `reply`, `evidence.input`, …"""
    digest: Digest
    text: str | None
    """None if it is not text."""
    base64: str | None = None
    """The bytes, if they are not text."""
    size: int = 0
    """Number of bytes."""


class EventContent(Value):
    """An event with the content that it refers to."""

    run: RunId
    event: int
    at: datetime
    kind: str
    fields: dict[str, Any]
    """The fields of the event as recorded."""
    content: tuple[StoredContent, ...]


def event_content(run: RunId, bodies: Iterable[bytes], number: int, read: ReadBlob) -> EventContent:
    """Return one event of a record; raise NotFound if the record has no such event.

    `bodies` are the verified entries of the record.
    """
    reader, entry, entries = EntryReader(), None, 0
    for body in islice(bodies, max(0, number) + 1):
        entry = reader.read(body)
        entries += 1
    if entry is None or entry.seq != number:
        last = entries - 1
        raise NotFound(
            "event.unknown",
            f"run {run} has no event {number}",
            f"its events are numbered from 0 to {last}",
        )
    fields = msgspec.to_builtins(entry.event)
    kind = fields.pop("type")
    return EventContent(
        run=run,
        event=entry.seq,
        at=entry.at,
        kind=kind,
        fields=fields,
        content=tuple(_contents(fields, read)),
    )


def _contents(fields: dict[str, Any], read: ReadBlob) -> Iterator[StoredContent]:
    """Yield the stored content of every digest in an event; other digests have none."""
    for name, digest in _digests(fields):
        try:
            content = read(digest)
        except NotFound:
            continue
        yield _stored(name, digest, content)


def _digests(value: Any, name: str = "") -> Iterator[tuple[str, Digest]]:
    match value:
        case dict():
            for key, inner in value.items():
                yield from _digests(inner, f"{name}.{key}" if name else str(key))
        case list() | tuple():
            for number, inner in enumerate(value):
                yield from _digests(inner, f"{name}[{number}]")
        case str() if len(value) == _DIGEST_LENGTH and set(value) <= set("0123456789abcdef"):
            yield name, Digest(value)


def _stored(name: str, digest: Digest, content: bytes) -> StoredContent:
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raw = base64.b64encode(content).decode()
        return StoredContent(name=name, digest=digest, text=None, base64=raw, size=len(content))
    return StoredContent(name=name, digest=digest, text=text, size=len(content))
