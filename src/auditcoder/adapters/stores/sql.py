"""The part of the SQL stores that SQLite and PostgreSQL share. Its tables are append-only.

runs    one row per run: its number of entries and the digest of the last
events  the entries, byte for byte, numbered within their run
blobs   content by digest, shared between runs

Two further tables, each created at first use, hold judgements, the results of hidden tests, and the
results of replays. They are not part of any record.
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC
from typing import Any, TypeAlias, TypeVar

import msgspec

from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.errors import NotFound, StoreConflict, StoreForeign
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.values import Digest, RunId
from auditcoder.domain.verification import checked_blob

_PAGE = 512
_MOST_ENTRIES = (1 << 63) - 1
"""Both databases have integers of 64 bits."""
_DIGEST_BYTES = 32
JUDGEMENTS = """
CREATE TABLE IF NOT EXISTS judgements (
    run  TEXT NOT NULL,
    suite TEXT NOT NULL,
    head TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, suite, head)
)
"""

REPLAYS = """
CREATE TABLE IF NOT EXISTS replays (
    run  TEXT NOT NULL,
    head TEXT NOT NULL,
    at   TEXT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (run, head, at)
)
"""


Statement: TypeAlias = tuple[str, tuple[Any, ...], bool]
"""The SQL, its parameters, and whether it must change exactly one row."""


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
        """Return the rows of one query; raise the driver's errors as a StoreError."""

    @abstractmethod
    def write(self, statements: Iterable[Statement]) -> bool:
        """Execute statements as one durable transaction; raise the driver's errors as a StoreError.

        Returns False, with nothing written, if one that must change a row changes none.
        """

    @abstractmethod
    def close(self) -> None:
        """Close the connection to the database."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether the store has a table that is created at first use."""

    def sql(self, statement: str) -> str:
        """Return a statement with the driver's own parameter placeholders."""
        return statement

    def runs(self) -> list[RunId]:
        """Return every run of the store, oldest first."""
        rows = self.fetch("SELECT run FROM runs ORDER BY number", ())
        return [RunId(_is(str, run)) for (run,) in rows]

    def head(self, run: RunId) -> Head:
        """Return the head of a run; `EMPTY` for an unknown run."""
        rows = self.fetch("SELECT entries, head FROM runs WHERE run = ?", (run,))
        if not rows:
            return EMPTY
        entries, digest = _is(int, rows[0][0]), _is(bytes, rows[0][1])
        if not 0 < entries <= _MOST_ENTRIES or len(digest) != _DIGEST_BYTES:
            raise _damaged()
        return Head(entries=entries, digest=Digest(digest.hex()))

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the entries from `start` on, page by page, with no transaction open in between."""
        query = (
            "SELECT seq, body FROM events WHERE run = (SELECT number FROM runs WHERE run = ?)"
            " AND seq >= ? ORDER BY seq LIMIT ?"
        )
        while page := self.fetch(query, (run, start, _PAGE)):
            for seq, body in page:
                # A damaged index would be read forever.
                if not start <= _is(int, seq) < _MOST_ENTRIES:
                    raise _damaged()
                start = seq + 1
                yield _is(bytes, body)

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content, which matches its digest."""
        rows = self.fetch("SELECT body FROM blobs WHERE digest = ?", (_key(name),))
        if not rows:
            raise NotFound("blob.missing", f"there is no blob {name} here")
        return checked_blob(name, _is(bytes, rows[0][0]))

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        """Add entries and blobs in one transaction, provided that the run ends at `after`."""
        with self._lock:
            if not self.write(self._statements(run, after, entries, head, blobs)):
                raise StoreConflict(
                    "store.conflict",
                    f"run {run} does not end at entry {after.entries - 1}: another process wrote",
                    "only one process may write a run at a time; resume it to continue",
                )

    def _statements(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]],
    ) -> Iterator[Statement]:
        """Yield the statements; the first moves the head, and only if it is still at `after`."""
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
        """Store a judgement, once for each suite and head of a record."""
        body = msgspec.json.encode(judgement).decode()
        with self._lock:
            self.write(
                (
                    (JUDGEMENTS, (), False),
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
        """Return the judgements of a run."""
        with self._lock:
            self.write(((JUDGEMENTS, (), False),))
        rows = self.fetch(
            "SELECT suite, head, body FROM judgements WHERE run = ? ORDER BY suite, head", (run,)
        )
        return [_judgement(run, *row) for row in rows]

    def keep_replay(self, replay: ReplayResult) -> None:
        """Store the result of a replay."""
        at = replay.at.astimezone(UTC).isoformat()
        insert = self.sql(
            "INSERT INTO replays (run, head, at, body) VALUES (?, ?, ?, ?)"
            " ON CONFLICT (run, head, at) DO NOTHING"
        )
        body = msgspec.json.encode(replay).decode()
        with self._lock:
            self.write(((REPLAYS, (), False), (insert, (replay.run, replay.head, at, body), False)))

    def replays(self, run: RunId) -> list[ReplayResult]:
        """Return the results of a run's replays, oldest first; a store without any is unchanged."""
        if not self.has_table("replays"):
            return []
        rows = self.fetch("SELECT head, at, body FROM replays WHERE run = ? ORDER BY at", (run,))
        return [_replay(run, *row) for row in rows]

    def _number_of(self, run: RunId) -> int | None:
        """Return the primary key of a run, which never changes; None for an unknown run."""
        if run not in self._numbers:
            rows = self.fetch("SELECT number FROM runs WHERE run = ?", (run,))
            if not rows:
                return None
            self._numbers[run] = _is(int, rows[0][0])
        return self._numbers[run]


_Column = TypeVar("_Column")


def _is(kind: type[_Column], value: object) -> _Column:
    """Return a column's value; if it is not of the type that was written, the store is damaged."""
    if not isinstance(value, kind):
        raise _damaged()
    return value


def _judgement(run: RunId, suite: object, head: object, body: object) -> Judgement:
    """Decode a judgement, which must be about the run, suite and head that it is stored under."""
    try:
        judgement = msgspec.json.decode(_is(str, body), type=Judgement)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _damaged() from error
    if (judgement.run, judgement.suite, judgement.head) != (run, suite, head):
        raise _damaged()
    return judgement


def _replay(run: RunId, head: object, at: object, body: object) -> ReplayResult:
    """Decode the result of a replay, which must be about what it is stored under."""
    try:
        replay = msgspec.json.decode(_is(str, body), type=ReplayResult)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise _damaged() from error
    if (replay.run, replay.head, replay.at.isoformat()) != (run, head, at):
        raise _damaged()
    return replay


def _damaged() -> StoreForeign:
    return StoreForeign(
        "store.damaged",
        "the store is damaged: it holds a value of a wrong type, range, order or key",
        "restore it from a copy, or import its runs from bundles",
    )


def altered(where: str) -> StoreForeign:
    """Return the error for a store whose tables or triggers are not those that were created."""
    return StoreForeign(
        "store.altered",
        f"the tables or triggers of {where} are not those that auditcoder created",
        "restore it from a copy, or import its runs from bundles; it was not changed",
    )


def _key(name: Digest) -> bytes:
    """Return a digest as the database keeps it: as bytes, at half the size of hexadecimal."""
    try:
        return bytes.fromhex(name)
    except ValueError:
        return name.encode("utf-8", "replace")
