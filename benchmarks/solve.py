"""Solves forty benchmark problems twice on the embedded model, and measures the records.

Twenty introductory APPS problems and twenty HumanEval problems, ids fixed below before the first
run, each once with `joint` and once with `node` building. Every run is a record in one store, so
the script can be stopped at any moment and goes on where it was. The data is read where it lies:

    python benchmarks/solve.py --data PATH [--store solve.db]     run, then measure
    python benchmarks/solve.py --data PATH --only-measure         measure what there is

Hidden tests are used only here, after a run has ended, and nothing of them reaches a run.
"""

import argparse
import gzip
import json
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import AuditCoderError
from auditcoder.domain.execution import Bounds, Ending, Execution, RunProgram, RunTests, TestVerdict
from auditcoder.domain.task import Task
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import RunId
from auditcoder.interfaces.opening import open_model, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.lifecycle.validating.comparing import same_output
from auditcoder.lifecycle.workshop import Build, Options
from auditcoder.methods.solving import (
    Solution,
    Tools,
    finished,
    replay,
    resume,
    solution,
    start,
)
from auditcoder.metrics import records

APPS = (
    *(4014, 4027, 4030, 4032, 4034, 4049, 4098, 4104, 4121, 4233),
    *(4341, 4393, 4405, 4416, 4421, 4448, 4457, 4731, 4735, 4749),
)
HUMANEVAL = tuple(range(0, 160, 8))
RESULTS = Path(__file__).parent / "results"
K = 1
LIMITS = Bounds(seconds=10.0)


class Problem:
    """One problem: what a run may see, and what only the judge may."""

    def __init__(self, name: str, task: Task, hidden: Any) -> None:
        self.name = name
        self.task = task
        self.hidden = hidden


def problems(data: Path) -> list[Problem]:
    """Read the forty problems, the two suites by turns."""
    apps = {}
    for line in (data / "apps" / "apps_dev.jsonl").open(encoding="utf-8"):
        row = json.loads(line)
        if int(row["problem_id"]) in APPS:
            number = int(row["problem_id"])
            task = make_task(row["question"], TaskOptions(form="program", source=f"apps/{number}"))
            apps[number] = Problem(f"apps-{number}", task, row["hidden"])
    human = {}
    with gzip.open(data / "humaneval" / "HumanEval.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            number = int(row["task_id"].split("/")[1])
            if number in HUMANEVAL:
                task = make_task(row["prompt"], TaskOptions(source=f"humaneval/{number}"))
                tests = f"{row['test']}\n\ncheck({row['entry_point']})\n"
                human[number] = Problem(f"humaneval-{number}", task, tests)
    return [p for a, h in zip(APPS, HUMANEVAL, strict=True) for p in (human[h], apps[a])]


def judge(sandbox: Sandbox, problem: Problem, program: str | None) -> bool:
    """Whether a program passes the hidden tests."""
    if program is None:
        return False
    if isinstance(problem.hidden, str):
        tests = RunTests(code=problem.hidden)
        outcome = sandbox.run(Execution(source=program, action=tests, bounds=LIMITS))
        bad = any(t.verdict is not TestVerdict.PASSED for t in outcome.tests)
        return outcome.ending is Ending.OK and not bad
    for case in problem.hidden:
        action = RunProgram(stdin=case["input"])
        outcome = sandbox.run(Execution(source=program, action=action, bounds=LIMITS))
        printed = outcome.stdout.decode("utf-8", "replace")
        if outcome.ending is not Ending.OK or not same_output(case["output"], printed):
            return False
    return True


def run_all(tools: Tools, wanted: list[Problem]) -> None:
    """Solve what is not solved yet."""
    known = set(tools.store.runs())
    todo = [(p, b) for b in Build for p in wanted]
    began = time.monotonic()
    done = 0
    for number, (problem, build) in enumerate(todo, start=1):
        run = RunId(f"{problem.name}-{build.value}")
        if run in known and finished(tools.store, run):
            continue
        if run in known:
            found = resume(tools, run)
        else:
            options = Options(build=build, max_repairs=K)
            found = start(tools, problem.task, options, run)
        done += 1
        spent = time.monotonic() - began
        left = spent / done * (len(todo) - number)
        tokens = records.spent(found.trace).total.tokens
        print(
            f"{number}/{len(todo)} {run}: {found.outcome.value}, {tokens} tokens,"
            f" {spent / 60:.1f} min so far, about {left / 60:.0f} min left",
            flush=True,
        )


def measure(store: SqliteStore, sandbox: Sandbox, wanted: list[Problem]) -> dict[str, Any]:
    """Compute every figure from the records alone, and judge the programs."""
    rows = []
    known = set(store.runs())
    for build in Build:
        for problem in wanted:
            run = RunId(f"{problem.name}-{build.value}")
            if run in known and finished(store, run):
                rows.append(_row(store, sandbox, problem, build, run))
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
    store: SqliteStore, sandbox: Sandbox, problem: Problem, build: Build, run: RunId
) -> dict[str, Any]:
    found: Solution = solution(store, run)
    trace: Trace = found.trace
    used = records.spent(trace).total
    coverage = records.trace_coverage(trace, store.blob)
    signatures = records.signature_consistency(trace, store.blob)
    frozen = records.frozen_intact(trace)
    first = trace.programs[0].program if trace.programs else None
    try:
        again = replay(store, run, sandbox)
        replayed, differences = again.head == trace.head, list(again.differences)
    except AuditCoderError as error:
        replayed, differences = False, [f"{error.code}: {error}"]
    return {
        "run": run,
        "suite": problem.name.split("-")[0],
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
        "graph_integrity": records.graph_integrity(trace),
        "signatures": [signatures.part, signatures.whole],
        "frozen_intact": [frozen.part, frozen.whole],
        "hidden_first": judge(sandbox, problem, store.blob(first).decode() if first else None),
        "hidden_final": judge(sandbox, problem, found.program),
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
        run_all(Tools(store, model, sandbox), wanted)
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
