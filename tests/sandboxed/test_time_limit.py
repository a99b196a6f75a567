"""Code that takes too long is interrupted, again if it catches that, and never after its end."""

import contextlib
import signal
import types
from collections.abc import Iterator

import pytest

from auditcoder.sandboxed.time_limit import OutOfTime, TimeLimit

SOON, NEVER = 0.01, 3600.0


class LimitedInterruptions(TimeLimit):
    """Interrupts at most `number` times: a further interruption would hit the test itself."""

    def __init__(self, timer: int, number: int) -> None:
        super().__init__({timer: SOON}, SOON)
        self._number = number

    def interrupt(self, frame: types.FrameType | None) -> None:
        """Interrupt, and ignore the timers from the last interruption on."""
        self.running = self.expirations < self._number
        super().interrupt(frame)


@contextlib.contextmanager
def stopping(limit: TimeLimit) -> Iterator[None]:
    try:
        yield
    finally:
        limit.stop()


def run_forever() -> None:
    while True:
        pass


@pytest.mark.parametrize("timer", [signal.ITIMER_REAL, signal.ITIMER_PROF])
def test_code_that_takes_too_long_is_interrupted(timer: int) -> None:
    limit = LimitedInterruptions(timer, 1)

    def take_too_long() -> None:
        limit.start()
        run_forever()

    with stopping(limit), pytest.raises(OutOfTime):
        take_too_long()


def test_code_that_catches_the_interruption_is_interrupted_again() -> None:
    limit = LimitedInterruptions(signal.ITIMER_REAL, 2)

    def catch_the_first() -> None:
        with contextlib.suppress(OutOfTime):
            limit.start()
            run_forever()
        run_forever()

    with stopping(limit), pytest.raises(OutOfTime):
        catch_the_first()
    assert limit.expirations == 2


def test_a_timer_that_expires_after_the_end_does_nothing() -> None:
    limit = TimeLimit({signal.ITIMER_REAL: NEVER}, NEVER)
    limit.start()
    limit.running = False
    signal.raise_signal(signal.SIGALRM)
    limit.stop()
    assert limit.expirations == 0
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_subclass_decides_what_an_interruption_does() -> None:
    class Counting(TimeLimit):
        names: tuple[str, ...] = ()

        def interrupt(self, frame: types.FrameType | None) -> None:
            assert frame is not None
            self.names += (frame.f_code.co_name,)

    limit = Counting({signal.ITIMER_REAL: NEVER}, NEVER)
    limit.start()
    signal.raise_signal(signal.SIGALRM)
    limit.stop()
    assert limit.names == ("test_a_subclass_decides_what_an_interruption_does",)
