"""Watching a program fail: what each step of a check did, which calls it made, and what they left.

What is seen was told by a process that the candidate controls. It may mislead a diagnosis and
nothing else: no verdict depends on it.
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
_NOTING = 0.5
"""Seconds by which a stop may be put off while notes are taken."""
_MEMORY = 1 << 30
_NOTES, _PROBE = 256 << 20, 32 << 20
"""Bytes that watching may take itself, and what the probe takes that only runs."""
_MOST_STEPS, _MOST_CALLS, _MOST_FILES = 2001, 12000, 2000
_MOST_BYTES = 1 << 50


class ValueOrigin(Value):
    """Which calls made a value that a step saw."""

    text: str
    """How the step names the value: `result`, or `game.deck`."""
    same: bool
    """Whether it is the very object that they returned; else it is merely equal."""
    calls: tuple[int, ...]


class TracedStep(Value):
    """One statement of the code that uses the program."""

    test: str
    line: int
    fine: bool
    sources: tuple[ValueOrigin, ...] = ()
    frames: tuple[tuple[str, int], ...] = ()
    """The functions of the program that it went through, the innermost last."""
    lacks: str = ""
    """The name that was not there, where that is what went wrong."""
    names: str = ""
    """The function that was called in a way that it cannot be, where that is what went wrong."""


class TracedCall(Value):
    """One call of a function of the program."""

    node: str
    """The function, by its qualified name."""
    parent: int | None
    """The call that made it; None if the step itself did."""
    step: int
    shapes: dict[str, str] = {}
    """The types of what it was given."""
    came_from: dict[str, int] = {}
    """The calls that made what it was given, where one did."""
    returned: str | None = None
    """None if it did not return."""
    made: str = ""
    """The type of what it returned."""
    refused: tuple[int, ...] = ()
    """Its requirements that what it was given does not meet."""
    broke: tuple[int, ...] = ()
    """Its assurances that what it returned does not meet."""
    own: float = 0.0
    """Seconds that it took, without what it called."""
    held: int | None = None
    """The most bytes that it took at a time, without what it called; None if nobody looked."""
    left: int = 0
    """Bytes that it took and did not give back."""
    unsettled: bool = False
    """Whether it left its object as it must never be, and found it otherwise."""
    wrote: tuple[str, ...] = ()
    """Attributes of its object that were other afterwards."""


class Opened(Value):
    """One opening of a file."""

    path: str
    writing: bool
    step: int
    call: int | None = None


class Observation(Value):
    """What was seen of a program that was driven step by step."""

    loads: str
    """Why it could not be loaded; empty if it could."""
    steps: tuple[TracedStep, ...] = ()
    calls: tuple[TracedCall, ...] = ()
    files: tuple[Opened, ...] = ()
    tests: dict[str, str] = {}
    """How each test ended; empty where nothing went past its steps."""
    cut: bool = False
    """Whether there were more calls than are here."""
    unnoted: dict[str, dict[str, float]] = {}
    """Seconds that those took themselves, by test, then by function."""
    unsure: frozenset[str] = frozenset()
    """Tests that went wrong while somebody looked, and are known to pass: they say nothing."""

    @property
    def failed_tests(self) -> frozenset[str]:
        """The tests in which something went wrong."""
        told = {test for test, why in self.tests.items() if why}
        return frozenset(told | {step.test for step in self.steps if not step.fine}) - self.unsure

    @property
    def failing_steps(self) -> list[TracedStep]:
        """The steps that failed, in their order."""
        return [step for step in self.steps if not step.fine and step.test not in self.unsure]

    def test_of(self, call: TracedCall) -> str | None:
        """Return the test in which a call was made; None if it was before the first step."""
        return self.steps[call.step].test if 0 <= call.step < len(self.steps) else None

    @property
    def failing(self) -> frozenset[int]:
        """The lines of the driver that failed, in whichever round."""
        return frozenset(step.line for step in self.failing_steps)

    @property
    def passes(self) -> bool:
        """Whether everything went well."""
        return not self.loads and not self.failed_tests

    @property
    def blind(self) -> bool:
        """Whether nobody saw it fail: it is gone before its checks, or fails beside their steps."""
        return bool(self.loads) or not self.failing_steps

    def forgiving(self, tests: Iterable[str]) -> "Observation":
        """Return it with nothing said by these tests: they pass where nobody looks."""
        return replace(self, unsure=frozenset(tests)) if tests else self


class Promised(Value):
    """What a function requires of what it is given, and assures about what it returns."""

    requires: tuple[str, ...] = ()
    ensures: tuple[str, ...] = ()


class TracePlan(NamedTuple):
    """What a program is put through."""

    driver: str
    """Code that uses the program: unittest classes, or plain statements."""
    tests: tuple[str, ...] = ()
    """The tests to run, as `Class.method`; none where the code itself is the test."""
    seconds: float = _SECONDS
    memory_bytes: int = _MEMORY
    passing: frozenset[str] = frozenset()
    """Those of the tests that are known to pass where nobody looks: each in a process of its own,
    and at its own speed."""
    memory_ran_out: bool = False
    """Then it is looked at who took it, which is slow."""
    promises: Mapping[str, Promised] = {}
    """What functions promise, as expressions."""
    invariants: tuple[str, ...] = ()
    """What holds of every object between two calls, as expressions about `self`."""


class FailingRun(NamedTuple):
    """A program that fails, and what it fails at."""

    program: str
    functions: tuple[str, ...]
    """Those that answer for something, by their qualified names."""
    trial: TracePlan
    contracts: Mapping[str, Contract] = {}
    root: str = ""
    """The function that puts the others together, if one does."""


NOTHING = Observation(loads="nothing came back")


def watch(sandbox: Sandbox, program: str, nodes: Iterable[str], trial: TracePlan) -> Observation:
    """Drive a program through a trial; `nodes` are the functions to look at."""
    looked_at = list(nodes)
    plan = {
        "nodes": looked_at,
        "tests": trial.tests,
        "seconds": trial.seconds,
        "memory": trial.memory_bytes if trial.memory_ran_out and looked_at else 0,
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
                seconds=rounds * (trial.seconds + _NOTING) + 2,
                memory_bytes=_room(trial, bool(looked_at)),
            ),
        )
    )
    told = outcome.artefacts[0].content if outcome.artefacts else None
    try:
        seen = msgspec.json.decode(told or b"", type=Observation)
    except msgspec.DecodeError:
        return NOTHING
    return seen if _sound(seen, trial) else NOTHING


def _room(trial: TracePlan, looked_at: bool) -> int:
    """Return the memory that a trial may take, with what watching takes itself."""
    if not trial.memory_ran_out:
        return trial.memory_bytes + _NOTES
    # Whoever looks stops it in time, and needs as much again; nobody else must give it more.
    return 2 * trial.memory_bytes + _NOTES if looked_at else trial.memory_bytes + _PROBE


def _sound(seen: Observation, trial: TracePlan) -> bool:
    """Whether a report is one that our own probe could have made: the candidate may forge it."""
    steps, calls = len(seen.steps), len(seen.calls)
    if seen.unsure or (not seen.loads and set(seen.tests) != set(trial.tests or ("",))):
        return False  # it was not driven to its end
    if steps > _MOST_STEPS or calls > _MOST_CALLS or len(seen.files) > _MOST_FILES:
        return False
    return (
        all(_sound_call(number, call, steps) for number, call in enumerate(seen.calls))
        and all(0 <= n < calls for step in seen.steps for s in step.sources for n in s.calls)
        and all(
            -1 <= f.step <= steps and (f.call is None or 0 <= f.call < calls) for f in seen.files
        )
    )


def _sound_call(number: int, call: TracedCall, steps: int) -> bool:
    """Whether a call points to nothing but what came before it."""
    earlier = (*call.came_from.values(), *([] if call.parent is None else [call.parent]))
    return (
        -1 <= call.step <= steps
        and all(0 <= n < number for n in earlier)
        and all(n >= 0 for n in (*call.refused, *call.broke))
        and abs(call.held or 0) <= _MOST_BYTES
        and abs(call.left) <= _MOST_BYTES
    )
