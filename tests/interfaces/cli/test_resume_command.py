"""`resume` continues an interrupted run without repeating its requests."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand
from tests.support.fault_server import FaultServer, Handler, completion, error, serving
from tests.support.modest_model import SKETCH, TASK, answer, answer_request


def test_a_run_whose_model_fails_can_be_resumed(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = [error(401)] * 3
    with serving(answer_request, *gone) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        result = run("solve", TASK, "--model", "server:x", "--run-id", "sum")
        assert result.code == Exit.MODEL
        assert "auditcoder resume sum" in result.err
        assert run("verify", "sum").code == Exit.OK
    with serving(*[answer_request] * 20) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        result = run("resume", "sum")
        assert result.code == Exit.OK, result.err
        steps = [m["messages"][-1]["content"] for m in running.asked]
    assert not any("# Your step: the sketch" in step for step in steps), "it has that reply"
    assert run("replay", "sum").code == Exit.OK
    assert run("resume", "sum").code == Exit.OK, "a finished run only shows its result"


def test_resume_uses_the_same_model_for_second_opinions(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    unchecked_sketch = SKETCH.replace("    ensures: result == sum(values)\n", "").replace(
        "    example: total([1, 2]) == 3\n", ""
    )

    def answer_without_checks(handler: Handler) -> None:
        prompt = handler.server.asked[-1]["messages"][-1]["content"]
        sketching = "# Your step: the sketch" in prompt
        handler.say(completion(unchecked_sketch if sketching else answer(prompt)))

    monkeypatch.setenv("AUDITCODER_EDGE_CASES", "off")
    monkeypatch.setenv("AUDITCODER_PLANNER", "sketch")
    with serving(answer_without_checks, answer_without_checks, *[error(401)] * 3) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        by = ("--model", "server:x", "--second-opinions-by", "server:y")
        assert run("solve", TASK, *by, "--run-id", "sum").code == Exit.MODEL
        assert [asked["model"] for asked in running.asked] == ["x", "x", "y"]
    with serving(*[answer_without_checks] * 20) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        result = run("resume", "sum")
        assert result.code in {Exit.OK, Exit.UNSOLVED}, result.err
        assert running.asked[0]["model"] == "y"
    assert run("replay", "sum").code == Exit.OK


def test_an_interrupted_run_says_how_to_resume(server: FaultServer, tmp_path: Path) -> None:
    requested, ended = threading.Event(), threading.Event()

    def leave_unanswered(_: Handler) -> None:
        requested.set()
        ended.wait(60)

    server._behaviours[:] = [answer_request, leave_unanswered]
    env = {**os.environ, "AUDITCODER_STORE": str(tmp_path / "runs.db")}
    command = [sys.executable, "-m", "auditcoder", "solve", TASK, "--run-id", "sum"]
    child = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert requested.wait(60), "the second request was not sent"
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    ended.set()
    assert child.returncode == Exit.INTERRUPTED
    assert "auditcoder resume sum" in err
    assert "Traceback" not in err
    server._behaviours[:] = [answer_request] * 20
    again = [sys.executable, "-m", "auditcoder", "resume", "sum", "--out", "-"]
    done = subprocess.run(again, env=env, capture_output=True, text=True, check=True)
    assert "return sum(values)" in done.stdout
