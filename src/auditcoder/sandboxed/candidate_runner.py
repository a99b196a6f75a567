"""Runs the candidate, in the candidate's own process, and reports what it did.

The candidate controls this process, so its reports are trusted only for the candidate's own
values. The supervisor reports how the process ended, how long it took and what it used. Expected
answers are never sent here.
"""

import atexit
import base64
import contextlib
import cProfile
import faulthandler
import gc
import io
import json
import linecache
import marshal
import os
import resource
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from . import case_runner, code_checks, exception_report, harness_integrity, value_encoder
from .code_checks import LIBRARY, Imports, Report, imported_snapshot, run_tests
from .code_integrity import CodeIntegrity
from .exception_report import PROGRAM, TESTS, described, show
from .harness_integrity import (
    COMPARISON,
    PYTHONS_OWN,
    Snapshot,
    Tampering,
    function_snapshot,
    take_snapshot,
)
from .value_encoder import encode

STACK_SIGNAL = signal.SIGUSR1
PROFILE_SIGNAL = signal.SIGUSR2


def run(job: dict[str, Any], channel: int) -> NoReturn:
    """Run the job and end the process as an interpreter would."""
    report = _reporter(channel, job["seal"])
    out_of_memory = _line(job["seal"], "raised", {**_NO_MEMORY})
    streams = (sys.stdout, sys.stderr)
    _imitate_interpreter(job)
    # Prints the stack even of code that never returns to the interpreter.
    faulthandler.register(STACK_SIGNAL, file=channel, all_threads=False)
    try:
        code = _run(job, report, channel)
    except MemoryError:  # there was no memory left to write another report
        os.write(channel, out_of_memory)
        code = 1
    for stream in streams:
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


_NO_MEMORY = {"type": "MemoryError", "memory": True, "message": "", "frames": []}


def _run(job: dict[str, Any], report: Report, channel: int) -> int:
    main = job["kind"] in {"program", "files"}
    module = _module("__main__" if main else "program", job["source"], PROGRAM)
    names = CodeIntegrity(job["owned"], module.__dict__)
    with _profiling(report, wanted=job["watch"]):
        code = _guarded(report, lambda: _act(job, module, names, report, channel))
        late = _guarded(report, _finish)
    if job["owned"]:
        code = _report_replaced(names, report, traced=job["trace"]) or code
    # Close the files that the program left open and run its finalizers.
    module.__dict__.clear()
    gc.collect()
    return code or late


def _report_replaced(names: CodeIntegrity, report: Report, *, traced: bool) -> int:
    """Report names whose code was replaced; a traced run reported them when it happened."""
    sys.settrace(None)
    sys.setprofile(None)
    names.finish()
    suspicious = [] if traced else names.replaced()
    report("owned", replaced=[{"name": name, "change": change} for name, change in suspicious])
    return int(names.violated)


def _imitate_interpreter(job: dict[str, Any]) -> None:
    """Make the process look like an interpreter that was started on the program."""
    ours = __name__.partition(".")[0]
    for name in [name for name in sys.modules if name.partition(".")[0] == ours]:
        del sys.modules[name]
    sys.argv = [PROGRAM, *job["arguments"]]
    sys.orig_argv = ["python", *sys.argv]
    sys.path.insert(0, os.getcwd())  # noqa: PTH109
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _act(
    job: dict[str, Any],
    module: types.ModuleType,
    names: CodeIntegrity,
    report: Report,
    channel: int,
) -> None:
    """Run the job, and prove in the end that it is complete and that nobody replaced its judge.

    While the program runs, the proof, the snapshot and the code that compares are only on the
    evaluation stack, where Python code neither finds nor changes them.
    """
    if job["kind"] in {"program", "files"}:
        _perform(job, module, names, report, Snapshot())
        return
    imported = _imported(job)
    os.write(
        channel,
        (
            _line(job["seal"], "done", {"proof": job.pop("proof")}),
            exec(  # type: ignore[func-returns-value]  # noqa: S102 - our own code
                COMPARISON,
                {
                    "snapshot": _watched(job, report) + imported,
                    "gettrace": sys.gettrace,
                    "Tampering": Tampering,
                    "PYTHONS_OWN": PYTHONS_OWN,
                    # Last, since the others are evaluated before.
                    "done": _perform(job, module, names, report, imported),
                },
            ),
        )[0],
    )


def _watched(job: dict[str, Any], report: Report) -> Snapshot:
    """Return what no program may replace.

    For calls that is nothing, since results are compared outside; a traced run decides nothing.
    """
    if job["kind"] != "tests" or job["trace"]:
        return Snapshot()
    return LIBRARY + _OWN + function_snapshot(report)


def _imported(job: dict[str, Any]) -> Snapshot:
    """Return what the tests use of modules that they import."""
    imports = _imports(job) if job["kind"] == "tests" and not job["trace"] else None
    return imported_snapshot(imports) if imports else Snapshot()


def _imports(job: dict[str, Any]) -> Imports | None:
    return Imports(*job["imports"]) if job["imports"] else None


def _perform(
    job: dict[str, Any],
    module: types.ModuleType,
    names: CodeIntegrity,
    report: Report,
    imported: Snapshot,
) -> bool:
    """Load the program and do what the job asks for; return whether that came to its end."""
    definitions, *main = _parts(job)
    for part in (definitions, *main):
        names.expect(part)
    if job["trace"]:
        _trace(job, names, report)
    exec(definitions, module.__dict__)  # noqa: S102 - the purpose of the sandbox
    names.remember()
    for part in main:
        exec(part, module.__dict__)  # noqa: S102
    if job["kind"] == "calls":
        for number, call in enumerate(job["calls"]):
            _call(call, module, number, report)
    elif job["kind"] == "tests":
        ready = marshal.loads(base64.b64decode(job["ready"])) if job["ready"] else None  # noqa: S302
        run_tests(
            job["tests"], module, _tests_module, report, ready, imported, Imports(*job["imports"])
        )
    return True


def _trace(job: dict[str, Any], names: CodeIntegrity, report: Report) -> None:
    """Report replaced code as soon as it is replaced, with the line that did it."""
    harness_integrity.gettrace = lambda: None  # the trace is ours

    def found(name: str, change: str, line: int, own: bool) -> None:
        report("owned", replaced=[{"name": name, "change": change, "line": line, "own": own}])

    with contextlib.suppress(SyntaxError, ValueError):  # the run itself will report it
        tests = _compiled(job["tests"], TESTS) if job["kind"] == "tests" else None
        names.trace(tests, found)


def _parts(job: dict[str, Any]) -> tuple[types.CodeType, ...]:
    """Compile the program; its definitions apart from what uses them, if they are to be compared.

    What the names are bound to is remembered between both.
    """
    owned = job["owned"]
    if not owned or not owned["definitions"] or job["kind"] not in {"program", "files"}:
        return (_compiled(job["source"], PROGRAM),)
    lines = job["source"].split("\n")
    first, rest = lines[: owned["definitions"]], lines[owned["definitions"] :]
    definitions = _compiled("\n".join(first), PROGRAM)
    return definitions, _compiled("\n" * len(first) + "\n".join(rest), PROGRAM)


def _call(expression: str, module: types.ModuleType, number: int, report: Report) -> None:
    try:
        value = eval(_compiled(expression, "call", "eval"), dict(module.__dict__))  # noqa: S307
    except MemoryError:
        raise
    except Exception as error:
        report("call", number=number, raised=described(error))
    else:
        report("call", number=number, value=encode(value))


def _guarded(report: Report, act: Callable[[], None]) -> int:
    """Run `act` and return the exit code that an interpreter would end with."""
    try:
        act()
    except SystemExit as leaving:
        return _exit_code(leaving)
    except BaseException as error:
        _release_reserve()
        report("raised", **described(error))
        with contextlib.suppress(Exception):
            if sys.excepthook is sys.__excepthook__:
                show(error, sys.stderr)  # unlike the hook, finds the program's source lines
            else:
                sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _release_reserve() -> None:
    """Allow the memory that was reserved for reporting what happened."""
    with contextlib.suppress(Exception):
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _exit_code(leaving: SystemExit) -> int:
    code = leaving.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(2**63) <= code < 2**63 else 0xFF
    with contextlib.suppress(Exception):
        sys.stderr.write(f"{code}\n")
    return 1


def _finish() -> None:
    """Wait for threads and run `atexit` functions, as an interpreter does."""
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()


def _compiled(code: str, name: str, mode: str = "exec") -> types.CodeType:
    return compile(code, name, mode, dont_inherit=True)


def _module(name: str, code: str, file: str) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__["__file__"] = file
    sys.modules[name] = module
    linecache.cache[file] = (len(code), None, code.splitlines(keepends=True), file)
    return module


def _tests_module(name: str, code: str) -> types.ModuleType:
    return _module(name, code, TESTS)


def _line(seal: str, what: str, fields: dict[str, Any]) -> bytes:
    return f"{seal} {json.dumps({'what': what, **fields})}\n".encode()


def _reporter(channel: int, seal: str) -> Report:
    write, lock = os.write, threading.Lock()

    def report(what: str, **fields: Any) -> None:
        line = _line(seal, what, fields)
        with lock:
            while line:
                line = line[write(channel, line) :]

    return report


@contextlib.contextmanager
def _profiling(report: Report, *, wanted: bool) -> Iterator[None]:
    """Profile calls and time by function, and report them even after a timeout."""
    if not wanted:
        yield
        return
    profile = cProfile.Profile(subcalls=False, builtins=False)

    def report_functions() -> None:
        profile.disable()
        report(
            "functions", used=[_use(entry) for entry in profile.getstats() if _is_program(entry)]
        )

    def cut_off(*_: object) -> None:
        report_functions()
        os._exit(1)

    signal.signal(PROFILE_SIGNAL, cut_off)
    profile.enable()
    try:
        yield
    finally:
        report_functions()


def _is_program(entry: Any) -> bool:
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
    """Open the standard streams of candidates as an interpreter would.

    Done once in the zygote, on an empty file and a pipe: a stream tests once whether its descriptor
    is seekable, with the same result as for a candidate's. The own descriptors are restored.
    """
    kept = [os.dup(place) for place in range(3)]
    empty = os.memfd_create("stdin")
    reader, writer = os.pipe()
    for place, descriptor in enumerate((empty, writer, writer)):
        os.dup2(descriptor, place)
    sys.stdin = sys.__stdin__ = _stream(0, "r", "surrogateescape")  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _stream(1, "w", "surrogateescape")  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, "w", "backslashreplace")  # type: ignore[misc]
    for place, descriptor in enumerate(kept):
        os.dup2(descriptor, place)
    for descriptor in (*kept, empty, reader, writer):
        os.close(descriptor)


def _stream(descriptor: int, mode: str, errors: str) -> io.TextIOWrapper:
    raw = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - a descriptor
    return io.TextIOWrapper(raw, "utf-8", errors, line_buffering=descriptor == 2)


_OWN = take_snapshot(
    [
        sys.modules[__name__],
        *(case_runner, code_checks, exception_report, harness_integrity, value_encoder),
    ]
)
"""The code of this package that decides about tests."""
