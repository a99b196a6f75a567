"""The PostgreSQL store, for a team. Needs the `postgres` extra, which provides the driver."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors as pg

from auditcoder.adapters.stores.sql import SqlStore, Statement, altered
from auditcoder.domain.errors import (
    StoreConflict,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
)

SCHEMA = "auditcoder"
SCHEMA_VERSION = 1

_CREATE = f"""
CREATE SCHEMA {SCHEMA};
SET LOCAL search_path = {SCHEMA};
CREATE TABLE meta (version integer NOT NULL);
INSERT INTO meta VALUES ({SCHEMA_VERSION});
CREATE TABLE runs (
    number  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    run     text NOT NULL UNIQUE,
    entries bigint NOT NULL,
    head    bytea NOT NULL
);
CREATE TABLE events (
    run  bigint NOT NULL REFERENCES runs (number),
    seq  bigint NOT NULL,
    body bytea NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE TABLE blobs (digest bytea PRIMARY KEY, body bytea NOT NULL);
CREATE FUNCTION append_only() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'append-only: % on %', TG_OP, TG_TABLE_NAME
   USING ERRCODE = 'integrity_constraint_violation'; END $$;
CREATE TRIGGER runs_only_grow BEFORE UPDATE ON runs FOR EACH ROW
WHEN (NEW.number <> OLD.number OR NEW.run <> OLD.run OR NEW.entries <= OLD.entries)
EXECUTE FUNCTION append_only();
CREATE TRIGGER runs_stay BEFORE DELETE ON runs FOR EACH ROW EXECUTE FUNCTION append_only();
CREATE TRIGGER events_stand BEFORE UPDATE OR DELETE ON events FOR EACH ROW
EXECUTE FUNCTION append_only();
CREATE TRIGGER blobs_stand BEFORE UPDATE OR DELETE ON blobs FOR EACH ROW
EXECUTE FUNCTION append_only();
CREATE TRIGGER runs_not_emptied BEFORE TRUNCATE ON runs EXECUTE FUNCTION append_only();
CREATE TRIGGER events_not_emptied BEFORE TRUNCATE ON events EXECUTE FUNCTION append_only();
CREATE TRIGGER blobs_not_emptied BEFORE TRUNCATE ON blobs EXECUTE FUNCTION append_only();
"""  # noqa: S608  no user input in it

_CONTENT = rf"""
WITH own AS (SELECT oid FROM pg_namespace WHERE nspname = '{SCHEMA}'),
    relation AS (SELECT c.* FROM pg_class c, own WHERE c.relnamespace = own.oid)
SELECT 'relation', relname::text, concat_ws(' ', relkind, relpersistence, relrowsecurity)
    FROM relation
UNION ALL SELECT 'column', relname || '.' || attname, concat_ws(' ',
        format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, atthasdef)
    FROM pg_attribute JOIN relation ON attrelid = relation.oid
    WHERE attnum > 0 AND NOT attisdropped AND relkind NOT IN ('i', 'S')
UNION ALL SELECT 'constraint', relname || '.' || conname, pg_get_constraintdef(k.oid)
    FROM pg_constraint k JOIN relation ON conrelid = relation.oid WHERE contype <> 'n'
UNION ALL SELECT 'trigger', tgenabled::text, pg_get_triggerdef(t.oid)
    FROM pg_trigger t JOIN relation ON tgrelid = relation.oid
    WHERE NOT tgisinternal OR tgenabled <> 'O'
UNION ALL SELECT 'rule', relname || '.' || rulename, ''
    FROM pg_rewrite JOIN relation ON ev_class = relation.oid
UNION ALL SELECT 'inheritance', relname::text, ''
    FROM pg_inherits JOIN relation ON relation.oid IN (inhrelid, inhparent)
UNION ALL SELECT 'function', proname::text,
        concat_ws(' ', lanname, prosecdef, provolatile, proconfig, pronargs,
            regexp_replace(trim(prosrc), '\s+', ' ', 'g'))
    FROM pg_proc JOIN own ON pronamespace = own.oid JOIN pg_language l ON prolang = l.oid
UNION ALL SELECT 'operator', oprname::text, ''
    FROM pg_operator JOIN own ON oprnamespace = own.oid
"""  # noqa: S608  no user input in it
"""Everything in the schema that decides what reading and writing the tables does.

The constraints that a column is not null are left out: PostgreSQL lists them since version 18.
"""


def _lines(text: str) -> frozenset[str]:
    return frozenset(text.strip().split("\n"))


_REFUSE = f"EXECUTE FUNCTION {SCHEMA}.append_only()"

# Changing the schema needs another SCHEMA_VERSION.
_META = _lines("relation meta r p f\ncolumn meta.version integer t f")
_OWN = _META | _lines(f"""
relation runs_number_seq S p f
relation runs r p f
relation runs_pkey i p f
relation runs_run_key i p f
column runs.number bigint t a f
column runs.run text t f
column runs.entries bigint t f
column runs.head bytea t f
constraint runs.runs_pkey PRIMARY KEY (number)
constraint runs.runs_run_key UNIQUE (run)
relation events r p f
relation events_pkey i p f
column events.run bigint t f
column events.seq bigint t f
column events.body bytea t f
constraint events.events_pkey PRIMARY KEY (run, seq)
constraint events.events_run_fkey FOREIGN KEY (run) REFERENCES {SCHEMA}.runs(number)
relation blobs r p f
relation blobs_pkey i p f
column blobs.digest bytea t f
column blobs.body bytea t f
constraint blobs.blobs_pkey PRIMARY KEY (digest)
trigger O CREATE TRIGGER runs_not_emptied BEFORE TRUNCATE ON {SCHEMA}.runs FOR EACH STATEMENT \
{_REFUSE}
trigger O CREATE TRIGGER runs_stay BEFORE DELETE ON {SCHEMA}.runs FOR EACH ROW \
{_REFUSE}
trigger O CREATE TRIGGER runs_only_grow BEFORE UPDATE ON {SCHEMA}.runs FOR EACH ROW \
WHEN (((new.number <> old.number) OR (new.run <> old.run) OR (new.entries <= old.entries))) \
{_REFUSE}
trigger O CREATE TRIGGER events_not_emptied BEFORE TRUNCATE ON {SCHEMA}.events FOR EACH STATEMENT \
{_REFUSE}
trigger O CREATE TRIGGER events_stand BEFORE DELETE OR UPDATE ON {SCHEMA}.events FOR EACH ROW \
{_REFUSE}
trigger O CREATE TRIGGER blobs_not_emptied BEFORE TRUNCATE ON {SCHEMA}.blobs FOR EACH STATEMENT \
{_REFUSE}
trigger O CREATE TRIGGER blobs_stand BEFORE DELETE OR UPDATE ON {SCHEMA}.blobs FOR EACH ROW \
{_REFUSE}
function append_only plpgsql f v 0 BEGIN RAISE EXCEPTION 'append-only: % on %', \
TG_OP, TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END
""")
_JUDGED = _lines("""
relation judgements r p f
relation judgements_pkey i p f
column judgements.run text t f
column judgements.suite text t f
column judgements.head text t f
column judgements.body text t f
constraint judgements.judgements_pkey PRIMARY KEY (run, suite, head)
""")
_REPLAYED = _lines("""
relation replays r p f
relation replays_pkey i p f
column replays.run text t f
column replays.head text t f
column replays.at text t f
column replays.body text t f
constraint replays.replays_pkey PRIMARY KEY (run, head, at)
""")
_CONTENTS = (_OWN, _OWN | _JUDGED, _OWN | _REPLAYED, _OWN | _JUDGED | _REPLAYED)
"""The content of a store with and without each table that is created at first use."""

_SCHEMA_LOCK = 0x41434452
"""Key of the advisory lock that is held while the schema is created."""


class PostgresStore(SqlStore):
    """A store in a schema of its own in a PostgreSQL database."""

    def __init__(self, url: str, *, timeout: float = 10.0) -> None:
        """Connect to `url`, creating the schema if need be; wait `timeout` seconds for locks."""
        super().__init__()
        self._where = _without_password(url)
        self._url = url
        self._timeout = timeout
        self._db = self._connect()

    def _connect(self) -> psycopg.Connection:
        with self._translated():
            # autocommit: transactions are opened explicitly, so none stays open by accident
            db = psycopg.connect(self._url, autocommit=True, connect_timeout=10)
            try:
                db.execute(f"SET lock_timeout = {int(self._timeout * 1000)}")
                # An acknowledged commit must be on the disk, whatever the server's default is.
                db.execute("SET synchronous_commit = on")
                with db.transaction():
                    self._prepare(db)
                db.execute(f"SET search_path = {SCHEMA}")
            except BaseException:
                db.close()
                raise
            return db

    def _prepare(self, db: psycopg.Connection) -> None:
        if db.execute("SELECT to_regclass(%s)", (f"{SCHEMA}.runs",)).fetchone() == (None,):
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_SCHEMA_LOCK,))
            schemas = db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (SCHEMA,))
            if schemas.fetchone() is None:
                db.execute(_CREATE.encode())
        content = _content(db)
        if not any(line.startswith("relation meta ") for line in content):
            raise StoreForeign(
                "store.foreign",
                f"{self._where} has a schema {SCHEMA} of another program",
                "name another database with --store; this one was not changed",
            )
        if not content >= _META:  # reading a view could run another program's code
            raise altered(self._where)
        (version,) = db.execute("SELECT max(version) FROM auditcoder.meta").fetchone() or (None,)
        if version not in {None, SCHEMA_VERSION}:
            raise StoreForeign(
                "store.version",
                f"{self._where} has store version {version}; this program supports"
                f" {SCHEMA_VERSION}",
                "use the version of auditcoder that wrote it, or export its runs from there",
            )
        if version is None or content not in _CONTENTS:
            raise altered(self._where)

    def sql(self, statement: str) -> str:
        """Write a statement with the driver's own parameter marks."""
        return statement.replace("?", "%s")

    def fetch(self, query: str, parameters: tuple[Any, ...]) -> list[Any]:
        """Return the rows of one query."""
        with self._lock, self._translated():
            cursor = self._connection().cursor(binary=True)
            return cursor.execute(self.sql(query).encode(), parameters).fetchall()

    def has_table(self, name: str) -> bool:
        """Whether the schema has a table."""
        return self.fetch("SELECT to_regclass(?)", (f"{SCHEMA}.{name}",)) != [(None,)]

    def write(self, statements: Iterable[Statement]) -> bool:
        """Execute statements as one durable transaction."""
        done = False
        with self._translated():
            db = self._connection()
            with db.transaction() as transaction, db.cursor(binary=True) as cursor:
                for statement, parameters, must_change in statements:
                    cursor.execute(statement.encode(), parameters)
                    if must_change and cursor.rowcount != 1:
                        raise psycopg.Rollback(transaction)  # ends the block without an error
                done = True
        return done

    def _connection(self) -> psycopg.Connection:
        if self._db.closed:  # the connection was lost; the server may be back
            self._db = self._connect()
        return self._db

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (psycopg.Error, UnicodeError) as error:
            raise _store_error(error, self._where) from error

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def _content(db: psycopg.Connection) -> frozenset[str]:
    """Return one line for everything in the store's schema."""
    db.execute("SET LOCAL search_path = pg_catalog")  # every other name is then written in full
    return frozenset(" ".join(" ".join(row).split()) for row in db.execute(_CONTENT.encode()))


def _without_password(url: str) -> str:
    """Return a name for messages: host and database, if both are certain to hold no password."""
    try:
        parts = psycopg.conninfo.conninfo_to_dict(url)
    except (psycopg.Error, ValueError):
        parts = {}
    names = [str(parts.get(part) or "") for part in ("dbname", "host")]
    if not all(re.fullmatch(r"[\w.-]+", name) for name in names):
        return "the PostgreSQL store"  # an unescaped password may be parsed as one of them
    return f"the PostgreSQL store {names[0]} at {names[1]}"


def _store_error(error: Exception, where: str) -> StoreError:
    diagnosis = error.diag.message_primary if isinstance(error, psycopg.Error) else None
    match error:
        case pg.DiskFull():
            return StoreFull(
                "store.full",
                f"no space is left at {where}",
                "free some space and resume; all acknowledged events are safe",
            )
        case pg.LockNotAvailable() | pg.DeadlockDetected():
            return StoreLocked(
                "store.locked",
                f"{where} is locked by another session",
                "wait for it to finish, or end it, and try again; nothing was lost",
            )
        case pg.IntegrityError():
            return StoreConflict(
                "store.conflict",
                f"{where} refuses the change: {diagnosis}",
                "only one process may write a run at a time; resume it to continue",
            )
        case _:
            # The driver's own text may quote the connection string with its password.
            detail = diagnosis or type(error).__name__
            return StoreUnavailable(
                "store.unavailable",
                f"{where} cannot be used: {detail}",
                "check that the server runs, the address, and your write permission",
            )
