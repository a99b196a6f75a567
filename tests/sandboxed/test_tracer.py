"""The tracer reads its plan, runs the tests, and leaves a report and nothing else."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.sandboxed import tracer

DRIVER = (
    "import unittest\nclass T(unittest.TestCase):\n"
    "    def test_a(self):\n        assert f(1) == 2\n        assert f(2) == 3\n"
)
PLAN = {
    "nodes": ["f"],
    "tests": ["T.test_a"],
    "seconds": 60.0,
    "memory": 0,
    "promises": {},
    "invariants": [],
}


def traced(folder: Path, program: str, driver: str = DRIVER, **plan: Any) -> dict[str, Any]:
    (folder / tracer.PROGRAM).write_text(program)
    (folder / tracer.DRIVER).write_text(driver)
    (folder / tracer.PLAN).write_text(json.dumps(PLAN | plan))
    source = joined_source(tracer.__name__)
    subprocess.run([sys.executable, "-I", "-c", source], cwd=folder, check=True)
    assert [path.name for path in folder.iterdir()] == [tracer.SEEN]
    seen: dict[str, Any] = json.loads((folder / tracer.SEEN).read_text())
    return seen


def test_steps_calls_and_verdicts_are_reported(tmp_path: Path) -> None:
    seen = traced(tmp_path, "def f(n): return n * 2")
    assert [step["fine"] for step in seen["steps"]] == [True, False]
    assert [call["returned"] for call in seen["calls"]] == ["2", "4"]
    assert seen["loads"] == ""


def test_a_program_that_cannot_be_loaded_is_reported(tmp_path: Path) -> None:
    seen = traced(tmp_path, "raise KeyError('k')")
    assert seen["loads"].startswith("KeyError")
    assert seen["steps"] == []


def test_broken_promises_are_reported_with_their_call(tmp_path: Path) -> None:
    promises = {"f": {"requires": ["n > 1"], "ensures": ["result == n + 1"]}}
    seen = traced(tmp_path, "def f(n): return n * 2", promises=promises)
    first, second = seen["calls"]
    assert (first["refused"], first["broke"]) == ([0], [])
    assert (second["refused"], second["broke"]) == ([], [0])


def test_a_test_that_times_out_is_reported(tmp_path: Path) -> None:
    seen = traced(tmp_path, "def f(n):\n    while True: pass", seconds=1.0)
    assert seen["tests"] == {"T.test_a": "out of time"}


def test_code_without_tests_is_driven_as_a_whole(tmp_path: Path) -> None:
    seen = traced(tmp_path, "def f(n): return n", "assert f(1) == 1\nassert f(1) == 2", tests=[])
    assert [step["fine"] for step in seen["steps"]] == [True, False]
