"""What SQLite and PostgreSQL share: two tables that only grow, and a line of heads.

runs    one line a run: how many entries it has and the digest of the last
events  the entries, byte for byte, numbered within their run
blobs   content by digest, shared between runs

Beside them, made when first needed: judgements, which say how programs did in tests that their
runs never saw. They are no part of any record.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import msgspec

from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.errors import NotFound, StoreConflict, StoreForeign
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.values import Digest, RunId

_PAGE = 512
_JUDGEMENTS = """
CREATE TABLE IF NOT EXISTS judgements (
    run  TEXT NOT NULL,
    suite TEXT NOT NULL,
    head TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, suite, head)
)
"""


Statement: TypeAlias = tuple[str, tuple[Any, ...], bool]
"""What to execute, with which parameters, and whether it must change exactly one row."""


class SqlStore(ABC):
    """A trace store in a relational database."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._add_run = self.sql(
            "INSERT INTO runs (run, entries, head) VALUES (?, ?, ?) ON CONFLICT (run) DO NOTHING"
        )
        self._move_head = self.sql(
            "UPDATE runs SET entries = ?, head = ? WHERE number = ? AND entries = ? AND head = ?"
        )
        self._add_blob = self.sql(
            "INSERT INTO blobs (digest, body) VALUES (?, ?) ON CONFLICT (digest) DO NOTHING"
        )
        self._add_event = self.sql("INSERT INTO events (run, seq, body) VALUES (?, ?, ?)")
        self._add_first_events = self.sql(
            "INSERT INTO events (run, seq, body) SELECT number, ?, ? FROM runs WHERE run = ?"
        )
        self._numbers: dict[RunId, int] = {}

    @abstractmethod
    def fetch(self, query: str, parameters: tuple[Any, ...]) -> list[Any]:
        """Return the rows of one query; translate the driver's errors into ours."""

    @abstractmethod
    def write(self, statements: Iterable[Statement]) -> bool:
        """Execute statements as one durable transaction; translate the driver's errors into ours.

        Returns False, with nothing written, if one that must change a row changes none.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def sql(self, statement: str) -> str:
        """Write a statement with the driver's own parameter marks."""
        return statement

    def runs(self) -> list[RunId]:
        """Return every run kept here, oldest first."""
        rows = self.fetch("SELECT run FROM runs ORDER BY number", ())
        return [RunId(_is(str, run)) for (run,) in rows]

    def head(self, run: RunId) -> Head:
        """Return where the run's chain ends; `EMPTY` for a run that is not here."""
        rows = self.fetch("SELECT entries, head FROM runs WHERE run = ?", (run,))
        if not rows:
            return EMPTY
        return Head(entries=_is(int, rows[0][0]), digest=Digest(_is(bytes, rows[0][1]).hex()))

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the entries from `start` on, page by page, holding nothing in between."""
        query = (
            "SELECT seq, body FROM events WHERE run = (SELECT number FROM runs WHERE run = ?)"
            " AND seq >= ? ORDER BY seq LIMIT ?"
        )
        while page := self.fetch(query, (run, start, _PAGE)):
            for seq, body in page:
                if _is(int, seq) < start:  # a damaged index, which would be followed for ever
                    raise _damaged()
                start = seq + 1
                yield _is(bytes, body)

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content."""
        rows = self.fetch("SELECT body FROM blobs WHERE digest = ?", (_key(name),))
        if not rows:
            raise NotFound("blob.missing", f"there is no blob {name} here")
        return _is(bytes, rows[0][0])

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        """Add entries and blobs in one transaction, provided the run ends at `after`."""
        with self._lock:
            if not self.write(self._statements(run, after, entries, head, blobs)):
                raise StoreConflict(
                    "store.conflict",
                    f"run {run} does not end at entry {after.entries - 1}: another writer was here",
                    "let one process write a run at a time; resume it to go on",
                )

    def _statements(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]],
    ) -> Iterator[Statement]:
        """The head moves only from where the writer believes it to be; the rest follows."""
        new = (head.entries, _key(head.digest))
        number = self._number_of(run)
        if after == EMPTY:
            yield self._add_run, (run, *new), True
        else:
            yield self._move_head, (*new, number, after.entries, _key(after.digest)), True
        for name, content in blobs.items() if isinstance(blobs, Mapping) else blobs:
            yield self._add_blob, (_key(name), content), False
        for seq, body in enumerate(entries, start=after.entries):
            if number is None:
                yield self._add_first_events, (seq, body, run), False
            else:
                yield self._add_event, (number, seq, body), False

    def keep_judgement(self, judgement: Judgement) -> None:
        """Keep what a judge found, once for each suite and head of a record."""
        body = msgspec.json.encode(judgement).decode()
        with self._lock:
            self.write(
                (
                    (_JUDGEMENTS, (), False),
                    (
                        self.sql(
                            "INSERT INTO judgements (run, suite, head, body) VALUES (?, ?, ?, ?)"
                            " ON CONFLICT (run, suite, head) DO NOTHING"
                        ),
                        (judgement.run, judgement.suite, judgement.head, body),
                        False,
                    ),
                )
            )

    def judgements(self, run: RunId) -> list[Judgement]:
        """Return what judges found about a run."""
        with self._lock:
            self.write(((_JUDGEMENTS, (), False),))
        rows = self.fetch("SELECT body FROM judgements WHERE run = ? ORDER BY suite, head", (run,))
        return [msgspec.json.decode(_is(str, body), type=Judgement) for (body,) in rows]

    def _number_of(self, run: RunId) -> int | None:
        """Return the number under which a run is kept; it never changes."""
        if run not in self._numbers:
            rows = self.fetch("SELECT number FROM runs WHERE run = ?", (run,))
            if not rows:
                return None
            self._numbers[run] = _is(int, rows[0][0])
        return self._numbers[run]


_Column = TypeVar("_Column")


def _is(kind: type[_Column], value: object) -> _Column:
    """Return a column's value, which is of the kind that was written, or the store is damaged."""
    if not isinstance(value, kind):
        raise _damaged()
    return value


def _damaged() -> StoreForeign:
    return StoreForeign(
        "store.damaged",
        "the store is damaged: it holds what was never written to it",
        "restore it from a copy, or import its runs from bundles",
    )


def _key(name: Digest) -> bytes:
    """Digests are hexadecimal everywhere but in the database, where they take half the room."""
    try:
        return bytes.fromhex(name)
    except ValueError:
        return name.encode("utf-8", "replace")
