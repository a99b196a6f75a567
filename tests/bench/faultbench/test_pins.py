"""Pins: the faults injected here are those that the published figures describe."""

from collections.abc import Iterator
from functools import partial

import msgspec
import pytest
from msgspec.structs import replace

from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench.fault_injector import Fault
from auditcoder_bench.faultbench.injected_failures import inject
from auditcoder_bench.faultbench.injection_targets import programs
from auditcoder_bench.faultbench.pins import Pin, pinned, pins_of, written
from tests.support.faultbench import tools
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.mark.parametrize(
    "name", ["library_fines", pytest.param("rational_sums", marks=pytest.mark.campaign)]
)
def test_the_failures_of_a_program_are_the_pinned_ones(sandbox: Sandbox, name: str) -> None:
    (solved,) = (each for each in programs() if each.name == name)
    assert pins_of(inject(partial(tools, sandbox), solved)) == {name: pinned()[name]}


def test_slow_loops_are_not_pinned(sandbox: Sandbox) -> None:
    (solved,) = (each for each in programs() if each.name == "library_fines")
    failures = inject(partial(tools, sandbox), solved, [Fault.OFF_BY_ONE])
    slow = replace(failures[0], id="another", faults=(Fault.SLOW_LOOP.value,))
    assert pins_of([*failures, slow]) == pins_of(failures)


def test_at_least_a_thousand_failures_are_pinned() -> None:
    pins = pinned()
    assert {solved.name for solved in programs()} <= set(pins)
    assert sum(pin.failures for pin in pins.values()) >= 1000


def test_written_pins_are_read_back_unchanged() -> None:
    assert msgspec.json.decode(written(pinned()), type=dict[str, Pin]) == pinned()
