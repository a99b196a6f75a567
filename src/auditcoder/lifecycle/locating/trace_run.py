"""Traced runs of a failing program: the steps of its tests, the calls they made, and the effects.

The trace is reported by a process that the candidate controls. A forged trace can mislead a
diagnosis, but no verdict depends on it.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from auditcoder.domain.contract import Contract
from auditcoder.domain.execution import Bounds, Execution, RunFiles
from auditcoder.domain.values import Value
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder.sandboxed import tracer

_SECONDS = 3.0
_STOP_DELAY = 0.5
"""Seconds by which the tracer may delay a timeout to finish a record."""
_MEMORY = 1 << 30
_TRACE_BYTES, _DRIVER_BYTES = 256 << 20, 32 << 20
"""Memory overhead of a run with call tracing, and of one without."""
_MAX_STEPS, _MAX_CALLS, _MAX_FILES = 2001, 12000, 2000
_MAX_BYTES = 1 << 50


class ValueOrigin(Value):
    """The calls that returned a value which a step read."""

    text: str
    """The expression in the step: `result`, or `game.deck`."""
    same: bool
    """Whether they returned this object itself, not only an equal one."""
    calls: tuple[int, ...]


class TracedStep(Value):
    """One executed statement of the driver."""

    test: str
    line: int
    fine: bool
    sources: tuple[ValueOrigin, ...] = ()
    frames: tuple[tuple[str, int], ...] = ()
    """Functions of the program in the traceback with line numbers, innermost last."""
    lacks: str = ""
    """The missing name, if the step failed because of one."""
    names: str = ""
    """The function that was called with wrong arguments, if the step failed because of that."""


class TracedCall(Value):
    """One call of a traced function."""

    node: str
    """The function's qualified name."""
    parent: int | None
    """The calling call; None if the step itself called."""
    step: int
    shapes: dict[str, str] = {}
    """The types of the arguments."""
    came_from: dict[str, int] = {}
    """For arguments that another call returned: that call."""
    returned: str | None = None
    """The result as text; None if the call did not return."""
    made: str = ""
    """The type of the result."""
    refused: tuple[int, ...] = ()
    """Indices of the preconditions that the arguments violate."""
    broke: tuple[int, ...] = ()
    """Indices of the postconditions that the result violates."""
    own: float = 0.0
    """Seconds without callees."""
    held: int | None = None
    """Peak bytes without callees; None if memory was not measured."""
    left: int = 0
    """Bytes that it allocated and did not free."""
    unsettled: bool = False
    """Whether an invariant of its object held before the call and not after it."""
    wrote: tuple[str, ...] = ()
    """Attributes of its object that it changed."""


class FileAccess(Value):
    """One file that was opened."""

    path: str
    writing: bool
    step: int
    call: int | None = None


class Observation(Value):
    """The trace of a program that ran its tests step by step."""

    loads: str
    """Why the program could not be loaded; empty if it could."""
    steps: tuple[TracedStep, ...] = ()
    calls: tuple[TracedCall, ...] = ()
    files: tuple[FileAccess, ...] = ()
    tests: dict[str, str] = {}
    """The error that ended each test outside of its steps; empty if there was none."""
    cut: bool = False
    """Whether there were more calls than `calls` has."""
    unnoted: dict[str, dict[str, float]] = {}
    """Own seconds of the calls that `calls` lacks, by test, then by function."""
    unsure: frozenset[str] = frozenset()
    """Tests that failed under the tracer but are known to pass; they are ignored."""

    @property
    def failed_tests(self) -> frozenset[str]:
        """The tests that failed."""
        ended = {test for test, why in self.tests.items() if why}
        return frozenset(ended | {step.test for step in self.steps if not step.fine}) - self.unsure

    @property
    def failing_steps(self) -> list[TracedStep]:
        """The steps that failed, in order."""
        return [step for step in self.steps if not step.fine and step.test not in self.unsure]

    def test_of(self, call: TracedCall) -> str | None:
        """Return the test in which a call was made; None if it belongs to no recorded step."""
        return self.steps[call.step].test if 0 <= call.step < len(self.steps) else None

    @property
    def failing(self) -> frozenset[int]:
        """The lines of the driver that failed at least once."""
        return frozenset(step.line for step in self.failing_steps)

    @property
    def passes(self) -> bool:
        """Whether the program loaded and no test failed."""
        return not self.loads and not self.failed_tests

    @property
    def blind(self) -> bool:
        """Whether no failing step was recorded: the program did not load, or failed elsewhere."""
        return bool(self.loads) or not self.failing_steps

    def forgiving(self, tests: Iterable[str]) -> "Observation":
        """Return the observation with these tests ignored, because they pass outside the tracer."""
        return replace(self, unsure=frozenset(tests)) if tests else self


class ContractExpressions(Value):
    """The preconditions and postconditions of a function, as expressions."""

    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()


class TracePlan(NamedTuple):
    """The test code, tests and limits of a traced run."""

    driver: str
    """Test code: unittest classes, or plain statements."""
    tests: tuple[str, ...] = ()
    """The tests to run, as `Class.method`; none if the whole code is the test."""
    seconds: float = _SECONDS
    memory_bytes: int = _MEMORY
    passing: frozenset[str] = frozenset()
    """Tests that are known to pass untraced, each in its own process."""
    memory_ran_out: bool = False
    """Whether a check ran out of memory; then memory is measured per call, which is slow."""
    promises: Mapping[str, ContractExpressions] = {}
    """Contract conditions by qualified function name."""
    invariants: tuple[str, ...] = ()
    """Expressions about `self` that hold for every object between two calls."""


class FailingRun(NamedTuple):
    """A failing program and the plan of its traced run."""

    program: str
    functions: tuple[str, ...]
    """Qualified names of the functions that belong to a node."""
    trial: TracePlan
    contracts: Mapping[str, Contract] = {}
    root: str = ""
    """The function of the root node, if it has one."""


NO_OBSERVATION = Observation(loads="nothing came back")


def run_traced(
    sandbox: Sandbox, program: str, nodes: Iterable[str], trial: TracePlan
) -> Observation:
    """Run a program with its tests and return the trace; `nodes` are the functions to trace."""
    traced = list(nodes)
    plan = {
        "nodes": traced,
        "tests": trial.tests,
        "seconds": trial.seconds,
        "memory": trial.memory_bytes if trial.memory_ran_out and traced else 0,
        "promises": dict(trial.promises),
        "invariants": trial.invariants,
    }
    files = {
        tracer.PROGRAM: program.encode("utf-8", "replace"),
        tracer.DRIVER: trial.driver.encode("utf-8", "replace"),
        tracer.PLAN: msgspec.json.encode(plan),
    }
    rounds = 1 + max(1, len(trial.tests))
    outcome = sandbox.run(
        Execution(
            source=joined_source(tracer.__name__),
            action=RunFiles(inputs=files, artefacts=(tracer.SEEN,)),
            bounds=Bounds(
                seconds=rounds * (trial.seconds + _STOP_DELAY) + 2,
                memory_bytes=_memory_limit(trial, bool(traced)),
            ),
        )
    )
    report = outcome.artefacts[0].content if outcome.artefacts else None
    try:
        seen = msgspec.json.decode(report or b"", type=Observation)
    except msgspec.DecodeError:
        return NO_OBSERVATION
    return seen if _is_valid(seen, trial) else NO_OBSERVATION


def _memory_limit(trial: TracePlan, traced: bool) -> int:
    """Return the bytes that a run may use, including the tracer's overhead."""
    if not trial.memory_ran_out:
        return trial.memory_bytes + _TRACE_BYTES
    # The memory meter stops the program at its limit, and needs as much again for itself. A run
    # without tracing gets only what the check had, so that it fails in the same way.
    return 2 * trial.memory_bytes + _TRACE_BYTES if traced else trial.memory_bytes + _DRIVER_BYTES


def _is_valid(seen: Observation, trial: TracePlan) -> bool:
    """Whether the tracer could have written this report; the candidate may have forged it."""
    steps, calls = len(seen.steps), len(seen.calls)
    if seen.unsure or (not seen.loads and set(seen.tests) != set(trial.tests or ("",))):
        return False  # not all tests were run
    if steps > _MAX_STEPS or calls > _MAX_CALLS or len(seen.files) > _MAX_FILES:
        return False
    return (
        all(_is_valid_call(number, call, steps) for number, call in enumerate(seen.calls))
        and all(0 <= n < calls for step in seen.steps for s in step.sources for n in s.calls)
        and all(
            -1 <= f.step <= steps and (f.call is None or 0 <= f.call < calls) for f in seen.files
        )
    )


def _is_valid_call(number: int, call: TracedCall, steps: int) -> bool:
    """Whether a call refers to earlier calls only, and its numbers are in range."""
    earlier = (*call.came_from.values(), *([] if call.parent is None else [call.parent]))
    return (
        -1 <= call.step <= steps
        and all(0 <= n < number for n in earlier)
        and all(n >= 0 for n in (*call.refused, *call.broke))
        and abs(call.held or 0) <= _MAX_BYTES
        and abs(call.left) <= _MAX_BYTES
    )
