"""Runs unittest cases one by one; a test passes only if its body returned.

unittest keeps what decides a verdict in attributes, which a program can change, and ignores an
exception of its own, which a program can raise. Here the verdict follows from the control flow and
from local variables.
"""

import contextlib
import sys
import types
import unittest
import unittest.async_case
import unittest.case
import unittest.util
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .harness_integrity import Tampering, check_unchanged, function_snapshot

Error = tuple[type[BaseException], BaseException, types.TracebackType | None]
Tell = Callable[[Any, str, Error | None, str], None]
"""Takes a test, sub-test or fixture, its verdict, the exception if there was one, and a message."""
Execute = Callable[..., contextlib.AbstractContextManager[None]]


class PlannedTest(NamedTuple):
    """A test, with what decides about it as it was before any test ran. It cannot be changed."""

    case: unittest.TestCase
    body: Callable[[], Any]
    code: types.CodeType | None
    """The code of the body, if it is a function or a method."""
    kind: type
    """The class of the case."""
    expects_failure: bool
    equalities: tuple[tuple[type, Any], ...] | None
    """How the case compares values; None if the tests themselves may change that."""

    def check(self) -> None:
        """Raise if anything about the case changed."""
        case, kind = self.case, type(self.case)
        if kind is not self.kind:
            raise Tampering("the program replaced the class of a test")
        if self.code and _code(self.body) is not self.code:
            raise Tampering("the program replaced the code of a test")
        attributes = object.__getattribute__(case, "__dict__")
        for name in attributes:
            if name in _JUDGING:
                raise Tampering(f"the program replaced {name} of one object")
        if self.equalities is not None:
            known = attributes["_type_equality_funcs"]
            if type(known) is not dict or len(known) != len(self.equalities):
                raise Tampering("the program replaced how a test compares values")
            for compared, function in self.equalities:
                if known.get(compared) is not function:
                    raise Tampering("the program replaced how a test compares values")


class _Outcome(NamedTuple):
    """What the methods `subTest` and `doCleanups` of a case need of unittest's own outcome."""

    testPartExecutor: Execute  # noqa: N815
    result: unittest.TestResult
    success: bool = True
    result_supports_subtests: bool = True
    expectedFailure: None = None  # noqa: N815


def names_used(code: types.CodeType) -> frozenset[str]:
    """Return the names of attributes and global variables that code uses."""
    return frozenset(name for each in nested_codes(code) for name in each.co_names)


def nested_codes(code: types.CodeType) -> list[types.CodeType]:
    """Return code and all code in it."""
    found = [code]
    for each in found:
        found += [const for const in each.co_consts if isinstance(const, types.CodeType)]
    return found


def plan(
    case: unittest.TestCase, names: frozenset[str], body: Callable[[], Any] | None = None
) -> PlannedTest:
    """Return the test as it is now.

    `names` are those that the tests use: who expects failures, or changes how a case compares
    values, names that. `body` replaces the method that the case names.
    """
    body = body or getattr(case, case._testMethodName)  # noqa: SLF001
    expects_failure = any(getattr(holder, _EXPECTING, False) for holder in (case, body))
    if expects_failure and names.isdisjoint({_EXPECTING, "expectedFailure"}):
        raise Tampering("the program declared that a test fails")
    equalities = None
    if names.isdisjoint({"addTypeEqualityFunc", "_type_equality_funcs"}):
        equalities = tuple(case._type_equality_funcs.items())  # type: ignore[attr-defined]  # noqa: SLF001
    return PlannedTest(case, body, _code(body), type(case), expects_failure, equalities)


def run_all(tests: tuple[PlannedTest, ...], tell: Tell) -> None:
    """Run the tests in order, with the fixtures of their classes and module."""
    previous: type | None = None
    module_failed = class_failed = False
    modules: tuple[Any, ...] = ()
    for test in tests:
        kind = test.kind
        if kind is not previous:
            if previous is not None and not class_failed:
                _leave_class(previous, tell)
            previous, class_failed = kind, False
            module = sys.modules.get(kind.__module__)
            if module is not None and not any(module is known for known in modules):
                modules += (module,)
                module_failed = not _enter_module(module, tell)
            class_failed = module_failed or not _enter_class(kind, tell)
        if not class_failed:
            _run(test, tell)
    if previous is not None and not class_failed:
        _leave_class(previous, tell)
    if not module_failed:
        for module in modules:
            _leave_module(module, tell)


def _run(test: PlannedTest, tell: Tell) -> None:
    """Run one test with its fixtures, and tell its verdict."""
    case, body = test.case, test.body
    test.check()
    for holder in (test.kind, body):
        if getattr(holder, "__unittest_skip__", False):
            tell(case, "skipped", None, getattr(holder, "__unittest_skip_why__", ""))
            return
    failed: list[Any] = []
    outcome = _Outcome(_executor(test, tell, failed), unittest.TestResult())
    taken = function_snapshot(outcome.testPartExecutor)
    asynchronous = isinstance(case, unittest.IsolatedAsyncioTestCase)
    case._outcome = outcome  # type: ignore[attr-defined]  # noqa: SLF001
    try:
        if asynchronous:
            case._setupAsyncioRunner()  # type: ignore[attr-defined]  # noqa: SLF001
        passed = _run_parts(test, tell)
        if case._outcome is not outcome:  # type: ignore[attr-defined]  # noqa: SLF001
            raise Tampering("the program replaced the outcome of a test")
    finally:
        case._outcome = None  # type: ignore[attr-defined]  # noqa: SLF001
        if asynchronous:
            case._tearDownAsyncioRunner()  # type: ignore[attr-defined]  # noqa: SLF001
    test.check()
    check_unchanged(taken)
    if passed and not failed:
        tell(case, "passed", None, "")


def _run_parts(test: PlannedTest, tell: Tell) -> bool:
    """Run the fixtures and the body of a test; return whether all did what they should."""
    case, passed = test.case, False
    if _part(case, case._callSetUp, tell):  # type: ignore[attr-defined]  # noqa: SLF001
        passed = _fails(test, tell) if test.expects_failure else _part(case, _body(test), tell)
        passed = _part(case, case._callTearDown, tell) and passed  # type: ignore[attr-defined]  # noqa: SLF001
    return _part(case, case.doCleanups, tell) and passed


def _body(test: PlannedTest) -> Callable[[], Any]:
    if isinstance(test.case, unittest.IsolatedAsyncioTestCase):
        return lambda: test.case._callTestMethod(test.body)  # type: ignore[attr-defined]  # noqa: SLF001
    return test.body


def _fails(test: PlannedTest, tell: Tell) -> bool:
    """Run a body that was declared to fail; return whether it did."""
    try:
        _body(test)()
    except KeyboardInterrupt:
        raise
    except unittest.SkipTest as reason:
        tell(test.case, "skipped", _error(reason), str(reason))
        return False
    except BaseException:
        return True
    tell(test.case, "failed", None, "it was expected to fail, and passed")
    return False


def _part(who: Any, act: Callable[[], Any], tell: Tell) -> bool:
    """Call something that must return normally; tell why it did not."""
    try:
        act()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        _tell_failure(who, error, tell)
        return False
    return True


def _tell_failure(who: Any, error: BaseException, tell: Tell) -> None:
    if isinstance(error, unittest.SkipTest):
        tell(who, "skipped", _error(error), str(error))
    else:
        kinds = getattr(getattr(who, "test_case", who), "failureException", ())
        tell(who, "failed" if isinstance(error, kinds) else "error", _error(error), "")


def _error(error: BaseException) -> Error:
    return type(error), error, error.__traceback__


def _executor(test: PlannedTest, tell: Tell, failed: list[Any]) -> Execute:
    """Return what runs sub-tests and cleanups, and notes those that failed."""

    @contextlib.contextmanager
    def execute(part: Any, subTest: bool = False) -> Iterator[None]:  # noqa: N803
        try:
            yield
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if subTest and test.expects_failure:
                raise
            failed.append(part)
            _tell_failure(part, error, tell)

    return execute


class _Fixture:
    """A fixture of a class or module, as unittest names it."""

    def __init__(self, name: str, holder: str) -> None:
        self.name = f"{name} ({holder})"

    def id(self) -> str:
        return self.name


def _enter_class(kind: Any, tell: Tell) -> bool:
    if getattr(kind, "__unittest_skip__", False):
        return True
    fixture = _Fixture("setUpClass", unittest.util.strclass(kind))
    if _part(fixture, kind.setUpClass, tell):
        return True
    _clean_class(kind, fixture, tell)
    return False


def _leave_class(kind: Any, tell: Tell) -> None:
    if not getattr(kind, "__unittest_skip__", False):
        fixture = _Fixture("tearDownClass", unittest.util.strclass(kind))
        _part(fixture, kind.tearDownClass, tell)
        _clean_class(kind, fixture, tell)


def _clean_class(kind: Any, fixture: _Fixture, tell: Tell) -> None:
    kind.doClassCleanups()
    for _, error, _ in kind.tearDown_exceptions:
        _tell_failure(fixture, error, tell)


def _enter_module(module: Any, tell: Tell) -> bool:
    act = getattr(module, "setUpModule", None)
    fixture = _Fixture("setUpModule", module.__name__)
    if act is None or _part(fixture, act, tell):
        return True
    _part(fixture, unittest.case.doModuleCleanups, tell)
    return False


def _leave_module(module: Any, tell: Tell) -> None:
    fixture = _Fixture("tearDownModule", module.__name__)
    if act := getattr(module, "tearDownModule", None):
        _part(fixture, act, tell)
    _part(fixture, unittest.case.doModuleCleanups, tell)


def _code(body: Any) -> types.CodeType | None:
    code = getattr(getattr(body, "__func__", body), "__code__", None)
    return code if isinstance(code, types.CodeType) else None


_EXPECTING = "__unittest_expecting_failure__"
_JUDGING = frozenset(
    name
    for name, value in vars(unittest.TestCase).items()
    if callable(value) and name.startswith(("assert", "fail", "run", "_call", "debug", "subTest"))
)
"""Methods of a test case that decide about its verdict."""
