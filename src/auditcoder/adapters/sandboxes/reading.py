"""From what was seen of a run to its outcome. The supervisor's word outranks the candidate's."""

import base64
import json
import re
import signal
from typing import Any, NamedTuple

from auditcoder.domain.evidence import Frame
from auditcoder.domain.execution import (
    PROGRAM_FILE,
    TESTS_FILE,
    Artefact,
    CallFunction,
    Ending,
    Execution,
    FunctionUse,
    Outcome,
    Raised,
    Returned,
    RunTests,
    TestReport,
    TestVerdict,
)


class Seen(NamedTuple):
    """Everything that came out of one run."""

    ended: dict[str, Any]
    """The supervisor's account."""
    stdout: bytes
    stderr: bytes
    report: bytes
    cut: list[bool]
    """Whether there was more: on standard output, standard error, the report."""


_STACK_LINE = re.compile(r'^  File "([^"]*)", line (\d+) in (.*)$')


def outcome(execution: Execution, seen: Seen, seal: str, kind: str) -> Outcome:
    """Say how the run ended."""
    said = _Said(seen.report, seal)
    ended = seen.ended
    ending, note = _ending(execution, seen, said)
    raised = said.raised
    if ending is Ending.TIMEOUT:
        raised = _where_it_was(seen.report)
    return Outcome(
        ending=ending,
        sandbox=kind,
        exit_code=ended["exit"],
        signal=ended["signal"],
        stdout=seen.stdout,
        stderr=seen.stderr,
        stdout_cut=seen.cut[0],
        stderr_cut=seen.cut[1],
        raised=raised,
        calls=tuple(said.calls),
        tests=tuple(said.tests),
        artefacts=tuple(map(_artefact, ended.get("artefacts", ()))),
        functions=said.functions,
        seconds=ended["seconds"],
        cpu_seconds=ended["cpu_seconds"],
        peak_bytes=ended["peak_bytes"],
        note=note,
    )


def _ending(execution: Execution, seen: Seen, said: "_Said") -> tuple[Ending, str]:
    ended = seen.ended
    if any(seen.cut):
        return Ending.OUTPUT_LIMIT, "it said more than is kept; it was stopped there"
    if ended["timed_out"] or ended["signal"] == signal.SIGXCPU or _used_up(execution, ended):
        return Ending.TIMEOUT, f"it did not end within {execution.bounds.seconds:g} s"
    if said.out_of_memory:
        return Ending.MEMORY, "it asked for more memory than it may have"
    if ended["signal"] is not None:
        return Ending.KILLED, f"signal {ended['signal']} ended it"
    if said.raised is not None and ended["exit"] == 1:
        return Ending.EXCEPTION, ""
    if ended["exit"] != 0:
        return Ending.WRONG_EXIT, f"it ended with exit code {ended['exit']}"
    if isinstance(execution.action, CallFunction | RunTests) and not said.done:
        return Ending.WRONG_EXIT, "it left before everything asked of it was done"
    return Ending.OK, ""


def _used_up(execution: Execution, ended: dict[str, Any]) -> bool:
    spent: float = ended["cpu_seconds"]
    return ended["signal"] == signal.SIGKILL and spent >= execution.bounds.seconds


class _Said:
    """What the candidate's process said of itself, where it carries the run's seal."""

    def __init__(self, report: bytes, seal: str) -> None:
        self.raised: Raised | None = None
        self.out_of_memory = False
        self.calls: list[Returned | Raised] = []
        self.tests: list[TestReport] = []
        self.functions: tuple[FunctionUse, ...] | None = None
        self.done = False
        for line in report.split(b"\n"):
            mark, _, text = line.partition(b" ")
            if mark == seal.encode():
                try:
                    self._hear(json.loads(text))
                except (ValueError, KeyError, TypeError, AttributeError):
                    continue  # cut short, or no report of ours

    def _hear(self, said: dict[str, Any]) -> None:
        match said.pop("what"):
            case "raised":
                self.out_of_memory = "MemoryError" in said.pop("bases")
                self.raised = _raised(said)
            case "call":
                self._hear_call(said)
            case "test":
                self.tests.append(
                    TestReport(
                        name=said["name"],
                        verdict=TestVerdict(said["verdict"]),
                        message=said["message"],
                        frames=_frames(said["frames"]),
                    )
                )
            case "functions":
                self.functions = tuple(FunctionUse(**use) for use in said["used"])
            case "done":
                self.done = True

    def _hear_call(self, said: dict[str, Any]) -> None:
        if said["number"] != len(self.calls):
            raise ValueError("out of order")
        if "value" in said:
            self.calls.append(Returned(value=said["value"]))
        else:
            self.calls.append(_raised(said["raised"]))


def _raised(said: dict[str, Any]) -> Raised:
    return Raised(
        exception=str(said["type"]), message=str(said["message"]), frames=_frames(said["frames"])
    )


def _frames(said: list[dict[str, Any]]) -> tuple[Frame, ...]:
    return tuple(
        Frame(function=str(f["function"]), line=int(f["line"]), file=str(f["file"])) for f in said
    )


def _where_it_was(report: bytes) -> Raised | None:
    """Read the stack that the interpreter wrote when the clock ran out, innermost line first."""
    frames = [
        Frame(function=match[3], line=int(match[2]), file=match[1].rsplit("/", 1)[-1])
        for line in report.decode("utf-8", "replace").splitlines()
        if (match := _STACK_LINE.match(line))
    ]
    frames.reverse()
    while frames and frames[0].file not in {PROGRAM_FILE, TESTS_FILE}:
        del frames[0]
    if not frames:
        return None
    return Raised(exception="timeout", message="where it was", frames=tuple(frames))


def _artefact(told: dict[str, Any]) -> Artefact:
    if "content" in told:
        return Artefact(name=told["name"], content=base64.b64decode(told["content"]))
    return Artefact(name=told["name"], missing=told["missing"])
