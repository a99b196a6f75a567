"""Finds out which line of a program changed something, by looking after every step.

A line is known to have made a change only if the change was made by a statement that stores
something, or by a built-in function that stores something and that the line called itself. What
happens in between, in another thread, or in a callback of the library has no place.
"""

import dis
import sys
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .exception_report import TESTS


class Place(NamedTuple):
    """A line of the program or its tests."""

    file: str
    line: int


_TRACE_DEPTH = 50
_STORES = frozenset(
    number
    for name, number in dis.opmap.items()
    if name.startswith(("STORE_", "DELETE_")) and "FAST" not in name
)
_SETTERS = frozenset(
    {"setattr", "delattr", "exec", "eval", "__setstate__"}
    | {"update", "setdefault", "pop", "popitem", "clear"}
)
"""Built-in functions that store something, by name."""
_SLOTS = frozenset(
    {"__setattr__", "__delattr__", "__setitem__", "__delitem__"}
    | {"__init__", "__ior__", "__set__", "__delete__"}
)
"""Methods that store something and whose calls are not reported as calls of built-in functions."""


def trace_changes(
    sources: dict[types.CodeType, str],
    is_unchanged: Callable[[], bool],
    attribute: Callable[[Place | None], None],
) -> None:
    """Call `attribute` with the place of each change from now on, in all threads.

    `sources` maps code objects to their files: a code object could claim another file name.
    """
    tracer = _Tracer(sources, is_unchanged, attribute)
    sys.setrecursionlimit(sys.getrecursionlimit() + _TRACE_DEPTH)
    sys._getframe().f_trace_opcodes = True  # noqa: SLF001 - Python 3.12 needs it before `settrace`
    threading.setprofile(tracer.called)
    threading.settrace(tracer.entered)
    sys.setprofile(tracer.called)
    sys.settrace(tracer.entered)


class _Code(NamedTuple):
    """What is known about a code object, which is kept so that its id is not used again."""

    code: types.CodeType
    file: str
    stores: frozenset[int]
    """Where its instructions that store something are."""
    slot_lines: frozenset[int]
    """The lines that name a method that stores something."""


class _Tracer:
    def __init__(
        self,
        sources: dict[types.CodeType, str],
        is_unchanged: Callable[[], bool],
        attribute: Callable[[Place | None], None],
    ) -> None:
        self._sources = sources
        self._is_unchanged = is_unchanged
        self._attribute = attribute
        self._codes: dict[int, _Code] = {}
        self._storing: tuple[types.FrameType, Place] | None = None
        """The frame whose next step stores something."""
        self._last: tuple[types.FrameType, Place] | None = None
        """The frame and line of the last step."""

    def _known(self, code: types.CodeType) -> _Code:
        known = self._codes.get(id(code))
        if known is None:
            file = self._sources.get(code, "")
            known = _Code(code, file, frozenset(), frozenset())
            if file:
                known = _Code(code, file, _stores(code), frozenset(_slot_lines(code)))
            self._codes[id(code)] = known
        return known

    def entered(self, frame: types.FrameType, event: str, argument: object) -> Any:
        """Follow a frame of the program or its tests."""
        known = self._known(frame.f_code)
        if not known.file:
            return None
        if known.stores:
            frame.f_trace = self._stepped  # Python 3.13 needs it before the next line
            frame.f_trace_opcodes = True
        return self._stepped(frame, event, argument)

    def _stepped(self, frame: types.FrameType, event: str, _: object) -> Any:
        known = self._known(frame.f_code)
        stores = event == "opcode" and frame.f_lasti in known.stores
        if event == "opcode" and not stores and self._storing is None:
            return self._stepped
        if not self._is_unchanged():
            self._attribute(self._place_of_change(frame, known))
        place = Place(known.file, frame.f_lineno)
        self._storing = (frame, place) if stores else None
        self._last = (frame, place)
        if event == "return" and frame.f_back is not None:
            outer = self._known(frame.f_back.f_code)
            self._last = (frame.f_back, Place(outer.file, frame.f_back.f_lineno))
        return self._stepped

    def _place_of_change(self, frame: types.FrameType, known: _Code) -> Place | None:
        if self._storing is not None and self._storing[0] is frame:
            return self._storing[1]
        if self._last is not None and self._last[0] is frame:
            place = self._last[1]
            return place if place.line in known.slot_lines else None
        return None

    def called(self, frame: types.FrameType, event: str, function: Any) -> None:
        """Look before and after calls of built-in functions that store something."""
        if event[:2] != "c_" or function.__name__ not in _SETTERS:
            return
        place = self._place_of_call(frame)
        if place is not None and not self._is_unchanged():
            if event == "c_call":
                place = self._place_of_change(frame, self._known(frame.f_code))
            self._attribute(place)

    def _place_of_call(self, frame: types.FrameType) -> Place | None:
        """Return the line of the program that calls; for tests also through the library."""
        file = self._known(frame.f_code).file
        if file:
            return Place(file, frame.f_lineno)
        outer = frame.f_back
        while outer is not None and not self._known(outer.f_code).file:
            outer = outer.f_back
        if outer is None or self._known(outer.f_code).file != TESTS:
            return None
        return Place(TESTS, outer.f_lineno)


def _stores(code: types.CodeType) -> frozenset[int]:
    raw = code.co_code
    return frozenset(place for place in range(0, len(raw), 2) if raw[place] in _STORES)


def _slot_lines(code: types.CodeType) -> Iterator[int]:
    """Yield the lines on which a code object names a method that stores something."""
    if _SLOTS.isdisjoint(code.co_names):
        return
    line = 0
    for instruction in dis.get_instructions(code):
        positions = instruction.positions
        line = positions.lineno or line if positions else line
        if isinstance(instruction.argval, str) and instruction.argval in _SLOTS:
            yield line
            # A call over several lines is at its first or last line while it runs.
            if positions and positions.end_lineno:
                yield positions.end_lineno
