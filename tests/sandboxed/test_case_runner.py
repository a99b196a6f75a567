"""Cases run with the same verdicts as in plain unittest; a test that did not return has none."""

import types
import unittest
from typing import Any

import pytest

from auditcoder.sandboxed.case_runner import names_used, plan, run_all
from auditcoder.sandboxed.harness_integrity import Tampering

MANY = """
import unittest

events = []

def setUpModule():
    events.append("module")

def tearDownModule():
    events.append("module left")

class First(unittest.TestCase):
    @classmethod
    def setUpClass(cls): events.append("class")
    @classmethod
    def tearDownClass(cls): events.append("class left")
    def setUp(self): self.addCleanup(events.append, "cleanup")
    def tearDown(self): events.append("left")
    def test_right(self): self.assertEqual(1, 1)
    def test_wrong(self): self.assertEqual(1, 2)
    def test_broken(self): nothing
    def test_leaving(self): raise SystemExit
    @unittest.skip("later")
    def test_later(self): nothing
    def test_skipped(self): self.skipTest("now")
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_expected_in_part(self):
        with self.subTest(1): self.fail()
        nothing
    @unittest.expectedFailure
    def test_unexpected(self): pass
    def test_parts(self):
        for n in range(4):
            with self.subTest(n=n): self.assertNotEqual(n % 2, 1)
        with self.subTest("outer"), self.subTest("inner"): self.skipTest("part")
    def test_right_parts(self):
        with self.subTest(1): pass
    def test_with_a_broken_cleanup(self): self.addCleanup(lambda: 1 / 0)
    def test_with_its_own_comparison(self):
        self.addTypeEqualityFunc(int, lambda *a, **k: None)
        self.assertEqual(1, 2)

class BrokenClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.addClassCleanup(lambda: 1 / 0)
        nothing
    def test_a(self): pass

class SkippedClass(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise unittest.SkipTest("all")
    def test_a(self): pass

@unittest.skip("whole")
class SkippedByDecorator(unittest.TestCase):
    @classmethod
    def setUpClass(cls): nothing
    def test_a(self): pass

class BrokenSetUp(unittest.TestCase):
    def setUp(self): nothing
    def tearDown(self): events.append("never")
    def test_a(self): events.append("never")

class BrokenTearDown(unittest.TestCase):
    def tearDown(self): nothing
    @classmethod
    def tearDownClass(cls): nothing
    def test_a(self): pass
    @unittest.expectedFailure
    def test_b(self): self.fail()

@unittest.expectedFailure
class ExpectedClass(unittest.TestCase):
    def test_a(self): self.fail()

class Asynchronous(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self): self.n = 1
    async def asyncTearDown(self): events.append("async left")
    async def test_right(self): self.assertEqual(self.n, 1)
    async def test_wrong(self): self.assertEqual(self.n, 2)
    def test_plain(self): self.assertEqual(self.n, 1)
"""
BROKEN_MODULE = """
import unittest

def setUpModule(): nothing
def tearDownModule(): nothing

class T(unittest.TestCase):
    def test_a(self): pass
"""


class Told(unittest.TestResult):
    """What plain unittest says."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[tuple[str, str]] = []

    def addSuccess(self, test: Any) -> None:
        self.said.append((test.id(), "passed"))

    def addFailure(self, test: Any, err: Any) -> None:
        self.said.append((test.id(), "failed"))

    def addError(self, test: Any, err: Any) -> None:
        self.said.append((test.id(), "error"))

    def addSkip(self, test: Any, reason: str) -> None:
        self.said.append((test.id(), "skipped"))

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self.said.append((test.id(), "passed"))

    def addUnexpectedSuccess(self, test: Any) -> None:
        self.said.append((test.id(), "failed"))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err:
            failed = issubclass(err[0], test.failureException)
            self.said.append((subtest.id(), "failed" if failed else "error"))


def loaded(code: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[unittest.TestCase]]:
    module = types.ModuleType("loaded_tests")
    monkeypatch.setitem(__import__("sys").modules, "loaded_tests", module)
    exec(code, module.__dict__)
    suites = [
        unittest.TestLoader().loadTestsFromTestCase(kind)
        for kind in vars(module).values()
        if isinstance(kind, type)
    ]
    return module, [
        case for suite in suites for case in suite if isinstance(case, unittest.TestCase)
    ]


@pytest.mark.parametrize("code", [MANY, BROKEN_MODULE])
def test_verdicts_and_order_are_those_of_plain_unittest(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, cases = loaded(code, monkeypatch)
    plain = Told()
    unittest.TestSuite(cases).run(plain)
    expected, events = plain.said, list(getattr(module, "events", ()))

    module, cases = loaded(code, monkeypatch)
    names = names_used(compile(code, "tests", "exec"))
    said: list[tuple[str, str]] = []
    planned = tuple(plan(case, names) for case in cases)
    run_all(planned, lambda test, verdict, *_: said.append((test.id(), verdict)))
    assert said == expected
    assert list(getattr(module, "events", ())) == events


def test_a_failure_is_expected_only_if_the_tests_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    code = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): self.fail()\n"
    module, (case,) = loaded(code, monkeypatch)
    module.T.test_a.__unittest_expecting_failure__ = True
    with pytest.raises(Tampering, match="declared that a test fails"):
        plan(case, names_used(compile(code, "tests", "exec")))
