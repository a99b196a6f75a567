"""Runs commands, in this process or another, and returns their output."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from auditcoder.interfaces.cli.main import main


class CommandResult:
    """The output and the exit code of a command."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    @property
    def json(self) -> Any:
        """Standard output, decoded as JSON."""
        return json.loads(self.out)


RunCommand = Callable[..., CommandResult]


def command_runner(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> RunCommand:
    """Return a function that runs a command; unexpected exceptions are raised, not reported."""
    monkeypatch.setenv("AUDITCODER_DEBUG", "1")

    def command(*arguments: object) -> CommandResult:
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as usage:
            code = int(usage.code or 0)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return CommandResult(code, captured.out, captured.err)

    return command


def run_process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "auditcoder", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


_WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

missing = sys.argv.pop(1).split(",")
for name in missing:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())

from auditcoder.interfaces.cli.main import main
sys.exit(main())
"""


def run_without(
    modules: Sequence[str], *arguments: object, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run a command as a process in which the modules cannot be imported."""
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT, ",".join(modules), *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def run_as_user(
    home: Path, *arguments: str, stdin: str = "", folder: Path | None = None, **environment: str
) -> CommandResult:
    """Run a command as a process of a user whose home and variables are only those given."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("AUDITCODER", "XDG"))}
    done = run_process(
        *arguments,
        env={**clean, "HOME": str(home), **environment},
        input=stdin,
        cwd=folder or home,
    )
    assert "Traceback" not in done.stderr
    return CommandResult(done.returncode, done.stdout, done.stderr)
