"""Jobs on several workers, one of which is killed: none is lost, and none is done twice."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import EngineUnavailable, StoreLocked
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.runs import solution
from auditcoder_bench.engines.dask_cluster import DaskEngine
from auditcoder_bench.engines.threads import LocalEngine
from auditcoder_bench.experiments import Experiment, Worker
from auditcoder_bench.runner import JobResult, jobs
from tests.support.fault_server import FaultServer, Handler, completion, serving

ORACLES = (
    Path(__file__).parents[2] / "src" / "auditcoder_bench" / "suites" / "aerocomm_data" / "oracles"
)
ENTRIES = {
    "crc16": "crc16_ccsds",
    "path_loss": "free_space_path_loss",
    "kepler": "eccentric_anomaly",
}
TODO = jobs("aerocomm", ("direct", "cot"), (*ENTRIES, "qpsk"), "server:modest")


def answer_slowly(handler: Handler) -> None:
    """Answer slowly enough for a worker to be killed meanwhile."""
    time.sleep(0.3)
    prompt = handler.body["messages"][-1]["content"]
    known = [name for name, entry in ENTRIES.items() if entry in prompt]
    code = (ORACLES / f"{known[0]}.py").read_text() if known else "x = 1\n"
    handler.say(completion(f"```python\n{code}\n```"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with serving(*[answer_slowly] * 200) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        yield running


def _free_port() -> int:
    with closing(socket.socket()) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


@pytest.fixture
def cluster(
    server: FaultServer, tmp_path: Path
) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A scheduler and three workers, each a process of its own."""
    address = f"tcp://127.0.0.1:{_free_port()}"
    python = (sys.executable, "-m", "distributed.cli")
    log = (tmp_path / "log").open("wb")
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(arguments, stdout=log, stderr=log, cwd=tmp_path, env=os.environ)
        started.append(process)
        return process

    scheduler = ("dask_scheduler", "--host", address, "--no-dashboard", "--no-show")
    start(python[0], "-m", f"{python[2]}.{scheduler[0]}", *scheduler[1:])
    workers = [
        start(
            python[0],
            *("-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--nworkers", "1"),
            *("--no-dashboard", "--no-nanny", "--local-directory", str(tmp_path / f"w{number}")),
        )
        for number in range(3)
    ]
    yield address, workers
    for process in started:
        process.kill()
        process.wait()
    log.close()


def experiment(path: Path) -> Experiment:
    return Experiment(suite="aerocomm", store=str(path), model="server:modest")


def run_jobs(engine: DaskEngine | LocalEngine, path: Path) -> list[JobResult]:
    worker = Worker(experiment(path))
    try:
        return list(engine.each(worker, TODO))
    finally:
        engine.close()
        worker.close()


def outcomes(done: list[JobResult]) -> list[tuple[str, bool, int]]:
    return sorted((d.job.run, d.resolved, d.tokens) for d in done)


@pytest.mark.campaign
def test_a_killed_worker_loses_no_job_and_repeats_none(
    cluster: tuple[str, list[subprocess.Popen[bytes]]], server: FaultServer, tmp_path: Path
) -> None:
    address, workers = cluster
    here, there = tmp_path / "here.db", tmp_path / "there.db"
    expected = run_jobs(LocalEngine(2), here)

    def kill_a_worker() -> None:
        while not there.exists() or len(_runs(there)) < 2:
            time.sleep(0.05)
        workers[0].send_signal(signal.SIGKILL)

    with ThreadPoolExecutor(1) as pool:
        killed = pool.submit(kill_a_worker)
        found = run_jobs(DaskEngine(address), there)
        killed.result()
    assert workers[0].wait() == -signal.SIGKILL
    assert outcomes(found) == outcomes(expected)
    with closing(SqliteStore(here)) as one, closing(SqliteStore(there)) as other:
        assert sorted(one.runs()) == sorted(other.runs()) == sorted(job.run for job in TODO)
        for job in TODO:
            assert verify_run(other, job.run).holds
            assert solution(other, job.run).program == solution(one, job.run).program
            assert len(other.judgements(job.run)) == 1


def _runs(path: Path) -> list[str]:
    with suppress(StoreLocked), closing(SqliteStore(path)) as store:
        return list(store.runs())
    return []  # a worker is creating it


@pytest.mark.campaign
def test_an_address_without_a_scheduler_is_reported() -> None:
    with pytest.raises(EngineUnavailable, match="cannot reach a Dask scheduler") as caught:
        DaskEngine(f"tcp://127.0.0.1:{_free_port()}")
    assert "dask scheduler" in caught.value.advice
