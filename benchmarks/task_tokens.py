"""Compares the tokens of the same benchmark runs in two stores, by two versions or two planners.

auditcoder bench run humaneval+ --ids 1,13,25 --store before.db      # in the earlier version
auditcoder bench run humaneval+ --ids 1,13,25 --store after.db
python benchmarks/task_tokens.py before.db after.db

auditcoder bench run aerocomm --planner sketch --max-repairs 0 --store sketch.db
auditcoder bench run aerocomm --planner staged --max-repairs 0 --store staged.db
python benchmarks/task_tokens.py sketch.db staged.db --out benchmarks/results/planners.json
"""

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.usage import Phase, total

RESULT = Path(__file__).parent / "results" / "task_tokens.json"


def main() -> None:
    """Read both stores and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path, help="the store of the earlier version's runs")
    parser.add_argument("after", type=Path, help="the store of the present version's runs")
    parser.add_argument("--out", type=Path, default=RESULT)
    arguments = parser.parse_args()
    before, after = dict(_runs(arguments.before)), dict(_runs(arguments.after))
    shared = [run for run in before if run in after and after[run].finish and before[run].finish]
    result = {
        "rows": [
            {"run": run, "before": _cost(before[run]), "after": _cost(after[run])} for run in shared
        ],
        **_provenance(after[shared[0]]),
    }
    arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(f"{len(shared)} runs are in both stores; wrote {arguments.out}")


def _runs(path: Path) -> Iterator[tuple[str, Trace]]:
    store = SqliteStore(path)
    for run in sorted(store.runs()):
        yield run, fold(store.read(run), store.blob)
    store.close()


def _cost(trace: Trace) -> dict[str, Any]:
    used = total(billed.reply.usage for billed in trace.replies)
    outcome = trace.finish.outcome.value if trace.finish else "unfinished"
    planning = total(b.reply.usage for b in trace.replies if b.reply.phase is Phase.PLANNING)
    return {
        "outcome": outcome,
        "nodes": len(trace.nodes),
        "calls": used.calls,
        "prompt": used.prompt_tokens,
        "reply": used.completion_tokens,
        "planning": planning.prompt_tokens + planning.completion_tokens,
    }


def _provenance(trace: Trace) -> dict[str, Any]:
    manifest = trace.manifest
    return {
        "python": manifest.versions.get("python", ""),
        "model": manifest.model,
        "weights": manifest.weights,
        "sandbox": manifest.sandbox,
    }


if __name__ == "__main__":
    main()
