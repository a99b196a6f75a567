"""Solves the twelve shipped example tasks on the embedded model and writes the results.

    python benchmarks/examples.py [--store examples.db]

It resumes where it was stopped. The figures and the manifest are in `results/examples.json`, with
the share of each run's time that was spent neither in the model nor in the sandbox;
`tools/results.py` writes the page.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import msgspec
from timed import TimedModel, TimedSandbox

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.repair import Decision
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_model, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.interfaces.task_sources import read_task_source
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.runs import RunResources, finished, replay, resume, solution, start
from auditcoder.metrics import trace_metrics

HERE = Path(__file__).parent
TASKS = HERE.parent / "examples" / "tasks"
RESULTS = HERE / "results" / "examples.json"


def main() -> None:
    """Run the tasks without a finished run, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--store", type=Path, default=Path("examples.db"))
    options = parser.parse_args()
    settings = read_settings()
    store = SqliteStore(options.store)
    sandbox = TimedSandbox(open_sandbox(settings, print))
    model = TimedModel(open_model("embedded", settings, print))
    tools = RunResources(store, model, sandbox)
    overhead = _kept_overhead()
    known = set(store.runs())
    for path in sorted(TASKS.glob("*.md")):
        if path.stem == "README":
            continue
        run = RunId(path.stem)
        if run in known and finished(store, run):
            continue
        if run in known:
            resume(tools, run)
            continue
        began, before = time.perf_counter(), model.seconds + sandbox.seconds
        found = start(tools, read_task_source(path), Options(), run)
        spent = time.perf_counter() - began
        overhead[run] = 1 - (model.seconds + sandbox.seconds - before) / spent
        print(f"{run}: {found.outcome.value}, {spent:.0f} s", flush=True)
    rows = [
        _row(store, sandbox, RunId(p.stem), overhead)
        for p in sorted(TASKS.glob("*.md"))
        if p.stem != "README"
    ]
    manifest = solution(store, RunId(rows[0]["task"])).trace.manifest
    RESULTS.write_text(
        json.dumps({"manifest": msgspec.to_builtins(manifest), "rows": rows}, indent=1) + "\n"
    )
    model.close()
    sandbox.close()


def _kept_overhead() -> dict[str, float]:
    if not RESULTS.exists():
        return {}
    rows = json.loads(RESULTS.read_text())["rows"]
    return {r["task"]: r["overhead"] for r in rows if r["overhead"] is not None}


def _row(
    store: SqliteStore, sandbox: TimedSandbox, run: RunId, overhead: dict[str, float]
) -> dict[str, Any]:
    found = solution(store, run)
    trace = found.trace
    used = trace_metrics.token_use(trace).total
    again = replay(store, run, sandbox)
    assert trace.working.graph is not None
    return {
        "task": run,
        "form": type(trace.task.form).__name__.removesuffix("Form").lower(),
        "outcome": found.outcome.value,
        "nodes": len(trace.working.graph.order),
        "calls": used.calls,
        "tokens": used.tokens,
        "seconds": round((trace.last.at - trace.started.at).total_seconds()),
        "repairs": len(trace.history),
        "accepted": sum(t.decision is Decision.ACCEPTED for t in trace.history),
        "located": [
            f"{a.diagnosis.rule} {a.diagnosis.level.value}"
            if isinstance(a.diagnosis, Localised)
            else "abstained"
            for a in trace.diagnoses
        ],
        "verifies": verify_run(store, run).holds,
        "replays": again.head == trace.head and again.same,
        "overhead": overhead.get(run),
        "head": trace.head.digest,
    }


if __name__ == "__main__":
    main()
