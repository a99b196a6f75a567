"""A command, run in this process, and what it said."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from auditcoder.interfaces.cli.main import main


class Said:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        """Standard output, read."""
        return json.loads(self.out)


Run = Callable[..., Said]


def running(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a way to run commands; nothing but their own errors may come out of them."""
    monkeypatch.setenv("AUDITCODER_DEBUG", "1")

    def command(*arguments: object) -> Said:
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as usage:
            code = int(usage.code or 0)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Said(code, captured.out, captured.err)

    return command
