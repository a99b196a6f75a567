"""Memory is attributed to the innermost call, and recording belongs to none."""

import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from auditcoder.sandboxed.memory_meter import MemoryExceeded, MemoryMeter

MEGABYTE = 1 << 20


@pytest.fixture
def meter() -> Iterator[MemoryMeter]:
    meter = MemoryMeter(0)
    tracemalloc.start(1)
    meter.on = True
    meter._allowed = 1 << 40
    meter.attribute(None)
    yield meter
    tracemalloc.stop()


def test_memory_that_a_call_keeps_counts_as_left_and_held(meter: MemoryMeter) -> None:
    call: dict[str, Any] = {}
    kept = bytearray(MEGABYTE)
    meter.attribute(call)
    assert call["left"] >= len(kept)
    assert call["held"] >= len(kept)


def test_memory_that_a_call_frees_counts_as_held_and_not_left(meter: MemoryMeter) -> None:
    call: dict[str, Any] = {}
    freed = bytearray(MEGABYTE)
    del freed
    meter.attribute(call)
    assert call["held"] >= MEGABYTE > call["left"]


def test_memory_of_the_recorder_belongs_to_no_call(meter: MemoryMeter) -> None:
    call: dict[str, Any] = {}
    meter.limited = True
    limited = meter.pause(call)
    recorded = bytearray(MEGABYTE)
    assert meter.limited is False
    meter.resume(limited)
    meter.attribute(call)
    assert call["left"] < len(recorded)
    assert meter.limited is True


def test_a_result_belongs_to_the_caller(meter: MemoryMeter) -> None:
    call: dict[str, Any] = {"left": MEGABYTE}
    caller: dict[str, Any] = {}
    meter.move_result(call, caller, bytearray(MEGABYTE))
    assert call["left"] < 1000
    assert caller["left"] >= MEGABYTE


def test_a_program_beyond_its_limit_is_stopped_only_while_it_runs(meter: MemoryMeter) -> None:
    call: dict[str, Any] = {}
    meter.innermost = lambda: call
    meter._allowed = 1
    meter._sample()
    meter.limited = True
    with pytest.raises(MemoryExceeded):
        meter._sample()
    assert "held" in call
    meter._sample()  # the program has time to handle the exception


def test_nothing_is_measured_unless_a_limit_is_given() -> None:
    assert MemoryMeter(0).on is False
    assert not tracemalloc.is_tracing()
