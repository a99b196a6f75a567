"""Runs the tests of a class in a sandbox; returns how each ended and which methods ran."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from auditcoder.domain.execution import Bounds, Ending, Execution, ExecutionOutcome, RunFiles
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.sandbox_source import joined_source
from auditcoder_bench.faultbench.failure_records import (
    EXCEPTION,
    TIMEOUT,
    FailingTest,
    OpenValue,
    PassingTest,
    TracebackFrame,
)
from auditcoder_bench.sandboxed import method_tests

_SECONDS = 1.0
"""Limit of processor time per test; the limit of wall-clock time is three times as long."""
_STARTUP_SECONDS = 10.0
_MEMORY_BYTES = 2 << 30

Case = tuple[str, str]
"""A test: its class and its name."""


class MethodTestRun(NamedTuple):
    """The results of the tests of one program."""

    broken: str
    """Why the program could not be loaded; empty if it was loaded."""
    failing: tuple[FailingTest, ...]
    passing: tuple[PassingTest, ...]
    not_run: tuple[Case, ...]

    @property
    def passes(self) -> bool:
        """Whether the program loads and passes all tests."""
        return not (self.broken or self.failing or self.not_run)

    @property
    def verdicts(self) -> tuple[str, frozenset[Case]]:
        """The part of the results that a second run must reproduce."""
        return self.broken, frozenset((t.test_class, t.test_name) for t in self.failing)


class ClassProgram(NamedTuple):
    """Code with a class, and test code to append to it."""

    code: str
    class_name: str
    tests: str


def watch(
    sandbox: Sandbox,
    program: ClassProgram,
    cases: Sequence[Case],
    *,
    seed: int = 0,
    trace: bool = True,
    to_first: bool = False,
) -> MethodTestRun:
    """Run tests independently of each other; with `to_first`, stop at the first failure.

    A test that ends the process has failed, and the remaining tests run in a new process.
    """
    done: list[_Line] = []
    while len(done) < len(cases):
        left = cases[len(done) :]
        job = {
            **program._asdict(),
            "cases": left,
            "seconds": _SECONDS,
            "seed": seed,
            "trace": trace,
            "to_first": to_first,
        }
        outcome = sandbox.run(_execution(job, len(left)))
        first, *lines = _lines(outcome) or [_Line(broken=_ended(outcome))]
        if first.broken:
            return MethodTestRun(first.broken, (), (), tuple(cases))
        done += lines
        if len(lines) < len(left) and not (to_first and lines and lines[-1].kind):
            done.append(_ended_process(outcome))
        if to_first and done[-1].kind:
            break
    return _results(cases, done)


class _Line(OpenValue):
    """A line of the sandboxed report, about one test; the first is about the program."""

    broken: str = ""
    kind: str = ""
    exc_type: str = ""
    message: str = ""
    frames: tuple[TracebackFrame, ...] = ()
    cov: dict[str, int] = {}
    direct: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


def _results(cases: Sequence[Case], done: list[_Line]) -> MethodTestRun:
    failing, passing = [], []
    for (test_class, test_name), line in zip(cases, done, strict=False):
        seen = PassingTest(
            test_class=test_class,
            test_name=test_name,
            cov=line.cov,
            direct=line.direct,
            order=line.order,
        )
        if not line.kind:
            passing.append(seen)
            continue
        failing.append(
            FailingTest(
                **msgspec.structs.asdict(seen),
                kind=line.kind,
                exc_type=line.exc_type,
                message=line.message,
                frames=line.frames,
            )
        )
    return MethodTestRun("", tuple(failing), tuple(passing), tuple(cases[len(done) :]))


def _execution(job: dict[str, object], count: int) -> Execution:
    return Execution(
        source=joined_source(method_tests.__name__),
        action=RunFiles(
            inputs={method_tests.JOB: msgspec.json.encode(job)}, artefacts=(method_tests.REPORT,)
        ),
        bounds=Bounds(seconds=_STARTUP_SECONDS + 4 * _SECONDS * count, memory_bytes=_MEMORY_BYTES),
    )


def _lines(outcome: ExecutionOutcome) -> list[_Line]:
    """Read the complete lines of the report; a killed process may leave a partial one."""
    content = (outcome.artefacts[0].content if outcome.artefacts else None) or b""
    complete = content[: content.rfind(b"\n") + 1].splitlines()
    return [msgspec.json.decode(line, type=_Line) for line in complete]


def _ended_process(outcome: ExecutionOutcome) -> _Line:
    """Return the result of a test that ended the process."""
    late = outcome.ending is Ending.TIMEOUT or outcome.exit_code == method_tests.LATE
    return _Line(
        kind=TIMEOUT if late else EXCEPTION,
        exc_type="TestTimeout" if late else "ProcessEnded",
        message=_ended(outcome),
    )


def _ended(outcome: ExecutionOutcome) -> str:
    reason = f": {outcome.raised.exception}" if outcome.raised else ""
    return f"the process ended: {outcome.ending.value}{reason}"
