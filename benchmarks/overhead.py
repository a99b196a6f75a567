"""Measures the share of a run that is neither model nor sandbox time. The goal is under 2 %.

    python benchmarks/overhead.py

Solves three shipped examples on the embedded model with a timer around the model and around the
sandbox. The rest is planning, laws, record and assembly.
"""

import json
import platform
import time
from pathlib import Path
from typing import Any

from timed import TimedModel, TimedSandbox

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.interfaces.factories import open_model, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.interfaces.task_sources import read_task_source
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.runs import RunResources, start

HERE = Path(__file__).parent
TASKS = ("initials", "sold_out", "inventory")
GOAL = 0.02


def main() -> None:
    """Measure and write the result."""
    settings = read_settings()
    sandbox = TimedSandbox(open_sandbox(settings, print))
    model = TimedModel(open_model("embedded", settings, print))
    store_path = Path("overhead.db")
    store_path.unlink(missing_ok=True)
    tools = RunResources(SqliteStore(store_path), model, sandbox)
    rows: list[dict[str, Any]] = []
    for name in TASKS:
        task = read_task_source(HERE.parent / "examples" / "tasks" / f"{name}.md")
        began, asked, ran = time.perf_counter(), model.seconds, sandbox.seconds
        solved = start(tools, task, Options(max_repairs=1))
        spent = time.perf_counter() - began
        inside = model.seconds - asked + sandbox.seconds - ran
        rows.append(
            {
                "task": name,
                "seconds": round(spent, 2),
                "model": round(model.seconds - asked, 2),
                "sandbox": round(sandbox.seconds - ran, 3),
                "ours": round(spent - inside, 3),
                "share": round(1 - inside / spent, 5),
                "events": solved.trace.head.entries,
            }
        )
        print(rows[-1], flush=True)
    total = sum(r["seconds"] for r in rows)
    share = sum(r["ours"] for r in rows) / total
    print(f"overhead {share:.2%} of {total:.0f} s (goal: under {GOAL:.0%})")
    result = {"python": platform.python_version(), "share": share, "goal": GOAL, "rows": rows}
    (HERE / "results" / "overhead.json").write_text(json.dumps(result, indent=1) + "\n")
    model.close()
    sandbox.close()
    store_path.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
