"""Records how each statement of the test code ended, and which calls made the values it read."""

import re
import sys
import types
import unittest
from collections.abc import Iterable
from typing import Any

from .call_recorder import CallRecorder
from .time_limit import OutOfTime
from .trace_values import brief, is_plain, is_uninformative

TRACED_MODULE = "program"
"""The name of the module in which the traced program runs."""
_MOST_STEPS = 2000
_MOST_FRAMES = 100


def _function_named_in(error: TypeError) -> str:
    """Return the function that an error about a wrong call names: `f() takes no arguments`."""
    found = re.match(r"([\w.]+)\(\)", brief(error.args[0] if error.args else "").strip("'\""))
    return found.group(1) if found else ""


def _missing_name(error: BaseException) -> str:
    """Return the missing name, if it is missing from the program itself and not from a built-in."""
    if isinstance(error, NameError):
        return str(error.name or "")
    if not isinstance(error, AttributeError) or isinstance(error.obj, unittest.TestCase):
        return ""
    kind = error.obj if isinstance(error.obj, type) else type(error.obj)
    ours = error.obj is sys.modules[TRACED_MODULE] or kind.__module__ == TRACED_MODULE
    return str(error.name or "") if ours else ""


class StepRecorder:
    """Records how each step ended; the rewritten test code calls it."""

    def __init__(self, calls: CallRecorder, owned: dict[types.CodeType, str]) -> None:
        self.steps: list[dict[str, Any]] = []
        self.test = ""
        """The test that is running; its `setUp` is part of it."""
        self._calls = calls
        self._owned = owned

    def begun(self) -> None:
        """A step starts: calls from now on belong to it."""
        self._calls.step = len(self.steps)
        self._calls.memory.limited = True

    def done(self, line: int, simple: bool, texts: tuple[str, ...], scope: dict[str, Any]) -> None:
        """A step ended without an exception."""
        self._calls.memory.limited = False
        if simple and len(self.steps) < _MOST_STEPS:
            sources = self._sources(texts, scope)
            self.steps.append({"test": self.test, "line": line, "fine": True, "sources": sources})
        self._calls.step = len(self.steps)

    def failed(
        self, line: int, _simple: bool, texts: tuple[str, ...], scope: dict[str, Any]
    ) -> None:
        """A step ended with an exception."""
        self._calls.memory.limited = False
        self._calls.settle()  # the recorder may have been interrupted as well
        error = sys.exc_info()[1]
        assert error is not None
        if isinstance(error, unittest.SkipTest):
            raise error
        frames, place = [], error.__traceback__
        while place is not None:
            node = self._owned.get(place.tb_frame.f_code)
            if node is not None:
                frames.append((node, place.tb_lineno))
            place = place.tb_next
        self.steps.append(
            {
                "test": self.test,
                "line": line,
                "fine": False,
                "sources": self._sources(texts, scope),
                "frames": frames[-_MOST_FRAMES:],
                "lacks": _missing_name(error),
                "names": _function_named_in(error) if isinstance(error, TypeError) else "",
            }
        )
        self._calls.step = len(self.steps)
        if isinstance(error, OutOfTime) or len(self.steps) >= _MOST_STEPS:
            raise OutOfTime

    def _sources(self, texts: Iterable[str], scope: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the calls that made the values a step read: the same object, or an equal one."""
        self._calls.watch(False)
        found = []
        for text in texts:
            if text.split(".")[0] in scope:
                try:
                    value = eval(text, {}, dict(scope))  # noqa: S307 - a name, or an attribute
                    same, made = self._makers(value)
                except Exception:  # noqa: S112 - the candidate's own property or `==` may fail
                    continue
                if made:
                    found.append({"text": text, "same": same, "calls": made[-20:]})
        self._calls.watch(True)
        return found

    def _makers(self, value: object) -> tuple[bool, list[int]]:
        if callable(value) or isinstance(value, types.ModuleType | unittest.TestCase):
            return False, []
        results = self._calls.results
        same = [] if is_plain(value) else [n for n, result in results if result is value]
        if same or is_uninformative(value):
            return True, same
        return False, [n for n, other in results if type(other) is type(value) and other == value]
