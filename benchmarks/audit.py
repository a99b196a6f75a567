"""Measures time and memory of computing metrics over many records.

    python benchmarks/audit.py [--sizes 10000 100000] [--out FILE]

For each size a fresh process folds that many records, computes the facts and the bill of each, and
aggregates both incrementally. 36 small records of every kind (passed at first, repaired, rolled
back, fallen back, abstained, unfinished) are repeated, so that disk time is not included. The
goals: time per record grows by at most a fifth from the smallest size to the largest, and peak
memory does not grow. Times are processor times, since other programs may run. The ratios are the
result.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import count, cycle, islice
from pathlib import Path
from typing import NamedTuple

from auditcoder import __version__
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.events import (
    CheckRan,
    GraphCommitted,
    Located,
    Manifest,
    ReplyRecorded,
    RunFinished,
    RunOutcome,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import FromTask, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.laws import ReadBlob, open_doubts
from auditcoder.domain.repair import TransactionKind
from auditcoder.domain.targets import AtNode, AtProgram, Subject
from auditcoder.domain.task import ProgramForm, StdioExample, Task, example_check
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import CheckId, Digest, RunId
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.audit_metrics import Tally
from auditcoder.metrics.cost_metrics import CostTally, bill
from auditcoder.metrics.run_facts import collect_facts

RESULTS = Path(__file__).parent / "results" / "audit.json"
RECORDS = 36
OUTCOMES = {
    "passed": RunOutcome.PASSED,
    "repaired": RunOutcome.PASSED,
    "rolled back": RunOutcome.FAILED,
    "fallback": RunOutcome.PASSED,
    "abstained": RunOutcome.ABSTAINED,
}
ENDINGS = (*OUTCOMES, "open")
GROWTH = 1.2
"""Maximum growth of the time per record from the smallest size to the largest."""
FLAT = 2.0
"""Maximum difference of peak memory in MiB, to allow for allocator noise."""
EXAMPLE = StdioExample(input="1", output="2")


class Kept(NamedTuple):
    """One record and its judgement."""

    bodies: list[bytes]
    judgement: Judgement


def records(store: SqliteStore) -> list[Kept]:
    """Make small records of every kind."""
    return [
        _record(store, RunId(f"run-{n}"), leaves=1 + n % 4, ending=ENDINGS[n % len(ENDINGS)], n=n)
        for n in range(RECORDS)
    ]


def _record(store: SqliteStore, run: RunId, leaves: int, ending: str, n: int) -> Kept:
    start, ticks = datetime(2026, 1, 1, tzinfo=UTC), count()
    task = Task(
        title="small",
        statement="",
        form=ProgramForm(),
        examples=(EXAMPLE,) * 3,
        source=f"suite/{n}",
    )
    recorder = Recorder.start(
        store,
        run,
        task,
        lambda: start + timedelta(seconds=next(ticks)),
        Manifest(method="auditcoder"),
    )
    ids = [NodeId(f"S{i}") for i in range(1, leaves + 1)]
    recorder.record(GraphCommitted(graph=_graph(ids)))
    for leaf in ids:
        _write(recorder, Scope.INITIAL, leaf, n)
        _check(recorder, f"{leaf}.1", AtNode(node=leaf), Trust.GENERATED, Verdict.FAILED)
    recorder.assemble()
    _check_program(recorder, Verdict.PASSED if ending == "passed" else Verdict.FAILED)
    if ending != "passed":
        _repair(recorder, ids[0], ending, n)
    if ending in OUTCOMES:
        _finish(recorder, OUTCOMES[ending])
    trace = fold(store.read(run), store.blob)
    results = {p.program: {"a": True, "b": p.transaction is not None} for p in trace.programs}
    judgement = Judgement(run=run, head=trace.head.digest, suite="hidden", results=results)
    return Kept(list(store.read(run)), judgement)


def _graph(ids: list[NodeId]) -> TaskGraph:
    nodes = tuple(
        Node(
            id=leaf,
            goal=f"Part {leaf}",
            kind=NodeKind.MATH,
            parent=ROOT,
            inputs=(Slot(name="x", type="int", source=FromTask()),),
            contract=Contract(name=f"part_{leaf}", params=(Param(name="x", type="int"),)),
        )
        for leaf in ids
    )
    root = Node(id=ROOT, goal="All of it", kind=NodeKind.ORCHESTRATION, dependencies=tuple(ids))
    return TaskGraph(nodes=(root, *nodes), order=tuple(ids))


def _code(leaf: NodeId, version: int) -> str:
    steps = "".join(f"    x = (x * 31 + {version + i}) % 1000003\n" for i in range(8))
    return f"def part_{leaf}(x: int) -> int:\n{steps}    return x\n"


def _write(recorder: Recorder, scope: Scope, leaf: NodeId, version: int) -> None:
    """Record a reply with a leaf's code, and the code."""
    code = _code(leaf, version)
    reply = _ask(recorder, scope, Phase.GENERATION, code, leaf)
    recorder.write_code(leaf, code, agent="math", reply=reply)


def _ask(
    recorder: Recorder, scope: Scope, phase: Phase, reply: str, node: NodeId | None = None
) -> int:
    return recorder.record(
        ReplyRecorded(
            role="math" if phase is Phase.GENERATION else "branch replanner",
            scope=scope,
            phase=phase,
            request=recorder.put("please"),
            reply=recorder.put(reply),
            node=node,
            usage=Usage(calls=1, prompt_tokens=900, completion_tokens=120, unpriced=1),
        )
    )


def _check(recorder: Recorder, name: str, subject: Subject, trust: Trust, verdict: Verdict) -> None:
    working = recorder.ledger.working
    against = working.assembly.program if working.assembly else None
    if isinstance(subject, AtNode):
        against = working.code[subject.node].digest
    assert against is not None
    observed = EXAMPLE.output if verdict is Verdict.PASSED else "0"
    recorder.record(
        CheckRan(
            evidence=Evidence(
                check=CheckId(name),
                kind=CheckKind.EXAMPLE,
                subject=subject,
                trust=trust,
                verdict=verdict,
                against=against,
                input=recorder.put(EXAMPLE.input),
                expected=recorder.put(EXAMPLE.output),
                observed=recorder.put(observed),
                exit_code=0,
                judge="benchmark",
            )
        )
    )


def _check_program(recorder: Recorder, verdict: Verdict) -> None:
    for number in range(1, 4):
        _check(recorder, example_check(number), AtProgram(), Trust.GIVEN, verdict)


def _repair(recorder: Recorder, leaf: NodeId, ending: str, n: int) -> None:
    _ask(recorder, Scope.REPAIR, Phase.VERIFICATION, "The implementation.")
    cited = tuple(s.seq for s in recorder.ledger.working.evidence.values())
    if ending in {"fallback", "abstained"}:
        recorder.record(Located(diagnosis=Abstained(reason="nothing points anywhere")))
    else:
        level = (Level.HIGH, Level.MEDIUM, Level.LOW)[n % 3]
        at, rule = AtNode(node=leaf), f"R{1 + n % 3}"
        found = Localised(target=at, agents=("math",), rule=rule, level=level, evidence=cited)
        recorder.record(Located(diagnosis=found))
    if ending == "abstained":
        return
    fallback = ending == "fallback"
    recorder.open_transaction(TransactionKind.FALLBACK if fallback else TransactionKind.BOUNDED)
    _write(recorder, Scope.REPAIR, leaf, n + 100)
    recorder.assemble()
    _check_program(recorder, Verdict.FAILED if ending == "rolled back" else Verdict.PASSED)
    if ending != "open":
        recorder.decide()


def _finish(recorder: Recorder, outcome: RunOutcome) -> None:
    assembly = recorder.ledger.working.assembly
    assert assembly is not None
    doubts = open_doubts(recorder.ledger) if outcome is RunOutcome.PASSED else ()
    recorder.record(RunFinished(outcome=outcome, program=assembly.program, doubts=doubts))


def measure(size: int) -> dict[str, float]:
    """Audit `size` records in this process."""
    store = SqliteStore(":memory:")
    known = records(store)
    blobs: dict[Digest, bytes] = {}

    def read(name: Digest) -> bytes:
        return blobs.get(name) or blobs.setdefault(name, store.blob(name))

    for _ in audited(known, read, RECORDS):
        pass  # warms up all caches
    tally, cost = Tally(), CostTally()
    folding = counting = 0.0
    before = time.process_time()
    for trace, judgement in audited(known, read, size):
        folded = time.process_time()
        tally.add(collect_facts(trace, read, intact=True, judgement=judgement))
        cost.add(bill(trace))
        after = time.process_time()
        folding, counting, before = folding + folded - before, counting + after - folded, after
    began = time.process_time()
    audit, costs = tally.audit(), cost.cost()
    ending = time.process_time() - began
    assert audit.runs == costs.runs == size
    return {
        "records": size,
        "fold_us": folding / size * 1e6,
        "count_us": counting / size * 1e6,
        "us": (folding + counting + ending) / size * 1e6,
        "peak_mib": int(_status("VmHWM")) / 1024,
    }


def audited(known: list[Kept], read: ReadBlob, size: int) -> Iterator[tuple[Trace, Judgement]]:
    """Fold the records repeatedly."""
    for kept in islice(cycle(known), size):
        yield fold(kept.bodies, read), kept.judgement


def _status(field: str) -> str:
    """Read peak memory from the kernel, because `getrusage` inherits the parent's peak."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return status.split(f"{field}:")[1].split()[0]


def main() -> None:
    """Measure and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--one", type=int, help="measure one size in this process, and print it")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(options.one)))
        return
    rows = []
    for size in options.sizes:
        command = [sys.executable, __file__, "--one", str(size)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        rows.append(json.loads(done.stdout))
        print(json.dumps({k: round(v, 2) for k, v in rows[-1].items()}), flush=True)
    growth = rows[-1]["us"] / rows[0]["us"]
    more = rows[-1]["peak_mib"] - rows[0]["peak_mib"]
    print(f"time per record grew by x{growth:.3f} (goal: at most x{GROWTH})")
    print(f"peak memory grew by {more:.2f} MiB (goal: at most {FLAT})")
    result = {
        "benchmark": "audit",
        "versions": {"auditcoder": __version__, "python": platform.python_version()},
        "machine": {"system": platform.system(), "machine": platform.machine()},
        "goals": {"growth": GROWTH, "memory_mib": FLAT},
        "rows": rows,
        "growth": growth,
        "memory_growth_mib": more,
    }
    options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
