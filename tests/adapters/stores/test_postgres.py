"""PostgreSQL, a real server: the same suite, the same refusals."""

import os
import pwd
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.domain.errors import (
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
)
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.transfer import verify_run
from tests.conformance.trace_store import TraceStoreConformance
from tests.support.worlds import RUN, S2, code, failing, locate, started, ticking


class TestPostgresStore(TraceStoreConformance):
    @pytest.fixture
    def open_store(self, postgres_url: str) -> Callable[[], TraceStore]:
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
def test_the_database_itself_refuses_to_alter_the_past(
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


def test_a_server_that_is_not_there_is_reported_without_the_password() -> None:
    with pytest.raises(StoreUnavailable) as unavailable:
        PostgresStore("postgresql://me:hunter2@127.0.0.1:1/db")
    assert "hunter2" not in str(unavailable.value) + unavailable.value.advice
    assert unavailable.value.advice


def test_a_locked_store_is_reported_and_loses_nothing(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    recorder = failing(postgres_store)
    before = recorder.head
    with psycopg.connect(postgres_url) as other:
        other.execute("LOCK TABLE auditcoder.events IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(StoreLocked) as locked:
            locate(recorder, None)
        assert locked.value.advice
    assert recorder.head == before
    locate(recorder, None)
    assert verify_run(postgres_store, RUN).holds


def test_a_connection_that_was_cut_is_made_anew(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
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


@pytest.fixture
def small_disk(postgres_url: str) -> Iterator[str]:
    """A table space on a file system of eight megabytes."""
    folder = Path(tempfile.mkdtemp(prefix="acfull"))
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=8m", "none", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mount.returncode:
        folder.rmdir()
        pytest.skip(f"no file system can be mounted here: {mount.stderr.strip()}")
    try:
        space = folder / "space"
        space.mkdir()
        if os.geteuid() == 0:
            shutil.chown(folder, "pgserver")
            shutil.chown(space, pwd.getpwnam("pgserver").pw_uid)
        with psycopg.connect(postgres_url, autocommit=True) as db:
            db.execute(f"CREATE TABLESPACE small LOCATION '{space}'".encode())
            yield postgres_url + "&options=-c%20default_tablespace%3Dsmall"
            db.execute("DROP SCHEMA auditcoder CASCADE")
            db.execute("DROP TABLESPACE small")
    finally:
        subprocess.run(["umount", str(folder)], check=True)
        folder.rmdir()


def write_until_full(recorder: Recorder) -> None:
    for n in range(10_000):
        noise = secrets.token_hex(30_000)  # so that the server cannot squeeze it
        recorder.write_code(S2, code("S2", f"return {n}") + f"# {noise}\n")


def test_a_disk_that_is_really_full_loses_nothing_acknowledged(small_disk: str) -> None:
    store = PostgresStore(small_disk)
    recorder = started(store)
    with pytest.raises(StoreFull) as full:
        write_until_full(recorder)
    assert full.value.advice
    assert recorder.head.entries > 5
    assert store.head(RUN) == recorder.head
    assert verify_run(store, RUN).holds
    store.close()
    again = PostgresStore(small_disk)
    assert Recorder.resume(again, RUN, ticking()).head == recorder.head
    again.close()
