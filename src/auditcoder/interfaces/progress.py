"""Shows the progress of a download: a bar on a terminal, lines in a log."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from auditcoder.adapters.models.weights import Progress
from auditcoder.interfaces.cli.terminal import console_for

_LINE_EVERY = 10.0
"""Seconds between two lines of a log."""


@contextmanager
def show_download(say: Callable[[str], None]) -> Iterator[Callable[[Progress], None]]:
    """Yield the function that a download reports to; without a terminal, lines go to `say`."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield _Lines(say).report
        return
    bar = _Bar()
    try:
        yield bar.report
    finally:
        bar.stop()


class _Bar:
    """A progress bar, shown from the first report on."""

    def __init__(self) -> None:
        from rich import progress as rich

        self._progress = rich.Progress(
            rich.TaskProgressColumn(),
            rich.BarColumn(30),
            rich.DownloadColumn(),
            rich.TransferSpeedColumn(),
            rich.TimeRemainingColumn(),
            rich.TextColumn("({task.fields[source]})", markup=False),
            console=console_for(sys.stderr),
        )
        self._task = self._progress.add_task("", start=False, source="")
        self._started = False

    def report(self, progress: Progress) -> None:
        if not self._started:
            self._started = True
            self._progress.start()
            self._progress.start_task(self._task)
        self._progress.update(
            self._task, completed=progress.done, total=progress.total, source=progress.source
        )

    def stop(self) -> None:
        if self._started:
            self._progress.stop()


class _Lines:
    """Writes a line at most every ten seconds, and one at the end."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._first: tuple[float, int] | None = None
        self._last = -_LINE_EVERY

    def report(self, progress: Progress) -> None:
        now = time.monotonic()
        if self._first is None or progress.done < self._first[1]:
            self._first = (now, progress.done)
        if now - self._last >= _LINE_EVERY or progress.done == progress.total:
            self._last = now
            start, initial = self._first
            speed = (progress.done - initial) / (now - start) if now - start > 0.5 else 0.0
            self._say(_summary(progress, speed))


def _summary(progress: Progress, speed: float) -> str:
    percent = 100 * progress.done // progress.total
    text = f"{percent:3d} %  {progress.done / 1e6:,.0f} of {progress.total / 1e6:,.0f} MB"
    if speed > 0:
        left = (progress.total - progress.done) / speed
        text += f"  {speed / 1e6:.1f} MB/s  {left:.0f} s left"
    return f"{text}  ({progress.source})"
