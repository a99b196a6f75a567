"""Compares this sandbox with a bare interpreter, bubblewrap and plain resource limits.

    python benchmarks/sandbox.py [--runs 200] [--long 20000] [--out benchmarks/results/sandbox.json]

All run the same program in turn, so that machine noise affects all of them, and then on all cores
at once. Then this sandbox runs it many times, while its processes, descriptors and memory are
counted.
"""

import argparse
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from auditcoder import __version__
from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.adapters.sandboxes.visible_paths import interpreter, standard_library
from auditcoder.domain.execution import Execution, ExecutionOutcome, RunProgram

PROGRAM = "print(sum(map(int, input().split())))"
INPUT = "1 2 3 36\n"
ANSWER = b"42\n"


def bare(path: str) -> bytes:
    """Run a bare interpreter without site packages, which starts faster."""
    return _spawn([interpreter(), "-I", "-S", path])


def limited(path: str) -> bytes:
    """Run a fresh process with resource limits and no isolation."""
    return _spawn([interpreter(), "-I", "-S", path], limits=True)


def bubblewrapped(path: str) -> bytes:
    """Run a fresh interpreter in bubblewrap, with the files that our candidates see."""
    binds = [option for shown in standard_library() for option in ("--ro-bind", shown, shown)]
    binds += ["--ro-bind", interpreter(), interpreter(), "--ro-bind", path, "/program.py"]
    return _spawn(
        [
            *("bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv"),
            *("--dev", "/dev", "--tmpfs", "/tmp", "--cap-drop", "ALL"),
            *binds,
            *(interpreter(), "-I", "-S", "/program.py"),
        ],
        limits=True,
    )


def _spawn(command: list[str], *, limits: bool = False) -> bytes:
    return subprocess.run(
        command,
        input=INPUT.encode(),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=10,
        check=True,
        env={},
        preexec_fn=_limit if limits else None,
    ).stdout


def _limit() -> None:
    for what, most in (
        (resource.RLIMIT_AS, 1 << 30),
        (resource.RLIMIT_CPU, 10),
        (resource.RLIMIT_FSIZE, 64 << 20),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(what, (most, most))


def all_ways(sandbox: LocalSandbox, path: str) -> dict[str, Callable[[], bytes]]:
    """Return the compared ways to run a program; bubblewrap only if it is installed."""
    ways: dict[str, Callable[[], bytes]] = {
        "auditcoder": lambda: _run(sandbox).stdout,
        "python -I -S": lambda: bare(path),
        "subprocess with limits": lambda: limited(path),
    }
    if shutil.which("bwrap"):
        ways["bubblewrap"] = lambda: bubblewrapped(path)
    return ways


def compare(ways: dict[str, Callable[[], bytes]], runs: int) -> dict[str, list[float]]:
    """Time every way in turn."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(runs):
        for name, way in ways.items():
            started = time.perf_counter()
            assert way() == ANSWER, name
            times[name].append(time.perf_counter() - started)
    return times


def _run(sandbox: LocalSandbox) -> ExecutionOutcome:
    return sandbox.run(Execution(source=PROGRAM, action=RunProgram(stdin=INPUT)))


def endure(sandbox: LocalSandbox, runs: int) -> list[dict[str, Any]]:
    """Run many times and count the resources that a leak would increase."""
    samples = []
    for number in range(runs + 1):
        if number % max(1, runs // 10) == 0:
            time.sleep(0.3)  # ended processes are being cleaned up
            samples.append({"runs": number, **_footprint()})
        if number < runs:
            assert _run(sandbox).stdout == ANSWER
    return samples


def _footprint() -> dict[str, int]:
    family = [os.getpid(), *_descendants(os.getpid())]
    memory = sum(_resident(pid) for pid in family)
    return {
        "processes": len(family),
        "descriptors": sum(_descriptors(pid) for pid in family),
        "resident_mib": memory >> 20,
        "mounts": Path("/proc/self/mountinfo").read_text().count("\n"),
        "temporary": len(list(Path(os.environ.get("TMPDIR", "/tmp")).glob("auditcoder-*"))),
    }


def _descendants(pid: int) -> list[int]:
    found: list[int] = []
    for listing in Path(f"/proc/{pid}/task").glob("*/children"):
        found += map(int, listing.read_text().split())
    return [*found, *(below for child in found for below in _descendants(child))]


def _resident(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except OSError:
        return 0
    return pages * resource.getpagesize()


def _descriptors(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def throughput(way: Callable[[], bytes], workers: int, seconds: float = 5.0) -> float:
    """Return the runs per second of `workers` threads."""
    until = time.monotonic() + seconds

    def work(_: int) -> int:
        done = 0
        while time.monotonic() < until:
            assert way() == ANSWER
            done += 1
        return done

    started = time.monotonic()
    with ThreadPoolExecutor(workers) as pool:
        total = sum(pool.map(work, range(workers)))
    return total / (time.monotonic() - started)


def main() -> None:
    """Measure, print and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--long", type=int, default=20_000)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with LocalSandbox() as sandbox:
        path = Path(sys.argv[0]).resolve().with_name(".program.py")
        path.write_text(PROGRAM)
        try:
            ways = all_ways(sandbox, str(path))
            times = compare(ways, options.runs)
            cores = len(os.sched_getaffinity(0))
            rates = {name: throughput(way, 2 * cores) for name, way in ways.items()}
        finally:
            path.unlink()
        medians = {name: statistics.median(found) * 1000 for name, found in times.items()}
        tails = {
            name: statistics.quantiles(found, n=20)[18] * 1000 for name, found in times.items()
        }
        ours = medians["auditcoder"]
        print(f"{'way':<24}{'median ms':>10}{'95 % ms':>10}{'ratio':>8}{'runs/s':>8}{'ratio':>8}")
        for name, median in medians.items():
            print(f"{name:<24}{median:>10.2f}{tails[name]:>10.2f}{median / ours:>8.2f}", end="")
            print(f"{rates[name]:>8.0f}{rates['auditcoder'] / rates[name]:>8.2f}")
        samples = endure(sandbox, options.long)
        for sample in samples:
            print(sample)
    result = {
        "auditcoder": __version__,
        "python": platform.python_version(),
        "kernel": platform.release(),
        "cores": cores,
        "sandbox": sandbox.kind,
        "runs": options.runs,
        "median_ms": medians,
        "p95_ms": tails,
        "ratio_to_ours": {name: median / ours for name, median in medians.items()},
        "runs_a_second_on_all_cores": rates,
        "endurance": samples,
    }
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
