"""Attributes memory to the calls that allocated it, and stops a program that takes too much."""

import signal
import tracemalloc
from collections.abc import Callable
from typing import Any

from .trace_values import weight

_SAMPLE_INTERVAL = 0.005
"""Seconds of processor time between two measurements."""
_QUIET_SAMPLES = 4
"""Measurements after an exception was raised until the next one may be."""


class MemoryExceeded(MemoryError):
    """The program allocated more memory than it may."""


class MemoryMeter:
    """Measures what each call allocates itself: its peak, and what remains when it ends.

    Memory that is allocated between two events is attributed to the innermost call. It is used only
    after a program ran out of memory, since it slows everything down. More than `allowed` bytes
    raise an exception while there is still memory left: with none, Python can hang.
    """

    def __init__(self, allowed: int) -> None:
        self.limited = False
        """Whether the program is running, so that it may be stopped."""
        self.innermost: Callable[[], dict[str, Any] | None] = lambda: None
        """Returns the record of the innermost call."""
        self.on = bool(allowed)
        self._allowed = allowed
        self._last = 0
        self._quiet = 0
        if allowed:
            tracemalloc.start(1)
            signal.signal(signal.SIGPROF, self._sample)
            signal.setitimer(signal.ITIMER_PROF, _SAMPLE_INTERVAL, _SAMPLE_INTERVAL)

    def _sample(self, *_: object) -> None:
        self._quiet = max(0, self._quiet - 1)
        over = tracemalloc.get_traced_memory()[1] > self._allowed
        if self.limited and over and not self._quiet:
            self._quiet = _QUIET_SAMPLES  # time to handle it; raised again if it goes on
            # The exception may also remove the profiler, so this is recorded now.
            self.attribute(self.innermost())
            raise MemoryExceeded

    def pause(self, call: dict[str, Any] | None) -> bool:
        """Stop attributing to a call while something is recorded; return whether it was limited."""
        if self.on:
            self._sample()
            self.attribute(call)
        limited, self.limited = self.limited, False
        return limited

    def resume(self, limited: bool) -> None:
        """Attribute again; what recording itself allocated belongs to no call."""
        if self.on:
            self.attribute(None)
        self.limited = limited

    def move_result(
        self, call: dict[str, Any], caller: dict[str, Any] | None, value: object
    ) -> None:
        """Attribute what a call returns to its caller from now on."""
        if self.on:
            size = weight(value)
            call["left"] = call.get("left", 0) - size
            if caller is not None:
                caller["left"] = caller.get("left", 0) + size

    def attribute(self, call: dict[str, Any] | None) -> None:
        """Attribute to a call, or to none, what was allocated since the last event."""
        now, peak = tracemalloc.get_traced_memory()
        if call is not None:
            left = call.get("left", 0)
            call["held"] = max(call.get("held", 0), left + peak - self._last)
            call["left"] = left + now - self._last
        self._last = now
        tracemalloc.reset_peak()
