"""Runs the candidate, in the candidate's own process, and reports what it did.

Whatever is said here is said by a process that the candidate controls: it is believed about the
candidate's own values and nothing else. How the process ended, how long it took and what it used
is the supervisor's to say. The expected answers are not here.
"""

import atexit
import builtins
import contextlib
import cProfile
import faulthandler
import io
import json
import linecache
import os
import signal
import sys
import threading
import traceback
import types
import unittest
import unittest.case
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from .encoding import encode

PROGRAM = "program.py"
TESTS = "tests.py"
STACK_SIGNAL = signal.SIGUSR1
PROFILE_SIGNAL = signal.SIGUSR2
_FRAMES = 100
_LONG = 4000

Report = Callable[..., None]


def run(job: dict[str, Any], channel: int) -> NoReturn:
    """Do what the job says and end the process as an interpreter would."""
    report = _reporter(channel, job["seal"])
    streams = (sys.stdout, sys.stderr)
    _forget_ourselves()
    # Even code that never comes back to the interpreter can be asked where it is.
    faulthandler.register(STACK_SIGNAL, file=channel, all_threads=False)
    main = job["kind"] in {"program", "files"}
    module = _module("__main__" if main else "program", job["source"], PROGRAM)
    sys.argv = [PROGRAM, *job["arguments"]]
    with _watching(report, wanted=job["watch"]):
        code = _guarded(report, lambda: _act(job, module, report))
        code = _wind_down(report, code)
    for stream in streams:
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _act(job: dict[str, Any], module: types.ModuleType, report: Report) -> None:
    trusted = _Witness() if job["kind"] == "tests" else None
    exec(_compiled(job["source"], PROGRAM), module.__dict__)  # noqa: S102 - what a sandbox is for
    if job["kind"] == "calls":
        for number, call in enumerate(job["calls"]):
            _call(call, module, number, report)
        report("done")
    elif trusted is not None:
        _test(job["tests"], module, report)
        trusted.attest()
        report("done")


def _call(expression: str, module: types.ModuleType, number: int, report: Report) -> None:
    try:
        value = eval(_compiled(expression, "call", "eval"), dict(module.__dict__))  # noqa: S307
    except Exception as error:
        report("call", number=number, raised=_described(error))
    else:
        report("call", number=number, value=encode(value))


def _test(code: str, module: types.ModuleType, report: Report) -> None:
    """Run test code: its unittest classes, or, where there are none, the code itself."""
    tests = _module("tests", code, TESTS)
    tests.__dict__.update({k: v for k, v in module.__dict__.items() if not k.startswith("__")})
    exec(_compiled(code, TESTS), tests.__dict__)  # noqa: S102
    cases = [
        case
        for case in tests.__dict__.values()
        if isinstance(case, type)
        and issubclass(case, unittest.TestCase)
        and case.__module__ == "tests"
    ]
    if not cases:
        report("test", name="", verdict="passed", message="", frames=[])
    loader = unittest.TestLoader()
    unittest.TestSuite(map(loader.loadTestsFromTestCase, cases)).run(_Result(report))


class _Result(unittest.TestResult):
    """Reports each test as it ends, so that a later timeout loses none."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self._said = False

    def _say(self, test: Any, verdict: str, error: Any = None, message: str = "") -> None:
        self._said = True
        described: dict[str, Any] = (
            _described(error[1]) if error else {"message": message, "frames": []}
        )
        self._report(
            "test",
            name=".".join(test.id().split(".")[1:]),
            verdict=verdict,
            message=": ".join(filter(None, (described.get("type", ""), described["message"]))),
            frames=described["frames"],
        )

    def startTest(self, test: Any) -> None:  # noqa: N802
        self._said = False
        super().startTest(test)

    def stopTest(self, test: Any) -> None:  # noqa: N802
        if not self._said:  # a test that said nothing did not pass
            self._say(test, "error", message="the test ended without a verdict")
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self._say(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._say(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._say(test, "error", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._say(test, "skipped", message=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802, ARG002
        self._say(test, "passed")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self._say(test, "failed", message="it was expected to fail, and passed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            self._say(subtest, "failed" if failed else "error", err)


class _Witness:
    """Remembers what the test machinery was like before the candidate came, and compares."""

    def __init__(self) -> None:
        self._before = self._look()

    def attest(self) -> None:
        """Raise if a part of the machinery was replaced, or no longer finds wrong answers."""
        after = self._look()
        changed = sorted(
            name for name in self._before | after if self._before.get(name) is not after.get(name)
        )
        if changed:
            raise Tampering(f"the program replaced {', '.join(changed[:5])}")
        found: list[str] = []
        _Canary("wrong").run(_Result(lambda _, **said: found.append(said["verdict"])))
        if found != ["failed"]:
            raise Tampering("a test that must fail did not fail")

    @staticmethod
    def _look() -> dict[str, object]:
        places: dict[str, Any] = {
            "builtins": builtins,
            "unittest": unittest,
            "unittest.case": unittest.case,
            "TestCase": unittest.TestCase,
            "TestResult": unittest.TestResult,
            "TestSuite": unittest.TestSuite,
            "TestLoader": unittest.TestLoader,
            "_Result": _Result,
            "_Outcome": getattr(unittest.case, "_Outcome", None),
        }
        return {
            f"{place}.{name}": value
            for place, holder in places.items()
            for name, value in list(vars(holder).items())
            if name not in {"_", "_testMethodName", "__warningregistry__"}
        }


class Tampering(Exception):
    """The candidate laid hands on what judges it."""


class _Canary(unittest.TestCase):
    def wrong(self) -> None:
        """Fail, whatever was done to assertions."""
        self.assertEqual([1, "a"], [1, "b"])  # noqa: PT009 - it is what is being tested


def _guarded(report: Report, act: Callable[[], None]) -> int:
    """Run `act` and return the exit code that an interpreter would end with."""
    try:
        act()
    except SystemExit as leaving:
        return _exit_code(leaving)
    except BaseException as error:
        report("raised", **_described(error))
        _print(error)
        return 1
    return 0


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code & 0xFF
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{leaving.code}\n")
    return 1


def _wind_down(report: Report, code: int) -> int:
    """Wait for threads and run what was to run at the end, as an interpreter does."""

    def ending() -> None:
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
        atexit._run_exitfuncs()  # noqa: SLF001
        sys.stdout.flush()

    late = _guarded(report, ending)
    with contextlib.suppress(Exception):
        sys.stderr.flush()
    return code or late


def _described(error: BaseException) -> dict[str, Any]:
    try:
        message = str(error)[:_LONG]
    except Exception:
        message = "<no message>"
    frames = _frames(error)
    if isinstance(error, SyntaxError) and error.filename in {PROGRAM, TESTS}:
        frames.append({"function": "", "file": error.filename, "line": error.lineno or 0})
    return {
        "type": type(error).__name__,
        "bases": [base.__name__ for base in type(error).__mro__],
        "message": message.encode("utf-8", "backslashreplace").decode(),
        "frames": frames[: _FRAMES // 2] + frames[_FRAMES // 2 :][-_FRAMES // 2 :],
    }


def _frames(error: BaseException) -> list[dict[str, Any]]:
    """Return the frames of the candidate and its tests, and what lies below them."""
    frames = [
        {"function": frame.f_code.co_qualname, "file": _file(frame), "line": line}
        for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    while frames and frames[0]["file"] not in {PROGRAM, TESTS}:
        del frames[0]
    return frames


def _file(frame: types.FrameType) -> str:
    name = frame.f_code.co_filename
    return name if name in {PROGRAM, TESTS, "call"} else name.rsplit("/", 1)[-1]


def _print(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename not in {PROGRAM, TESTS}:
        trace = trace.tb_next
    error = error.with_traceback(trace)
    with contextlib.suppress(BaseException):
        if sys.excepthook is sys.__excepthook__:
            traceback.print_exception(error)  # which, unlike the hook, finds our source lines
        else:
            sys.excepthook(type(error), error, trace)


def _compiled(code: str, name: str, mode: str = "exec") -> types.CodeType:
    return compile(code, name, mode, dont_inherit=True)


def _module(name: str, code: str, file: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__["__file__"] = file
    sys.modules[name] = module
    lines = code.splitlines(keepends=True)
    linecache.cache[file] = (len(code), None, lines, file)
    return module


def _reporter(channel: int, seal: str) -> Report:
    write, dumps, lock = os.write, json.dumps, threading.Lock()

    def report(what: str, **said: Any) -> None:
        line = f"{seal} {dumps({'what': what, **said})}\n".encode()
        with lock:
            while line:
                line = line[write(channel, line) :]

    return report


@contextlib.contextmanager
def _watching(report: Report, *, wanted: bool) -> Iterator[None]:
    """Count calls and time by function, and say so even when the clock runs out."""
    if not wanted:
        yield
        return
    profile = cProfile.Profile(subcalls=False, builtins=False)

    def say() -> None:
        profile.disable()
        report("functions", used=[_use(entry) for entry in profile.getstats() if _ours(entry)])

    def cut_off(*_: object) -> None:
        say()
        os._exit(1)

    signal.signal(PROFILE_SIGNAL, cut_off)
    profile.enable()
    try:
        yield
    finally:
        say()


def _ours(entry: Any) -> bool:
    return isinstance(entry.code, types.CodeType) and entry.code.co_filename == PROGRAM


def _use(entry: Any) -> dict[str, Any]:
    return {
        "name": entry.code.co_qualname,
        "line": entry.code.co_firstlineno,
        "calls": entry.callcount,
        "seconds": entry.totaltime,
        "own_seconds": entry.inlinetime,
    }


def open_streams() -> None:
    """Give candidates streams as an interpreter would have opened them.

    Done once, before there are candidates, on an empty file and a pipe: what a stream learns of
    its descriptor when it is opened, such as that it cannot be sought in, is true of theirs too.
    """
    empty = os.memfd_create("stdin")
    _, writer = os.pipe()
    for place, descriptor in enumerate((empty, writer, writer)):
        os.dup2(descriptor, place)
    sys.stdin = sys.__stdin__ = _stream(0, "r", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w", "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")  # type: ignore[misc]


def _stream(descriptor: int, mode: str, errors: str) -> io.TextIOWrapper:
    raw = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - a descriptor
    return io.TextIOWrapper(raw, "utf-8", errors, line_buffering=descriptor == 2)


def _forget_ourselves() -> None:
    """Leave nothing of ours where `import` finds it."""
    for name in ("", ".zygote", ".supervisor", ".harness", ".encoding", ".kernel", ".seccomp"):
        sys.modules.pop(f"inside{name}", None)
