"""The supervisor reads artefacts safely and reports how a process really ended."""

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from auditcoder.sandboxed import supervisor


@pytest.fixture
def work(tmp_path: Path) -> Iterator[int]:
    descriptor = os.open(tmp_path, os.O_PATH | os.O_DIRECTORY)
    yield descriptor
    os.close(descriptor)


class TestArtefacts:
    def test_a_file_is_read(self, work: int, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a").write_bytes(b"made")
        assert supervisor._content(work, "sub/a", 100) == b"made"

    def test_a_link_is_not_followed(self, work: int, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("/etc/passwd")
        (tmp_path / "folder").symlink_to("/etc")
        assert isinstance(supervisor._content(work, "link", 10_000), str)
        assert isinstance(supervisor._content(work, "folder/passwd", 10_000), str)

    def test_a_pipe_does_not_block(self, work: int, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert supervisor._content(work, "pipe", 100) == "it is not an ordinary file"

    def test_the_size_limit_covers_all_artefacts_together(self, work: int, tmp_path: Path) -> None:
        for name in ("a", "b"):
            (tmp_path / name).write_bytes(b"12345")
        first, second = supervisor._collected(work, ["a", "b"], 8)
        assert first == {"name": "a", "content": "MTIzNDU="}
        assert second == {"name": "b", "missing": "it is too large"}

    def test_a_missing_artefact_is_reported(self, work: int) -> None:
        (missing,) = supervisor._collected(work, ["none"], 8)
        assert missing == {"name": "none", "missing": "No such file or directory"}


class TestEnd:
    JOB = {"seconds": 60.0, "watch": False}

    def ended(self, act: Any, job: dict[str, Any], *, cancel: bool = False) -> dict[str, Any]:
        near, far = socket.socketpair()
        child = os.fork()
        if child == 0:
            try:
                act()
            finally:
                os._exit(0)
        with near, far:
            if cancel:
                near.shutdown(socket.SHUT_WR)
            return supervisor._await_end(child, job, far)

    def test_an_exit_code_is_reported(self) -> None:
        ended = self.ended(lambda: os._exit(3), self.JOB)
        assert (ended["exit"], ended["signal"], ended["timed_out"]) == (3, None, False)

    def test_a_signal_is_reported(self) -> None:
        ended = self.ended(lambda: os.kill(os.getpid(), signal.SIGKILL), self.JOB)
        assert (ended["exit"], ended["signal"]) == (None, signal.SIGKILL)

    def test_an_endless_process_is_killed_at_its_limit(self) -> None:
        ended = self.ended(signal.pause, {"seconds": 0.01, "watch": False})
        assert ended["timed_out"] is True
        assert ended["signal"] is not None

    def test_a_cancelled_process_is_killed_and_not_timed_out(self) -> None:
        ended = self.ended(signal.pause, self.JOB, cancel=True)
        assert (ended["signal"], ended["timed_out"]) == (signal.SIGKILL, False)
