"""APPS: competitive programming problems in three difficulties.

Tests pass standard input to a program or call a function.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from auditcoder.domain.errors import DataUnavailable
from auditcoder.domain.execution import Bounds
from auditcoder.domain.task import StdioExample
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder_bench.problem import CallTest, CallTests, Hidden, Problem, StdioTests
from auditcoder_bench.suites.suite import DataFile, Suite

INTRODUCTORY = (
    *("4014", "4027", "4030", "4032", "4034", "4049", "4098", "4104", "4121", "4233"),
    *("4341", "4393", "4405", "4416", "4421", "4448", "4457", "4731", "4735", "4749"),
)
"""Twenty introductory problems, fixed before the first run."""

SHAPE = {"introductory": 50, "interview": 100, "competition": 50}
"""Number of problems of each difficulty in the paper's sample of 200."""

_BOUNDS = Bounds(seconds=4.0)
"""The time limit of the upstream checker for one test."""
_SELECTED = "apps/apps_selected.json"
_WHOLE = "apps/test.jsonl"
_SPLIT = "apps/apps_dev.jsonl"


def _read(files: Mapping[str, Path]) -> list[Problem]:
    problems: dict[str, Problem] = {}
    for path in files.values():
        for row in _rows(path):
            problem = _problem(row)
            problems.setdefault(problem.id, problem)
    return list(problems.values())


def _rows(path: Path) -> Iterable[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    if text.lstrip().startswith("["):
        yield from json.loads(text)
    else:
        yield from (json.loads(line) for line in text.splitlines() if line.strip())


def _problem(row: dict[str, Any]) -> Problem:
    """Read one problem in any of the three layouts in which APPS is distributed."""
    if "hidden" in row:  # layout with separate public and hidden tests
        number, question = str(row["problem_id"]), row["question"]
        # Public tests are judged, too: a constant answer passes some of the hidden tests.
        cases = (*row["public"], *row["hidden"])
        hidden: Hidden = _stdio((c["input"], c["output"]) for c in cases)
        starter = ""
    elif "private_tests" in row:  # layout of the selection of 150 problems
        number, question, starter = str(row["name"]), row["description"], ""
        tests = row["private_tests"]
        hidden = _stdio(zip(tests["input"], tests["output"], strict=True))
    else:  # original layout
        number = str(row.get("problem_id", row.get("id")))
        question, starter = row["question"], row.get("starter_code") or ""
        hidden = _published_tests(json.loads(row["input_output"]))
    if isinstance(hidden, CallTests):
        text = f"{question}\n\n```python\n{starter}\n```" if starter else question
        task = make_task(text, TaskOptions(source=f"apps/{number}"))
    else:
        task = make_task(question, TaskOptions(form="program", source=f"apps/{number}"))
    return Problem(number, task, hidden, group=row["difficulty"], bounds=_BOUNDS)


def _published_tests(tests: dict[str, Any]) -> Hidden:
    pairs = zip(tests["inputs"], tests["outputs"], strict=True)
    if "fn_name" not in tests:
        return _stdio((_text(given), _text(expected)) for given, expected in pairs)
    name = tests["fn_name"]
    return CallTests(
        cases=tuple(
            CallTest(
                expression=f"{name}({', '.join(map(repr, given))})",
                # The data wraps a single result in a list.
                result=repr(
                    expected[0] if isinstance(expected, list) and len(expected) == 1 else expected
                ),
            )
            for given, expected in pairs
        )
    )


def _text(value: object) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _stdio(pairs: Iterable[tuple[str, str]]) -> StdioTests:
    return StdioTests(cases=tuple(StdioExample(input=given, output=out) for given, out in pairs))


def shaped(problems: Sequence[Problem]) -> tuple[str, ...]:
    """Choose as many problems of each difficulty as the paper's sample has.

    The order is by the digest of the id: arbitrary, but the same on every machine.
    """
    chosen: list[str] = []
    for difficulty, wanted in SHAPE.items():
        ids = [p.id for p in problems if p.group == difficulty]
        if len(ids) < wanted:
            raise DataUnavailable(
                "data.too-few",
                f"the sample needs {wanted} {difficulty} problems; this copy has {len(ids)}",
                f"put the complete APPS test split at {_WHOLE} in a folder, and pass it as --data",
            )
        chosen += sorted(ids, key=lambda name: digest(name.encode()))[:wanted]
    return tuple(chosen)


SUITE = Suite(
    name="apps",
    title="APPS",
    licence="MIT (Hendrycks et al.); the selection Apache-2.0 (Salesforce AI Research, CodeTree)",
    sources=(
        DataFile(
            path=_SELECTED,
            url="https://raw.githubusercontent.com/SalesforceAIResearch/CodeTree/"
            "72c9c874f831e1b4f8b4c449ac8ffeb141dc8fbd/data/apps_selected.json",
            sha256=Digest("6934e2b25b0de111c327291d12d09ea95b6a3ed01b7e27e0351dc7a1ba7920cf"),
            instead=(_SPLIT, _WHOLE),
        ),
    ),
    read=_read,
    ids=INTRODUCTORY,
    samples={"paper-200": shaped},
)
