"""A record can be read on any system, without a model, a database or the benchmark package."""

from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import run_without

RECORD = Path(__file__).parents[1] / "data" / "format-1.acb"
MISSING = (
    *("xllamacpp", "pydantic_ai", "psycopg", "numpy", "auditcoder_bench"),
    *("fcntl", "resource", "pwd", "termios"),  # exist only on Unix
)


@pytest.mark.parametrize("command", ["verify", "show", "blame", "export"])
def test_a_record_is_read_without_models_and_without_unix(command: str, tmp_path: Path) -> None:
    done = run_without(MISSING, command, RECORD, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (Exit.OK, "")
    assert done.stdout


def test_an_export_without_models_and_without_unix_is_the_same_file(tmp_path: Path) -> None:
    done = run_without(MISSING, "export", RECORD, "--out", "again.acb", cwd=tmp_path)
    assert done.returncode == Exit.OK, done.stderr
    assert (tmp_path / "again.acb").read_bytes() == RECORD.read_bytes()
