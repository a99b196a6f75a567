"""The live view of a run on a terminal."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Verdict
from auditcoder.interfaces.cli.live_view import RunState
from tests.support.fault_server import FaultServer
from tests.support.modest_model import TASK
from tests.support.record_builders import RUN, S2, built, check_node, observe_node
from tests.support.records import take


def test_the_live_view_is_redrawn_in_place(server: FaultServer, tmp_path: Path) -> None:
    """On a real terminal: nodes turn from planned to verified, and the end stays readable."""
    env = {**os.environ, "AUDITCODER_STORE": str(tmp_path / "runs.db"), "TERM": "xterm"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "auditcoder", "solve", TASK, "--run-id", "sum"]
    child = subprocess.Popen(command, env=env, stdout=theirs, stderr=theirs, stdin=theirs)
    os.close(theirs)
    output = b""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.2)[0]:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            output += piece
    assert child.wait(timeout=60) == 0
    os.close(ours)
    text = output.decode("utf-8", "replace")
    assert "\x1b[" in text
    assert "repaired" in text
    assert "tokens" in text
    assert "passed" in text


@pytest.mark.parametrize(
    ("verdict", "state", "line"),
    [
        (Verdict.PASSED, "verified", ""),
        (Verdict.FAILED, "rejected", "S2.generated: failed"),
        (Verdict.NOT_RUN, "built", "S2.generated: not run"),
        (Verdict.VACUOUS, "built", "S2.contract: vacuous"),
    ],
)
def test_only_a_conclusive_check_changes_the_state_of_a_node(
    store: SqliteStore, verdict: Verdict, state: str, line: str
) -> None:
    check_node(built(store), S2, verdict)
    seen = RunState()
    lines = [seen.take(event) for event in take(store, RUN).events()]
    assert (seen.state[S2], lines[-1]) == (state, line)


@pytest.mark.parametrize(
    ("verdict", "line"), [(Verdict.FAILED, "S2.watched points to S2"), (Verdict.PASSED, "")]
)
def test_an_observation_does_not_reject_a_node(
    store: SqliteStore, verdict: Verdict, line: str
) -> None:
    observe_node(built(store), S2, verdict)
    seen = RunState()
    lines = [seen.take(event) for event in take(store, RUN).events()]
    assert (seen.state[S2], lines[-1]) == ("built", line)
