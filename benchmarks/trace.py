"""Measures writing and verifying a record against the minimum work on the same bytes.

    python benchmarks/trace.py [--sizes 10000 100000 1000000] [--out FILE]

One run, on this machine, measures for each size:

  append   `Recorder.record` (encode, check laws, hash, insert, commit) against a bare SQLite
           insert of the same bytes: same settings, same commits, no laws, no chain, no index.
           Constructing the event is not timed. The two alternate in short intervals, so that
           noise affects both.
  verify   verification of the record in its store against reading the same bytes (every entry,
           every blob) from the same store and hashing them; and both once more with all bytes in
           memory already, so that only computation counts. Caches are cleared each time.
  memory   how much the writer grows from a tenth of the way to the end, and the peak of a fresh
           process that verifies the record.

The record is one long run of repairs that never improve the program, so that transactions are
opened, decided and rolled back repeatedly. The ratios are the result; times depend on the machine.
"""

import argparse
import hashlib
import json
import platform
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median

from auditcoder import __version__
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import Head
from auditcoder.domain.code import read_bundle
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.events import CheckRan, Event, GraphCommitted, Located, ReplyRecorded
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import FromTask, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtNode, AtProgram
from auditcoder.domain.task import ProgramForm, StdioExample, Task, example_check
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import CheckId, Digest, RunId
from auditcoder.domain.verification import verify
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.recorder import Recorder

RUN = RunId("benchmark")
LEAVES = [NodeId(f"S{n}") for n in range(1, 6)]
REQUEST = "You implement one responsibility of a larger program. " * 110
"""About six kilobytes: a task, a contract and a failure, as in a prompt for a small model."""
EXAMPLES = tuple(
    StdioExample(input=f"{number} 1 2 3 4 5 6 7 8 9", output=f"{number * 31}")
    for number in range(6)
)
BODY = "\n".join(f"    total = (total * 31 + values[{i}]) % 1000003" for i in range(18))


def code(leaf: NodeId, version: int) -> str:
    """Return a function of ordinary size that differs between versions."""
    head = f"def part_{leaf}(values: list[int]) -> int:\n    total = {version}\n"
    return f"{head}{BODY}\n    return total\n"


def lifecycle(recorder: Recorder) -> Iterator[None]:
    """Yield after every event of a run that repairs endlessly."""
    leaves = tuple(
        Node(
            id=leaf,
            goal=f"Part {leaf} of the work",
            kind=NodeKind.MATH,
            parent=ROOT,
            inputs=(Slot(name="values", type="list[int]", source=FromTask()),),
            contract=Contract(
                name=f"part_{leaf}", params=(Param(name="values", type="list[int]"),)
            ),
        )
        for leaf in LEAVES
    )
    root = Node(id=ROOT, goal="All of it", kind=NodeKind.ORCHESTRATION, dependencies=tuple(LEAVES))
    recorder.record(GraphCommitted(graph=TaskGraph(nodes=(root, *leaves), order=tuple(LEAVES))))
    yield
    for leaf in LEAVES:
        recorder.write_code(leaf, code(leaf, 0))
        yield
    recorder.assemble()
    yield
    for number in range(1, len(EXAMPLES) + 1):
        check(recorder, number, Verdict.FAILED, 0)
        yield
    turn = 0
    while True:
        turn += 1
        yield from repair(recorder, LEAVES[turn % len(LEAVES)], turn)


def repair(recorder: Recorder, leaf: NodeId, turn: int) -> Iterator[None]:
    failing = next(iter(recorder.ledger.working.evidence.values())).seq
    recorder.record(
        Located(
            diagnosis=Localised(
                target=AtNode(node=leaf),
                agents=recorder.ledger.agents_of(AtNode(node=leaf)),
                rule="R3",
                level=Level.LOW,
                evidence=(failing,),
            )
        )
    )
    yield
    recorder.open_transaction()
    yield
    ask(recorder, leaf, "replanner", f"{REQUEST} What was wrong with attempt {turn}?", "The start.")
    yield
    reply = ask(recorder, leaf, "math", f"{REQUEST} Attempt {turn}.", code(leaf, turn))
    yield
    recorder.write_code(leaf, code(leaf, turn), reply=reply)
    yield
    for number in range(4):
        standing = recorder.ledger.working.code[leaf].digest
        recorder.record(
            CheckRan(
                evidence=Evidence(
                    check=CheckId(f"{leaf}.{number}"),
                    kind=CheckKind.BOUNDARY,
                    subject=AtNode(node=leaf),
                    trust=Trust.GENERATED,
                    verdict=Verdict.PASSED,
                    against=standing,
                    exit_code=0,
                    milliseconds=3.2,
                    judge="benchmark",
                )
            )
        )
        yield
    recorder.assemble()
    yield
    for number in range(1, len(EXAMPLES) + 1):
        check(recorder, number, Verdict.FAILED, turn)
        yield
    recorder.decide()
    yield
    yield  # the rollback


def ask(recorder: Recorder, leaf: NodeId, role: str, request: str, reply: str) -> int:
    return recorder.record(
        ReplyRecorded(
            role=role,
            scope=Scope.REPAIR,
            phase=Phase.PLANNING if role == "replanner" else Phase.GENERATION,
            request=recorder.put(request),
            reply=recorder.put(reply),
            node=leaf,
            usage=Usage(calls=1, prompt_tokens=1500, completion_tokens=300),
        )
    )


def check(recorder: Recorder, number: int, verdict: Verdict, turn: int) -> None:
    assembly = recorder.ledger.working.assembly
    assert assembly is not None
    example = EXAMPLES[number - 1]
    recorder.record(
        CheckRan(
            evidence=Evidence(
                check=example_check(number),
                kind=CheckKind.EXAMPLE,
                subject=AtProgram(),
                trust=Trust.GIVEN,
                verdict=verdict,
                against=assembly.program,
                input=recorder.put(example.input),
                expected=recorder.put(example.output),
                observed=recorder.put(f"{turn} {number}"),
                exit_code=0,
                milliseconds=3.2,
                peak_bytes=9_000_000,
                message="expected another number",
            )
        )
    )


class Tap(SqliteStore):
    """A store that also keeps the appended bytes in memory."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.given: list[tuple[bytes, tuple[bytes, ...]]] = []

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        """Append and keep the bytes."""
        super().append(run, after, entries, head, blobs)
        self.given.append((*entries, tuple(dict(blobs).values())))  # type: ignore[arg-type]


class TimedRecorder(Recorder):
    """A recorder that also measures the time of its appends."""

    seconds = 0.0

    def record(self, event: Event) -> int:
        """Append and measure the time."""
        began = time.perf_counter()
        seq = super().record(event)
        self.seconds += time.perf_counter() - began
        return seq


class Bare:
    """The minimum that stores the same bytes: one table, the same settings, the same commits."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = FULL")
        self.db.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, body BLOB NOT NULL)")

    def insert(self, body: bytes, blobs: tuple[bytes, ...]) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        self.db.execute("INSERT INTO kept (body) VALUES (?)", (body,))
        for blob in blobs:
            self.db.execute("INSERT INTO kept (body) VALUES (?)", (blob,))
        self.db.execute("COMMIT")


def measure_append(folder: Path, size: int) -> dict[str, float]:
    """Write `size` events alternately to the store and to the bare table."""
    store, bare = Tap(folder / f"{size}.db"), Bare(folder / f"{size}-bare.db")
    start = datetime(2026, 1, 1, tzinfo=UTC)
    ticks = iter(range(10**9))
    recorder = TimedRecorder.start(
        store,
        RUN,
        Task(title="benchmark", statement="", form=ProgramForm(), examples=EXAMPLES),
        lambda: start + timedelta(milliseconds=next(ticks)),
    )
    assert isinstance(recorder, TimedRecorder)
    steps = lifecycle(recorder)
    ours = theirs = 0.0
    ratios = []
    early = 0.0
    while recorder.head.entries < size:
        if not early and recorder.head.entries >= size // 10:
            early = resident()
        store.given.clear()
        recorder.seconds = 0.0
        while len(store.given) < 500 and recorder.head.entries < size:
            next(steps)
        began = time.perf_counter()
        for body, blobs in store.given:
            bare.insert(body, blobs)
        took = time.perf_counter() - began
        ours += recorder.seconds
        theirs += took
        ratios.append(recorder.seconds / took)
    entries = recorder.head.entries
    store.close()
    bare.db.close()
    return {
        "events": entries,
        "append_us": ours / entries * 1e6,
        "bare_us": theirs / entries * 1e6,
        "append_ratio": ours / theirs,
        "append_ratio_median": median(ratios),
        "writer_growth_mib": resident() - early,
        "bytes": (folder / f"{size}.db").stat().st_size,
    }


def resident() -> float:
    """Return the resident memory of this process in MiB."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def measure_verify(folder: Path, size: int) -> dict[str, float]:
    """Time verification, and reading and hashing of the same bytes, in turn."""
    store = SqliteStore(folder / f"{size}.db")
    sample = min(size, 100_000)
    bodies = [body for _, body in zip(range(sample), store.read(RUN), strict=False)]
    read: dict[Digest, bytes] = {}

    def remember(name: Digest) -> bytes:
        return read.setdefault(name, store.blob(name))

    verify(bodies, remember)
    texts = [*bodies, *read.values()]

    def hash_in_memory() -> None:
        for text in texts:
            hashlib.sha256(text).hexdigest()

    def read_and_hash() -> None:
        for _, body in zip(range(sample), store.read(RUN), strict=False):
            hashlib.sha256(body).hexdigest()
        for name in read:
            hashlib.sha256(store.blob(name)).hexdigest()

    def verify_in_memory() -> None:
        read_bundle.cache_clear()
        verify(bodies, read.__getitem__)

    def verify_in_store() -> None:
        read_bundle.cache_clear()
        report = verify_run(store, RUN)
        assert report.holds, report.findings

    works = (hash_in_memory, read_and_hash, verify_in_memory, verify_in_store)
    rounds = [[timed(work) for work in works] for _ in range(3 if size <= 100_000 else 1)]
    hashed, read_hashed, in_memory, in_store = (
        median(times) for times in zip(*rounds, strict=True)
    )
    entries = store.head(RUN).entries
    store.close()
    return {
        "bytes_an_event": sum(map(len, texts)) / sample,
        "hash_us": hashed / sample * 1e6,
        "read_and_hash_us": read_hashed / sample * 1e6,
        "verify_in_memory_us": in_memory / sample * 1e6,
        "verify_us": in_store / entries * 1e6,
        "verify_to_read_and_hash": (in_store / entries) / (read_hashed / sample),
        "verify_to_hash_in_memory": in_memory / hashed,
    }


def peak_memory(path: Path) -> float:
    """Return the peak memory in MiB of a fresh process that verifies the record at `path`."""
    program = (
        "import sys; from auditcoder.adapters.stores.sqlite import SqliteStore;"
        "from auditcoder.lifecycle.export_import import verify_run;"
        f"assert verify_run(SqliteStore(sys.argv[1]), {RUN!r}).holds;"
        f"print(({PEAK})())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], check=True, capture_output=True, text=True
    )
    return int(done.stdout) / 1024


PEAK = "lambda: int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"
"""Peak memory in KiB, from the kernel, because `getrusage` inherits the parent's peak."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--out", type=Path, help="also write the figures as JSON")
    parser.add_argument("--dir", type=Path, help="where to put the databases")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(dir=options.dir) as name:
        for size in options.sizes:
            folder = Path(name)
            row = measure_append(folder, size)
            row |= {"verify_peak_mib": peak_memory(folder / f"{size}.db")}
            row |= measure_verify(folder, size)
            rows.append(row)
            print(json.dumps({k: round(v, 3) for k, v in row.items()}), flush=True)
    result = {
        "benchmark": "trace",
        "versions": {
            "auditcoder": __version__,
            "python": platform.python_version(),
            "sqlite": sqlite3.sqlite_version,
        },
        "machine": {"system": platform.system(), "machine": platform.machine()},
        "rows": rows,
        "linear": {
            key: rows[-1][key] / rows[0][key] for key in ("append_us", "append_ratio", "verify_us")
        },
    }
    print("growth of the cost per event from the smallest size to the largest:")
    for key, growth in result["linear"].items():  # type: ignore[attr-defined]
        print(f"  {key:<14} x{growth:.3f}")
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
