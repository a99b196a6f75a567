"""HumanEval and HumanEval+: implement one function; HumanEval+ has many more tests."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from auditcoder.domain.execution import Bounds
from auditcoder.domain.values import Digest
from auditcoder.lifecycle.intake import TaskOptions, make_task
from auditcoder_bench.problem import CodeTests, Problem
from auditcoder_bench.suites.suite import DataFile, Suite

_BOUNDS = Bounds(seconds=60.0)
"""For all tests of a problem together, since they run in one process."""
_PLAIN = "humaneval/HumanEval.jsonl.gz"
_PLUS = "humanevalplus/HumanEvalPlus-OriginFmt.jsonl.gz"
FORTY = tuple(str(number) for number in range(1, 160, 4))
"""Every fourth problem, fixed before the first run."""


def _read(files: Mapping[str, Path]) -> list[Problem]:
    problems = []
    for path in files.values():
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            problems += [_problem(json.loads(line)) for line in lines if line.strip()]
    return problems


def _problem(row: dict[str, Any]) -> Problem:
    number = row["task_id"].split("/")[1]
    task = make_task(row["prompt"], TaskOptions(form="function", source=row["task_id"]))
    return Problem(
        number,
        task,
        CodeTests(code=f"{row['test']}\n\ncheck({row['entry_point']})\n"),
        bounds=_BOUNDS,
        reference=row["prompt"] + row["canonical_solution"],
    )


HUMANEVAL = Suite(
    name="humaneval",
    title="HumanEval",
    licence="MIT (OpenAI)",
    sources=(
        DataFile(
            path=_PLAIN,
            url="https://raw.githubusercontent.com/openai/human-eval/"
            "6d43fb980f9fee3c892a914eda09951f772ad10d/data/HumanEval.jsonl.gz",
            sha256=Digest("b796127e635a67f93fb35c04f4cb03cf06f38c8072ee7cee8833d7bee06979ef"),
        ),
    ),
    read=_read,
)

HUMANEVAL_PLUS = Suite(
    name="humaneval+",
    title="HumanEval+",
    licence="Apache-2.0 (EvalPlus); MIT (OpenAI)",
    sources=(
        DataFile(
            path=_PLUS,
            url="https://raw.githubusercontent.com/evalplus/humanevalplus_release/"
            "200defce9e3429d28ca215b6dd061c0f7f31c18b/HumanEvalPlus-OriginFmt.jsonl.gz",
            sha256=Digest("daa7661c8189924068069b0872a440b491edb60f8bdf431d5957adc88d18bae5"),
        ),
    ),
    read=_read,
    ids=FORTY,
    samples={"twenty": lambda _problems: FORTY[::2]},
    unusable={"32": "its tests pass the coefficients in another form than its reference expects"},
    packages=("numpy",),
    extra="bench",
)
