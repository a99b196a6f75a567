"""Stores, runs and bundles are found by the names that users give."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import write_bundle
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.values import RunId, digest
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand, run_process
from tests.support.record_builders import RUN, TASK, failing, started, ticking
from tests.support.records import Raw, forge, take


def test_an_unknown_run_is_reported(run: RunCommand, example: Path) -> None:
    for name in ("nothing-like-it", "x" * 5000, "ünïcode", "\x1b[2J"):
        result = run("show", name, "--store", example)
        assert result.code == Exit.NOT_FOUND
        assert "[run.unknown]" in result.err
        assert "\x1b" not in result.err


def test_an_ambiguous_run_is_reported_with_its_candidates(run: RunCommand, tmp_path: Path) -> None:
    from auditcoder.lifecycle.recorder import Recorder

    store = SqliteStore(tmp_path / "s.db")
    for name in ("run-1", "run-2"):
        Recorder.start(store, RunId(name), TASK, ticking())
    store.close()
    result = run("show", "run", "--store", tmp_path / "s.db")
    assert result.code == Exit.NOT_FOUND
    assert "run-1, run-2" in result.err
    assert run("show", "run-1", "--store", tmp_path / "s.db").code == Exit.OK


def test_a_file_that_is_named_like_a_run_does_not_hide_it(
    run: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "s.db")
    failing(store)
    forged = SqliteStore(":memory:")
    started(forged)
    write_bundle(forged, RUN, tmp_path / RUN)
    store.close()
    monkeypatch.chdir(tmp_path)

    def entries(named: str, store: str) -> int:
        shown = json.loads(run("verify", named, "--store", store, "--json").out)
        count: int = shown["report"]["entries"]
        return count

    (tmp_path / RUN).rename(tmp_path / "a-r")
    assert entries(RUN, "s.db") == entries("a-r", "s.db") > 2
    assert entries("./a-r", "s.db") == entries("a-r", "other.db") == 2
    (tmp_path / "a-r").rename(tmp_path / RUN)
    assert entries(RUN, "s.db") == entries("a-r", "s.db") > 2
    assert entries(f"./{RUN}", "s.db") == entries(RUN, "other.db") == 2


def test_a_folder_that_is_named_like_a_run_does_not_hide_it(
    run: RunCommand, example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("help", "helpful-currents"):
        (tmp_path / name).mkdir()
        assert run("show", name, "--store", example).code == Exit.OK


def test_an_ambiguous_prefix_does_not_hide_a_file(
    run: RunCommand, store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from auditcoder.lifecycle.recorder import Recorder

    failing(store)
    write_bundle(store, RUN, tmp_path / "run")
    runs = SqliteStore(tmp_path / "s.db")
    for name in ("run-1", "run-2"):
        Recorder.start(runs, RunId(name), TASK, ticking())
    runs.close()
    monkeypatch.chdir(tmp_path)
    assert run("verify", "run", "--store", "s.db").out.startswith(f"{RUN}:")


@pytest.mark.parametrize("foreign", ["text", "other.db", "folder", "http://host/x"])
def test_a_bundle_without_the_suffix_is_read_whatever_the_store_is(
    run: RunCommand,
    store: SqliteStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    foreign: str,
) -> None:
    failing(store)
    write_bundle(store, RUN, tmp_path / "bundle")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("some notes")
    (tmp_path / "folder").mkdir()
    with closing(sqlite3.connect("other.db")) as db:
        db.execute("CREATE TABLE theirs (x)")
    assert run("verify", "bundle", "--store", foreign).code == Exit.OK


READERS: tuple[tuple[str, ...], ...] = (
    ("show", RUN),
    ("show", RUN, "S2"),
    ("blame", RUN),
    ("blame", RUN, "1"),
    ("export", RUN),
    ("export", RUN, "--as", "head"),
    ("export", RUN, "--as", "record"),
    ("export", RUN, "--as", "repairs"),
    ("replay", RUN, "--trust-evidence"),
    ("resume", RUN, "--model", "manual:requests"),
    ("audit",),
    ("audit", RUN, "--as", "html"),
    ("bench", "report"),
)
"""Every command that reads a whole record, but `verify` and `import`."""


def _stored(path: Path, raw: Raw, head: Head | None = None) -> None:
    store = SqliteStore(path)
    store.append(RUN, EMPTY, raw.bodies, head or raw.head, raw.blobs)
    store.keep_judgement(Judgement(run=RUN, head=raw.head.digest, suite="toys", results={}))
    store.close()


@pytest.mark.parametrize("forgery", ["blob", "law", "truncated"])
def test_every_command_refuses_a_record_that_does_not_verify(
    run: RunCommand, tmp_path: Path, store: SqliteStore, forgery: str
) -> None:
    failing(store)
    honest = take(store, RUN)
    events = honest.events()
    if forgery == "blob":
        name = next(name for event in events for name in event.blobs())
        _stored(tmp_path / "s.db", honest._replace(blobs=honest.blobs | {name: b"forged"}))
    elif forgery == "law":
        events[1], events[2] = events[2], events[1]
        _stored(tmp_path / "s.db", forge(honest, events))
    else:
        _stored(tmp_path / "s.db", honest._replace(bodies=honest.bodies[:-1]), honest.head)
    for command in READERS:
        result = run(*command, "--store", tmp_path / "s.db")
        assert result.code == Exit.UNREADABLE, command
        assert f"run {RUN} does not verify" in result.err
        assert "[record.unverified]" in result.err
        assert result.out == ""
    assert run("verify", RUN, "--store", tmp_path / "s.db").code == Exit.DOES_NOT_HOLD


def test_a_judgement_of_another_program_is_reported(
    run: RunCommand, tmp_path: Path, store: SqliteStore
) -> None:
    failing(store)
    raw = take(store, RUN)
    other = Judgement(
        run=RUN, head=raw.head.digest, suite="toys", results={digest(b"another program"): {}}
    )
    kept = SqliteStore(tmp_path / "s.db")
    kept.append(RUN, EMPTY, raw.bodies, raw.head, raw.blobs)
    kept.keep_judgement(other)
    kept.close()
    for command in (["audit"], ["bench", "report"]):
        result = run(*command, "--store", tmp_path / "s.db")
        assert result.code == Exit.UNREADABLE, command
        assert "[judgement.mismatch]" in result.err


@pytest.mark.parametrize(
    "store",
    [
        "mysql://me:hunter2@host/db",
        "postgresql+psycopg://me:hunter2@host/db",
        "host=h password=hunter2",
        ":memory:",
        "a\0b",
    ],
)
def test_an_invalid_store_address_is_not_printed(
    run: RunCommand, tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for command in (["runs"], ["import", "x.acb"]):
        (tmp_path / "x.acb").unlink(missing_ok=True)
        if command[0] == "import":
            opened = SqliteStore(":memory:")
            failing(opened)
            write_bundle(opened, RUN, tmp_path / "x.acb")
            opened.close()
        result = run(*command, "--store", store)
        assert result.code == Exit.STORE
        assert "hunter2" not in result.err
        assert {p.name for p in tmp_path.iterdir()} <= {"x.acb"}


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:hunter2@127.0.0.1:1/db",
        "PostgreSQL://me:hunter2@127.0.0.1:1/db",
        "postgresql://me:hun/ter2@127.0.0.1:1/db",
        "postgresql://me@127.0.0.1:1/db?password=hunter2",
    ],
)
def test_no_password_is_ever_printed(run: RunCommand, url: str) -> None:
    result = run("runs", "--store", url)
    assert result.code == Exit.STORE
    assert "hunter2" not in result.err
    assert "ter2" not in result.err


def test_a_locked_store_can_still_be_read(run: RunCommand, tmp_path: Path, example: Path) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(example.read_bytes())
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    assert run("verify", "help", "--store", path).code == Exit.OK
    db.close()


def test_a_damaged_store_is_reported(run: RunCommand, tmp_path: Path, example: Path) -> None:
    whole = example.read_bytes()
    path = tmp_path / "runs.db"
    step = max(1, len(whole) // 150)
    for at in range(100, len(whole), step):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        for name in ("runs.db-wal", "runs.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        for command in (["runs"], ["verify", "helpful-currents"]):
            assert run(*command, "--store", path).code in set(Exit) - {Exit.INTERNAL}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE runs SET head = NULL",
        "UPDATE runs SET run = x'ff00', entries = entries + 1",
        "UPDATE events SET body = 10 WHERE seq = 3",
        "UPDATE events SET seq = -33 WHERE seq = 3",
    ],
)
def test_a_store_with_invalid_values_is_reported(
    run: RunCommand, tmp_path: Path, example: Path, statement: str
) -> None:
    path = tmp_path / "runs.db"
    path.write_bytes(example.read_bytes())
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA writable_schema = ON")
    db.execute("DELETE FROM sqlite_schema WHERE type = 'trigger'")
    db.execute("UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '')")
    db.execute("UPDATE sqlite_schema SET sql = replace(sql, ', WITHOUT', 'WITHOUT')")
    db.close()
    db = sqlite3.connect(path, isolation_level=None)
    db.execute(statement)
    db.close()
    for command in (["runs"], ["verify", "helpful-currents"], ["show", "helpful-currents"]):
        result = run(*command, "--store", path)
        assert result.code in set(Exit) - {Exit.INTERNAL}


def test_a_missing_home_folder_is_reported() -> None:
    program = (
        "import os, sys\n"
        "os.path.expanduser = lambda path: path\n"
        "from auditcoder.interfaces.cli.main import main\n"
        "sys.exit(main(['runs']))"
    )
    removed = ("XDG_DATA_HOME", "AUDITCODER_STORE")
    env = {k: v for k, v in os.environ.items() if k not in removed}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env
    )
    assert done.returncode == Exit.STORE
    assert "[store.homeless]" in done.stderr


def test_the_store_can_be_named_by_the_environment(example: Path) -> None:
    done = run_process("verify", "help", env=os.environ | {"AUDITCODER_STORE": str(example)})
    assert done.returncode == Exit.OK
