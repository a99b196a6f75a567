"""Runs the tests of a program statement by statement and records what the program does.

The statements of the test code are its steps. A failing step would hide what later ones show, so
every step is attempted. The record of each call of a selected function has its caller, the calls
that made its arguments, its result, the clauses it broke, its time, the memory it held if memory
is measured, and the attributes and files it changed. The record of a step has the calls that made
the values it read.

This module is sent into the sandbox as text, joined with the modules that it imports.
"""

import json
import os
import signal
import sys
import types
import unittest
from collections.abc import Callable
from typing import Any

from .call_recorder import CallRecorder, FileRecorder
from .code_owners import owners
from .contract_evaluator import ContractEvaluator
from .memory_meter import MemoryMeter
from .step_recorder import TRACED_MODULE, StepRecorder
from .step_rewriter import with_steps
from .time_limit import OutOfTime, TimeLimit
from .trace_values import brief

PROGRAM, DRIVER, PLAN, SEEN = "candidate.txt", "driver.txt", "plan.json", "seen.json"
"""The files that are read, and the one that is written."""
_DELAYS, _DELAY, _AGAIN = 50, 0.01, 0.1
"""The maximum number of delays for a recorder at work, the seconds of each, and the seconds until
code that caught the stop is stopped again."""
_RECORDING = {
    f.__code__
    for f in (CallRecorder.profile, StepRecorder.begun, StepRecorder.done, StepRecorder.failed)
}


def run_test(space: dict[str, Any], name: str) -> None:
    """Run one test with its set-up and tear-down."""
    group, method = name.split(".")
    holder = space[group]
    if not issubclass(holder, unittest.TestCase):
        getattr(holder(), method)()
        return
    case = holder(method)
    try:
        case.setUpClass()
        case.setUp()
        getattr(case, method)()
    except unittest.SkipTest:
        return
    finally:
        sys.setprofile(None)
        case.tearDown()


class TraceTimeLimit(TimeLimit):
    """A time limit that lets the recorder finish what it records, within limits."""

    def __init__(self, seconds: float) -> None:
        super().__init__({signal.ITIMER_REAL: seconds}, _AGAIN)
        self._delayed = 0

    def interrupt(self, frame: types.FrameType | None) -> None:
        """Stop the code; if the recorder is at work, try again soon, so that it stays usable."""
        if self._delayed >= _DELAYS or not _is_recording(frame):
            raise OutOfTime
        self._delayed += 1
        signal.setitimer(signal.ITIMER_REAL, _DELAY, _AGAIN)


def _is_recording(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _RECORDING:
            return True
        frame = frame.f_back
    return False


def timed(seconds: float, act: Callable[[], None]) -> str:
    """Run `act` within a time limit; return what went wrong, or an empty text."""
    limit = TraceTimeLimit(seconds)
    limit.start()
    try:
        act()
    except OutOfTime:
        return "out of time"
    except BaseException as error:
        return f"{type(error).__name__}: {brief(error)}"
    finally:
        limit.running = False  # first: the timer may expire once more
        limit.stop()
        sys.setprofile(None)
    return ""


def main() -> None:
    """Read the plan, carry it out, and write what was observed."""
    texts = []
    for name in (PROGRAM, DRIVER, PLAN):
        with open(name, encoding="utf-8", newline="") as file:  # noqa: PTH123
            texts.append(file.read())
        os.unlink(name)  # noqa: PTH108
    plan = json.loads(texts[2])
    seen: dict[str, Any] = {"loads": "", "steps": [], "calls": [], "files": [], "tests": {}}
    try:
        _observe(texts[0], texts[1], plan, seen)
    finally:
        with open(SEEN, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            json.dump(seen, file)


def _observe(program: str, driver: str, plan: dict[str, Any], seen: dict[str, Any]) -> None:
    module = types.ModuleType(TRACED_MODULE)
    sys.modules[TRACED_MODULE] = module
    space = module.__dict__
    owned: dict[types.CodeType, str] = {}
    selected = frozenset(plan["nodes"])

    def load() -> None:
        code = compile(program, "program.py", "exec", dont_inherit=True)
        owned.update(owners(code, lambda name: name if name in selected else None))
        exec(code, space)  # noqa: S102 - the purpose of the sandbox

    memory = MemoryMeter(plan["memory"])
    memory.limited = True
    seen["loads"] = timed(plan["seconds"], load)
    memory.limited = False
    if seen["loads"]:
        return
    contracts = ContractEvaluator(plan["promises"], plan["invariants"], space)
    calls = CallRecorder(owned, contracts, memory)
    steps = StepRecorder(calls, owned)
    files = FileRecorder(calls)
    seen |= {"steps": steps.steps, "calls": calls.records, "files": files.records}
    seen["unnoted"] = calls.unnoted
    # A namespace of its own: a name that the driver defines must not replace the program's.
    driving = {
        **space,
        "__begun__": steps.begun,
        "__done__": steps.done,
        "__failed__": steps.failed,
        "__caught__": BaseException,
    }
    code = compile(with_steps(driver, plan["tests"]), "tests.py", "exec", dont_inherit=True)
    for name in plan["tests"] or [""]:
        calls.begin_test(name)
        steps.test = name

        def act(name: str = name) -> None:
            files.enabled = True
            calls.watch(True)
            if name:
                run_test(driving, name)
            else:
                exec(code, driving)  # noqa: S102

        if name and not seen["tests"]:
            broken = timed(plan["seconds"], lambda: exec(code, driving))  # noqa: S102 - the classes
            if broken:
                return
        seen["tests"][name] = timed(plan["seconds"], act)
        files.enabled = False
        calls.settle()
    seen["cut"] = calls.cut


if __name__ == "__main__":
    main()
