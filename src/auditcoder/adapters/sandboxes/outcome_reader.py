"""Turns the raw results of a run into its outcome. The supervisor overrides the candidate.

Reports of the candidate's process are untrusted data: they are decoded into strict types, up to
limits, and a report that does not match is ignored.
"""

import base64
import hashlib
import re
import signal
from typing import Annotated, Any, NamedTuple

import msgspec

from auditcoder.domain.evidence import Frame
from auditcoder.domain.execution import (
    PROGRAM_FILE,
    TESTS_FILE,
    Artefact,
    CallFunction,
    Ending,
    Execution,
    ExecutionOutcome,
    FunctionUse,
    Raised,
    Replacement,
    Returned,
    RunTests,
    TestReport,
    TestVerdict,
)

_MOST_LINES = 200_000
_MOST_TESTS = 20_000
_MOST_FUNCTIONS = 5_000
_MOST_STACK = 200


class RawResult(NamedTuple):
    """The raw results of one run."""

    ended: dict[str, Any]
    """The supervisor's report."""
    stdout: bytes
    stderr: bytes
    report: bytes
    cut: list[bool]
    """Whether standard output, standard error and the report were cut off."""


def seal_of(proof: str) -> str:
    """Return the mark of a run's reports.

    It is derived from the proof that the run is complete. A program can find the mark, not the
    proof.
    """
    return hashlib.sha256(proof.encode()).hexdigest()


def outcome(execution: Execution, raw: RawResult, seal: str, kind: str) -> ExecutionOutcome:
    """Return the outcome of a run."""
    reports = _Reports(execution, raw.report, seal)
    ended = raw.ended
    ending, note = _ending(execution, raw, reports)
    raised = reports.raised
    if ending is Ending.TIMEOUT:
        raised = _stack_at_timeout(raw.report)
    return ExecutionOutcome(
        ending=ending,
        sandbox=kind,
        exit_code=ended["exit"],
        signal=ended["signal"],
        stdout=raw.stdout,
        stderr=raw.stderr,
        stdout_cut=raw.cut[0],
        stderr_cut=raw.cut[1],
        raised=raised,
        calls=tuple(reports.calls),
        tests=tuple(reports.tests),
        planned=reports.planned,
        artefacts=tuple(map(_artefact, ended.get("artefacts", ()))),
        functions=reports.functions,
        replaced=reports.replaced,
        seconds=ended["seconds"],
        cpu_seconds=ended["cpu_seconds"],
        peak_bytes=ended["peak_bytes"],
        note=note,
    )


def _ending(execution: Execution, raw: RawResult, reports: "_Reports") -> tuple[Ending, str]:
    ended = raw.ended
    if any(raw.cut[:2]):
        return Ending.OUTPUT_LIMIT, "it said more than is kept; it was stopped there"
    if raw.cut[2]:
        return Ending.OUTPUT_LIMIT, "what it returned or reported is larger than is kept"
    if (
        ended["timed_out"]
        or ended["signal"] == signal.SIGXCPU
        or _used_up_cpu_time(execution, ended)
    ):
        return Ending.TIMEOUT, f"it did not end within {execution.bounds.seconds:g} s"
    if reports.out_of_memory:
        return Ending.MEMORY, "it asked for more memory than it may have"
    if ended["signal"] is not None:
        return Ending.KILLED, f"signal {ended['signal']} ended it"
    if reports.raised is not None and ended["exit"] == 1:
        return Ending.EXCEPTION, ""
    if ended["exit"] != 0:
        return Ending.WRONG_EXIT, f"it ended with exit code {ended['exit']}"
    if isinstance(execution.action, CallFunction | RunTests) and not reports.complete:
        return Ending.WRONG_EXIT, "it left before everything asked of it was done"
    return Ending.OK, ""


def _used_up_cpu_time(execution: Execution, ended: dict[str, Any]) -> bool:
    spent: float = ended["cpu_seconds"]
    return ended["signal"] == signal.SIGKILL and spent >= execution.bounds.seconds


_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
_Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
_Frames = Annotated[tuple["_Frame", ...], msgspec.Meta(max_length=110)]


class _Frame(msgspec.Struct):
    function: _Text
    file: _Text
    line: _Number


class _Exception(msgspec.Struct):
    type: _Text
    memory: bool
    message: _Text
    frames: _Frames


class _RaisedReport(_Exception, tag="raised", tag_field="what"):
    pass


class _CallReport(msgspec.Struct, tag="call", tag_field="what"):
    number: int
    value: str | None = None
    raised: _Exception | None = None


class _PlannedReport(msgspec.Struct, tag="planned", tag_field="what"):
    count: _Number


class _TestReport(msgspec.Struct, tag="test", tag_field="what"):
    name: _Text
    verdict: TestVerdict
    message: _Text
    frames: _Frames


class _FunctionsReport(msgspec.Struct, tag="functions", tag_field="what"):
    used: tuple[FunctionUse, ...]


class _OwnedReport(msgspec.Struct, tag="owned", tag_field="what"):
    replaced: Annotated[tuple[Replacement, ...], msgspec.Meta(max_length=_MOST_FUNCTIONS)]


class _DoneReport(msgspec.Struct, tag="done", tag_field="what"):
    proof: _Text


_decoder = msgspec.json.Decoder(
    _RaisedReport
    | _CallReport
    | _PlannedReport
    | _TestReport
    | _FunctionsReport
    | _OwnedReport
    | _DoneReport
)


class _Reports:
    """The reports of the candidate's process that carry the run's seal."""

    def __init__(self, execution: Execution, report: bytes, seal: str) -> None:
        action = execution.action
        self._asked = len(action.calls) if isinstance(action, CallFunction) else 0
        self.raised: Raised | None = None
        self.out_of_memory = False
        self.calls: list[Returned | Raised] = []
        self.tests: list[TestReport] = []
        self.planned: int | None = None
        self._plans = 0
        self.functions: tuple[FunctionUse, ...] | None = None
        self.replaced: tuple[Replacement, ...] | None = None
        self.done = False
        self._seal = seal
        mark = seal.encode() + b" "
        for line in report.split(b"\n", _MOST_LINES)[:_MOST_LINES]:
            if line.startswith(mark):
                try:
                    decoded = _decoder.decode(line[len(mark) :])
                except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                    continue  # cut off, or not a report of `candidate_runner`
                self._apply(decoded)

    @property
    def complete(self) -> bool:
        """Whether every call has a result: a lost result is not a success."""
        return self.done and len(self.calls) == self._asked and self._plans <= 1

    def _apply(self, report: Any) -> None:
        match report:
            case _RaisedReport():
                self.out_of_memory = report.memory
                self.raised = _raised(report)
            case _CallReport(number=number) if number == len(self.calls) < self._asked:
                if report.value is not None:
                    self.calls.append(Returned(value=report.value))
                elif report.raised is not None:
                    self.calls.append(_raised(report.raised))
            case _PlannedReport():
                self.planned = report.count
                self._plans += 1  # a second plan is forged
            case _TestReport() if len(self.tests) < _MOST_TESTS:
                self.tests.append(
                    TestReport(
                        name=report.name,
                        verdict=report.verdict,
                        message=report.message,
                        frames=_frames(report.frames),
                    )
                )
            case _FunctionsReport():
                self.functions = report.used[:_MOST_FUNCTIONS]
            case _OwnedReport() if len(self.replaced or ()) < _MOST_FUNCTIONS:
                self.replaced = (*(self.replaced or ()), *report.replaced)
            case _DoneReport(proof=proof):
                self.done = self.done or seal_of(proof) == self._seal


def _raised(report: _Exception) -> Raised:
    return Raised(exception=report.type, message=report.message, frames=_frames(report.frames))


def _frames(frames: tuple[_Frame, ...]) -> tuple[Frame, ...]:
    return tuple(Frame(function=f.function, line=f.line, file=f.file) for f in frames)


_STACK_LINE = re.compile(r'^  File "([^"\n]{1,300})", line (\d{1,9}) in (.{1,300})$', re.MULTILINE)


def _stack_at_timeout(report: bytes) -> Raised | None:
    """Read the stack that the interpreter wrote at the timeout, innermost frame first."""
    text = report[-(1 << 20) :].decode("utf-8", "replace")
    frames = [
        Frame(function=match[3], line=int(match[2]), file=match[1].rsplit("/", 1)[-1])
        for match in _STACK_LINE.finditer(text)
    ][-_MOST_STACK:]
    frames.reverse()
    while frames and frames[0].file not in {PROGRAM_FILE, TESTS_FILE}:
        del frames[0]
    if not frames:
        return None
    return Raised(exception="timeout", message="where it was", frames=tuple(frames))


def _artefact(report: dict[str, Any]) -> Artefact:
    if "content" in report:
        return Artefact(name=report["name"], content=base64.b64decode(report["content"]))
    return Artefact(name=report["name"], missing=report["missing"])
