"""The live view of a run on a terminal."""

import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.support.fault_server import FaultServer
from tests.support.modest_model import TASK


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
