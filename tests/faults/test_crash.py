"""A writer killed at any moment: what it acknowledged is there, whole, and the next one goes on."""

import contextlib
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import TypeVar

import pytest

from auditcoder.adapters.stores.postgres import PostgresStore
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound, StoreConflict, StoreUnavailable
from auditcoder.domain.events import GraphCommitted
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.transfer import verify_run
from tests.support.worlds import GRAPH, S2, TASK, code, ticking

KILLS = 500
KILLS_A_RUN = 25

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.faults.test_crash"])


def open_sqlite(place: str) -> TraceStore:
    return SqliteStore(place)


def open_postgres(place: str) -> TraceStore:
    return PostgresStore(place)


def write(
    open_store: Callable[[str], TraceStore], place: str, run: RunId, acknowledge: Connection
) -> None:
    """Write for ever, and acknowledge each event once `record` has returned."""
    pipe = acknowledge.fileno()
    store = open_store(place)
    while True:
        # The server may still be finishing what a killed writer sent; then resume once more.
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
    open_store: Callable[[str], TraceStore], place: str, run: RunId, seconds: float
) -> int:
    """Start a writer, kill it after `seconds`, and return how many events it acknowledged."""
    reading, writing = processes.Pipe(duplex=False)
    process = processes.Process(target=write, args=(open_store, place, run, writing))
    process.start()
    writing.close()
    time.sleep(seconds)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the writer ended by itself"
    process.close()
    acknowledged = 0
    while part := os.read(reading.fileno(), 65536):
        acknowledged += len(part)
    reading.close()
    return acknowledged


def time_to_write(open_store: Callable[[str], TraceStore], place: str) -> float:
    """Return how long a writer takes here and now before it has written anything."""
    reading, writing = processes.Pipe(duplex=False)
    arguments = (open_store, place, RunId("measured"), writing)
    begun = time.monotonic()
    process = processes.Process(target=write, args=arguments)
    process.start()
    writing.close()
    os.read(reading.fileno(), 1)
    taken = time.monotonic() - begun
    process.kill()
    process.join()
    process.close()
    reading.close()
    return taken


def kill_many(open_store: Callable[[str], TraceStore], place: str, kills: int) -> None:
    chance = random.Random(20260102)
    acknowledged_in_all = 0
    store = open_store(place)
    longest = max(0.12, 1.6 * median(time_to_write(open_store, place) for _ in range(5)))
    for number in range(kills):
        run = RunId(f"run-{number // KILLS_A_RUN}")
        before = store.head(run)
        # From the first instant, before anything is opened, to deep in the middle of writing.
        acknowledged = kill_a_writer(open_store, place, run, chance.uniform(0.0, longest))
        after = store.head(run)
        assert after.entries >= before.entries + acknowledged
        acknowledged_in_all += acknowledged
        if after.entries:
            report = verify_run(store, run)
            assert report.holds, report.findings
    store.close()
    assert acknowledged_in_all > kills // 10, "writers were killed before they could write"


@pytest.mark.slow
def test_sqlite_loses_nothing_acknowledged_when_its_writer_is_killed(tmp_path: Path) -> None:
    kill_many(open_sqlite, str(tmp_path / "runs.db"), KILLS)


@pytest.mark.slow
def test_postgres_loses_nothing_acknowledged_when_its_writer_is_killed(postgres_url: str) -> None:
    kill_many(open_postgres, postgres_url, KILLS)


def test_postgres_loses_nothing_acknowledged_when_the_server_crashes(postgres_url: str) -> None:
    """All of the server's processes are killed at once; it recovers from its own log."""
    store = PostgresStore(postgres_url)
    run = RunId("a-run")
    recorder = Recorder.start(store, run, TASK, ticking())
    recorder.record(GraphCommitted(graph=GRAPH))
    for _ in range(3):
        for n in range(20):
            recorder.write_code(S2, code("S2", f"return {recorder.head.entries} + {n}"))
        # One backend killed outright makes the server drop everybody and run crash recovery.
        os.kill(store._db.info.backend_pid, signal.SIGKILL)
        with pytest.raises(StoreUnavailable):
            recorder.write_code(S2, code("S2", "return 'lost'"))
        time.sleep(0.5)  # by now the server has noticed, and refuses newcomers until it is back
        assert patiently(lambda: verify_run(store, run)).holds
        assert patiently(lambda: store.head(run)) == recorder.head
        recorder = patiently(lambda: Recorder.resume(store, run, ticking()))
    store.close()


Result = TypeVar("Result")


def patiently(work: Callable[[], Result]) -> Result:
    """Do `work` once the server is back for good."""
    for _ in range(200):
        with contextlib.suppress(StoreUnavailable):
            return work()
        time.sleep(0.1)
    raise AssertionError("the server did not come back")
