"""Runs a program on many inputs, one after another in one process.

Starting a process takes longer than most programs run. Outputs are compared outside the sandbox. A
correct output counts; after any other result the caller runs the program again on that input in a
fresh process, since an earlier input may have caused it. The same holds for the remaining inputs if
a run leaves a file behind or ends the process, and for its own input, too, if it leaves a thread or
an exit handler behind, which could hang or crash after the output.

This module is sent into the sandbox as text.
"""

import _thread
import atexit
import base64
import io
import json
import os
import random
import signal
import sys
import types
from typing import Any

JUDGED, INPUTS, OUTPUTS = "judged.txt", "inputs.json", "outputs.jsonl"
"""Files with the program, with its inputs and their limits, and with its outputs."""


class TimeLimitExceeded(BaseException):
    """The program exceeded its time limit."""


def _stop(*_: object) -> None:
    raise TimeLimitExceeded


def _stream(descriptor: int, mode: str) -> io.TextIOWrapper:
    raw = open(descriptor, f"{mode}b", closefd=False)  # noqa: SIM115 - the descriptor stays open
    return io.TextIOWrapper(raw, "utf-8", "surrogateescape")


def _exits_cleanly(code: types.CodeType) -> bool:
    """Run the program as a main module and return whether its exit code is 0."""
    module = types.ModuleType("__main__")
    module.__file__ = "program.py"
    sys.modules["__main__"] = module
    try:
        exec(code, module.__dict__)  # noqa: S102 - runs inside the sandbox
    except SystemExit as error:
        return error.code in (None, 0)
    return True


def _output_for(code: types.CodeType, given: bytes, seconds: float, most: int) -> bytes | None:
    """Return the output for an input; None after an error or more than `most` bytes."""
    for descriptor, name in ((0, "stdin"), (1, "stdout")):
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        if descriptor == 0:
            os.write(file, given)
            os.lseek(file, 0, os.SEEK_SET)
        os.dup2(file, descriptor)
        os.close(file)
    sys.stdin, sys.stdout = _stream(0, "r"), _stream(1, "w")
    sys.argv = ["program.py"]
    sys.setrecursionlimit(1000)
    random.seed(0)
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        clean = _exits_cleanly(code)
        sys.stdout.flush()
    except Exception:
        clean = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    size = os.fstat(1).st_size
    return os.pread(1, size, 0) if clean and size <= most else None


def main() -> None:
    """Run the program on every input and write one line per output."""
    with open(INPUTS) as file:  # noqa: PTH123
        job: dict[str, Any] = json.load(file)
    with open(JUDGED, newline="") as file:  # noqa: PTH123
        code = compile(file.read(), "program.py", "exec", dont_inherit=True)
    os.unlink(INPUTS)  # noqa: PTH108
    os.unlink(JUDGED)  # noqa: PTH108
    report = os.open(OUTPUTS, os.O_WRONLY | os.O_CREAT)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    # Taken before the program could replace them.
    count_threads, count_handlers = _thread._count, atexit._ncallbacks  # noqa: SLF001
    handlers = count_handlers()
    for given in job["inputs"]:
        output = _output_for(code, base64.b64decode(given), job["seconds"], job["most"])
        ended = count_threads() == 0 and count_handlers() == handlers
        line = base64.b64encode(output).decode() if output is not None and ended else None
        os.write(report, json.dumps(line).encode() + b"\n")
        if not ended or len(os.listdir()) > 3:  # noqa: PTH208
            break


if __name__ == "__main__":
    try:
        main()
    finally:
        os._exit(0)
