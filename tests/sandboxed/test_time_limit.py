"""Code that takes too long is interrupted, again if it catches that, and never after its end."""

import contextlib
import itertools
import signal
import types

import pytest

from auditcoder.sandboxed.time_limit import OutOfTime, TimeLimit


def test_code_that_takes_too_long_is_interrupted() -> None:
    limit = TimeLimit({signal.ITIMER_REAL: 0.01}, 0.01)
    limit.start()
    try:
        with pytest.raises(OutOfTime):
            signal.pause()
    finally:
        limit.stop()


def test_code_that_catches_the_interruption_is_interrupted_again() -> None:
    limit = TimeLimit({signal.ITIMER_REAL: 0.01}, 0.01)
    limit.start()
    try:
        with contextlib.suppress(OutOfTime):
            signal.pause()
        with pytest.raises(OutOfTime):
            signal.pause()
    finally:
        limit.stop()
    assert limit.expirations >= 2


def test_processor_time_can_be_limited() -> None:
    limit = TimeLimit({signal.ITIMER_PROF: 0.01}, 0.01)
    limit.start()
    try:
        with pytest.raises(OutOfTime):
            sum(1 for _ in itertools.count())
    finally:
        limit.stop()


def test_a_timer_that_expires_after_the_end_does_nothing() -> None:
    limit = TimeLimit({signal.ITIMER_REAL: 60}, 60)
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

    limit = Counting({signal.ITIMER_REAL: 60}, 60)
    limit.start()
    signal.raise_signal(signal.SIGALRM)
    limit.stop()
    assert limit.names == ("test_a_subclass_decides_what_an_interruption_does",)
