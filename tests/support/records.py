"""Records as raw bytes, which tests alter without the writer."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from auditcoder.domain.chain import EMPTY, EntryReader, Head, seal
from auditcoder.domain.errors import NotFound
from auditcoder.domain.events import Event
from auditcoder.domain.values import Digest, RunId, digest
from auditcoder.domain.verification import Report, verify
from auditcoder.lifecycle.ports import TraceReader


class Raw(NamedTuple):
    """The raw content of one run."""

    run: RunId
    bodies: list[bytes]
    blobs: dict[Digest, bytes]
    head: Head

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content."""
        if name not in self.blobs:
            raise NotFound("blob.missing", f"there is no blob {name}")
        return self.blobs[name]

    def events(self) -> list[Event]:
        """Return the events."""
        reader = EntryReader()
        return [reader.read(body).event for body in self.bodies]

    def verify(self, bodies: Iterable[bytes] | None = None) -> Report:
        """Verify these bodies, or other ones in their place; the stored head is unchanged."""
        chosen = self.bodies if bodies is None else bodies
        return verify(chosen, self.blob, named=self.run, claimed=self.head)


def take(reader: TraceReader, run: RunId) -> Raw:
    """Read the raw content of a run."""
    bodies = list(reader.read(run))
    decoder = EntryReader()
    names = {name for body in bodies for name in decoder.read(body).event.blobs()}
    return Raw(run, bodies, {name: reader.blob(name) for name in names}, reader.head(run))


def forge(raw: Raw, events: Iterable[Event], *new_blobs: bytes) -> Raw:
    """Chain `events` again, like a forger who can compute digests and controls the store."""
    head, bodies = EMPTY, []
    for event in events:
        _, body, head = seal(head, event, datetime(2026, 1, 2, tzinfo=UTC))
        bodies.append(body)
    blobs = raw.blobs | {digest(blob): blob for blob in new_blobs}
    return Raw(raw.run, bodies, blobs, head)


def deletions(bodies: list[bytes]) -> Iterator[list[bytes]]:
    """Yield every variant with one entry removed."""
    for i in range(len(bodies)):
        yield bodies[:i] + bodies[i + 1 :]


def swaps(bodies: list[bytes], reach: int) -> Iterator[list[bytes]]:
    """Yield every variant with two entries at most `reach` apart exchanged."""
    for i in range(len(bodies)):
        for j in range(i + 1, min(i + 1 + reach, len(bodies))):
            swapped = bodies.copy()
            swapped[i], swapped[j] = bodies[j], bodies[i]
            if swapped != bodies:
                yield swapped


def edits(bodies: list[bytes], salt: int) -> Iterator[list[bytes]]:
    """Yield for each entry a variant with one bit changed at a position chosen by `salt`."""
    for i, body in enumerate(bodies):
        at = (salt * 7919 + i * 104729) % len(body)
        altered = body[:at] + bytes([body[at] ^ (1 << (salt + i) % 8)]) + body[at + 1 :]
        yield [*bodies[:i], altered, *bodies[i + 1 :]]


def insertions(raw: Raw) -> Iterator[list[bytes]]:
    """Yield at each position variants with a repeated entry and a new, correctly chained one."""
    events = raw.events()
    head = EMPTY
    for i in range(len(raw.bodies) + 1):
        for event in (events[i - 1], events[min(i, len(events) - 1)]):
            _, body, _ = seal(head, event, datetime(2026, 1, 3, tzinfo=UTC))
            yield [*raw.bodies[:i], body, *raw.bodies[i:]]
        if i:
            yield [*raw.bodies[:i], raw.bodies[i - 1], *raw.bodies[i:]]
        if i < len(raw.bodies):
            head = Head(entries=i + 1, digest=digest(raw.bodies[i]))
