"""MBPP+: one assertion is shown, everything else stays hidden, and references pass."""

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.task import CallExample, CodeExample, FunctionForm
from auditcoder.domain.values import encode
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.experiments import problems_of
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import Problem
from auditcoder_bench.suites import suite

DATA = Path(os.environ.get("AUDITCODER_DATA", "/nowhere"))
ROW = {
    "task_id": 7,
    "code": "import math\n\ndef half(n):\n  return n / 2\n",
    "prompt": "Write a function to halve a number.",
    "test_imports": ["import math"],
    "test_list": ["assert half(4) == 2.0", "assert half(171) == 85.5"],
    "test": "for n in (171, 3):\n    assert half(n) == n / 2\n",
}


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    opened = LocalSandbox(packages=("numpy",))
    yield opened
    opened.close()


def read_one(folder: Path, **changed: Any) -> Problem:
    path = folder / "mbppplus" / "MbppPlus-OriginFmt.jsonl.gz"
    path.parent.mkdir()
    with gzip.open(path, "wt", encoding="utf-8") as lines:
        lines.write(json.dumps(ROW | changed) + "\n")
    (problem,) = problems_of(suite("mbpp+"), folder)
    return problem


def test_the_first_assertion_is_the_example_and_no_other_is_in_the_task(tmp_path: Path) -> None:
    problem = read_one(tmp_path)
    assert (problem.id, problem.task.form) == ("7", FunctionForm(entry="half"))
    assert problem.task.examples == (CallExample(arguments="4", result="2.0"),)
    assert b"171" not in encode(problem.task)


def test_an_assertion_of_another_form_is_shown_and_run_as_code(tmp_path: Path) -> None:
    assertion = "assert math.isclose(half(3), 1.5)"
    problem = read_one(tmp_path, test_list=[assertion])
    assert problem.task.examples == (CodeExample(code=f"import math\n{assertion}\n"),)
    assert assertion in problem.task.statement


def test_hidden_tests_decide(tmp_path: Path, sandbox: Sandbox) -> None:
    problem = read_one(tmp_path)
    assert resolved(judge(sandbox, problem, ROW["code"]))  # type: ignore[arg-type]
    assert not resolved(judge(sandbox, problem, "def half(n):\n    return 2.0\n"))


@pytest.mark.skipif(not DATA.is_dir(), reason="AUDITCODER_DATA names no folder")
def test_references_pass(sandbox: Sandbox) -> None:
    problems = problems_of(suite("mbpp+"), DATA)[::10]
    failed = [p.id for p in problems if not resolved(judge(sandbox, p, p.reference or ""))]
    assert failed == []
