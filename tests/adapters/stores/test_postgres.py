"""The PostgreSQL store, on a real server, conforms and refuses like the SQLite store."""

from collections.abc import Callable

import psycopg
import pytest

from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.domain.errors import (
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
)
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import JudgedStore
from auditcoder.lifecycle.recorder import Recorder
from tests.conformance.trace_store import ReplaysConformance, TraceStoreConformance
from tests.support.record_builders import RUN, S2, code, failing, locate, replayed, started, ticking


class TestPostgresStore(TraceStoreConformance, ReplaysConformance):
    @pytest.fixture
    def open_store(self, postgres_url: str) -> Callable[[], JudgedStore]:
        return lambda: PostgresStore(postgres_url)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = '' WHERE seq = 1",
        "DELETE FROM events WHERE seq = 1",
        "TRUNCATE events",
        "UPDATE blobs SET body = ''",
        "DELETE FROM blobs",
        "TRUNCATE blobs",
        "DELETE FROM runs",
        "TRUNCATE runs CASCADE",
        "UPDATE runs SET entries = entries - 1",
        "UPDATE runs SET run = 'renamed', entries = entries + 1",
    ],
)
def test_the_database_refuses_to_change_or_delete_recorded_data(
    postgres_store: PostgresStore, statement: str
) -> None:
    failing(postgres_store)
    with pytest.raises(psycopg.IntegrityError, match="append-only"):
        postgres_store._db.execute(statement.encode())
    assert verify_run(postgres_store, RUN).holds


def test_a_schema_of_another_program_is_not_touched(postgres_url: str) -> None:
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("CREATE SCHEMA auditcoder")
        db.execute("CREATE TABLE auditcoder.theirs (x int)")
        with pytest.raises(StoreForeign) as foreign:
            PostgresStore(postgres_url)
        assert foreign.value.code == "store.foreign"
        tables = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'auditcoder'")
        assert tables.fetchone() == (1,)


def test_a_store_of_another_version_is_not_touched(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    postgres_store._db.execute("UPDATE meta SET version = 99")
    with pytest.raises(StoreForeign) as foreign:
        PostgresStore(postgres_url)
    assert foreign.value.code == "store.version"


ALTERATIONS = {
    "view": "ALTER TABLE events RENAME TO kept; CREATE VIEW events AS SELECT * FROM kept",
    "version as a view": "ALTER TABLE meta RENAME TO kept; CREATE VIEW meta AS SELECT 1 AS version",
    "no version": "DELETE FROM meta",
    "renamed table": "ALTER TABLE blobs RENAME TO blobs2",
    "trigger missing": "DROP TRIGGER events_stand ON events",
    "trigger disabled": "ALTER TABLE events DISABLE TRIGGER events_stand",
    "all triggers disabled": "ALTER TABLE events DISABLE TRIGGER ALL",
    "trigger with a condition": "CREATE OR REPLACE TRIGGER events_stand BEFORE UPDATE OR DELETE"
    " ON events FOR EACH ROW WHEN (false) EXECUTE FUNCTION append_only()",
    "trigger added": "CREATE TRIGGER extra BEFORE INSERT ON runs EXECUTE FUNCTION append_only()",
    "function replaced": "CREATE OR REPLACE FUNCTION append_only() RETURNS trigger"
    " LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$",
    "function added": "CREATE FUNCTION extra() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "rule": "CREATE RULE extra AS ON UPDATE TO events DO INSTEAD NOTHING",
    "row security": "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
    "inheritance": "CREATE TABLE public.child () INHERITS (auditcoder.events)",
    "column added": "ALTER TABLE events ADD COLUMN note text",
    "default": "ALTER TABLE events ALTER COLUMN body SET DEFAULT ''",
    "constraint dropped": "ALTER TABLE runs DROP CONSTRAINT runs_run_key",
    "check": "ALTER TABLE events ADD CHECK (seq < 3) NOT VALID",
    "index added": "CREATE INDEX extra ON events (length(body))",
    "unlogged": "ALTER TABLE events SET UNLOGGED",
    "judgements as a view": "CREATE VIEW judgements AS SELECT 1",
    "replays as a view": "CREATE VIEW replays AS SELECT 1",
}


@pytest.mark.parametrize("statements", ALTERATIONS.values(), ids=ALTERATIONS)
def test_a_store_with_another_schema_is_refused(
    postgres_store: PostgresStore, postgres_url: str, statements: str
) -> None:
    postgres_store._db.execute("DROP TABLE IF EXISTS public.child")
    postgres_store._db.execute(statements.encode())
    with pytest.raises(StoreForeign) as refused:
        PostgresStore(postgres_url)
    assert refused.value.code == "store.altered"


def test_a_store_may_have_judgements(postgres_store: PostgresStore, postgres_url: str) -> None:
    failing(postgres_store)
    assert postgres_store.judgements(RUN) == []
    again = PostgresStore(postgres_url)
    assert verify_run(again, RUN).holds
    again.close()


@pytest.mark.parametrize("judged", [False, True])
def test_a_store_may_have_replays(
    postgres_store: PostgresStore, postgres_url: str, judged: bool
) -> None:
    failing(postgres_store)
    if judged:
        postgres_store.judgements(RUN)
    assert postgres_store.replays(RUN) == []
    assert not postgres_store.has_table("replays")
    postgres_store.keep_replay(replayed(postgres_store))
    again = PostgresStore(postgres_url)
    assert again.replays(RUN) == [replayed(again)]
    again.close()


def test_an_unreachable_server_is_reported_without_the_password() -> None:
    with pytest.raises(StoreUnavailable) as unavailable:
        PostgresStore("postgresql://me:hunter2@127.0.0.1:1/db")
    assert "hunter2" not in str(unavailable.value) + unavailable.value.advice
    assert unavailable.value.advice


def test_a_locked_store_is_reported_and_loses_nothing(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    failing(postgres_store)
    hurried = PostgresStore(postgres_url, timeout=0.1)
    recorder = Recorder.resume(hurried, RUN, ticking())
    before = recorder.head
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE auditcoder.events IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreLocked) as locked:
            locate(recorder, None)
        assert locked.value.advice
    assert recorder.head == before
    locate(recorder, None)
    assert verify_run(postgres_store, RUN).holds
    hurried.close()


def test_a_lost_connection_is_reopened(postgres_store: PostgresStore, postgres_url: str) -> None:
    recorder = failing(postgres_store)
    before = recorder.head
    with psycopg.connect(postgres_url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
    with pytest.raises(StoreUnavailable):
        locate(recorder, None)
    assert recorder.head == before
    locate(recorder, None)
    assert verify_run(postgres_store, RUN).holds


FULL_DISK = """
CREATE FUNCTION auditcoder.fail_when_full() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (SELECT count(*) FROM auditcoder.blobs) > 20 THEN
        RAISE EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER full_disk BEFORE INSERT ON auditcoder.blobs
    FOR EACH ROW EXECUTE FUNCTION auditcoder.fail_when_full();
"""
"""Makes the server report a full disk after twenty blobs, within the writer's transaction."""


def write_a_hundred_versions(recorder: Recorder) -> None:
    for n in range(100):
        recorder.write_code(S2, code("S2", f"return {n}"))


def test_a_full_disk_loses_no_acknowledged_event(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    recorder = started(postgres_store)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(FULL_DISK)
    with pytest.raises(StoreFull) as full:
        write_a_hundred_versions(recorder)
    assert full.value.advice
    assert recorder.head.entries > 5
    assert postgres_store.head(RUN) == recorder.head
    assert verify_run(postgres_store, RUN).holds
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute("DROP FUNCTION auditcoder.fail_when_full CASCADE")
    again = PostgresStore(postgres_url)
    assert Recorder.resume(again, RUN, ticking()).head == recorder.head
    again.close()
