"""Test code beside the candidate: run after it, from memory, by machinery that is watched.

Both share one interpreter, so what is done to the machinery is looked for: before the tests and
after them. A program written against this very file can still lie; see `RunTests`.
"""

import ast
import builtins
import sys
import types
import unittest
import unittest.case
import unittest.loader
import unittest.result
import unittest.suite
from collections.abc import Callable
from typing import Any

from .describing import TESTS, described, text

Report = Callable[..., None]
Load = Callable[[str, str], types.ModuleType]


class Tampering(Exception):
    """The candidate laid hands on what judges it."""


def run_tests(code: str, program: types.ModuleType, load: Load, report: Report) -> None:
    """Run unittest classes and `test…` functions; where there are none, the code is the test."""
    _attest(_MACHINERY)
    tests = load("tests", code)
    brought = {k: v for k, v in program.__dict__.items() if not k.startswith("__")}
    tests.__dict__.update(brought)
    compiled = compile(code, TESTS, "exec", dont_inherit=True)
    exec(compiled, tests.__dict__)  # noqa: S102 - what a sandbox is for
    own = [v for k, v in tests.__dict__.items() if brought.get(k) is not v]
    suite = _suite(own)
    planned = suite.countTestCases()
    if planned:
        report("planned", count=planned)
        classes = _watched([type(case) for case in _cases(suite)])
        before = {type(case): frozenset(type(case).__dict__) for case in _cases(suite)}
        result = _Result(report)
        suite.run(result)
        _attest(_MACHINERY + classes)
        for case, names in before.items():
            if added := _ASSERTIONS & case.__dict__.keys() - names:
                raise Tampering(f"the program put {min(added)} between a test and its judge")
        if result.told != planned:
            raise Tampering(f"{planned} tests were to run, and {result.told} did")
    else:
        _attest(_MACHINERY)
        if _says_something(code):
            report("planned", count=1)
            report("test", name="", verdict="passed", message="", frames=[])
        else:
            report("planned", count=0)


def _suite(own: list[Any]) -> unittest.TestSuite:
    suite = unittest.TestSuite()
    loader = unittest.TestLoader()
    for thing in own:
        if isinstance(thing, type) and issubclass(thing, unittest.TestCase):
            if thing.__module__ == "tests":
                suite.addTest(loader.loadTestsFromTestCase(thing))
        elif isinstance(thing, types.FunctionType) and thing.__name__.startswith("test"):
            suite.addTest(unittest.FunctionTestCase(thing))
    return suite


def _cases(suite: unittest.TestSuite) -> list[unittest.TestCase]:
    found: list[unittest.TestCase] = []
    for part in suite:
        found += _cases(part) if isinstance(part, unittest.TestSuite) else [part]
    return found


def _says_something(code: str) -> bool:
    """Whether the code does more than define and import: then running it was a test."""
    quiet = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
    return not all(
        isinstance(line, quiet)
        or (isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant))
        for line in ast.parse(code).body
    )


class _Result(unittest.TestResult):
    """Reports each test as it ends, so that a later timeout loses none."""

    def __init__(self, report: Report) -> None:
        super().__init__()
        self._report = report
        self._said = False
        self.told = 0

    def _say(self, test: Any, verdict: str, error: Any = None, message: str = "") -> None:
        self._said = True
        told: dict[str, Any] = {"message": text(message), "frames": []}
        if error:
            told = described(error[1])
            told["message"] = f"{told['type']}: {told['message']}"
        self._report(
            "test",
            name=_name(test),
            verdict=verdict,
            message=told["message"],
            frames=told["frames"],
        )

    def startTest(self, test: Any) -> None:  # noqa: N802
        self._said = False
        super().startTest(test)

    def stopTest(self, test: Any) -> None:  # noqa: N802
        if not self._said:  # a test that said nothing did not pass
            self._say(test, "error", message="the test ended without a verdict")
        self.told += 1
        super().stopTest(test)

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        self._say(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        self._say(test, "failed", err)

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        self._say(test, "error", err)

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        self._say(test, "skipped", message=reason)

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802, ARG002
        self._say(test, "passed")

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        self._say(test, "failed", message="it was expected to fail, and passed")

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        if err is not None:
            failed = issubclass(err[0], test.failureException)
            self._say(subtest, "failed" if failed else "error", err)


def _name(test: Any) -> str:
    if isinstance(test, unittest.FunctionTestCase):
        return text(test.id())
    return text(".".join(test.id().split(".")[1:]))


_Part = tuple[Any, str, Any, Any, Any]
"""Whose it is, its name, what it was, and for a function its code and defaults."""


def _watched(holders: list[Any]) -> list[_Part]:
    """Note every function and class of the holders, as they are now."""
    return [
        (holder, name, value, _code(value), _defaults(value))
        for holder in holders
        for name, value in list(vars(holder).items())
        if callable(value) or isinstance(value, classmethod | staticmethod | property)
    ]


def _code(value: Any) -> Any:
    return value.__code__ if type(value) is types.FunctionType else None


def _defaults(value: Any) -> Any:
    return value.__defaults__ if type(value) is types.FunctionType else None


_MACHINERY = _watched(
    [
        builtins,
        unittest,
        unittest.case,
        unittest.suite,
        unittest.loader,
        unittest.result,
        unittest.TestCase,
        unittest.TestResult,
        unittest.TestSuite,
        unittest.BaseTestSuite,
        unittest.TestLoader,
        unittest.FunctionTestCase,
        unittest.case._Outcome,  # type: ignore[attr-defined]  # noqa: SLF001
        _Result,
    ]
)
_ASSERTIONS = frozenset(name for name, v in vars(unittest.TestCase).items() if callable(v))
_MODULES = {name: sys.modules[name] for name in ("builtins", "unittest", "unittest.case", "sys")}


def _attest(parts: list[_Part]) -> None:
    """Raise if anything is not what it was. Uses no name that could have been replaced."""
    for holder, name, value, code, defaults in parts:
        if holder.__dict__.get(name) is not value or (
            code is not None and (value.__code__ is not code or value.__defaults__ is not defaults)
        ):
            raise Tampering(f"the program replaced {holder.__name__}.{name}")
    for name, module in _MODULES.items():
        if sys.modules.get(name) is not module:
            raise Tampering(f"the program replaced the module {name}")
    if sys.gettrace() is not None:
        raise Tampering("the program traces what judges it")
