"""Measures what the sketch and the staged planner cost on the same tasks, on the embedded model.

    python benchmarks/planner_cost.py

The result is written after every task.
"""

import json
import platform
from pathlib import Path
from typing import Any

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EntryReader
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.usage import Phase, total
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_model, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.interfaces.task_sources import read_task_source
from auditcoder.lifecycle.options import Options, Planner
from auditcoder.lifecycle.runs import RunResources, start

HERE = Path(__file__).parent
TASKS = ("initials", "sold_out", "running_balance")


def main() -> None:
    """Measure and write the result."""
    settings = read_settings()
    sandbox = open_sandbox(settings, print)
    model = open_model("embedded", settings, print)
    result: dict[str, Any] = {
        "python": platform.python_version(),
        "model": model.name,
        "weights": model.traits.weights,
        "sandbox": sandbox.kind,
        "rows": [],
        "roles": [],
    }
    for name in TASKS:
        rows, roles = [], []
        for planner in Planner:
            store, run = SqliteStore(":memory:"), RunId(f"{planner.value}-{name}")
            solved = start(
                RunResources(store, model, sandbox),
                read_task_source(HERE.parent / "examples" / "tasks" / f"{name}.md"),
                Options(planner=planner, max_repairs=1),
                run,
            )
            replies = _replies(store, run)
            planning = [reply for reply in replies if _plans(reply)]
            graph = solved.trace.working.graph
            rows.append(
                {
                    "task": name,
                    "planner": planner.value,
                    "outcome": solved.outcome.value,
                    "nodes": len(graph.order) if graph else 0,
                    "planning": _counts(planning),
                    "all": _counts(replies),
                }
            )
            print(rows[-1], flush=True)
            roles += [
                {
                    "task": name,
                    "planner": planner.value,
                    "role": role,
                    **_counts([reply for reply in planning if reply.role == role]),
                }
                for role in dict.fromkeys(reply.role for reply in planning)
            ]
        result["rows"] += rows
        result["roles"] += roles
        path = HERE / "results" / "planner_cost.json"
        path.write_text(json.dumps(result, indent=1) + "\n")
    model.close()
    sandbox.close()


def _replies(store: SqliteStore, run: RunId) -> list[ReplyRecorded]:
    entries = EntryReader()
    events = [entries.read(body).event for body in store.read(run)]
    return [event for event in events if isinstance(event, ReplyRecorded)]


def _plans(reply: ReplyRecorded) -> bool:
    return reply.phase is Phase.PLANNING and reply.role != "task replanner"


def _counts(replies: list[ReplyRecorded]) -> dict[str, int]:
    used = total(reply.usage for reply in replies)
    return {"calls": used.calls, "prompt": used.prompt_tokens, "reply": used.completion_tokens}


if __name__ == "__main__":
    main()
