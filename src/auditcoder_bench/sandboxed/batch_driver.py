"""Runs a program on many inputs, one after another in one process.

Starting a process takes longer than most programs run. Outputs are compared outside the sandbox. A
correct output counts; after any other result the caller runs the program again on that input in a
fresh process, since an earlier input may have caused it. An input ends here as a process of its own
would: the program's objects are finalised and its streams flushed, all within the time limit. The
remaining inputs run separately if a run leaves a file behind or ends the process, and its own
input, too, if it leaves a thread or an exit handler behind, which could hang or crash after the
output. All do if the program changed an attribute of a module that it imports.

This module is sent into the sandbox as text.
"""

import _thread
import atexit
import base64
import contextlib
import gc
import importlib
import io
import json
import os
import random
import re
import signal
import sys
import threading
import time
import types
from collections.abc import Iterable, Sequence
from typing import Any

JUDGED, INPUTS, OUTPUTS = "judged.txt", "inputs.json", "outputs.jsonl"
"""Files with the program, with its inputs and their limits, and with its outputs."""


_now = time.monotonic


class TimeLimitExceeded(BaseException):
    """The program exceeded its time limit."""


def _stop(*_: object) -> None:
    raise TimeLimitExceeded


def _stream(descriptor: int, mode: str, errors: str = "surrogateescape") -> io.TextIOWrapper:
    raw = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - the descriptor stays open
    return io.TextIOWrapper(raw, "utf-8", errors)


def _exits_cleanly(code: types.CodeType, streams: Iterable[io.TextIOWrapper]) -> bool:
    """Run the program as a main module, end it, and return whether its exit code is 0."""
    module = types.ModuleType("__main__")
    module.__file__ = "program.py"
    sys.modules["__main__"] = module
    clean = True
    try:
        exec(code, module.__dict__)  # noqa: S102 - runs inside the sandbox
    except SystemExit as error:
        # Other codes that stand for 0 are left to a run in isolation.
        clean = error.code is None or (type(error.code) is int and error.code == 0)
    except Exception:
        clean = False
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:
        clean = False
    module.__dict__.clear()
    gc.collect()
    for stream in streams:
        with contextlib.suppress(Exception):
            stream.flush()
    return clean


def _output_for(
    code: types.CodeType, files: Sequence[int], given: bytes, seconds: float, most: int
) -> bytes | None:
    """Return the output for an input; None after an error, or if a limit was exceeded."""
    for descriptor, file in enumerate(files):
        os.ftruncate(file, 0)
        os.lseek(file, 0, os.SEEK_SET)
        os.dup2(file, descriptor)
    os.pwrite(files[0], given, 0)
    output, errors = _stream(1, "w"), _stream(2, "w", "backslashreplace")
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), output, errors
    sys.argv = ["program.py"]
    sys.setrecursionlimit(1000)
    random.seed(0)
    signal.signal(signal.SIGALRM, _stop)
    started = _now()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        clean = _exits_cleanly(code, (output, errors))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    # The program may have stopped the timer, or caught the exception.
    in_time = _now() - started < seconds
    sizes = [os.fstat(file).st_size for file in files[1:]]
    within = clean and in_time and max(sizes) <= most
    return os.pread(files[1], sizes[0], 0) if within else None


def _nameless_file() -> int:
    """Open a new file that the program cannot open."""
    file = os.open("stream", os.O_RDWR | os.O_CREAT | os.O_EXCL)
    os.unlink("stream")  # noqa: PTH108
    return file


def _imported(source: str) -> list[types.ModuleType]:
    """Import and return the modules that the program imports, and the built-in names."""
    found = [sys, sys.modules["builtins"]]
    for name in set(re.findall(r"^\s*(?:import|from)\s+([\w.]+)", source, re.MULTILINE)):
        with contextlib.suppress(Exception):
            found.append(importlib.import_module(name))
    return found


_VARYING = {
    *("stdin", "stdout", "stderr", "argv"),
    *("last_exc", "last_type", "last_value", "last_traceback"),
}
"""Attributes of `sys` that are set for every input."""


def _attributes(modules: Iterable[types.ModuleType]) -> list[dict[str, Any]]:
    """Return the attributes of modules, except those of `sys` that vary.

    Those of all modules would take longer: to refer to an object copies a page of memory.
    """
    found = [dict(vars(module)) for module in modules]
    for name in _VARYING & found[0].keys():
        del found[0][name]
    return found


def main() -> None:
    """Run the program on every input and write one line per output."""
    with open(INPUTS) as file:  # noqa: PTH123
        job: dict[str, Any] = json.load(file)
    with open(JUDGED, newline="") as file:  # noqa: PTH123
        source = file.read()
    code = compile(source, "program.py", "exec", dont_inherit=True)
    os.unlink(INPUTS)  # noqa: PTH108
    os.unlink(JUDGED)  # noqa: PTH108
    report = os.open(OUTPUTS, os.O_WRONLY | os.O_CREAT)
    folder = os.open(".", os.O_RDONLY)
    files = [_nameless_file() for _ in range(3)]
    modules = _imported(source)
    before = _attributes(modules)
    gc.freeze()  # makes collecting what the program left fast
    # Taken before the program could replace them.
    count_threads, count_handlers = _thread._count, atexit._ncallbacks  # noqa: SLF001
    last_calls: list[Any] = threading._threading_atexits  # type: ignore[attr-defined]  # noqa: SLF001
    handlers = count_handlers(), len(last_calls)
    unchanged = False
    try:
        for given in job["inputs"]:
            output = _output_for(code, files, base64.b64decode(given), job["seconds"], job["most"])
            ended = count_threads() == 0 and (count_handlers(), len(last_calls)) == handlers
            line = base64.b64encode(output).decode() if output is not None and ended else None
            os.write(report, json.dumps(line).encode() + b"\n")
            if not ended or len(os.listdir(folder)) > 1:  # noqa: PTH208
                break
    finally:
        with contextlib.suppress(Exception):
            unchanged = _attributes(modules) == before
        if not unchanged:
            os.ftruncate(report, 0)


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)
