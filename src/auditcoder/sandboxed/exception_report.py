"""Describes exceptions as plain data: type, message and stack frames."""

import itertools
import traceback
import types
from collections import deque
from typing import Any

PROGRAM = "program.py"
TESTS = "tests.py"
_OUTER, _INNER = 30, 70
"""Frames of a deep stack that are kept: the outermost and the innermost."""
_LONG = 4000
_NAME = 300


def described(error: BaseException) -> dict[str, Any]:
    """Describe an exception. Only its own methods, such as `__str__`, can falsify this."""
    try:
        message = str(error)
    except Exception:
        message = "<no message>"
    frames = _frames(error)
    if isinstance(error, SyntaxError) and error.filename in {PROGRAM, TESTS}:
        line = error.lineno if type(error.lineno) is int and error.lineno > 0 else 0
        frames.append({"function": "", "file": error.filename, "line": line})
    return {
        "type": text(type(error).__name__, _NAME),
        "memory": isinstance(error, MemoryError),
        "message": text(message),
        "frames": frames,
    }


def text(value: object, longest: int = _LONG) -> str:
    """Return text that can be encoded as UTF-8, cut at `longest` characters."""
    plain = str.__str__(value) if isinstance(value, str) else "<no text>"
    return plain[:longest].encode("utf-8", "backslashreplace").decode()[:longest]


def show(error: BaseException, stream: Any) -> None:
    """Write the traceback as the interpreter would, from the candidate's first frame on."""
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename not in {PROGRAM, TESTS}:
        trace = trace.tb_next
    deep = trace is not None and len(list(itertools.islice(_walk(trace), 2000))) == 2000
    shown = error.with_traceback(trace)
    traceback.print_exception(shown, file=stream, limit=-_INNER if deep else None)


def _walk(trace: types.TracebackType | None) -> Any:
    while trace is not None:
        yield trace
        trace = trace.tb_next


def _frames(error: BaseException) -> list[dict[str, Any]]:
    """Return the frames from the candidate's or its tests' first one on."""
    below = itertools.dropwhile(
        lambda trace: trace.tb_frame.f_code.co_filename not in {PROGRAM, TESTS},
        _walk(error.__traceback__),
    )
    outer = [_frame(trace) for trace in itertools.islice(below, _OUTER)]
    inner = deque(below, maxlen=_INNER)
    return outer + [_frame(trace) for trace in inner]


def _frame(trace: types.TracebackType) -> dict[str, Any]:
    code = trace.tb_frame.f_code
    return {
        "function": text(code.co_qualname, _NAME),
        "file": text(code.co_filename.rsplit("/", 1)[-1], _NAME),
        "line": trace.tb_lineno or 0,
    }
