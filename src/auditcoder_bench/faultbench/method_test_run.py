"""Tests below a class, in a sandbox: how each ended, and which methods ran."""

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
"""Of processor time that one test may take; three times as long by the clock."""
_START = 10.0
_MEMORY = 2 << 30

Case = tuple[str, str]
"""A test: its class and its name."""


class MethodTestRun(NamedTuple):
    """What came of the tests of one program."""

    broken: str
    """Why the program could not be loaded; empty if it could."""
    failing: tuple[FailingTest, ...]
    passing: tuple[PassingTest, ...]
    not_run: tuple[Case, ...]

    @property
    def passes(self) -> bool:
        """Whether there is nothing to find fault with."""
        return not (self.broken or self.failing or self.not_run)

    @property
    def verdicts(self) -> tuple[str, frozenset[Case]]:
        """What a second run must say, too."""
        return self.broken, frozenset((t.test_class, t.test_name) for t in self.failing)


class ClassProgram(NamedTuple):
    """Code with a class in it, and test code to run below it."""

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
    """Run tests, each as if it were the only one; with `to_first`, until one fails.

    A test that takes the whole process with it has failed, and the rest is run in another.
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
            done.append(_lost(outcome))
        if to_first and done[-1].kind:
            break
    return _watched(cases, done)


class _Line(OpenValue):
    """What the inside program says of one test; in its first line, of the program itself."""

    broken: str = ""
    kind: str = ""
    exc_type: str = ""
    message: str = ""
    frames: tuple[TracebackFrame, ...] = ()
    cov: dict[str, int] = {}
    direct: tuple[str, ...] = ()
    order: tuple[str, ...] = ()


def _watched(cases: Sequence[Case], done: list[_Line]) -> MethodTestRun:
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
        bounds=Bounds(seconds=_START + 4 * _SECONDS * count, memory_bytes=_MEMORY),
    )


def _lines(outcome: ExecutionOutcome) -> list[_Line]:
    """Read the report as far as it goes: a process that was ended may have been writing."""
    content = (outcome.artefacts[0].content if outcome.artefacts else None) or b""
    whole = content[: content.rfind(b"\n") + 1].splitlines()
    return [msgspec.json.decode(line, type=_Line) for line in whole]


def _lost(outcome: ExecutionOutcome) -> _Line:
    """Say what is known of a test that took the process with it."""
    late = outcome.ending is Ending.TIMEOUT or outcome.exit_code == method_tests.LATE
    return _Line(
        kind=TIMEOUT if late else EXCEPTION,
        exc_type="TestTimeout" if late else "ProcessEnded",
        message=_ended(outcome),
    )


def _ended(outcome: ExecutionOutcome) -> str:
    why = f": {outcome.raised.exception}" if outcome.raised else ""
    return f"the process ended: {outcome.ending.value}{why}"
