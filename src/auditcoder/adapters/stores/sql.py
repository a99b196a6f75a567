"""What SQLite and PostgreSQL share: two tables that only grow, and a line of heads.

runs    one line a run: how many entries it has and the digest of the last
events  the entries, byte for byte, numbered within their run
blobs   content by digest, shared between runs
"""

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.errors import NotFound, StoreConflict
from auditcoder.domain.values import Digest, RunId

_PAGE = 512


class Cursor(Protocol):
    """As much of a database cursor as is used here."""

    rowcount: int

    def execute(self, query: str, parameters: tuple[Any, ...], /) -> Any:
        """Run one statement."""
        ...

    def executemany(self, query: str, parameters: Iterable[tuple[Any, ...]], /) -> Any:
        """Run one statement for many rows."""
        ...

    def fetchone(self) -> Any:
        """Return the next row or None."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows that are left."""
        ...


class SqlStore(ABC):
    """A trace store in a relational database."""

    add_blob: str
    """The statement that adds a blob unless it is there, `?` for the parameters."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Cursor]:
        """Run a block as one durable transaction; translate the driver's errors into ours."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the database."""

    def sql(self, statement: str) -> str:
        """Write a statement with the driver's own parameter marks."""
        return statement

    def runs(self) -> list[RunId]:
        """Return every run kept here, oldest first."""
        with self._lock, self.transaction(write=False) as db:
            db.execute(self.sql("SELECT run FROM runs ORDER BY number"), ())
            return [RunId(run) for (run,) in db.fetchall()]

    def head(self, run: RunId) -> Head:
        """Return where the run's chain ends; `EMPTY` for a run that is not here."""
        with self._lock, self.transaction(write=False) as db:
            return self._head(db, run)[1]

    def _head(self, db: Cursor, run: RunId) -> tuple[int | None, Head]:
        db.execute(self.sql("SELECT number, entries, head FROM runs WHERE run = ?"), (run,))
        row = db.fetchone()
        if row is None:
            return None, EMPTY
        return row[0], Head(entries=row[1], digest=Digest(bytes(row[2]).hex()))

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        """Yield the entries from `start` on, page by page, holding nothing in between."""
        query = self.sql(
            "SELECT seq, body FROM events WHERE run = (SELECT number FROM runs WHERE run = ?)"
            " AND seq >= ? ORDER BY seq LIMIT ?"
        )
        while True:
            with self._lock, self.transaction(write=False) as db:
                db.execute(query, (run, start, _PAGE))
                page = db.fetchall()
            for _, body in page:
                yield bytes(body)
            if len(page) < _PAGE:
                return
            start = page[-1][0] + 1

    def blob(self, name: Digest) -> bytes:
        """Return a blob's content."""
        with self._lock, self.transaction(write=False) as db:
            db.execute(self.sql("SELECT body FROM blobs WHERE digest = ?"), (_key(name),))
            row = db.fetchone()
        if row is None:
            raise NotFound("blob.missing", f"there is no blob {name} here")
        return bytes(row[0])

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        """Add entries and blobs in one transaction, provided the run ends at `after`."""
        pairs = blobs.items() if isinstance(blobs, Mapping) else blobs
        with self._lock, self.transaction(write=True) as db:
            number, current = self._head(db, run)
            if current != after:
                raise StoreConflict(
                    "store.conflict",
                    f"run {run} ends at entry {current.entries - 1}, not at {after.entries - 1}:"
                    " another writer has been here",
                    "let one process write a run at a time; resume it to go on",
                )
            if number is None:
                db.execute(
                    self.sql("INSERT INTO runs (run, entries, head) VALUES (?, ?, ?)"),
                    (run, head.entries, _key(head.digest)),
                )
                number, _ = self._head(db, run)
            else:
                db.execute(
                    self.sql("UPDATE runs SET entries = ?, head = ? WHERE number = ?"),
                    (head.entries, _key(head.digest), number),
                )
            db.executemany(
                self.sql(self.add_blob), ((_key(name), content) for name, content in pairs)
            )
            db.executemany(
                self.sql("INSERT INTO events (run, seq, body) VALUES (?, ?, ?)"),
                ((number, after.entries + i, body) for i, body in enumerate(entries)),
            )


def _key(name: Digest) -> bytes:
    """Digests are hexadecimal everywhere but in the database, where they take half the room."""
    try:
        return bytes.fromhex(name)
    except ValueError:
        return name.encode("utf-8", "replace")
