"""Solves forty benchmark problems twice on the embedded model and measures the records.

Twenty introductory APPS problems and twenty HumanEval problems, with ids fixed before the first
run, are solved once with `joint` and once with `node` building. All runs are in one store, so the
script can be stopped and resumed at any time. The data is read from a folder:

    python benchmarks/solve.py --data PATH [--store solve.db]     run, then measure
    python benchmarks/solve.py --data PATH --only-measure         measure the finished runs

Hidden tests are used only after a run has ended and never reach it.
"""

import argparse
import json
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_model, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import Build, Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import (
    RunResources,
    Solution,
    finished,
    replay,
    resume,
    solution,
    start,
)
from auditcoder.metrics import trace_metrics
from auditcoder_bench.experiments import problems_of
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import Problem
from auditcoder_bench.runner import choose
from auditcoder_bench.suites import suite
from auditcoder_bench.suites.apps import INTRODUCTORY

HUMANEVAL = tuple(str(number) for number in range(0, 160, 8))
RESULTS = Path(__file__).parent / "results"
K = 1


class Asked(NamedTuple):
    """A problem and the prefix of its run ids."""

    name: str
    problem: Problem


def problems(data: Path) -> list[Asked]:
    """Read the forty problems, alternating between the suites."""
    human = choose(problems_of(suite("humaneval"), data), HUMANEVAL)
    apps = choose(problems_of(suite("apps"), data), INTRODUCTORY)
    return [
        asked
        for h, a in zip(human, apps, strict=True)
        for asked in (Asked(f"humaneval-{h.id}", h), Asked(f"apps-{a.id}", a))
    ]


def passes(sandbox: Sandbox, problem: Problem, program: str | None) -> bool:
    """Whether a program passes the hidden tests."""
    return program is not None and resolved(judge(sandbox, problem, program))


def run_all(tools: RunResources, wanted: list[Asked]) -> None:
    """Solve the problems without a finished run."""
    known = set(tools.store.runs())
    todo = [(p, b) for b in Build for p in wanted]
    began = time.monotonic()
    done = 0
    for number, (asked, build) in enumerate(todo, start=1):
        run = RunId(f"{asked.name}-{build.value}")
        if run in known and finished(tools.store, run):
            continue
        if run in known:
            found = resume(tools, run)
        else:
            options = Options(build=build, max_repairs=K)
            found = start(tools, asked.problem.task, options, run)
        done += 1
        spent = time.monotonic() - began
        left = spent / done * (len(todo) - number)
        tokens = trace_metrics.token_use(found.trace).total.tokens
        print(
            f"{number}/{len(todo)} {run}: {found.outcome.value}, {tokens} tokens,"
            f" {spent / 60:.1f} min so far, about {left / 60:.0f} min left",
            flush=True,
        )


def measure(store: SqliteStore, sandbox: Sandbox, wanted: list[Asked]) -> dict[str, Any]:
    """Compute every figure from the records and judge the programs."""
    rows = []
    known = set(store.runs())
    for build in Build:
        for asked in wanted:
            run = RunId(f"{asked.name}-{build.value}")
            if run in known and finished(store, run):
                rows.append(_row(store, sandbox, asked, build, run))
    return {
        "rows": rows,
        "all": _summary(rows),
        **{b.value: _summary([r for r in rows if r["build"] == b.value]) for b in Build},
        **{
            suite: _summary([r for r in rows if r["suite"] == suite])
            for suite in ("apps", "humaneval")
        },
    }


def _row(
    store: SqliteStore, sandbox: Sandbox, asked: Asked, build: Build, run: RunId
) -> dict[str, Any]:
    found: Solution = solution(store, run)
    trace: Trace = found.trace
    used = trace_metrics.token_use(trace).total
    coverage = trace_metrics.trace_coverage(trace, store.blob)
    signatures = trace_metrics.signature_consistency(trace, store.blob)
    frozen = trace_metrics.frozen_intact(trace)
    first = trace.programs[0].program if trace.programs else None
    try:
        again = replay(store, run, sandbox)
        replayed, differences = again.head == trace.head, list(again.differences)
    except AuditCoderError as error:
        replayed, differences = False, [f"{error.code}: {error}"]
    return {
        "run": run,
        "suite": asked.name.split("-")[0],
        "build": build.value,
        "outcome": found.outcome.value,
        "program": bool(trace.programs),
        "nodes": len(trace.working.graph.nodes) if trace.working.graph else 0,
        "tokens": used.tokens,
        "calls": used.calls,
        "rejected_replies": sum(bool(b.reply.rejected) for b in trace.replies),
        "degraded": sum(v.agent == "degraded" for v in trace.versions),
        "seconds": (trace.last.at - trace.started.at).total_seconds(),
        "transactions": len(trace.history),
        "accepted": sum(
            t.decision is not None and t.decision.value == "accepted" for t in trace.history
        ),
        "located": dict(
            Counter(getattr(a.diagnosis, "rule", "abstained") for a in trace.diagnoses)
        ),
        "verifies": verify_run(store, run).holds,
        "replays": replayed,
        "replay_differences": differences,
        "coverage": [coverage.part, coverage.whole],
        "graph_integrity": trace_metrics.graph_integrity(trace),
        "signatures": [signatures.part, signatures.whole],
        "frozen_intact": [frozen.part, frozen.whole],
        "hidden_first": passes(
            sandbox, asked.problem, store.blob(first).decode() if first else None
        ),
        "hidden_final": passes(sandbox, asked.problem, found.program),
        "head": trace.head.digest,
    }


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    if not rows:
        return {}

    def share(key: str) -> str:
        return f"{sum(r[key][0] for r in rows)}/{sum(r[key][1] for r in rows)}"

    def count(key: str) -> str:
        return f"{sum(bool(r[key]) for r in rows)}/{len(rows)}"

    return {
        "runs": len(rows),
        "outcomes": dict(Counter(r["outcome"] for r in rows)),
        "verify": count("verifies"),
        "replay": count("replays"),
        "replay_differences": sum(len(r["replay_differences"]) for r in rows),
        "trace_coverage_micro": share("coverage"),
        "trace_coverage_macro": statistics.mean(r["coverage"][0] / r["coverage"][1] for r in rows),
        "graph_integrity": count("graph_integrity"),
        "signature_consistency": share("signatures"),
        "frozen_intact": share("frozen_intact"),
        "without_program": sum(not r["program"] for r in rows),
        "rejected_replies": sum(r["rejected_replies"] for r in rows),
        "transactions": sum(r["transactions"] for r in rows),
        "accepted": sum(r["accepted"] for r in rows),
        "median_tokens": statistics.median(r["tokens"] for r in rows),
        "mean_tokens": round(statistics.mean(r["tokens"] for r in rows)),
        "median_calls": statistics.median(r["calls"] for r in rows),
        "median_seconds": round(statistics.median(r["seconds"] for r in rows), 1),
        "several_nodes": f"{sum(r['nodes'] > 2 for r in rows)}/{len(rows)}",
        "hidden_first": count("hidden_first"),
        "hidden_final": count("hidden_final"),
    }


def main() -> None:
    """Run and measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--store", type=Path, default=Path("solve.db"))
    parser.add_argument("--only-measure", action="store_true")
    options = parser.parse_args()
    settings = read_settings()
    store = SqliteStore(options.store)
    sandbox = open_sandbox(settings, print)
    wanted = problems(options.data)
    if not options.only_measure:
        model = open_model("embedded", settings, print)
        run_all(RunResources(store, model, sandbox), wanted)
        model.close()
    measured = measure(store, sandbox, wanted)
    manifest = solution(store, RunId(measured["rows"][0]["run"])).trace.manifest
    measured = {"manifest": msgspec.to_builtins(manifest), **measured}
    (RESULTS / "solve.json").write_text(json.dumps(measured, indent=1) + "\n")
    for name in ("all", "joint", "node", "apps", "humaneval"):
        print(name, json.dumps(measured[name], indent=1))
    sandbox.close()


if __name__ == "__main__":
    main()
