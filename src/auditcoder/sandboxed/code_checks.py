"""Runs test code beside the candidate and detects tampering with unittest.

Both share one interpreter, so unittest, the built-ins and this module are compared with their
original state before, during and after the tests. A program that targets this file can still cheat;
see `RunTests`.
"""

import _signal  # type: ignore[import-not-found]
import ast
import builtins
import collections
import contextlib
import gc
import importlib
import inspect
import json.encoder
import re
import signal
import sys
import types
import unittest
import unittest._log
import unittest.async_case
import unittest.case
import unittest.loader
import unittest.result
import unittest.suite
import unittest.util
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .case_runner import Error, Tell, names_used, nested_codes, plan, run_all
from .exception_report import TESTS, described, text
from .harness_integrity import (
    Snapshot,
    Tampering,
    check_unchanged,
    functions_of,
    import_snapshot,
    module_snapshot,
    take_snapshot,
    used_snapshot,
)

_NAMES = frozenset(
    {
        *("dumps", "JSONEncoder", "encode_basestring_ascii", "c_make_encoder"),
        *("encode", "iterencode"),
        *("isgeneratorfunction", "iscoroutinefunction", "iscoroutine", "isroutine", "isgenerator"),
        *("signature", "exc_info", "gettrace"),
    }
)
"""Functions of larger modules that this one and unittest use."""
_USED = frozenset({"_count_elements", "compile", "search", "catch_warnings", "simplefilter"})
"""Functions of larger modules that assertions use."""
Report = Callable[..., None]
Load = Callable[[str, str], types.ModuleType]


def run_tests(
    code: str,
    program: types.ModuleType,
    load: Load,
    report: Report,
    ready: types.CodeType | None = None,
    library: Snapshot = Snapshot(),  # noqa: B008 - it cannot be changed
    imports: "Imports | None" = None,
) -> None:
    """Run unittest classes and `test…` functions; if there are none, the code is one test.

    `ready` is the same code, compiled before, if it asserts or calls something at its top level.
    `library` is what the tests use of other modules, as it was before the program.
    """
    check_unchanged(LIBRARY + _BUILTINS + library)
    imports = imports or imports_of(ast.parse(code))
    tests = load("tests", code)
    imported = {k: v for k, v in program.__dict__.items() if not k.startswith("__")}
    tests.__dict__.update(imported)
    compiled = ready or compile(code, TESTS, "exec", dont_inherit=True)
    with _undisturbed(alone=not imports.runs):
        exec(compiled, tests.__dict__)  # noqa: S102 - the purpose of the sandbox
        own = {k: v for k, v in tests.__dict__.items() if imported.get(k) is not v}
        _check_definitions(own, compiled)
        cases = _cases(own)
        names = names_used(compiled)
        planned = tuple(
            plan(case, names, case.body if isinstance(case, _Function) else None) for case in cases
        )
        # Changes that the tests made themselves while they were loaded are allowed.
        parts = LIBRARY + take_snapshot([builtins]) + library + _methods(_classes(own, cases))
    if not cases:
        check_unchanged(LIBRARY + _BUILTINS + library)
        report("planned", count=int(imports.runs))
        if imports.runs:
            report("test", name="", verdict="passed", message="", frames=[])
        return
    report("planned", count=len(cases))
    run_all(planned, _teller(report))
    check_unchanged(parts)


@contextlib.contextmanager
def _undisturbed(*, alone: bool) -> Iterator[None]:
    """Keep code of the program from running while tests are loaded.

    Otherwise callbacks, finalizers and signal handlers of the program could change the tests before
    their state is known. Tests that are not `alone` call the program while they are loaded, and the
    program may need these then, but for callbacks of the collector.
    """
    callbacks, enabled = [*gc.callbacks], gc.isenabled()
    handlers = {}
    gc.callbacks.clear()
    if alone:
        gc.disable()
        for number in _SIGNALS:
            if callable(handler := _signal.getsignal(number)):
                handlers[number] = handler
                _signal.signal(number, _signal.SIG_IGN)
    try:
        yield
    finally:
        gc.callbacks.extend(callbacks)
        if alone and enabled:
            gc.enable()
        for number, handler in handlers.items():
            _signal.signal(number, handler)


def _check_definitions(own: dict[str, Any], compiled: types.CodeType) -> None:
    """Raise if a test, or a function that the tests define, has code that is not theirs."""
    if not names_used(compiled).isdisjoint(_MAKING_CODE):
        return
    known = {id(code) for code in nested_codes(compiled)}
    defined = {code.co_name for code in compiled.co_consts if isinstance(code, types.CodeType)}
    for name, thing in own.items():
        if isinstance(thing, type):
            if thing.__module__ != "tests":
                continue
            for method, value in vars(thing).items():
                if method.startswith("test") or method in _DECIDING:
                    _check_definition(f"{name}.{method}", value, known)
        elif name in defined:
            _check_definition(name, thing, known)


def _check_definition(name: str, value: Any, known: set[int]) -> None:
    called = vars(type(value)).get("__call__")
    functions = [*functions_of(value)] or [*functions_of(called)]
    if functions and not any(id(function.__code__) in known for function in functions):
        raise Tampering(f"the program replaced {name} of the tests")


def _cases(own: dict[str, Any]) -> list[unittest.TestCase]:
    """Return the tests that the code defines, each once, in order."""
    found: list[unittest.TestCase] = []
    seen: list[Any] = []
    loader = unittest.TestLoader()
    for name, thing in own.items():
        if any(thing is other for other in seen):
            continue
        if isinstance(thing, type):
            if thing.__module__ != "tests":
                continue
            if issubclass(thing, unittest.TestCase):
                found += map(_runnable, _flat(loader.loadTestsFromTestCase(thing)))
            elif name.startswith("Test"):
                methods = [method for method in vars(thing) if method.startswith("test")]
                found += [_Function(f"{name}.{m}", _bound(thing, m)) for m in methods]
        elif name.startswith("test") and callable(thing) and _needs_no_arguments(thing):
            found.append(_Function(name, thing))
        seen.append(thing)
    return found


def _flat(suite: Any) -> list[unittest.TestCase]:
    if not isinstance(suite, unittest.BaseTestSuite):
        return [suite]
    return [case for part in suite for case in _flat(part)]


def _bound(holder: Any, method: str) -> Callable[[], Any]:
    return lambda: getattr(holder(), method)()


def _needs_no_arguments(thing: Any) -> bool:
    try:
        inspect.signature(thing).bind()
    except (TypeError, ValueError):
        return False
    return True


def _runnable(case: unittest.TestCase) -> unittest.TestCase:
    """Return the case, or one that fails if calling the test would not run its body."""
    method = getattr(case, case._testMethodName, None)  # noqa: SLF001
    asynchronous = inspect.iscoroutinefunction(method)
    if asynchronous and hasattr(case, "_callMaybeAsync"):
        return case  # unittest awaits it
    if not (asynchronous or inspect.isgeneratorfunction(method)):
        return case
    return _Function(_name(case), lambda: _require_run(method))


class _Function(unittest.TestCase):
    """A test that is a function; a coroutine or generator as result means that it did not run."""

    def __init__(self, name: str, function: Callable[[], Any]) -> None:
        super().__init__()
        self.name = name
        self.body = lambda: _require_run(function())

    def runTest(self) -> None:  # noqa: N802
        """Exist, as unittest requires."""


def _require_run(value: Any) -> None:
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError("the test is asynchronous, and nobody awaits it")
    if inspect.isgenerator(value) or inspect.isroutine(value):
        raise TypeError("the test was called and did not run")


def _classes(own: dict[str, Any], cases: list[unittest.TestCase]) -> list[type]:
    """Return the classes of tests and their bases, except those of unittest and this module."""
    plain = [kind for name, kind in own.items() if name[:4] == "Test" and isinstance(kind, type)]
    found = {kind: None for each in (*map(type, cases), *plain) for kind in each.__mro__}
    return [kind for kind in found if kind.__module__ not in {"builtins", *_OWN_MODULES}]


class Imports(NamedTuple):
    """What tests import, and the names by which they use it."""

    modules: tuple[str, ...]
    names: tuple[str, ...]
    runs: bool
    """Whether the tests assert or call anything while they are loaded."""


def imports_of(tree: ast.Module) -> Imports:
    """Return what tests import, without names that they may replace themselves."""
    modules: dict[str, None] = {}
    used: set[str] = set()
    replaced: set[str] = set()
    texts: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                parts = [alias.name.split(".") for alias in names]
                modules.update((".".join(p[: n + 1]), None) for p in parts for n in range(len(p)))
                used.update(name for path in parts for name in path)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                modules[module] = None
                modules.update((f"{module}.{alias.name}", None) for alias in names)
                used.update(alias.name for alias in names)
            case ast.Attribute(attr=name, ctx=ast.Load()) | ast.Name(id=name):
                used.add(name)
            case ast.Attribute(attr=name):
                replaced.add(name)
            case ast.Constant(value=str(text)):
                texts.add(text[-_LONGEST_NAME:].rpartition(".")[2])
    if not used.isdisjoint({"setattr", "start", "__dict__"}):
        replaced |= texts
    runs = has_assertion_or_call(tree.body)
    if not modules:
        return Imports((), (), runs)
    return Imports(tuple(modules), tuple(sorted(used - replaced)), runs)


def imported_snapshot(imports: Imports) -> Snapshot:
    """Import what tests will import from the library, and return what they use of it."""
    names, modules, parts = frozenset(imports.names), [], []
    for name in imports.modules:
        parent, _, last = name.rpartition(".")
        top = name.partition(".")[0]
        if top in _PROGRAMS or (top not in sys.modules and top not in sys.stdlib_module_names):
            continue
        if hasattr(sys.modules.get(parent), last) and name not in sys.modules:
            continue  # it is no module
        try:
            module = importlib.import_module(name)
            for lazy in names & {*getattr(module, "__all__", ())} - vars(module).keys():
                getattr(module, lazy)
        except Exception:  # noqa: S112 - the tests report it
            continue
        modules.append(module)
        if parent:
            parts.append((vars(sys.modules[parent]), last, module, name))
    return (
        Snapshot(entries=tuple(parts))
        + used_snapshot((m for m in modules if m not in _COMPARED), names)
        + module_snapshot(module.__name__ for module in modules)
        + import_snapshot()
    )


def has_assertion_or_call(lines: list[ast.stmt]) -> bool:
    """Whether the code asserts or calls anything at its top level."""
    for line in lines:
        if isinstance(line, ast.Assert):
            return True
        if isinstance(line, ast.Expr) and any(isinstance(n, ast.Call) for n in ast.walk(line)):
            return True
        if isinstance(line, ast.If) and "__name__" in ast.unparse(line.test):
            continue
        if isinstance(line, ast.For | ast.While | ast.With | ast.Try | ast.If) and (
            has_assertion_or_call(line.body)
        ):
            return True
    return False


def _teller(report: Report) -> Tell:
    """Return what reports each test as it ends, so that a later timeout loses none."""

    def tell(test: Any, verdict: str, error: Error | None, message: str) -> None:
        if verdict == "passed":
            check_unchanged(_CASES)
        details: dict[str, Any] = {"message": text(message), "frames": []}
        if error and verdict != "skipped":
            details = described(error[1])
            details["message"] = f"{details['type']}: {details['message']}"
        report(
            "test",
            name=_name(test),
            verdict=verdict,
            message=details["message"],
            frames=details["frames"],
        )

    return tell


def _name(test: Any) -> str:
    if isinstance(test, _Function):
        return text(test.name)
    name = text(test.id())
    # Class and module fixtures are not test cases: `setUpClass (tests.Case)`.
    return name.removeprefix("tests.") if isinstance(test, unittest.TestCase) else name


def _methods(holders: list[type]) -> Snapshot:
    """Return the methods of test classes; other values may change."""
    taken = take_snapshot(holders, cells=False)
    kinds = (types.FunctionType, classmethod, staticmethod, property)
    return taken._replace(entries=tuple(e for e in taken.entries if isinstance(e[2], kinds)))


_SIGNALS = tuple(int(number) for number in signal.valid_signals())
_MAKING_CODE = frozenset({"exec", "eval", "compile", "CodeType", "FunctionType"})
"""Names by which tests make functions whose code is not part of theirs."""
_DECIDING = frozenset(
    {
        *("setUp", "tearDown", "setUpClass", "tearDownClass", "asyncSetUp", "asyncTearDown"),
        *("__init__", "__getattribute__", "id", "run", "subTest", "doCleanups", "debug"),
        *(name for name in vars(unittest.TestCase) if name.startswith(("assert", "fail", "_"))),
    }
)
"""Methods, apart from tests, that decide about a test."""
_LONGEST_NAME = 200
_PROGRAMS = frozenset({"program", "tests", "candidate", "__main__", "antigravity", "this"})
"""What tests import that is no part of the library, or that does something else than define."""
_OWN_MODULES = {
    "unittest.case",
    "unittest.suite",
    "unittest.loader",
    "unittest.result",
    "sandboxed.case_runner",
    "sandboxed.code_checks",
}
_COMPARED = (unittest, unittest.case, contextlib)
"""Modules that are compared completely."""
_BUILTINS = take_snapshot([builtins])
LIBRARY = (
    take_snapshot(
        [
            *(unittest, unittest.case, unittest.async_case, unittest.loader, unittest.result),
            *(unittest.suite, unittest.util, contextlib, collections.Counter),
            *(unittest._log, warnings.catch_warnings),  # noqa: SLF001
        ]
    )
    + used_snapshot([collections, re, warnings], _USED)
    + take_snapshot([json.JSONEncoder, json.encoder, json, inspect, sys], names=_NAMES)
    + module_snapshot(("builtins", "unittest", "unittest.case", "sys"))
)
"""The parts of the standard library that decide about tests, as they were before any program."""
_CASES = take_snapshot([unittest.case])
"""The part of it that is compared after every test that passed."""
