"""The SQLite store: one file, the default."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from auditcoder.adapters.stores.sql import JUDGEMENTS, REPLAYS, SqlStore, Statement, altered
from auditcoder.domain.errors import (
    StoreConflict,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
)

APPLICATION_ID = 0x41434452
"""Identifies the file as a store: `ACDR`."""

SCHEMA_VERSION = 1

_SIGNATURE = b"SQLite format 3\0"
"""The first bytes of every SQLite database."""
_SMALLEST_PAGE = 512

# A stored database is compared with this text, so changing it needs another SCHEMA_VERSION.
_SCHEMA = """
CREATE TABLE runs (
    number  INTEGER PRIMARY KEY,
    run     TEXT NOT NULL UNIQUE,
    entries INTEGER NOT NULL,
    head    BLOB NOT NULL
) STRICT;

CREATE TABLE events (
    run  INTEGER NOT NULL REFERENCES runs (number),
    seq  INTEGER NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (run, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE blobs (
    id     INTEGER PRIMARY KEY,  -- in insertion order, so that related blobs are close on the disk
    digest BLOB NOT NULL UNIQUE,
    body   BLOB NOT NULL
) STRICT;

CREATE TRIGGER runs_only_grow BEFORE UPDATE ON runs
WHEN NEW.number <> OLD.number OR NEW.run <> OLD.run OR NEW.entries <= OLD.entries
BEGIN SELECT RAISE(ABORT, 'append-only: a run only grows'); END;
CREATE TRIGGER runs_stay BEFORE DELETE ON runs
BEGIN SELECT RAISE(ABORT, 'append-only: a run is never deleted'); END;
CREATE TRIGGER events_stand BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'append-only: an event is never altered'); END;
CREATE TRIGGER events_stay BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'append-only: an event is never deleted'); END;

-- REPLACE deletes rows without firing the triggers above, so inserts are guarded as well.
CREATE TRIGGER events_once BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE run = NEW.run AND seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'append-only: an event is never altered'); END;
CREATE TRIGGER runs_once BEFORE INSERT ON runs
WHEN EXISTS (SELECT 1 FROM runs WHERE run = NEW.run OR number = NEW.number)
BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER blobs_once BEFORE INSERT ON blobs
WHEN EXISTS (SELECT 1 FROM blobs WHERE digest = NEW.digest OR id = NEW.id)
BEGIN SELECT RAISE(IGNORE); END;
CREATE TRIGGER blobs_stand BEFORE UPDATE ON blobs
BEGIN SELECT RAISE(ABORT, 'append-only: a blob is never altered'); END;
CREATE TRIGGER blobs_stay BEFORE DELETE ON blobs
BEGIN SELECT RAISE(ABORT, 'append-only: a blob is never deleted'); END;
"""


class SqliteStore(SqlStore):
    """A store in one file, with a write-ahead log; a commit returns when it is on the disk."""

    def __init__(self, path: Path | str, *, timeout: float = 10.0) -> None:
        """Open the store at `path`, creating it if need be; wait `timeout` seconds for locks."""
        super().__init__()
        self._path = str(path)
        with self._translated():
            if self._path != ":memory:":
                Path(self._path).parent.mkdir(parents=True, exist_ok=True)
                _refuse_other_file(Path(self._path))
            self._db = sqlite3.connect(
                self._path, timeout=timeout, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare()
            except BaseException:
                self._db.close()
                raise

    def _prepare(self) -> None:
        self._db.execute("PRAGMA trusted_schema = OFF")
        self._refuse_foreign()
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        if self._number("application_id") == APPLICATION_ID:
            return
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self._number("application_id") != APPLICATION_ID:  # not created meanwhile
                for statement in _statements(_SCHEMA):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                self._db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise

    def _refuse_foreign(self) -> None:
        # All reads see one state: another process may be creating the store.
        self._db.execute("BEGIN")
        try:
            self._refuse_other_content()
        finally:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")

    def _refuse_other_content(self) -> None:
        owner = self._number("application_id")
        tables = self._db.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
        if owner != APPLICATION_ID and (owner or tables):
            raise StoreForeign(
                "store.foreign",
                f"{self._path} is a database of another program",
                "name another file with --store; this one was not changed",
            )
        version = self._number("user_version")
        if owner == APPLICATION_ID and version != SCHEMA_VERSION:
            raise StoreForeign(
                "store.version",
                f"{self._path} has store version {version}; this program supports {SCHEMA_VERSION}",
                "use the version of auditcoder that wrote it, or export its runs from there",
            )
        if owner == APPLICATION_ID and _schema(self._db) not in _schemas():
            raise altered(self._path)

    def _number(self, pragma: str) -> int:
        return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])

    def fetch(self, query: str, parameters: tuple[Any, ...]) -> list[Any]:
        """Return the rows of one query."""
        try:
            with self._lock:
                return self._db.execute(query, parameters).fetchall()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _store_error(error, self._path) from error

    def has_table(self, name: str) -> bool:
        """Whether the file has a table."""
        query = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?"
        return bool(self.fetch(query, (name,)))

    def write(self, statements: Iterable[Statement]) -> bool:
        """Execute statements as one durable transaction."""
        db = self._db
        try:
            db.execute("BEGIN IMMEDIATE")
            try:
                for statement, parameters, must_change in statements:
                    done = db.execute(statement, parameters)
                    if must_change and done.rowcount != 1:
                        db.execute("ROLLBACK")
                        return False
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
        except sqlite3.Error as error:
            raise _store_error(error, self._path) from error
        return True

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise _store_error(error, self._path) from error
        except OSError as error:
            raise StoreUnavailable(
                "store.unavailable",
                f"{self._path} cannot be opened: {error.strerror}",
                "check the path and its permissions, or name another with --store",
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._db.close()


def _refuse_other_file(path: Path) -> None:
    """Refuse a file that is no database: SQLite itself replaces one that is shorter than a page."""
    if not path.is_file() or path.stat().st_size == 0:
        return
    with path.open("rb") as file:
        start = file.read(_SMALLEST_PAGE)
    if len(start) < _SMALLEST_PAGE or not start.startswith(_SIGNATURE):
        raise StoreForeign(
            "store.foreign",
            f"{path} is not a database",
            "name another file with --store; this one was not changed",
        )


def _schema(db: sqlite3.Connection) -> tuple[tuple[str | None, ...], ...]:
    """Return the definitions of all tables, indices, triggers and views, but ANALYZE's tables."""
    query = (
        "SELECT type, name, tbl_name, sql FROM sqlite_schema"
        " WHERE NOT (type = 'table' AND name GLOB 'sqlite_stat[14]') ORDER BY type, name"
    )
    return tuple(db.execute(query))


@cache
def _schemas() -> frozenset[tuple[tuple[str | None, ...], ...]]:
    """Return the schemas of a store with and without each table that is created at first use."""
    found = set()
    for added in ((), (JUDGEMENTS,), (REPLAYS,), (JUDGEMENTS, REPLAYS)):
        with closing(sqlite3.connect(":memory:")) as db:
            db.executescript(_SCHEMA)
            for table in added:
                db.execute(table)
            found.add(_schema(db))
    return frozenset(found)


def _statements(script: str) -> Iterator[str]:
    pending = ""
    for line in script.splitlines():
        pending += line + "\n"
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def _disk_is_full(path: str) -> bool:
    try:
        disk = os.statvfs(Path(path).parent)
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < 1 << 16


def _store_error(error: Exception, path: str) -> StoreError:
    code = getattr(error, "sqlite_errorcode", None)
    primary = code & 0xFF if code is not None else None
    # On a full disk the index of the write-ahead log cannot grow; SQLite reports an I/O error.
    if primary == sqlite3.SQLITE_FULL or (primary == sqlite3.SQLITE_IOERR and _disk_is_full(path)):
        return StoreFull(
            "store.full",
            f"no space is left for {path}",
            "free some space and resume; all acknowledged events are safe",
        )
    if primary in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return StoreLocked(
            "store.locked",
            f"{path} is locked by another process",
            "wait for it to finish, or end it, and try again; nothing was lost",
        )
    if primary in {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT} or code is None:
        return StoreForeign(
            "store.foreign",
            f"{path} is not a database that can be read: {error}",
            "name another file with --store; this one was not changed",
        )
    if primary == sqlite3.SQLITE_CONSTRAINT:
        return StoreConflict("store.conflict", f"{path} refuses the change: {error}")
    return StoreUnavailable(
        "store.unavailable",
        f"{path} cannot be used: {error}",
        "check the path, its permissions and the disk, or name another with --store",
    )
