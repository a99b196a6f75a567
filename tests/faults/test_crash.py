"""A killed writer loses no event that it acknowledged, and the next writer continues the run."""

import contextlib
import multiprocessing
import os
import random
import select
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TypeVar

import psycopg
import pytest

from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound, StoreConflict, StoreUnavailable
from auditcoder.domain.events import GraphCommitted
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Recorder
from tests.support.campaigns import STORE_KILLS, sized
from tests.support.record_builders import GRAPH, S2, TASK, code, ticking

KILLS_PER_RUN = 25
HUNG = 120.0
"""Seconds after which a process or server counts as hung."""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.faults.test_crash"])


def open_sqlite(place: str) -> TraceStore:
    return SqliteStore(place)


def open_postgres(place: str) -> TraceStore:
    return PostgresStore(place)


def write(
    open_store: Callable[[str], TraceStore], place: str, run: RunId, acknowledge: Connection
) -> None:
    """Write until killed, and acknowledge each event once `record` has returned."""
    pipe = acknowledge.fileno()
    store = open_store(place)
    while True:
        # The server may still be finishing a killed writer's transaction; then resume again.
        with contextlib.suppress(StoreConflict):
            try:
                recorder = Recorder.resume(store, run, ticking())
            except NotFound:
                recorder = Recorder.start(store, run, TASK, ticking())
                os.write(pipe, b"\n")
            if recorder.ledger.working.graph is None:
                recorder.record(GraphCommitted(graph=GRAPH))
                os.write(pipe, b"\n")
            while True:
                recorder.write_code(S2, code("S2", f"return {recorder.head.entries}"))
                os.write(pipe, b"\n")


def kill_a_writer(
    open_store: Callable[[str], TraceStore], place: str, run: RunId, after: int
) -> int:
    """Start a writer, kill it after `after` acknowledged events; return the final number.

    The writer goes on until the signal arrives, so that it dies at any point of its next writes.
    """
    reading, writing = processes.Pipe(duplex=False)
    process = processes.Process(target=write, args=(open_store, place, run, writing))
    process.start()
    writing.close()
    acknowledged = 0
    while acknowledged < after:
        part = os.read(reading.fileno(), after - acknowledged)
        assert part, "the writer ended by itself"
        acknowledged += len(part)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the writer ended by itself"
    process.close()
    while part := os.read(reading.fileno(), 65536):
        acknowledged += len(part)
    reading.close()
    return acknowledged


def kill_many(open_store: Callable[[str], TraceStore], place: str, kills: int) -> None:
    rng = random.Random(20260102)
    store = open_store(place)
    for number in range(kills):
        run = RunId(f"run-{number // KILLS_PER_RUN}")
        before = store.head(run)
        # Kill at any point from before the store is opened to the middle of writing.
        acknowledged = kill_a_writer(open_store, place, run, rng.choice([0, 1, 2, 3, 5, 12]))
        after = store.head(run)
        assert after.entries >= before.entries + acknowledged
        if after.entries:
            report = verify_run(store, run)
            assert report.holds, report.findings
    store.close()


@sized("kills", STORE_KILLS)
def test_sqlite_loses_no_acknowledged_event_when_its_writer_is_killed(
    kills: int, tmp_path: Path
) -> None:
    kill_many(open_sqlite, str(tmp_path / "runs.db"), kills)


@sized("kills", STORE_KILLS)
def test_postgres_loses_no_acknowledged_event_when_its_writer_is_killed(
    kills: int, postgres_url: str
) -> None:
    kill_many(open_postgres, postgres_url, kills)


def test_postgres_loses_no_acknowledged_event_when_the_server_crashes(postgres_url: str) -> None:
    """All of the server's processes are killed at once; it recovers from its own log."""
    store = PostgresStore(postgres_url)
    run = RunId("a-run")
    recorder = Recorder.start(store, run, TASK, ticking())
    recorder.record(GraphCommitted(graph=GRAPH))
    for _ in range(3):
        witness = psycopg.connect(postgres_url, autocommit=True)
        for n in range(20):
            recorder.write_code(S2, code("S2", f"return {recorder.head.entries} + {n}"))
        # A killed backend makes the server drop all connections and run crash recovery.
        os.kill(store._db.info.backend_pid, signal.SIGKILL)
        with pytest.raises(StoreUnavailable):
            recorder.write_code(S2, code("S2", "return 'lost'"))
        # The server ends every other connection once it has noticed, and takes no new one until
        # it has recovered.
        assert select.select([witness.pgconn.socket], [], [], HUNG)[0], "it stays open"
        witness.close()
        assert retry_until_available(lambda: verify_run(store, run)).holds
        assert retry_until_available(lambda: store.head(run)) == recorder.head
        recorder = retry_until_available(lambda: Recorder.resume(store, run, ticking()))
    store.close()


Result = TypeVar("Result")


def retry_until_available(work: Callable[[], Result]) -> Result:
    """Repeat `work` until the server is available again."""
    hung_at = time.monotonic() + HUNG
    while time.monotonic() < hung_at:
        with contextlib.suppress(StoreUnavailable):
            return work()
        time.sleep(0.05)
    raise AssertionError("the server did not come back")
