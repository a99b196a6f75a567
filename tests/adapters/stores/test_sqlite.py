"""The SQLite store keeps acknowledged events, is append-only, and reports clear errors."""

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import APPLICATION_ID, SqliteStore
from auditcoder.domain.chain import EMPTY
from auditcoder.domain.errors import (
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreUnavailable,
)
from auditcoder.domain.events import GraphCommitted
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import JudgedStore
from auditcoder.lifecycle.recorder import Recorder
from tests.conformance.trace_store import ReplaysConformance, TraceStoreConformance
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S2,
    TASK,
    code,
    failing,
    locate,
    replayed,
    started,
    ticking,
)


class TestSqliteStore(TraceStoreConformance, ReplaysConformance):
    @pytest.fixture
    def open_store(self, tmp_path: Path) -> Callable[[], JudgedStore]:
        return lambda: SqliteStore(tmp_path / "runs.db")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    opened = SqliteStore(tmp_path / "runs.db")
    failing(opened)
    opened.close()
    return tmp_path / "runs.db"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET body = x'00' WHERE seq = 1",
        "DELETE FROM events WHERE seq = 1",
        "UPDATE blobs SET body = x'00'",
        "DELETE FROM blobs",
        "DELETE FROM runs",
        "UPDATE runs SET entries = entries - 1",
        "UPDATE runs SET run = 'renamed', entries = entries + 1",
        "INSERT OR REPLACE INTO events SELECT run, seq, x'00' FROM events WHERE seq = 1",
    ],
)
def test_the_database_refuses_to_change_or_delete_recorded_data(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        db.execute(statement)
    db.close()
    store = SqliteStore(path)
    assert verify_run(store, RUN).holds
    store.close()


@pytest.mark.parametrize(
    "statement",
    [
        "REPLACE INTO runs SELECT number, run, 1, head FROM runs",
        "REPLACE INTO runs (number, run, entries, head) VALUES (1, 'usurper', 1, x'00')",
        "REPLACE INTO blobs SELECT id, digest, x'00' FROM blobs LIMIT 1",
        "REPLACE INTO blobs (digest, body) SELECT digest, x'00' FROM blobs",
        "REPLACE INTO blobs (id, digest, body) VALUES (1, x'00', x'00')",
    ],
)
def test_a_replace_statement_changes_nothing(path: Path, statement: str) -> None:
    db = sqlite3.connect(path)
    before = list(db.iterdump())
    db.execute(statement)
    db.commit()
    assert list(db.iterdump()) == before
    db.close()


def test_content_that_several_runs_name_is_kept_once(path: Path) -> None:
    store = SqliteStore(path)
    kept = "SELECT count(*), count(DISTINCT digest) FROM blobs"
    (before, distinct) = store._db.execute(kept).fetchone()
    assert before == distinct > 0
    another = Recorder.start(store, RunId("another"), TASK, ticking())
    another.record(GraphCommitted(graph=GRAPH))
    another.write_code(S2, code("S2"))
    assert store._db.execute(kept).fetchone() == (before, distinct)
    store.close()


def test_commits_reach_the_disk_before_they_are_acknowledged(path: Path) -> None:
    store = SqliteStore(path)
    assert store._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


def test_a_database_of_another_program_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    db = sqlite3.connect(path)
    db.execute("CREATE TABLE theirs (x)")
    db.commit()
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreForeign) as foreign:
        SqliteStore(path)
    assert foreign.value.code == "store.foreign"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        b"just some notes",
        b"just some notes, longer than a header would be " * 100,
        b"SQLite format 3\0",
        b"SQLite format 3\0" + bytes(400),
    ],
)
def test_a_file_that_is_not_a_database_is_not_touched(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(StoreForeign) as refused:
        SqliteStore(path)
    assert refused.value.code == "store.foreign"
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "runs.db"
    path.touch()
    SqliteStore(path).close()
    assert path.stat().st_size > 0


def test_a_store_of_another_version_is_not_touched(path: Path) -> None:
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreForeign) as foreign:
        SqliteStore(path)
    assert foreign.value.code == "store.version"
    assert "99" in str(foreign.value)


NO_TRIGGER = "DROP TRIGGER events_stand"
ALTERATIONS = {
    "view": "ALTER TABLE events RENAME TO kept; CREATE VIEW events AS SELECT * FROM kept",
    "renamed table": "ALTER TABLE blobs RENAME TO blobs2",
    "trigger missing": NO_TRIGGER,
    "trigger replaced": f"{NO_TRIGGER}; CREATE TRIGGER events_stand BEFORE UPDATE ON events"
    " WHEN 0 BEGIN SELECT 1; END",
    "trigger added": "CREATE TRIGGER extra AFTER INSERT ON runs BEGIN SELECT 1; END",
    "column added": "ALTER TABLE events ADD COLUMN note TEXT",
    "generated column": "ALTER TABLE blobs ADD COLUMN size INTEGER AS (length(body)) VIRTUAL",
    "column renamed": "ALTER TABLE runs RENAME COLUMN head TO tip",
    "index added": "CREATE INDEX extra ON events (length(body))",
    "table added": "CREATE TABLE extra (x)",
    "view added": "CREATE VIEW extra AS SELECT 1",
    "judgements as a view": "CREATE VIEW judgements AS SELECT 1",
    "replays as a view": "CREATE VIEW replays AS SELECT 1",
    "other replays": "CREATE TABLE replays (run, head, at, body)",
    "other judgements": "CREATE TABLE judgements (run, suite, head, body)",
    "not strict": "PRAGMA writable_schema = ON;"
    " UPDATE sqlite_schema SET sql = replace(sql, 'STRICT', '') WHERE name = 'runs'",
}


@pytest.mark.parametrize("statements", ALTERATIONS.values(), ids=ALTERATIONS)
def test_a_store_with_another_schema_is_refused(path: Path, statements: str) -> None:
    db = sqlite3.connect(path)
    db.executescript(statements)
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreForeign) as refused:
        SqliteStore(path)
    assert refused.value.code == "store.altered"
    assert path.read_bytes() == before


def test_a_store_may_have_judgements_and_statistics_of_its_indices(path: Path) -> None:
    store = SqliteStore(path)
    assert store.judgements(RUN) == []
    store.close()
    db = sqlite3.connect(path)
    db.executescript("ANALYZE; VACUUM")
    db.close()
    store = SqliteStore(path)
    assert verify_run(store, RUN).holds
    store.close()


@pytest.mark.parametrize("judged", [False, True])
def test_a_store_may_have_replays(path: Path, judged: bool) -> None:
    store = SqliteStore(path)
    if judged:
        store.judgements(RUN)
    store.keep_replay(replayed(store))
    store.close()
    again = SqliteStore(path)
    assert again.replays(RUN) == [replayed(again)]
    again.close()


def test_reading_the_replays_of_a_store_without_any_does_not_change_it(path: Path) -> None:
    store = SqliteStore(path)
    assert store.replays(RUN) == []
    store.close()
    db = sqlite3.connect(path)
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}
    db.close()
    assert tables == {"runs", "events", "blobs"}


def test_a_folder_is_not_accepted_as_a_store(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable):
        SqliteStore(tmp_path)


def test_a_path_that_cannot_be_created_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable) as unavailable:
        SqliteStore(tmp_path / "file" / "runs.db")
    assert unavailable.value.advice


def test_a_locked_store_is_reported_and_loses_nothing(path: Path) -> None:
    store = SqliteStore(path, timeout=0.1)
    recorder = Recorder.resume(store, RUN, ticking())
    before = recorder.head
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreLocked) as locked:
        locate(recorder, None)
    assert locked.value.advice
    assert recorder.head == before
    other.execute("ROLLBACK")
    other.close()
    locate(recorder, None)
    assert verify_run(store, RUN).holds
    store.close()


def test_a_full_store_is_reported_and_loses_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "runs.db")
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages + 6}")
    recorder = started(store)
    with pytest.raises(StoreFull) as full:
        write_until_full(recorder)
    assert full.value.advice
    acknowledged = recorder.head
    assert store.head(RUN) == acknowledged
    assert verify_run(store, RUN).holds
    store._db.execute(f"PRAGMA max_page_count = {pages + 100}")
    recorder.write_code(S2, code("S2", "return 'room again'"))
    assert store.head(RUN).entries == acknowledged.entries + 1
    assert verify_run(store, RUN).holds
    store.close()


def write_until_full(recorder: Recorder) -> None:
    for n in range(1000):
        recorder.write_code(S2, code("S2", f"return {n}") + f"# {'x' * 3000}\n")


FILL = """
import resource, sys
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import StoreError
from auditcoder.lifecycle.export_import import verify_run
from tests.support.record_builders import RUN, S2, code, started

resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
store = SqliteStore(sys.argv[1])
recorder = started(store)
try:
    for n in range(100000):
        recorder.write_code(S2, code("S2", f"return {n}") + f"# {'x' * 3000}" + chr(10))
except StoreError as full:
    assert full.code
assert n > 3, n
assert store.head(RUN) == recorder.head
assert verify_run(store, RUN).holds
store.close()
store = SqliteStore(sys.argv[1])
assert store.head(RUN) == recorder.head
assert verify_run(store, RUN).holds
print("full after", n)
"""


def test_a_file_size_limit_loses_no_acknowledged_event(tmp_path: Path) -> None:
    """The kernel refuses to let any file grow beyond 200 kB."""
    done = subprocess.run(
        [sys.executable, "-c", FILL, str(tmp_path / "runs.db")],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONPATH": "."},
    )
    assert done.returncode == 0, done.stderr
    assert "full after" in done.stdout


def test_opening_a_new_file_twice_creates_one_store(tmp_path: Path) -> None:
    first, second = SqliteStore(tmp_path / "new.db"), SqliteStore(tmp_path / "new.db")
    started(first)
    assert second.runs() == [RUN]
    assert second.head(RUN) != EMPTY
    db = sqlite3.connect(tmp_path / "new.db")
    assert db.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    for opened in (first, second, db):
        opened.close()


def test_a_store_that_others_create_is_never_taken_for_another_programs(tmp_path: Path) -> None:
    def open_with_others(number: int, ready: threading.Barrier) -> None:
        ready.wait()
        SqliteStore(tmp_path / f"{number}.db").close()

    with ThreadPoolExecutor(4) as pool:
        for number in range(50):
            ready = threading.Barrier(4)
            opened = [pool.submit(open_with_others, number, ready) for _ in range(4)]
            refused = [error for each in opened if (error := each.exception())]
            # It can be locked at that moment; trying again helps.
            assert all(isinstance(error, StoreLocked) for error in refused)
            SqliteStore(tmp_path / f"{number}.db").close()
