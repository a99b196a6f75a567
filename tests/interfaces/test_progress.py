"""A download shows a bar on a terminal and lines in a log."""

import io
import sys

import pytest

from auditcoder.adapters.models.weights import Progress
from auditcoder.interfaces.progress import show_download


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def progress_at(done: int) -> Progress:
    return Progress(done=done, total=1_000_000_000, source="hub [bold]")


def test_a_terminal_shows_a_bar_with_amount_and_source(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "120")
    with show_download(lambda _: None) as report:
        report(progress_at(0))
        report(progress_at(500_000_000))
        report(progress_at(1_000_000_000))
    drawn = terminal.getvalue()
    assert "100%" in drawn
    assert "1.0/1.0 GB" in drawn
    assert "(hub [bold])" in drawn  # a source is text, not markup


def test_a_log_gets_a_line_every_ten_seconds_and_the_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = 0.0
    monkeypatch.setattr("auditcoder.interfaces.progress.time.monotonic", lambda: clock)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines: list[str] = []
    with show_download(lines.append) as report:
        for second in range(26):
            clock = float(second)
            report(progress_at(second * 40_000_000))
    assert len(lines) == 4  # at 0, 10 and 20 seconds, and the end
    assert "40.0 MB/s" in lines[1]
    assert lines[-1].startswith("100 %")


def test_without_a_download_nothing_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_download(lambda _: None):
        pass
    assert terminal.getvalue() == ""
