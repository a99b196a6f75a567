"""The locating benchmark rejects invalid input before it measures anything."""

import sys
from pathlib import Path

import locate
import pytest


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "faults.missing"),
        (b'{"id": 1}\n', "faults.unreadable"),
        (b"", "no fault in a single part"),
    ],
)
def test_a_file_without_faults_of_programs_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    content: bytes | None,
    message: str,
) -> None:
    faults, out = tmp_path / "f.jsonl", tmp_path / "out.json"
    if content is not None:
        faults.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["locate.py", str(faults), "--out", str(out)])
    with pytest.raises(SystemExit):
        locate.main()
    assert message in capsys.readouterr().err
    assert not out.exists()
