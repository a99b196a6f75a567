"""The output of a run: its progress, its events and its program."""

import json
from pathlib import Path

from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand
from tests.support.fault_server import FaultServer
from tests.support.modest_model import TASK


def test_progress_is_printed_as_lines_without_a_terminal(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    result = run("solve", TASK, "--run-id", "sum")
    assert "auditcoder: planned 2 responsibilities" in result.err
    assert "auditcoder: S1 is written by joint" in result.err
    assert "weighed points to S1" in result.err
    assert "repair 1 is accepted" in result.err
    assert "\x1b" not in result.err + result.out


def test_json_prints_the_events_and_then_the_result(run: RunCommand, server: FaultServer) -> None:
    result = run("solve", TASK, "--json", "--run-id", "sum")
    lines = [json.loads(line) for line in result.out.splitlines()]
    assert [line["seq"] for line in lines[:-1]] == list(range(len(lines) - 1))
    assert lines[0]["event"]["type"] == "run_started"
    assert lines[-2]["event"]["type"] == "run_finished"
    assert lines[-1]["result"]["outcome"] == "passed"
    assert "def total" in lines[-1]["result"]["program"]


def test_out_dash_writes_only_the_program(run: RunCommand, server: FaultServer) -> None:
    result = run("solve", TASK, "--out", "-")
    assert result.out.startswith("import sys")
    assert "passed" not in result.out


def test_the_printed_head_is_the_one_to_verify_with(run: RunCommand, server: FaultServer) -> None:
    printed = run("solve", TASK, "--run-id", "sum").out
    head = printed.partition("head sha256 ")[2].split()[0]
    verified = run("verify", "sum", "--head", head)
    assert (verified.code, "against itself only" in verified.out) == (Exit.OK, False)
