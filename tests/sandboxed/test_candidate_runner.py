"""The candidate's process reports what the code did, sealed, and ends as an interpreter would."""

import json
import os
import sys
from typing import Any

import pytest

from auditcoder.sandboxed import candidate_runner

JOB = {
    "seal": "s3al",
    "proof": "pr00f",
    "arguments": [],
    "watch": False,
    "owned": None,
    "trace": False,
    "ready": "",
    "imports": [[], [], True],
    "source": "",
}


def reports(job: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    """Run a job in a process of its own; return its exit code and what it reported."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
        candidate_runner.run(JOB | job, writer)
    os.close(writer)
    with os.fdopen(reader) as file:
        lines = [line.partition(" ") for line in file]
    _, status = os.waitpid(child, 0)
    assert {seal for seal, _, _ in lines} <= {"s3al"}
    return os.waitstatus_to_exitcode(status), [
        json.loads(lines_reported) for _, _, lines_reported in lines
    ]


def test_calls_are_reported_in_order_and_an_exception_does_not_stop_the_next() -> None:
    source = "def f(n): return [1 // n]"
    code, lines_reported = reports(
        {"kind": "calls", "source": source, "calls": ["f(1)", "f(0)", "f(-1)"]}
    )
    assert code == 0
    assert [line["what"] for line in lines_reported] == ["call", "call", "call", "done"]
    assert lines_reported[3]["proof"] == "pr00f"
    assert lines_reported[0]["value"] == "[1]"
    assert lines_reported[1]["raised"]["type"] == "ZeroDivisionError"
    assert lines_reported[2]["value"] == "[-1]"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("pass", 0),
        ("raise SystemExit", 0),
        ("import sys; sys.exit(3)", 3),
        ("import sys; sys.exit('why')", 1),
        ("import sys; sys.exit(-1)", 255),
        ("1 / 0", 1),
        ("import atexit; atexit.register(lambda: 1 / 0)", 0),
    ],
)
def test_the_exit_code_is_an_interpreters(source: str, expected: int) -> None:
    assert reports({"kind": "program", "source": source})[0] == expected


def test_an_exception_is_reported_once() -> None:
    _, lines_reported = reports({"kind": "program", "source": "raise KeyError('k')"})
    assert [(line["what"], line["type"]) for line in lines_reported] == [("raised", "KeyError")]


def test_functions_are_reported_if_they_are_profiled() -> None:
    source = "def f(): pass\nf()\nf()"
    _, lines_reported = reports({"kind": "program", "source": source, "watch": True})
    used = {use["name"]: use["calls"] for use in lines_reported[-1]["used"]}
    assert used["f"] == 2


def test_tests_are_reported_one_by_one() -> None:
    tests = "def test_a(): assert f() == 1\ndef test_b(): assert f() == 2"
    _, lines_reported = reports({"kind": "tests", "source": "def f(): return 1", "tests": tests})
    verdicts = [
        (line["name"], line["verdict"]) for line in lines_reported if line["what"] == "test"
    ]
    assert verdicts == [("test_a", "passed"), ("test_b", "failed")]


def test_a_replaced_judge_is_reported_instead_of_the_proof() -> None:
    source = "import unittest\nunittest.TestCase.assertEqual = print"
    code, lines_reported = reports({"kind": "tests", "source": source, "tests": "assert 1"})
    assert code == 1
    assert [(line["what"], line.get("type")) for line in lines_reported] == [
        ("raised", "Tampering")
    ]
