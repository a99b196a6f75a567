"""How far a long work is, for people and for logs."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from auditcoder.adapters.models.weights import Progress

_WIDTH = 30
_LINE_EVERY = 10.0
"""Seconds between two lines where nobody watches a terminal."""


@contextmanager
def pulling(say: Callable[[str], None]) -> Iterator[Callable[[Progress], None]]:
    """Give something to report a download to: a bar on a terminal, lines elsewhere."""
    bar = _Bar() if sys.stderr is not None and sys.stderr.isatty() else _Lines(say)
    try:
        yield bar.report
    finally:
        bar.end()


class _Speed:
    """How fast it goes, from when something first came."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None

    def of(self, done: int) -> float:
        now = time.monotonic()
        if self._start is None or done < self._start[1]:
            self._start = (now, done)
        began, had = self._start
        return (done - had) / (now - began) if now - began > 0.5 else 0.0


class _Bar:
    def __init__(self) -> None:
        self._speed = _Speed()
        self._drawn = False

    def report(self, progress: Progress) -> None:
        self._drawn = True
        speed = self._speed.of(progress.done)
        filled = _WIDTH * progress.done // progress.total
        bar = "#" * filled + "-" * (_WIDTH - filled)
        sys.stderr.write(f"\r{_summary(progress, speed)} [{bar}]\033[K")
        sys.stderr.flush()

    def end(self) -> None:
        if self._drawn:
            sys.stderr.write("\n")


class _Lines:
    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._speed = _Speed()
        self._last = -_LINE_EVERY

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        speed = self._speed.of(progress.done)
        if now - self._last >= _LINE_EVERY or progress.done == progress.total:
            self._last = now
            self._say(_summary(progress, speed))

    def end(self) -> None:
        pass


def _summary(progress: Progress, speed: float) -> str:
    share = 100 * progress.done // progress.total
    text = f"{share:3d} %  {progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB"
    if speed > 0:
        left = (progress.total - progress.done) / speed
        text += f"  {speed / 1e6:.1f} MB/s  {left:.0f} s left"
    return f"{text}  ({progress.source})"
