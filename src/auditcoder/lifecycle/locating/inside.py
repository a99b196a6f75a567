"""Drives a program step by step in the sandbox, and goes on after a step that fails.

A step is a statement of the code that uses the program. The first that fails would hide what the
others show, so each is tried. Of every call of a responsibility it is noted who called it, what
it was given, by whom, and returned, which promises that broke, how long it took, what it held in
memory where that ran out, and which attributes and files were other afterwards; of every step,
which calls made the values that it saw. This file is sent into the sandbox as text, and imports
nothing of ours.
"""

import ast
import copy
import inspect
import json
import opcode
import os
import re
import reprlib
import signal
import sys
import time
import tracemalloc
import types
import unittest
from collections.abc import Callable, Iterable
from typing import Any

_MODULE = "program"
PROGRAM, DRIVER, PLAN, SEEN = "candidate.txt", "driver.txt", "plan.json", "seen.json"
_MOST_CALLS, _MOST_OF_A_TEST = 12000, 2000
_MOST_STEPS = 2000
_MOST_FILES = 2000
_MOST_FRAMES = 100
_MOST_STATES = 3000
_INVARIANTS = "invariants"
_MOST_JUDGED = 300
"""Calls of one function whose promises are looked at."""
_SLOW = 0.05
"""Seconds: a promise that takes longer is not looked at again."""
_SHORT, _LONG = 200, 4000
_REPEATED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
_RETURNING = {opcode.opmap[n] for n in ("RETURN_VALUE", "RETURN_CONST") if n in opcode.opmap}
_OFTEN = 0.005
"""Seconds between two looks at how much memory there is left."""
_SAMPLED = 100
"""Items of a collection that are weighed for all of them."""
_A_WHILE = 4
"""Looks until somebody is told again."""
_RINGS, _SOON, _AGAIN = 50, 0.01, 0.1
"""How often a stop waits for notes that are being taken, for how many seconds each time, and how
long it is until whoever caught it is stopped again."""
_ITEMS = 20
"""Items of a collection that are looked at to say what it holds."""


class OutOfTime(BaseException):
    """A test took longer than it may."""


def brief(value: object, size: int = _SHORT) -> str:
    """Write a value as Python does, cut off where it is long; what is large costs no more."""
    writer = reprlib.Repr()
    writer.maxlevel, writer.maxstring, writer.maxother, writer.maxlong = 5, size, size, size
    most = size // 10
    if isinstance(value, bytes | bytearray):
        value = value[:size]
    writer.maxlist = writer.maxtuple = writer.maxset = writer.maxfrozenset = most
    writer.maxdict = writer.maxdeque = writer.maxarray = most
    try:
        text = writer.repr(value)
    except Exception as error:  # an object's own repr is the candidate's code
        return f"<{type(error).__name__} in its repr>"
    return text if len(text) <= size else f"{text[:size]}…"


def is_plain(value: object) -> bool:
    """Whether being the same object means nothing."""
    return isinstance(value, bool | int | float | str | bytes | type(None))


def says_little(value: object) -> bool:
    """Whether a value is so common that an equal one proves nothing."""
    return value is None or (isinstance(value, bool | int) and value in {0, 1}) or value in (
        "", b"", [], {}, (),
    )  # fmt: skip


def shape(value: object, depth: int = 3) -> str:
    """Write the type of a value as an annotation would: Python's own, if it derives from one."""
    bases = (base for base in type(value).__mro__ if base.__module__ == "builtins")
    name = next((base.__name__ for base in bases if base is not object), type(value).__name__)
    if value is None or depth == 0:
        return "None" if value is None else name
    if isinstance(value, tuple):
        parts = [shape(part, depth - 1) for part in value[:_ITEMS]]
        return f"{name}[{', '.join(parts)}]" if parts else name
    if isinstance(value, dict):
        keys, values = list(value)[:_ITEMS], list(value.values())[:_ITEMS]
        return f"{name}[{_any_of(keys, depth)}, {_any_of(values, depth)}]" if keys else name
    if isinstance(value, list | set | frozenset):
        items = [item for item, _ in zip(value, range(_ITEMS), strict=False)]
        return f"{name}[{_any_of(items, depth)}]" if items else name
    return name


def _any_of(items: list[Any], depth: int) -> str:
    return " | ".join(sorted({shape(item, depth - 1) for item in items}))


def owners(code: types.CodeType, names: frozenset[str]) -> dict[types.CodeType, str]:
    """Say which code objects are those of the named functions."""
    found: dict[types.CodeType, str] = {}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            if part.co_qualname in names:
                found[part] = part.co_qualname
            found |= owners(part, names)
    return found


class Promises:
    """Says which promises a call breaks: requirements as it begins, assurances as it ends."""

    def __init__(
        self, told: dict[str, dict[str, list[str]]], invariants: list[str], space: dict[str, Any]
    ) -> None:
        self._space = space
        self._invariants = [self._compiled(text) for text in invariants]
        self._unsound: dict[int, object] = {}
        """Objects whose invariants were broken already, kept so that no other gets their place."""
        self._judged: dict[str, int] = {}
        self._known = {
            (node, which): [self._compiled(text) for text in texts]
            for node, own in told.items()
            for which, texts in own.items()
        }
        self._promising = {node for (node, _), own in self._known.items() if own}

    def kept_for(self, node: str, given: dict[str, Any]) -> dict[str, Any] | None:
        """Return what a call was given, as it is now, if its promises are looked at.

        A promise is never let near the thing itself: it could use it up.
        """
        self._judged[node] = self._judged.get(node, 0) + 1
        if self._judged[node] > _MOST_JUDGED or node not in self._promising:
            return None
        if any(hasattr(value, "__next__") for value in given.values()):
            return None
        copied: dict[str, Any] | None = self._copied(node, given)
        return copied

    def _copied(self, whose: str, value: Any) -> Any:
        """Copy something; nothing of this owner again if that takes long."""
        began = time.perf_counter()
        try:
            return copy.deepcopy(value)
        except Exception:  # what cannot be copied is the candidate's own
            return None
        finally:
            if time.perf_counter() - began > _SLOW:
                self._judged[whose] = _MOST_JUDGED

    def broken(self, node: str, which: str, names: dict[str, Any]) -> list[int]:
        """Return the promises that do not hold; one that cannot be told is none of them."""
        promises = self._known.get((node, which), [])
        began = time.perf_counter()
        found = [n for n, promise in enumerate(promises) if self._holds(promise, names) is False]
        if time.perf_counter() - began > _SLOW:
            self._judged[node] = _MOST_JUDGED
        return found

    def unsettled(self, owner: object) -> bool:
        """Whether an object is no longer as it must always be, and was when it was last seen."""
        known = self._judged[_INVARIANTS] = self._judged.get(_INVARIANTS, 0) + 1
        if not self._invariants or id(owner) in self._unsound or known > _MOST_JUDGED:
            return False
        names = {"self": self._copied(_INVARIANTS, owner)}
        if names["self"] is None:
            return False
        broken = any(self._holds(promise, names) is False for promise in self._invariants)
        if broken:
            self._unsound[id(owner)] = owner
        return broken

    def _holds(self, promise: types.CodeType | None, names: dict[str, Any]) -> bool | None:
        try:
            return None if promise is None else bool(eval(promise, {**self._space, **names}))  # noqa: S307
        except Exception:  # a promise about something else
            return None

    @staticmethod
    def _compiled(text: str) -> types.CodeType | None:
        try:
            return compile(text.strip(), "promise", "eval", dont_inherit=True)
        except (SyntaxError, ValueError):
            return None


class Begun:
    """A call that is under way."""

    def __init__(self, frame: types.FrameType, node: str, entered: float) -> None:
        self.frame, self.node, self.entered = frame, node, entered
        self.number: int | None = None
        """Where it is noted; None where there are too many to note."""
        self.nearest: int | None = None
        """Where it is noted or, if it is not, who called it."""
        self.state: dict[str, int] | None = None
        self.given: dict[str, Any] | None = None
        self.inner = 0.0
        """Seconds that went to what it called, and to notes of that."""
        self.at = time.perf_counter()


def weight(value: object) -> int:
    """Say about how many bytes a value takes: itself, and what it holds."""
    if isinstance(value, list | tuple | set | frozenset | dict) and len(value):
        inner = value.values() if isinstance(value, dict) else value
        items = [item for item, _ in zip(inner, range(_SAMPLED), strict=False)]
        sampled = sum(map(sys.getsizeof, items)) * len(value) // len(items)
        return sys.getsizeof(value) + sampled
    return sys.getsizeof(value)


class TooMuch(MemoryError):
    """The candidate took more memory than it may."""


class Memory:
    """Says what each call took, without what it called: what it left, and the most at a time.

    From one event to the next, all that is taken belongs to the innermost call. Only where memory
    ran out: it makes everything slower. Whoever takes more than `allowed` is told that there is
    none left while there is: with none at all, Python itself can hang.
    """

    def __init__(self, allowed: int) -> None:
        self.limited = False
        """Whether the candidate is running."""
        self.innermost: Callable[[], dict[str, Any] | None] = lambda: None
        """Says which call is under way."""
        self.on = bool(allowed)
        self._allowed = allowed
        self._before = 0
        self._quiet = 0
        if allowed:
            tracemalloc.start(1)
            signal.signal(signal.SIGPROF, self._look)
            signal.setitimer(signal.ITIMER_PROF, _OFTEN, _OFTEN)

    def _look(self, *_: object) -> None:
        self._quiet = max(0, self._quiet - 1)
        over = tracemalloc.get_traced_memory()[1] > self._allowed
        if self.limited and over and not self._quiet:
            self._quiet = _A_WHILE  # time to be told; who goes on all the same is told again
            # Whoever watches may be out of the way after this: it is put down now.
            self.put_down(self.innermost())
            raise TooMuch

    def began(self, call: dict[str, Any] | None) -> bool:
        """Somebody takes notes: what was taken until now is the call's, what follows is not."""
        if self.on:
            self._look()
            self.put_down(call)
        limited, self.limited = self.limited, False
        return limited

    def ended(self, limited: bool) -> None:
        """The notes are taken; nobody is blamed for what they took."""
        if self.on:
            self.put_down(None)
        self.limited = limited

    def handed_over(
        self, call: dict[str, Any], above: dict[str, Any] | None, value: object
    ) -> None:
        """Let what a call returns be its caller's from now on."""
        if self.on:
            size = weight(value)
            call["left"] = call.get("left", 0) - size
            if above is not None:
                above["left"] = above.get("left", 0) + size

    def put_down(self, call: dict[str, Any] | None) -> None:
        """Put down to a call, or to nobody, what was taken since the last event."""
        now, most = tracemalloc.get_traced_memory()
        if call is not None:
            left = call.get("left", 0)
            call["held"] = max(call.get("held", 0), left + most - self._before)
            call["left"] = left + now - self._before
        self._before = now
        tracemalloc.reset_peak()


class Calls:
    """Notes every call of a responsibility while the program runs."""

    def __init__(
        self, owned: dict[types.CodeType, str], promises: Promises, memory: Memory
    ) -> None:
        self.noted: list[dict[str, Any]] = []
        self.results: list[tuple[int, object]] = []
        """Kept alive, so that being the same object means something."""
        self.step = -1
        self.cut = False
        """Whether there were more calls than are noted."""
        self.unnoted: dict[str, dict[str, float]] = {}
        """Seconds that calls beyond those took themselves, by test, then by function."""
        self._test = ""
        self._first = 0
        self._owned = owned
        self._promises = promises
        self.memory = memory
        memory.innermost = self._innermost_note
        self._open: list[Begun] = []
        self._going: dict[int, types.FrameType] = {}
        self._states = 0
        self._made_it: dict[int, int] = {}
        """The call that returned each object, by its identity."""
        self._made_alike: dict[tuple[type, Any], int] = {}
        """The call that returned each plain value last."""

    def watch(self, on: bool) -> None:
        """Begin or stop to look; where nobody is looked at, nothing is made slower."""
        sys.setprofile(self.saw if on and self._owned else None)

    def begin_test(self, name: str) -> None:
        """Begin to count anew."""
        self._test, self._first = name, len(self.noted)
        self.step = -1

    def settle(self) -> None:
        """Take no call for one that is still under way; put down the time of those cut off."""
        now = time.perf_counter()
        while self._open:
            begun = self._open.pop()
            self._spent(begun, now)
            self._hand_up(begun, now)

    @property
    def _full(self) -> bool:
        own = len(self.noted) - self._first
        full = own >= _MOST_OF_A_TEST or len(self.noted) >= _MOST_CALLS
        self.cut = self.cut or full
        return full

    @property
    def innermost(self) -> int | None:
        """The call that is under way, if one is."""
        return self._open[-1].nearest if self._open else None

    def _innermost_note(self) -> dict[str, Any] | None:
        number = self.innermost
        return None if number is None else self.noted[number]

    def saw(self, frame: types.FrameType, event: str, value: object) -> None:
        """Note what concerns a responsibility: the interpreter tells of every call and return."""
        if event == "call":
            node = self._owned.get(frame.f_code)
            if node is None:
                return
        elif event == "return" and self._open and self._open[-1].frame is frame:
            node = None
        else:
            return
        now = time.perf_counter()
        limited = self.memory.began(self._innermost_note())
        ended = self._open.pop() if node is None else None
        try:  # what goes wrong here must not go wrong in the candidate
            if ended is not None:
                self._ended(ended, value, now)
            elif node is not None:
                self._begun(Begun(frame, node, now), again=self._goes_on(frame))
        except Exception:
            self.cut = True
        self.memory.ended(limited)
        if ended is not None:
            self._hand_up(ended, time.perf_counter())

    def _hand_up(self, begun: Begun, until: float) -> None:
        """Let a caller's own time be without what it called."""
        if self._open:
            self._open[-1].inner += until - begun.entered

    def _spent(self, begun: Begun, until: float) -> None:
        own = until - begun.at - begun.inner
        if begun.number is not None:
            self.noted[begun.number]["own"] = own
            return
        spent = self.unnoted.setdefault(self._test, {})
        spent[begun.node] = spent.get(begun.node, 0.0) + own

    def _goes_on(self, frame: types.FrameType) -> bool:
        """Whether it is a generator or the like that was begun before."""
        if not frame.f_code.co_flags & _REPEATED:
            return False
        known = id(frame) in self._going
        self._going[id(frame)] = frame  # kept, so that no other frame gets its place
        return known

    def _begun(self, begun: Begun, *, again: bool) -> None:
        begun.nearest = self.innermost
        if not again and not self._full:
            self._note(begun)
        self._open.append(begun)
        begun.at = time.perf_counter()

    def _note(self, begun: Begun) -> None:
        frame, node = begun.frame, begun.node
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: frame.f_locals.get(name) for name in names}
        me = given.pop("self", None)
        made = {name: self._maker(value) for name, value in given.items()}
        note: dict[str, Any] = {
            "node": node,
            "parent": self.innermost,
            "step": self.step,
            "shapes": {name: shape(value) for name, value in given.items()},
            "came_from": {name: number for name, number in made.items() if number is not None},
        }
        begun.state = self._state(me)
        begun.given = self._promises.kept_for(node, given)
        if begun.given is not None:
            note["refused"] = self._promises.broken(node, "requires", begun.given)
        if note["parent"] is None and me is not None and not node.endswith("__init__"):
            self._promises.unsettled(me)  # by whoever had it before: no call is to blame
        begun.number = begun.nearest = len(self.noted)
        self.noted.append(note)

    def _ended(self, begun: Begun, value: object, now: float) -> None:
        self._spent(begun, now)
        if begun.number is None:
            return
        frame, call = begun.frame, self.noted[begun.number]
        if frame.f_code.co_flags & _REPEATED:
            return  # what it yields is not what it returns
        # An exception that leaves a function looks like None that is returned.
        if value is not None or frame.f_code.co_code[frame.f_lasti] in _RETURNING:
            self.memory.handed_over(call, self._innermost_note(), value)
            self._returned(begun.number, begun.given, value)
        if call["parent"] is None and "self" in frame.f_locals:
            call["unsettled"] = self._promises.unsettled(frame.f_locals["self"])
        if begun.state is not None:
            before, after = begun.state, self._state(frame.f_locals.get("self")) or {}
            call["wrote"] = sorted(
                name for name in before | after if before.get(name) != after.get(name)
            )

    def _returned(self, number: int, given: dict[str, Any] | None, value: object) -> None:
        call = self.noted[number]
        call["returned"], call["made"] = brief(value), shape(value)
        if given is not None and not hasattr(value, "__next__"):
            names = {**given, "result": value}
            call["broke"] = self._promises.broken(call["node"], "ensures", names)
        self._keep(number, value)

    def _keep(self, number: int, value: object) -> None:
        """Remember who made a value, and the parts of a tuple: it is likely to be taken apart."""
        if self.memory.on:
            return  # what is kept alive here would be put down to the candidate
        parts = value[:10] if isinstance(value, tuple) else ()
        for made in (value, *parts):
            if made is None:
                continue
            self.results.append((number, made))
            if is_plain(made):
                if not says_little(made):
                    self._made_alike[type(made), made] = number
            else:
                self._made_it.setdefault(id(made), number)

    def _maker(self, value: object) -> int | None:
        if is_plain(value):
            return None if says_little(value) else self._made_alike.get((type(value), value))
        return self._made_it.get(id(value))

    def _state(self, owner: object) -> dict[str, int] | None:
        """Fingerprint an object's attributes."""
        self._states += 1
        if owner is None or self._states > _MOST_STATES or not hasattr(owner, "__dict__"):
            return None
        fields = list(vars(owner).items())[:100]
        return {str(name): hash(brief(value, _LONG)) for name, value in fields}


class Files:
    """Notes which calls and steps open which files."""

    def __init__(self, calls: Calls) -> None:
        self.noted: list[dict[str, Any]] = []
        self.looking = False
        self._calls = calls
        sys.addaudithook(self._heard)

    def _heard(self, event: str, details: tuple[Any, ...]) -> None:
        if event != "open" or not self.looking or not isinstance(details[0], str):
            return
        if len(self.noted) >= _MOST_FILES:
            return
        path, mode, flags = details
        if os.path.isabs(path):  # noqa: PTH117 - no module may be imported in a hook
            return
        writing = any(letter in str(mode or "") for letter in "wax+") or bool(int(flags or 0) & 3)
        self.noted.append(
            {
                "path": path,
                "writing": writing,
                "step": self._calls.step,
                "call": self._calls.innermost,
            }
        )


class Steps:
    """Rewrites a body so that each of its statements is tried, whatever became of the others."""

    def tried(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return the statements, each with somebody to hear how it went."""
        return [self._one(statement) for statement in statements]

    def _one(self, statement: ast.stmt) -> ast.stmt:
        match statement:
            case (
                ast.Return() | ast.Break() | ast.Continue() | ast.Pass() | ast.Global()
                | ast.Nonlocal() | ast.Import() | ast.ImportFrom() | ast.FunctionDef()
                | ast.AsyncFunctionDef() | ast.ClassDef()
            ):  # fmt: skip
                return statement
            case ast.For() | ast.While() | ast.If():
                statement.body = self.tried(statement.body)
                statement.orelse = self.tried(statement.orelse)
                return self._heard(statement, simple=False)
            case ast.With() if not _expects_an_error(statement):
                statement.body = self.tried(statement.body)
                return self._heard(statement, simple=False)
            case _:
                return self._heard(statement, simple=True)

    def _heard(self, statement: ast.stmt, *, simple: bool) -> ast.stmt:
        texts = tuple(sorted(_looked_at(statement))) if simple else ()
        told = (statement.lineno, simple, texts)
        failed = _call("__failed__", *told, scope=True)
        handler = ast.ExceptHandler(
            type=ast.Name("__caught__", ast.Load()), name=None, body=[failed]
        )
        attempt = ast.Try(
            body=[_call("__begun__"), statement, _call("__done__", *told, scope=True)],
            handlers=[handler],
            orelse=[],
            finalbody=[],
        )
        return ast.copy_location(attempt, statement)


def _expects_an_error(statement: ast.With) -> bool:
    return any("assertRaises" in ast.unparse(item) for item in statement.items)


def _looked_at(statement: ast.stmt) -> set[str]:
    """Return the names and attributes that a statement reads."""
    return {
        ast.unparse(part)
        for part in ast.walk(statement)
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Load)
    }


def _call(name: str, *told: object, scope: bool = False) -> ast.stmt:
    arguments: list[ast.expr] = [ast.Constant(value) for value in told]  # type: ignore[arg-type]
    if scope:
        arguments.append(ast.Call(ast.Name("locals", ast.Load()), [], []))
    return ast.Expr(ast.Call(ast.Name(name, ast.Load()), arguments, []))


def _named_in(error: TypeError) -> str:
    """Return the function that was called in a way that it cannot be: `f() takes no arguments`."""
    found = re.match(r"([\w.]+)\(\)", brief(error.args[0] if error.args else "").strip("'\""))
    return found.group(1) if found else ""


def _lacking(error: BaseException) -> str:
    """Return the name that the program itself should have had; what a list lacks is no part's."""
    if isinstance(error, NameError):
        return str(error.name or "")
    if not isinstance(error, AttributeError) or isinstance(error.obj, unittest.TestCase):
        return ""
    kind = error.obj if isinstance(error.obj, type) else type(error.obj)
    ours = error.obj is sys.modules[_MODULE] or kind.__module__ == _MODULE
    return str(error.name or "") if ours else ""


class Listener:
    """Hears how each step went."""

    def __init__(self, calls: Calls, owned: dict[types.CodeType, str]) -> None:
        self.steps: list[dict[str, Any]] = []
        self.test = ""
        """The one that is run: what sets it up is part of it."""
        self._calls = calls
        self._owned = owned

    def begun(self) -> None:
        """A step begins: what is called now is called by it."""
        self._calls.step = len(self.steps)
        self._calls.memory.limited = True

    def done(self, line: int, simple: bool, texts: tuple[str, ...], scope: dict[str, Any]) -> None:
        """A step came to its end."""
        self._calls.memory.limited = False
        if simple and len(self.steps) < _MOST_STEPS:
            made = self._sources(texts, scope)
            self.steps.append({"test": self.test, "line": line, "fine": True, "sources": made})
        self._calls.step = len(self.steps)

    def failed(
        self, line: int, _simple: bool, texts: tuple[str, ...], scope: dict[str, Any]
    ) -> None:
        """A step ended with an exception."""
        self._calls.memory.limited = False
        self._calls.settle()  # whoever looks may have been stopped as well
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
                "lacks": _lacking(error),
                "names": _named_in(error) if isinstance(error, TypeError) else "",
            }
        )
        self._calls.step = len(self.steps)
        if isinstance(error, OutOfTime) or len(self.steps) >= _MOST_STEPS:
            raise OutOfTime

    def _sources(self, texts: Iterable[str], scope: dict[str, Any]) -> list[dict[str, Any]]:
        """Say which calls made the values that a step saw: the same object, or an equal one."""
        self._calls.watch(False)
        found = []
        for text in texts:
            if text.split(".")[0] in scope:
                try:
                    value = eval(text, {}, dict(scope))  # noqa: S307 - a name, or an attribute
                    same, made = self._made(value)
                except Exception:  # noqa: S112 - a property or a comparison of the candidate's
                    continue
                if made:
                    found.append({"text": text, "same": same, "calls": made[-20:]})
        self._calls.watch(True)
        return found

    def _made(self, value: object) -> tuple[bool, list[int]]:
        if callable(value) or isinstance(value, types.ModuleType | unittest.TestCase):
            return False, []
        results = self._calls.results
        same = [] if is_plain(value) else [n for n, result in results if result is value]
        if same or says_little(value):
            return True, same
        return False, [n for n, other in results if type(other) is type(value) and other == value]


def with_steps(source: str, tests: Iterable[str]) -> ast.Module:
    """Rewrite the tests that are asked for, and what sets them up; all of it where none is."""
    tree, wanted = ast.parse(source), set(tests)
    if not wanted:
        tree.body = Steps().tried(tree.body)
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            for part in group.body:
                name = f"{group.name}.{getattr(part, 'name', '')}"
                asked = name in wanted or name.endswith(".setUp")
                if isinstance(part, ast.FunctionDef) and asked:
                    part.body = Steps().tried(part.body)
    return ast.fix_missing_locations(tree)


def run_test(space: dict[str, Any], name: str) -> None:
    """Run one test with what sets it up and clears it away."""
    group, method = name.split(".")
    holder = space[group]
    if not issubclass(holder, unittest.TestCase):
        getattr(holder(), method)()
        return
    case = holder(method)
    try:
        case.setUpClass()
        case.setUp()
        getattr(case, method)()
    except unittest.SkipTest:
        return
    finally:
        sys.setprofile(None)
        case.tearDown()


def timed(seconds: float, act: Callable[[], None]) -> str:
    """Act within a time, and say what went wrong, if something did."""

    going = True
    waited = 0

    def stop(_: int, frame: types.FrameType | None) -> None:
        nonlocal waited
        # Whoever is stopped while it takes notes takes no more: it is let finish, for a while.
        if going and waited < _RINGS and _takes_notes(frame):
            waited += 1
            signal.setitimer(signal.ITIMER_REAL, _SOON, _AGAIN)
        elif going:
            raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds, _AGAIN)  # again, where it was caught
    try:
        act()
    except OutOfTime:
        return "out of time"
    except BaseException as error:
        return f"{type(error).__name__}: {brief(error)}"
    finally:
        going = False  # first: it may ring once more
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.setprofile(None)
    return ""


_NOTES = {f.__code__ for f in (Calls.saw, Listener.begun, Listener.done, Listener.failed)}


def _takes_notes(frame: types.FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code in _NOTES:
            return True
        frame = frame.f_back
    return False


def main() -> None:
    """Read the plan, do it, and leave what was seen."""
    texts = []
    for name in (PROGRAM, DRIVER, PLAN):
        with open(name, encoding="utf-8", newline="") as file:  # noqa: PTH123
            texts.append(file.read())
        os.unlink(name)  # noqa: PTH108
    plan = json.loads(texts[2])
    seen: dict[str, Any] = {"loads": "", "steps": [], "calls": [], "files": [], "tests": {}}
    try:
        _observe(texts[0], texts[1], plan, seen)
    finally:
        with open(SEEN, "w", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            json.dump(seen, file)


def _observe(program: str, driver: str, plan: dict[str, Any], seen: dict[str, Any]) -> None:
    module = types.ModuleType(_MODULE)
    sys.modules[_MODULE] = module
    space = module.__dict__
    owned: dict[types.CodeType, str] = {}

    def load() -> None:
        code = compile(program, "program.py", "exec", dont_inherit=True)
        owned.update(owners(code, frozenset(plan["nodes"])))
        exec(code, space)  # noqa: S102 - what a sandbox is for

    memory = Memory(plan["memory"])
    memory.limited = True
    seen["loads"] = timed(plan["seconds"], load)
    memory.limited = False
    if seen["loads"]:
        return
    promises = Promises(plan["promises"], plan["invariants"], space)
    calls = Calls(owned, promises, memory)
    listener = Listener(calls, owned)
    files = Files(calls)
    seen |= {"steps": listener.steps, "calls": calls.noted, "files": files.noted}
    seen["unnoted"] = calls.unnoted
    # Names of its own: what the driver defines must not take the place of what it looks at.
    driving = {
        **space,
        "__begun__": listener.begun,
        "__done__": listener.done,
        "__failed__": listener.failed,
        "__caught__": BaseException,
    }
    code = compile(with_steps(driver, plan["tests"]), "tests.py", "exec", dont_inherit=True)
    for name in plan["tests"] or [""]:
        calls.begin_test(name)
        listener.test = name

        def act(name: str = name) -> None:
            files.looking = True
            calls.watch(True)
            if name:
                run_test(driving, name)
            else:
                exec(code, driving)  # noqa: S102

        if name and not seen["tests"]:
            broken = timed(plan["seconds"], lambda: exec(code, driving))  # noqa: S102 - the classes
            if broken:
                return
        seen["tests"][name] = timed(plan["seconds"], act)
        files.looking = False
        calls.settle()
    seen["cut"] = calls.cut


if __name__ == "__main__":
    main()
