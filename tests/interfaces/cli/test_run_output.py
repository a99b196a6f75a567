"""The output of a run: its progress, its events and its program."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import ADD, ADDS, READ, READS
from tests.support.addition_runs import TASK as ADDITION
from tests.support.commands import RunCommand
from tests.support.draft_runs import function_run
from tests.support.fault_server import FaultServer
from tests.support.modest_model import TASK
from tests.support.record_builders import RUN
from tests.support.scripted_runs import copied_to, python, sandboxed, stub
from tests.support.scripted_runs import run as scripted_run


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_progress_is_printed_as_lines_without_a_terminal(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    result = run("solve", TASK, "--run-id", "sum")
    assert "auditcoder: planned 2 responsibilities" in result.err
    assert "auditcoder: S1 is written by drafter" in result.err
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


class TestOpenDoubts:
    @pytest.fixture
    def store(self, sandbox: Sandbox, tmp_path: Path) -> Path:
        """A store with a run that passed, although a generated check fails."""
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('4') == '5'")
        body = solve.replace("...", "return str(add_up(read_numbers(data)))")
        said = {"sketch": python(READ + ADD + body), "joint": python(READS + ADDS)}
        finished = scripted_run(sandbox, ADDITION, said)
        path = tmp_path / "doubts.db"
        copied_to(path, finished).close()
        return path

    def test_the_result_names_each_open_doubt(self, run: RunCommand, store: Path) -> None:
        result = run("resume", RUN, "--store", store)
        assert result.code == Exit.OK
        assert "passed, 1 open doubt" in result.out
        assert "doubt: generated-2 expects '5' for '4', got '4'" in result.out

    def test_show_names_each_open_doubt(self, run: RunCommand, store: Path) -> None:
        result = run("show", RUN, "--store", store)
        assert "doubt: generated-2 expects '5' for '4', got '4'" in result.out

    def test_the_json_result_has_the_open_doubts(self, run: RunCommand, store: Path) -> None:
        result = run("resume", RUN, "--store", store, "--json")
        (doubt,) = json.loads(result.out.splitlines()[-1])["result"]["doubts"]
        assert (doubt["check"], doubt["expected"], doubt["got"]) == ("generated-2", "5", "4\n")

    def test_doubts_can_be_an_error(self, run: RunCommand, store: Path) -> None:
        result = run("resume", RUN, "--store", store, "--fail-on-doubts")
        assert result.code == Exit.UNSOLVED
        assert "passed, 1 open doubt" in result.out


class TestDrafts:
    @pytest.fixture
    def store(self, sandbox: Sandbox, tmp_path: Path) -> Path:
        """A store with a run whose code was chosen among drafts."""
        path = tmp_path / "drafts.db"
        copied_to(path, function_run(sandbox)).close()
        return path

    def test_the_result_says_which_draft_was_chosen(self, run: RunCommand, store: Path) -> None:
        result = run("resume", RUN, "--store", store)
        assert "drafts: 4 requested of at most 4, 3 usable, 3 variants tried" in result.out

    def test_the_json_result_has_the_drafts(self, run: RunCommand, store: Path) -> None:
        result = run("resume", RUN, "--store", store, "--json")
        drafting = json.loads(result.out.splitlines()[-1])["result"]["drafting"]
        assert (drafting["requested"], drafting["chosen"]["versions"]) == (4, {"S1": 4})


def test_the_json_result_without_drafts_has_none(run: RunCommand, server: FaultServer) -> None:
    result = run("solve", TASK, "--json", "--planner", "sketch", "--drafts", "0")
    assert json.loads(result.out.splitlines()[-1])["result"]["drafting"] is None
