"""Verification: from bytes alone, whether a record is whole and its history legal."""

from collections import OrderedDict
from collections.abc import Iterable
from enum import Enum

from auditcoder.domain.chain import EMPTY, EntryReader, Head
from auditcoder.domain.errors import AuditCoderError, RecordUnreadable
from auditcoder.domain.laws import IllegalHistory, ReadBlob, advance
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.values import Digest, RunId, Value, digest


class Aspect(Enum):
    """What was looked at."""

    CHAIN = "chain"
    BLOBS = "blobs"
    LAWS = "laws"
    HEAD = "head"


class VerifyFinding(Value):
    """Something that does not hold."""

    aspect: Aspect
    code: str
    """Stable: `chain.broken`, `blob.mismatch`, `law.second-owner`, …"""
    seq: int | None
    """The event it was found at; None if it concerns the record as a whole."""
    message: str


class Report(Value):
    """What verification found. No findings means the record proves itself."""

    run: RunId | None
    entries: int
    blobs: int
    """How many references to blobs were followed."""
    head: Digest
    finished: bool | None
    """Whether the run has ended; None if the laws could not be judged to the end."""
    judged: int
    """How many entries, from the first, were found to be legal."""
    findings: tuple[VerifyFinding, ...]
    truncated: bool = False
    """Whether there were more findings than are listed."""
    known_head: int | None = None
    """With an expected head: the number of the event it names."""

    @property
    def holds(self) -> bool:
        """Whether everything holds."""
        return not self.findings


_MOST_FINDINGS = 100
_RECENT_BLOBS = 1024
_SMALL_BLOB = 16_384


class _CheckedBlobs:
    """Reads blobs and believes none; keeps only the recent ones, so that memory stays flat."""

    def __init__(self, read: ReadBlob) -> None:
        self._read = read
        self._recent: OrderedDict[Digest, bytes] = OrderedDict()

    def read(self, name: Digest) -> bytes:
        """Return a blob that is what its digest says, or raise what is wrong with it."""
        if (kept := self._recent.get(name)) is not None:
            self._recent.move_to_end(name)
            return kept
        content = self._read(name)
        if digest(content) != name:
            raise RecordUnreadable("blob.mismatch", f"blob {name} is not what its digest says")
        if len(content) <= _SMALL_BLOB:
            self._recent[name] = content
            if len(self._recent) > _RECENT_BLOBS:
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
    """Check a record: its chain, the blobs it names, every law, and its head.

    `named` and `claimed` are what whoever keeps the record says its run and its head are;
    `expected` is a head that the caller kept from earlier, elsewhere. After an event that
    breaks a law the later laws have nothing to stand on, so they are not judged; chain and
    blobs are, to the end.
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
                Aspect.HEAD, "head.run", 0, f"it is of run {self.run_id}, but kept as {named}"
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
            self._find(Aspect.CHAIN, "chain.sequence", seq, f"the entry says it is {entry.seq}")
        if entry.prev != head.digest:
            self._find(Aspect.CHAIN, "chain.broken", seq, "it does not follow the entry before it")
        whole = True
        for name in entry.event.blobs():
            self.followed += 1
            try:
                self.blobs.read(name)
            except AuditCoderError as error:
                whole = False
                self._find(Aspect.BLOBS, error.code, seq, str(error))
        if self.ledger is None:
            return
        if not whole:
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
                f"the record ends at entry {head.entries - 1} with {head.digest}, but its keeper"
                f" says {claimed.entries - 1} with {claimed.digest}",
            )
        if expected is not None and known is None:
            self._find(
                Aspect.HEAD,
                "head.unknown",
                None,
                f"no entry has the digest {expected}: the history is not the one you knew",
            )

    def _find(self, aspect: Aspect, code: str, seq: int | None, message: str) -> None:
        if len(self.findings) >= _MOST_FINDINGS:
            self.truncated = True
        else:
            self.findings.append(VerifyFinding(aspect=aspect, code=code, seq=seq, message=message))
