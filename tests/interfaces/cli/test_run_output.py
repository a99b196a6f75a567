"""How a run and its program are written while it works and when it has ended."""

import json
from pathlib import Path

from tests.support.commands import RunCommand
from tests.support.fault_server import FaultServer
from tests.support.modest_model import TASK


def test_progress_is_lines_where_there_is_no_terminal(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    said = run("solve", TASK, "--run-id", "sum")
    assert "auditcoder: planned 2 responsibilities" in said.err
    assert "auditcoder: S1 is written by joint" in said.err
    assert "weighed points to S1" in said.err
    assert "repair 1 is accepted" in said.err
    assert "\x1b" not in said.err + said.out


def test_json_is_events_then_the_result(run: RunCommand, server: FaultServer) -> None:
    said = run("solve", TASK, "--json", "--run-id", "sum")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert [line["seq"] for line in lines[:-1]] == list(range(len(lines) - 1))
    assert lines[0]["event"]["type"] == "run_started"
    assert lines[-2]["event"]["type"] == "run_finished"
    assert lines[-1]["result"]["outcome"] == "passed"
    assert "def total" in lines[-1]["result"]["program"]


def test_out_dash_writes_only_the_program(run: RunCommand, server: FaultServer) -> None:
    said = run("solve", TASK, "--out", "-")
    assert said.out.startswith("import sys")
    assert "passed" not in said.out
