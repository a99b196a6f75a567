"""Records the calls that a traced program makes, and the files that it opens."""

import inspect
import opcode
import os
import sys
import time
import types
from typing import Any

from .contract_evaluator import ContractEvaluator
from .memory_meter import MemoryMeter
from .trace_values import brief, is_plain, is_uninformative, shape

_MOST_CALLS, _MOST_OF_A_TEST = 12000, 2000
"""Calls that are recorded: in all, and in one test."""
_MOST_FILES = 2000
_MOST_STATES = 3000
_STATE_LENGTH = 4000
"""Characters of an attribute's value that are compared to detect a change."""
_RESUMABLE = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_RETURNING = {opcode.opmap[n] for n in ("RETURN_VALUE", "RETURN_CONST") if n in opcode.opmap}


class OpenCall:
    """A call that has not ended yet."""

    def __init__(self, frame: types.FrameType, node: str, entered: float) -> None:
        self.frame, self.node, self.entered = frame, node, entered
        self.number: int | None = None
        """The index of its record; None if there are too many to record."""
        self.nearest: int | None = None
        """The index of its record or, if it has none, of its nearest caller's."""
        self.state: dict[str, int] | None = None
        self.given: dict[str, Any] | None = None
        self.inner = 0.0
        """Seconds that were spent in its callees, and in recording them."""
        self.at = time.perf_counter()


class CallRecorder:
    """Records every call of the selected functions while the program runs."""

    def __init__(
        self, owned: dict[types.CodeType, str], contracts: ContractEvaluator, memory: MemoryMeter
    ) -> None:
        self.records: list[dict[str, Any]] = []
        self.results: list[tuple[int, object]] = []
        """Values with the calls that returned them, kept alive so that no identity is reused."""
        self.step = -1
        self.cut = False
        """Whether there were more calls than are recorded."""
        self.unnoted: dict[str, dict[str, float]] = {}
        """Own seconds of the calls that are not recorded, by test, then by function."""
        self._test = ""
        self._first = 0
        self._owned = owned
        self._contracts = contracts
        self.memory = memory
        memory.innermost = self._innermost_record
        self._open: list[OpenCall] = []
        self._resumable: dict[int, types.FrameType] = {}
        self._states = 0
        self._maker_by_identity: dict[int, int] = {}
        """The call that returned each object first, by identity."""
        self._maker_by_value: dict[tuple[type, Any], int] = {}
        """The call that returned each plain value last."""

    def watch(self, on: bool) -> None:
        """Start or stop recording; if no function is selected, the program is not slowed down."""
        sys.setprofile(self.profile if on and self._owned else None)

    def begin_test(self, name: str) -> None:
        """Start the count of calls for a test."""
        self._test, self._first = name, len(self.records)
        self.step = -1

    def settle(self) -> None:
        """End the calls that are still open, and record their time."""
        now = time.perf_counter()
        while self._open:
            opened = self._open.pop()
            self._record_time(opened, now)
            self._charge_caller(opened, now)

    @property
    def _full(self) -> bool:
        own = len(self.records) - self._first
        full = own >= _MOST_OF_A_TEST or len(self.records) >= _MOST_CALLS
        self.cut = self.cut or full
        return full

    @property
    def innermost(self) -> int | None:
        """The index of the innermost open call, if there is one."""
        return self._open[-1].nearest if self._open else None

    def _innermost_record(self) -> dict[str, Any] | None:
        number = self.innermost
        return None if number is None else self.records[number]

    def profile(self, frame: types.FrameType, event: str, value: object) -> None:
        """Record the start and end of selected functions; the interpreter reports both."""
        if event == "call":
            node = self._owned.get(frame.f_code)
            if node is None:
                return
        elif event == "return" and self._open and self._open[-1].frame is frame:
            node = None
        else:
            return
        now = time.perf_counter()
        limited = self.memory.pause(self._innermost_record())
        ended = self._open.pop() if node is None else None
        try:  # an error in the recorder must not reach the program
            if ended is not None:
                self._end(ended, value, now)
            elif node is not None:
                self._start(OpenCall(frame, node, now), again=self._is_resumed(frame))
        except Exception:
            self.cut = True
        self.memory.resume(limited)
        if ended is not None:
            self._charge_caller(ended, time.perf_counter())

    def _charge_caller(self, opened: OpenCall, until: float) -> None:
        """Add a call's time to the time that its caller spent in callees."""
        if self._open:
            self._open[-1].inner += until - opened.entered

    def _record_time(self, opened: OpenCall, until: float) -> None:
        own = until - opened.at - opened.inner
        if opened.number is not None:
            self.records[opened.number]["own"] = own
            return
        spent = self.unnoted.setdefault(self._test, {})
        spent[opened.node] = spent.get(opened.node, 0.0) + own

    def _is_resumed(self, frame: types.FrameType) -> bool:
        """Whether the frame is of a generator or coroutine that has started before."""
        if not frame.f_code.co_flags & _RESUMABLE:
            return False
        known = id(frame) in self._resumable
        self._resumable[id(frame)] = frame  # kept alive: identity must not be reused
        return known

    def _start(self, opened: OpenCall, *, again: bool) -> None:
        opened.nearest = self.innermost
        if not again and not self._full:
            self._record(opened)
        self._open.append(opened)
        opened.at = time.perf_counter()

    def _record(self, opened: OpenCall) -> None:
        frame, node = opened.frame, opened.node
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: frame.f_locals.get(name) for name in names}
        owner = given.pop("self", None)
        made = {name: self._maker(value) for name, value in given.items()}
        record: dict[str, Any] = {
            "node": node,
            "parent": self.innermost,
            "step": self.step,
            "shapes": {name: shape(value) for name, value in given.items()},
            "came_from": {name: number for name, number in made.items() if number is not None},
        }
        opened.state = self._state(owner)
        opened.given = self._contracts.kept_for(node, given)
        if opened.given is not None:
            record["refused"] = self._contracts.broken(node, "requires", opened.given)
        if record["parent"] is None and owner is not None and not node.endswith("__init__"):
            self._contracts.unsettled(owner)  # notes what was broken before this call
        opened.number = opened.nearest = len(self.records)
        self.records.append(record)

    def _end(self, opened: OpenCall, value: object, now: float) -> None:
        self._record_time(opened, now)
        if opened.number is None:
            return
        frame, call = opened.frame, self.records[opened.number]
        if frame.f_code.co_flags & _RESUMABLE:
            return  # a yielded value is not a result
        # The profiler reports an exception that leaves a function as a returned None.
        if value is not None or frame.f_code.co_code[frame.f_lasti] in _RETURNING:
            self.memory.move_result(call, self._innermost_record(), value)
            self._record_result(opened.number, opened.given, value)
        if call["parent"] is None and "self" in frame.f_locals:
            call["unsettled"] = self._contracts.unsettled(frame.f_locals["self"])
        if opened.state is not None:
            before, after = opened.state, self._state(frame.f_locals.get("self")) or {}
            call["wrote"] = sorted(
                name for name in before | after if before.get(name) != after.get(name)
            )

    def _record_result(self, number: int, given: dict[str, Any] | None, value: object) -> None:
        call = self.records[number]
        call["returned"], call["made"] = brief(value), shape(value)
        if given is not None and not hasattr(value, "__next__"):
            names = {**given, "result": value}
            call["broke"] = self._contracts.broken(call["node"], "ensures", names)
        self._keep(number, value)

    def _keep(self, number: int, value: object) -> None:
        """Remember which call made a value, and a tuple's items: it may be unpacked."""
        if self.memory.on:
            return  # values kept alive here would be attributed to the program
        parts = value[:10] if isinstance(value, tuple) else ()
        for made in (value, *parts):
            if made is None:
                continue
            self.results.append((number, made))
            if is_plain(made):
                if not is_uninformative(made):
                    self._maker_by_value[type(made), made] = number
            else:
                self._maker_by_identity.setdefault(id(made), number)

    def _maker(self, value: object) -> int | None:
        if is_plain(value):
            return (
                None if is_uninformative(value) else self._maker_by_value.get((type(value), value))
            )
        return self._maker_by_identity.get(id(value))

    def _state(self, owner: object) -> dict[str, int] | None:
        """Return a hash of each attribute of an object."""
        self._states += 1
        if owner is None or self._states > _MOST_STATES or not hasattr(owner, "__dict__"):
            return None
        fields = list(vars(owner).items())[:100]
        return {str(name): hash(brief(value, _STATE_LENGTH)) for name, value in fields}


class FileRecorder:
    """Records which calls and steps open which files."""

    def __init__(self, calls: CallRecorder) -> None:
        self.records: list[dict[str, Any]] = []
        self.enabled = False
        self._calls = calls
        sys.addaudithook(self._audit)

    def _audit(self, event: str, details: tuple[Any, ...]) -> None:
        if event != "open" or not self.enabled or not isinstance(details[0], str):
            return
        if len(self.records) >= _MOST_FILES:
            return
        path, mode, flags = details
        if os.path.isabs(path):  # noqa: PTH117 - no module may be imported in a hook
            return
        writing = any(letter in str(mode or "") for letter in "wax+") or bool(int(flags or 0) & 3)
        self.records.append(
            {
                "path": path,
                "writing": writing,
                "step": self._calls.step,
                "call": self._calls.innermost,
            }
        )
