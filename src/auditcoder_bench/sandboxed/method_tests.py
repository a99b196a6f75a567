"""Runs tests of a class one by one and reports how each ended and which methods it entered.

Every test gets the class anew, an empty folder and a time limit, so that none depends on those
before it. They share one process, since starting one costs more than most tests do.

The time limit and the lookup of a method's code are the tracer's. The rest differs on purpose:
these results are ground truth and must be those of plain unittest. So a test runs unchanged
through unittest's own suite, with its cleanups and sub-tests, where the tracer rewrites it into
steps and goes on after a failure; the limit counts processor time; and all calls are counted,
where the tracer keeps a limited number of detailed records.

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

from auditcoder.sandboxed.code_owners import owners
from auditcoder.sandboxed.time_limit import OutOfTime, TimeLimit

JOB, REPORT = "job.json", "report.jsonl"
"""The tests to run; a line for the class and one for each test."""
LATE = 1
"""The exit code after a test that could not be stopped: the one that `faulthandler` uses."""
_CLASS, _TESTS = "<class>", "<tests>"
_OWN = (lambda: None).__code__.co_filename
_MACHINERY = os.path.dirname(unittest.__file__)  # noqa: PTH120
_AGAIN = 0.5
_MOST_EXPIRATIONS = 4
_LONGEST_MESSAGE = 800
_MOST_FRAMES = 60

Failure = tuple[type[BaseException], BaseException, types.TracebackType | None]


class TestTimeLimit(TimeLimit):
    """Stops a test by an exception; if it catches that several times, ends the process."""

    __test__ = False

    def __init__(self, seconds: float) -> None:
        super().__init__({signal.ITIMER_PROF: seconds, signal.ITIMER_REAL: 3 * seconds}, _AGAIN)

    def interrupt(self, _: types.FrameType | None) -> None:
        """Stop the test."""
        if self.expirations > _MOST_EXPIRATIONS:
            os._exit(LATE)
        raise OutOfTime("the test's time is up")


class MethodCounter:
    """Counts how often each method of the class is entered, and which ones by the test itself."""

    def __init__(self, methods: dict[types.CodeType, str]) -> None:
        self.methods = methods
        """The method that each code object belongs to, however deeply it is nested."""
        self.counts: dict[str, int] = {}
        self.direct: dict[str, None] = {}

    def __call__(self, frame: types.FrameType, _event: str, _argument: object) -> None:
        """Count a call; the interpreter reports each."""
        if name := self.methods.get(frame.f_code):
            self.counts[name] = self.counts.get(name, 0) + 1
            if frame.f_back is not None and frame.f_back.f_code.co_filename == _TESTS:
                self.direct[name] = None


class FirstFailure(unittest.TestResult):
    """Keeps the first thing that went wrong."""

    wrong: Failure | None = None

    def addError(self, test: Any, err: Any) -> None:  # noqa: ARG002, N802
        """Keep an error, if it is the first."""
        self.wrong = self.wrong or err

    addFailure = addError  # noqa: N815

    def addSubTest(self, test: Any, _subtest: object, err: Any) -> None:  # noqa: N802
        """Keep the error of a sub-test."""
        if err is not None:
            self.addError(test, err)

    def addUnexpectedSuccess(self, _test: object) -> None:  # noqa: N802
        """Count an unexpected success as a failure."""
        self.wrong = self.wrong or (AssertionError, AssertionError("unexpected success"), None)


def _described(methods: dict[types.CodeType, str], failure: Failure) -> dict[str, Any]:
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
        elif where != _OWN and not where.startswith(_MACHINERY):
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

    def run(self) -> None:
        """Load the class, run the tests, and write a line for each."""
        job = self._job
        self._clear_folder()
        sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
        try:
            self._limit.start()
            self._program = compile(job["code"], _CLASS, "exec", dont_inherit=True)
            # The tests stand below the class, and so do their line numbers.
            below = "\n" * (job["code"].count("\n") + 1) + job["tests"]
            self._tests = compile(below, _TESTS, "exec", dont_inherit=True)
            self._methods = owners(self._program, self._method_of)
            self._loaded(with_tests=False)
        except BaseException as error:
            self._write({"broken": f"{type(error).__name__}: {error}"[:_LONGEST_MESSAGE]})
            return
        finally:
            self._limit.stop()
        self._write({"broken": ""})
        for holder, name in job["cases"]:
            self._clear_folder()
            seen = self._run_test(holder, name)
            self._write(seen)
            if job["to_first"] and "kind" in seen:
                break

    def _method_of(self, qualified: str) -> str | None:
        path = qualified.split(".")
        return path[1] if path[0] == self._job["class_name"] and len(path) > 1 else None

    def _run_test(self, holder: str, name: str) -> dict[str, Any]:
        """Run one test and return what is reported of it."""
        job = self._job
        counter, result = MethodCounter(self._methods), FirstFailure()
        sys.stdin = io.StringIO()
        random.seed(job["seed"])
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(job["seed"])
        # The time limit cannot interrupt code that never returns to the interpreter; this can.
        faulthandler.dump_traceback_later(3 * job["seconds"] + 3, exit=True, file=sys.stdout)
        try:
            self._limit.start()
            test_class = getattr(self._loaded(with_tests=True), holder)
            suite = unittest.TestSuite([test_class(name)])
            if job["trace"]:
                sys.settrace(counter)
            suite.run(result)
        except BaseException as error:
            result.wrong = result.wrong or (type(error), error, error.__traceback__)
        finally:
            sys.settrace(None)
            self._limit.stop()
            faulthandler.cancel_dump_traceback_later()
        seen = {
            "cov": counter.counts,
            "direct": list(counter.direct),
            "order": list(counter.counts),
        }
        return seen | (_described(self._methods, result.wrong) if result.wrong else {})

    def _loaded(self, *, with_tests: bool) -> types.ModuleType:
        """Return a new module with the class, in which nothing is left from earlier tests."""
        module = types.ModuleType("candidate")
        module.__file__ = os.path.join(os.path.dirname(self._report), "candidate.py")  # noqa: PTH118, PTH120
        sys.modules["candidate"] = module
        exec(self._program, module.__dict__)  # noqa: S102 - what a sandbox is for
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
    """Read the job and carry it out."""
    with open(JOB, encoding="utf-8") as file:  # noqa: PTH123
        job = json.load(file)
    MethodTests(job).run()


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)
