"""Runs the tests of a class one by one; reports how each ended and which methods it entered.

Every test gets a fresh class, an empty folder and a time limit, so that tests are independent. They
share one process, because starting one takes longer than most tests.

The time limit and the lookup of a method's code are shared with the tracer. The rest differs on
purpose: these results are ground truth and must equal those of plain unittest. A test runs
unchanged, with its fixtures, cleanups and sub-tests, whereas the tracer rewrites it into
steps and continues after a failure. The limit counts processor time. All calls are counted, whereas
the tracer keeps a limited number of detailed records.

This module is sent into the sandbox as text, joined with the modules that it imports.
"""

import faulthandler
import io
import json
import os
import random
import shutil
import signal
import sys
import types
import unittest
from typing import Any

from auditcoder.sandboxed.case_runner import names_used, plan, run_all
from auditcoder.sandboxed.code_owners import owners
from auditcoder.sandboxed.harness_integrity import check_unchanged, take_snapshot
from auditcoder.sandboxed.time_limit import OutOfTime, TimeLimit

JOB, REPORT = "job.json", "report.jsonl"
"""Files with the tests to run, and with the report: one line for the class, one per test."""
LATE = 1
"""Exit code after a test that could not be interrupted, the same as that of `faulthandler`."""
_CLASS, _TESTS = "<class>", "<tests>"
_THIS_FILE = (lambda: None).__code__.co_filename
_UNITTEST = os.path.dirname(unittest.__file__)  # noqa: PTH120
_REPEAT_SECONDS = 0.5
_MOST_EXPIRATIONS = 4
_LONGEST_MESSAGE = 800
_MOST_FRAMES = 60

Failure = tuple[type[BaseException], BaseException, types.TracebackType | None]


class TestTimeLimit(TimeLimit):
    """Stops a test with an exception; ends the process if the test catches it repeatedly."""

    __test__ = False

    def __init__(self, seconds: float) -> None:
        super().__init__(
            {signal.ITIMER_PROF: seconds, signal.ITIMER_REAL: 3 * seconds}, _REPEAT_SECONDS
        )

    def interrupt(self, _: types.FrameType | None) -> None:
        """Raise in the test, or end the process after too many expirations."""
        if self.expirations > _MOST_EXPIRATIONS:
            os._exit(LATE)
        raise OutOfTime("the test's time is up")


class MethodCounter:
    """Counts the calls of each method, and notes the methods that the test calls directly."""

    def __init__(self, methods: dict[types.CodeType, str]) -> None:
        self.methods = methods
        """The method of each code object, nested ones included."""
        self.counts: dict[str, int] = {}
        self.direct: dict[str, None] = {}

    def __call__(self, frame: types.FrameType, _event: str, _argument: object) -> None:
        """Count a call; installed with `sys.settrace`."""
        if name := self.methods.get(frame.f_code):
            self.counts[name] = self.counts.get(name, 0) + 1
            if frame.f_back is not None and frame.f_back.f_code.co_filename == _TESTS:
                self.direct[name] = None


class FirstFailure:
    """Keeps the first error or failure of a test."""

    def __init__(self) -> None:
        self.wrong: Failure | None = None

    def tell(self, _test: object, verdict: str, error: Failure | None, message: str) -> None:
        """Keep what went wrong if it is the first; only a test can skip itself, not the class."""
        if verdict == "passed" or (
            verdict == "skipped" and not (error and _ends_in_class(error[2]))
        ):
            return
        unexpected = AssertionError(message)
        self.wrong = self.wrong or error or (AssertionError, unexpected, None)


def _ends_in_class(link: types.TracebackType | None) -> bool:
    """Whether a traceback ends in the class that is tested."""
    while link is not None and link.tb_next is not None:
        link = link.tb_next
    return link is not None and link.tb_frame.f_code.co_filename == _CLASS


def _describe(methods: dict[types.CodeType, str], failure: Failure) -> dict[str, Any]:
    """Describe a failure, without the frames of this module and of unittest."""
    kind, error, link = failure
    frames = []
    while link is not None:
        code = link.tb_frame.f_code
        where = code.co_filename
        if where == _TESTS:
            frames.append(("test", code.co_name, link.tb_lineno))
        elif where == _CLASS:
            owner = methods.get(code)
            frames.append(("gen" if owner else "gen_other", owner or code.co_name, link.tb_lineno))
        elif where != _THIS_FILE and not where.startswith(_UNITTEST):
            frames.append(("lib", code.co_name, link.tb_lineno))
        link = link.tb_next
    if len(frames) > _MOST_FRAMES:
        frames = frames[: _MOST_FRAMES // 2] + frames[-(_MOST_FRAMES // 2) :]
    try:
        message = str(error)
    except Exception:
        message = ""
    late, wrong = issubclass(kind, OutOfTime), issubclass(kind, AssertionError)
    return {
        "kind": "timeout" if late else "wrong_answer" if wrong else "exception",
        "exc_type": "TestTimeout" if late else kind.__name__,
        "message": message[:_LONGEST_MESSAGE].encode("utf-8", "replace").decode(),
        "frames": frames,
    }


class MethodTests:
    """The class and its tests, compiled, and the folder in which they run."""

    def __init__(self, job: dict[str, Any]) -> None:
        self._job = job
        self._folder = os.getcwd()  # noqa: PTH109
        self._report = os.path.abspath(REPORT)  # noqa: PTH100
        self._limit = TestTimeLimit(job["seconds"])
        self._judging = take_snapshot([unittest.case, unittest.suite, unittest.result])

    def run(self) -> None:
        """Load the class, run the tests, and write a line for each."""
        job = self._job
        self._clear_folder()
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        try:
            self._limit.start()
            self._program = compile(job["code"], _CLASS, "exec", dont_inherit=True)
            # Line numbers of the tests continue after those of the class.
            test_source = "\n" * (job["code"].count("\n") + 1) + job["tests"]
            self._tests = compile(test_source, _TESTS, "exec", dont_inherit=True)
            self._methods = owners(self._program, self._method_of)
            self._load(with_tests=False)
        except BaseException as error:
            self._write({"broken": f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE]})
            return
        finally:
            self._limit.stop()
        self._write({"broken": ""})
        for class_name, name in job["cases"]:
            self._clear_folder()
            seen = self._run_test(class_name, name)
            self._write(seen)
            if job["to_first"] and "kind" in seen:
                break

    def _method_of(self, qualified: str) -> str | None:
        path = qualified.split(".")
        return path[1] if path[0] == self._job["class_name"] and len(path) > 1 else None

    def _run_test(self, class_name: str, name: str) -> dict[str, Any]:
        """Run one test and return its line of the report."""
        job = self._job
        counter, result = MethodCounter(self._methods), FirstFailure()
        sys.stdin = io.StringIO()
        random.seed(job["seed"])
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(job["seed"])
        # Ends the process if the test is stuck in C code, which the time limit cannot interrupt.
        faulthandler.dump_traceback_later(3 * job["seconds"] + 3, exit=True, file=sys.stdout)
        try:
            self._limit.start()
            test_class = getattr(self._load(with_tests=True), class_name)
            tests = (plan(test_class(name), names_used(self._tests)),)
            if job["trace"]:
                sys.settrace(counter)
            run_all(tests, result.tell)
        except BaseException as error:
            result.wrong = result.wrong or (type(error), error, error.__traceback__)
        finally:
            sys.settrace(None)
            self._limit.stop()
            faulthandler.cancel_dump_traceback_later()
        try:
            check_unchanged(self._judging)
        except Exception as error:  # the class replaced what judges it
            result.wrong = result.wrong or (type(error), error, None)
        seen = {
            "cov": counter.counts,
            "direct": list(counter.direct),
            "order": list(counter.counts),
        }
        return seen | (_describe(self._methods, result.wrong) if result.wrong else {})

    def _load(self, *, with_tests: bool) -> types.ModuleType:
        """Return a new module with the class, without state of earlier tests."""
        module = types.ModuleType("candidate")
        module.__file__ = os.path.join(os.path.dirname(self._report), "candidate.py")  # noqa: PTH118, PTH120
        sys.modules["candidate"] = module
        exec(self._program, module.__dict__)  # noqa: S102 - runs inside the sandbox
        if with_tests:
            exec(self._tests, module.__dict__)  # noqa: S102
        return module

    def _clear_folder(self) -> None:
        os.chdir(self._folder)
        for entry in list(os.scandir(self._folder)):
            if entry.path == self._report:
                continue
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)  # noqa: PTH108

    def _write(self, line: dict[str, Any]) -> None:
        with open(self._report, "a") as file:  # noqa: PTH123
            file.write(json.dumps(line) + "\n")


def main() -> None:
    """Read the job and run it."""
    with open(JOB, encoding="utf-8") as file:  # noqa: PTH123
        job = json.load(file)
    MethodTests(job).run()


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)
