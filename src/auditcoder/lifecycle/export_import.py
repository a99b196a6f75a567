"""Verifies stored runs, and reads or copies only those that verify."""

from collections.abc import Iterator
from enum import Enum
from itertools import islice

from auditcoder.domain.chain import EMPTY, EntryReader, Head
from auditcoder.domain.errors import NotFound, RecordUnreadable, StoreConflict
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.values import Digest, RunId, digest
from auditcoder.domain.verification import Report, verify
from auditcoder.lifecycle.ports import TraceReader, TraceStore


class ImportResult(Enum):
    """How a copy ended."""

    COPIED = "copied"
    EXTENDED = "extended"
    """The target had an earlier part of the same run."""
    ALREADY_THERE = "already there"


def verify_run(source: TraceReader, run: RunId, expected: Digest | None = None) -> Report:
    """Verify a stored run; `expected` is the digest that its head must have."""
    head = source.head(run)
    if head == EMPTY:
        raise NotFound("run.unknown", f"there is no run {run} here")
    bodies = _up_to(source, run, head)
    return verify(bodies, source.blob, named=run, claimed=head, expected=expected)


def _up_to(source: TraceReader, run: RunId, head: Head) -> Iterator[bytes]:
    """Yield the entries up to `head`, and one surplus entry if the head does not cover it."""
    yield from islice(source.read(run), head.entries)
    surplus = list(islice(source.read(run, head.entries), 1))
    # Entries and head are written together: more entries under the same head are an error, while
    # a run that is still being written has moved its head by now.
    if surplus and source.head(run) == head:
        yield from surplus


def verified_head(source: TraceReader, run: RunId) -> Head:
    """Verify a run and return its head; raise RecordUnreadable if it does not verify."""
    report = verify_run(source, run)
    if not report.holds:
        first = report.findings[0]
        raise RecordUnreadable(
            "record.unverified",
            f"run {run} does not verify: {first.code}: {first.message}",
            "`auditcoder verify` lists all findings",
        )
    return Head(entries=report.entries, digest=report.head)


def verified_trace(source: TraceReader, run: RunId) -> Trace:
    """Verify a run and fold its record; raise RecordUnreadable if it does not verify."""
    head = verified_head(source, run)
    # The run may grow meanwhile, and what is not append-only may change.
    trace = fold(islice(source.read(run), head.entries), source.blob)
    if trace.head != head:
        raise RecordUnreadable(
            "record.unverified", f"run {run} was altered while it was read", "read it again"
        )
    return trace


def copy_run(source: TraceReader, run: RunId, target: TraceStore) -> ImportResult:
    """Verify a run and copy it; if it does not verify, raise and write nothing."""
    new = verified_head(source, run)
    have = target.head(run)
    if have == new:
        return ImportResult.ALREADY_THERE
    if have != _head_at(source, run, have.entries):
        raise StoreConflict(
            "store.conflict",
            f"the target has a different run {run}",
            "keep the two in different stores",
        )
    missing = islice(source.read(run, have.entries), new.entries - have.entries)
    target.append(run, have, missing, new, _blobs(source, run, have.entries, new.entries))
    return ImportResult.EXTENDED if have.entries else ImportResult.COPIED


def _head_at(source: TraceReader, run: RunId, entries: int) -> Head:
    head = EMPTY
    for number, body in enumerate(source.read(run)):
        if number == entries:
            break
        head = Head(entries=number + 1, digest=digest(body))
    return head


def _blobs(source: TraceReader, run: RunId, start: int, end: int) -> Iterator[tuple[Digest, bytes]]:
    reader = EntryReader()
    for number, body in enumerate(islice(source.read(run), end)):
        event = reader.read(body).event
        if number >= start:
            for name in event.blobs():
                yield name, source.blob(name)
