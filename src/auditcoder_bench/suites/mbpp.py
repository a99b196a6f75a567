"""MBPP+: short tasks with one shown assertion; the hidden tests are many more than MBPP's three."""

import ast
import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auditcoder.domain.execution import Bounds
from auditcoder.domain.python_names import parse
from auditcoder.domain.task import CodeExample, Example
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder_bench.problem import CodeTests, Problem
from auditcoder_bench.suites.suite import DataFile, Suite

_BOUNDS = Bounds(seconds=60.0)
"""For all tests of a problem together, since they run in one process."""
_WHOLE = "mbppplus/MbppPlus-OriginFmt.jsonl.gz"
_HALF = "mbppplus/MbppPlus-OriginFmt-dev.jsonl.gz"


def _read(files: Mapping[str, Path]) -> list[Problem]:
    problems = []
    for path in files.values():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            problems += [_problem(json.loads(line)) for line in lines if line.strip()]
    return problems


def _problem(row: dict[str, Any]) -> Problem:
    shown = "\n".join([*row["test_imports"], row["test_list"][0]])
    entry = _called(row["test_list"][0], row["code"])
    statement = (
        f"{row['prompt'].strip()}\n\nThe function is called `{entry}`. This must hold:\n\n"
        f"```python\n{shown}\n```\n"
    )
    options = TaskOptions(form="function", entry=entry, source=f"MBPP/{row['task_id']}")
    task = make_task(statement, options)
    if not task.examples:  # an assertion that is not a call and its result
        given: tuple[Example, ...] = (CodeExample(code=f"{shown}\n"),)
        task = make_task(statement, options, given)
    return Problem(
        str(row["task_id"]),
        task,
        CodeTests(code="\n".join([*row["test_imports"], row["test"]])),
        bounds=_BOUNDS,
        reference=row["code"],
    )


def _called(assertion: str, solution: str) -> str:
    """Return the function of the solution that an assertion calls."""
    defined = {f.name for f in parse(solution).body if isinstance(f, ast.FunctionDef)}
    calls = [
        node.func.id
        for node in ast.walk(parse(assertion))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    return next(name for name in calls if name in defined)


MBPP_PLUS = Suite(
    name="mbpp+",
    title="MBPP+",
    licence="Apache-2.0 (EvalPlus); CC BY 4.0 (MBPP, Google Research)",
    sources=(
        DataFile(
            path=_WHOLE,
            url="https://github.com/evalplus/mbppplus_release/releases/download/v0.2.0/"
            "MbppPlus-OriginFmt.jsonl.gz",
            instead=(_HALF,),
        ),
    ),
    read=_read,
    packages=("numpy",),
    extra="bench",
)
