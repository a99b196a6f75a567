"""A long download is seen: a bar where somebody watches, lines where somebody reads a log."""

import io
import sys

import pytest

from auditcoder.adapters.models.weights import Progress
from auditcoder.interfaces.progress import pulling


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def at(done: int) -> Progress:
    return Progress(done=done, total=1_000_000_000, source="hub")


def test_a_terminal_shows_a_bar_that_stays_on_its_line(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pulling(lambda _: None) as report:
        report(at(0))
        report(at(500_000_000))
        report(at(1_000_000_000))
    said = terminal.getvalue()
    assert said.count("\n") == 1
    assert " 50 %  500 of 1,000 MB" in said
    assert "[" + "#" * 15 + "-" * 15 + "]" in said


def test_a_log_gets_a_line_now_and_then_and_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = 0.0
    monkeypatch.setattr("auditcoder.interfaces.progress.time.monotonic", lambda: clock)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    lines: list[str] = []
    with pulling(lines.append) as report:
        for second in range(26):
            clock = float(second)
            report(at(second * 40_000_000))
    assert len(lines) == 4  # at 0, 10 and 20 seconds, and the end
    assert "40.0 MB/s" in lines[1]
    assert lines[-1].startswith("100 %")


def test_nothing_to_pull_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pulling(lambda _: None):
        pass
    assert terminal.getvalue() == ""
