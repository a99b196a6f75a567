"""Verification: checks from the bytes alone that a record is complete and its history legal."""

from collections import OrderedDict
from collections.abc import Iterable
from enum import Enum

from auditcoder.domain.chain import EMPTY, EntryReader, Head
from auditcoder.domain.errors import AuditCoderError, RecordUnreadable
from auditcoder.domain.laws import IllegalHistory, ReadBlob, advance
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.values import Digest, RunId, Value, digest


class Aspect(Enum):
    """The part of a record that a finding is about."""

    CHAIN = "chain"
    BLOBS = "blobs"
    LAWS = "laws"
    HEAD = "head"


class VerifyFinding(Value):
    """One violation that verification found."""

    aspect: Aspect
    code: str
    """A stable code: `chain.broken`, `blob.mismatch`, `law.second-owner`, …"""
    seq: int | None
    """The number of the event; None if the finding is about the whole record."""
    message: str


class Report(Value):
    """The result of a verification; without findings, the record is intact and legal."""

    run: RunId | None
    entries: int
    blobs: int
    """Number of blob references that were checked."""
    head: Digest
    finished: bool | None
    """Whether the run has ended; None if the laws could not be checked to the end."""
    judged: int
    """Number of entries, from the first, that were found legal."""
    findings: tuple[VerifyFinding, ...]
    truncated: bool = False
    """Whether there were more findings than are listed."""
    known_head: int | None = None
    """If a head was expected: the number of the event with that digest."""

    @property
    def holds(self) -> bool:
        """Whether there are no findings."""
        return not self.findings


_MAX_FINDINGS = 100
_CACHED_BLOBS = 1024
_MAX_CACHED_BYTES = 16_384


def checked_blob(name: Digest, content: bytes) -> bytes:
    """Return the content of a blob, or raise RecordUnreadable if it does not match its digest."""
    if digest(content) != name:
        raise RecordUnreadable(
            "blob.mismatch",
            f"blob {name} does not match its digest",
            "`auditcoder verify` lists all findings",
        )
    return content


class _CheckedBlobs:
    """Reads blobs and checks their digests, with a cache of bounded size."""

    def __init__(self, read: ReadBlob) -> None:
        self._read = read
        self._recent: OrderedDict[Digest, bytes] = OrderedDict()

    def read(self, name: Digest) -> bytes:
        """Return a blob whose digest matches, or raise an error."""
        if (kept := self._recent.get(name)) is not None:
            self._recent.move_to_end(name)
            return kept
        content = checked_blob(name, self._read(name))
        if len(content) <= _MAX_CACHED_BYTES:
            self._recent[name] = content
            if len(self._recent) > _CACHED_BLOBS:
                self._recent.popitem(last=False)
        return content


def verify(
    bodies: Iterable[bytes],
    read: ReadBlob,
    *,
    named: RunId | None = None,
    claimed: Head | None = None,
    expected: Digest | None = None,
) -> Report:
    """Check a record: its chain, its blobs, every law, and its head.

    `named` and `claimed` are the run id and the head according to the store; `expected` is a head
    that the caller has from an independent source. After an event that violates a law, the laws
    cannot be checked any further; chain and blobs are checked to the end.
    """
    return _Verification(read).run(bodies, named, claimed, expected)


class _Verification:
    def __init__(self, read: ReadBlob) -> None:
        self.blobs = _CheckedBlobs(read)
        self.reader = EntryReader()
        self.ledger: Ledger | None = Ledger()
        self.run_id: RunId | None = None
        self.judged = 0
        self.findings: list[VerifyFinding] = []
        self.truncated = False
        self.followed = 0

    def run(
        self,
        bodies: Iterable[bytes],
        named: RunId | None,
        claimed: Head | None,
        expected: Digest | None,
    ) -> Report:
        head = EMPTY
        known_head: int | None = None
        for body in bodies:
            self._entry(body, head)
            head = Head(entries=head.entries + 1, digest=digest(body))
            if head.digest == expected:
                known_head = head.entries - 1
        self._head(head, claimed, expected, known_head)
        if named is not None and self.run_id not in {None, named}:
            self._find(
                Aspect.HEAD, "head.run", 0, f"it is of run {self.run_id}, but stored as {named}"
            )
        return Report(
            run=self.run_id,
            entries=head.entries,
            blobs=self.followed,
            head=head.digest,
            finished=self.ledger.finished if self.ledger else None,
            judged=self.judged,
            findings=tuple(self.findings),
            truncated=self.truncated,
            known_head=known_head,
        )

    def _entry(self, body: bytes, head: Head) -> None:
        seq = head.entries
        try:
            entry = self.reader.read(body)
        except RecordUnreadable as error:
            if error.code == "record.newer-format":
                raise
            self._find(Aspect.CHAIN, "chain.unreadable", seq, str(error))
            self.ledger = None
            return
        if entry.seq != seq:
            self._find(Aspect.CHAIN, "chain.sequence", seq, f"its sequence number is {entry.seq}")
        if entry.prev != head.digest:
            self._find(
                Aspect.CHAIN,
                "chain.broken",
                seq,
                "it does not match the digest of the entry before it",
            )
        complete = True
        for name in entry.event.blobs():
            self.followed += 1
            try:
                self.blobs.read(name)
            except AuditCoderError as error:
                complete = False
                self._find(Aspect.BLOBS, error.code, seq, str(error))
        if self.ledger is None:
            return
        if not complete:
            self.ledger = None
            return
        try:
            self.ledger = advance(self.ledger, entry.event, self.blobs.read)
        except IllegalHistory as illegal:
            self._find(Aspect.LAWS, f"law.{illegal.law.value}", seq, str(illegal))
            self.ledger = None
            return
        self.run_id, self.judged = self.ledger.run, self.ledger.seq

    def _head(
        self, head: Head, claimed: Head | None, expected: Digest | None, known: int | None
    ) -> None:
        if head.entries == 0:
            self._find(Aspect.CHAIN, "chain.empty", None, "the record has no entries")
        if claimed is not None and claimed != head:
            self._find(
                Aspect.HEAD,
                "head.mismatch",
                None,
                f"the record ends at entry {head.entries - 1} with {head.digest}, but the store"
                f" says {claimed.entries - 1} with {claimed.digest}",
            )
        if expected is not None and known is None:
            self._find(
                Aspect.HEAD,
                "head.unknown",
                None,
                f"no entry has the digest {expected}: this is another history",
            )

    def _find(self, aspect: Aspect, code: str, seq: int | None, message: str) -> None:
        if len(self.findings) >= _MAX_FINDINGS:
            self.truncated = True
        else:
            self.findings.append(VerifyFinding(aspect=aspect, code=code, seq=seq, message=message))
