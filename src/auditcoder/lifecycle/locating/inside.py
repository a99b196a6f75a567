"""Drives a program step by step in the sandbox, and goes on after a step that fails.

A step is a statement of the code that uses the program. The first that fails would hide what the
others show, so each is tried. Of every call of a responsibility it is noted who called it, what
it was given and returned, and which attributes and files were other afterwards; of every step,
which calls made the values that it saw. This file is sent into the sandbox as text, and imports
nothing of ours.
"""

import ast
import json
import os
import signal
import sys
import types
import unittest
from collections.abc import Callable, Iterable
from typing import Any

PROGRAM, DRIVER, PLAN, SEEN = "candidate.txt", "driver.txt", "plan.json", "seen.json"
_MOST_CALLS = 4000
_MOST_STEPS = 2000
_MOST_STATES = 3000
_SHORT, _LONG = 200, 4000


class OutOfTime(BaseException):
    """A test took longer than it may."""


def brief(value: object, size: int = _SHORT) -> str:
    """Write a value as Python does, cut off where it is long."""
    try:
        text = repr(value)
    except Exception as error:  # an object's own repr is the candidate's code
        return f"<{type(error).__name__} in its repr>"
    return text if len(text) <= size else f"{text[:size]}…"


def owners(code: types.CodeType, names: frozenset[str]) -> dict[types.CodeType, str]:
    """Say which code objects are those of the named functions."""
    found: dict[types.CodeType, str] = {}
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            if part.co_qualname in names:
                found[part] = part.co_qualname
            found |= owners(part, names)
    return found


class Calls:
    """Notes every call of a responsibility while the program runs."""

    def __init__(self, owned: dict[types.CodeType, str]) -> None:
        self.noted: list[dict[str, Any]] = []
        self.results: list[tuple[int, object]] = []
        """Kept alive, so that being the same object means something."""
        self.step = -1
        self._owned = owned
        self._open: list[tuple[types.FrameType, int, dict[str, int] | None]] = []
        self._states = 0

    def watch(self, on: bool) -> None:
        """Begin or stop to look."""
        sys.setprofile(self._saw if on else None)

    def forget_open(self) -> None:
        """Take no call for one that is still under way."""
        self._open.clear()

    @property
    def innermost(self) -> int | None:
        """The call that is under way, if one is."""
        return self._open[-1][1] if self._open else None

    def _saw(self, frame: types.FrameType, event: str, value: object) -> None:
        if event == "call":
            node = self._owned.get(frame.f_code)
            if node is not None and len(self.noted) < _MOST_CALLS:
                self._begun(frame, node)
        elif event == "return" and self._open and self._open[-1][0] is frame:
            self._ended(frame, value)

    def _begun(self, frame: types.FrameType, node: str) -> None:
        code = frame.f_code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        given = {name: frame.f_locals.get(name) for name in names}
        me = given.pop("self", None)
        self.noted.append(
            {
                "node": node,
                "parent": self.innermost,
                "step": self.step,
                "given": {name: brief(value) for name, value in given.items()},
            }
        )
        self._open.append((frame, len(self.noted) - 1, self._state(me)))

    def _ended(self, frame: types.FrameType, value: object) -> None:
        _, number, before = self._open.pop()
        call = self.noted[number]
        call["returned"] = brief(value)
        if value is not None:
            self.results.append((number, value))
        if isinstance(value, tuple):  # which is likely to be taken apart
            self.results += [(number, part) for part in value[:10]]
        if before is not None:
            after = self._state(frame.f_locals.get("self")) or {}
            call["wrote"] = sorted(
                name for name in before | after if before.get(name) != after.get(name)
            )

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

    def __init__(self, test: str) -> None:
        self._test = test

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
        told = (self._test, statement.lineno, simple, texts)
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


class Listener:
    """Hears how each step went."""

    def __init__(self, calls: Calls, owned: dict[types.CodeType, str]) -> None:
        self.steps: list[dict[str, Any]] = []
        self._calls = calls
        self._owned = owned

    def begun(self) -> None:
        """A step begins: what is called now is called by it."""
        self._calls.step = len(self.steps)

    def done(
        self, test: str, line: int, simple: bool, texts: tuple[str, ...], scope: dict[str, Any]
    ) -> None:
        """A step came to its end."""
        if simple and len(self.steps) < _MOST_STEPS:
            made = self._sources(texts, scope)
            self.steps.append({"test": test, "line": line, "fine": True, "sources": made})
        self._calls.step = len(self.steps)

    def failed(
        self, test: str, line: int, _simple: bool, texts: tuple[str, ...], scope: dict[str, Any]
    ) -> None:
        """A step ended with an exception."""
        error = sys.exc_info()[1]
        assert error is not None
        frames, place = [], error.__traceback__
        while place is not None:
            node = self._owned.get(place.tb_frame.f_code)
            if node is not None:
                frames.append((node, place.tb_lineno))
            place = place.tb_next
        lacking = isinstance(error, AttributeError | NameError)
        self.steps.append(
            {
                "test": test,
                "line": line,
                "fine": False,
                "sources": self._sources(texts, scope),
                "exception": type(error).__name__,
                "message": brief(str(error), 600),
                "frames": frames,
                "lacks": (getattr(error, "name", None) or "") if lacking else "",
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
        plain = isinstance(value, bool | int | float | str | bytes | type(None))
        same = [] if plain else [n for n, result in self._calls.results if result is value]
        if same or _says_little(value):
            return True, same
        results = self._calls.results
        return False, [n for n, other in results if type(other) is type(value) and other == value]


def _says_little(value: object) -> bool:
    """Whether a value is so common that an equal one proves nothing."""
    return value is None or (isinstance(value, bool | int) and value in {0, 1}) or value in (
        "", b"", [], {}, (),
    )  # fmt: skip


def with_steps(source: str, tests: Iterable[str]) -> ast.Module:
    """Rewrite the tests that are asked for, and what sets them up; all of it where none is."""
    tree, wanted = ast.parse(source), set(tests)
    if not wanted:
        tree.body = Steps("").tried(tree.body)
    for group in tree.body:
        if isinstance(group, ast.ClassDef):
            for part in group.body:
                name = f"{group.name}.{getattr(part, 'name', '')}"
                asked = name in wanted or name.endswith(".setUp")
                if isinstance(part, ast.FunctionDef) and asked:
                    part.body = Steps(name).tried(part.body)
    return ast.fix_missing_locations(tree)


def run_test(module: types.ModuleType, name: str) -> None:
    """Run one test with what sets it up and clears it away."""
    group, method = name.split(".")
    case = getattr(module, group)(method)
    case.setUp()
    try:
        getattr(case, method)()
    finally:
        sys.setprofile(None)
        case.tearDown()


def timed(seconds: float, act: Callable[[], None]) -> str:
    """Act within a time, and say what went wrong, if something did."""

    def stop(*_: object) -> None:
        raise OutOfTime

    signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        act()
    except OutOfTime:
        return "out of time"
    except (Exception, SystemExit) as error:
        return f"{type(error).__name__}: {error}"
    finally:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_REAL, 0)
    return ""


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
    module = types.ModuleType("program")
    sys.modules["program"] = module
    space = module.__dict__
    owned: dict[types.CodeType, str] = {}

    def load() -> None:
        code = compile(program, "program.py", "exec", dont_inherit=True)
        owned.update(owners(code, frozenset(plan["nodes"])))
        exec(code, space)  # noqa: S102 - what a sandbox is for

    seen["loads"] = timed(plan["seconds"], load)
    if seen["loads"]:
        return
    calls = Calls(owned)
    listener = Listener(calls, owned)
    files = Files(calls)
    seen |= {"steps": listener.steps, "calls": calls.noted, "files": files.noted}
    space |= {
        "__begun__": listener.begun,
        "__done__": listener.done,
        "__failed__": listener.failed,
        "__caught__": (Exception, SystemExit, OutOfTime),
    }
    code = compile(with_steps(driver, plan["tests"]), "tests.py", "exec", dont_inherit=True)
    for name in plan["tests"] or [""]:
        calls.step = -1
        calls.forget_open()

        def act(name: str = name) -> None:
            files.looking = True
            calls.watch(True)
            if name:
                run_test(module, name)
            else:
                exec(code, space)  # noqa: S102

        if name and not seen["tests"]:
            exec(code, space)  # noqa: S102 - the classes of the tests
        seen["tests"][name] = timed(plan["seconds"], act)
        files.looking = False


if __name__ == "__main__":
    main()
