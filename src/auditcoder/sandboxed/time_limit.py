"""Stops code that takes too long, by an exception raised from a timer's signal."""

import signal
import types
from collections.abc import Mapping

_SIGNALS = {signal.ITIMER_REAL: signal.SIGALRM, signal.ITIMER_PROF: signal.SIGPROF}


class OutOfTime(BaseException):
    """The code took longer than it may."""


class TimeLimit:
    """Interrupts the running code when a timer expires, and again if the code catches that."""

    def __init__(self, limits: Mapping[int, float], again: float) -> None:
        self.running = False
        """Whether expired timers matter. Set it to False first when the code has ended: a timer
        may still expire while the timers are being stopped."""
        self.expirations = 0
        self._limits = limits
        """Seconds by timer: `ITIMER_REAL` or `ITIMER_PROF`."""
        self._again = again
        """Seconds until the code is interrupted again."""

    def start(self) -> None:
        """Start the timers."""
        self.expirations = 0
        self.running = True
        for timer, seconds in self._limits.items():
            signal.signal(_SIGNALS[timer], self._expire)
            signal.setitimer(timer, seconds, self._again)

    def stop(self) -> None:
        """Stop the timers."""
        self.running = False
        for timer in self._limits:
            signal.setitimer(timer, 0)

    def interrupt(self, frame: types.FrameType | None) -> None:  # noqa: ARG002 - for subclasses
        """Stop the code, which is at `frame`."""
        raise OutOfTime

    def _expire(self, _: int, frame: types.FrameType | None) -> None:
        if self.running:
            self.expirations += 1
            self.interrupt(frame)
