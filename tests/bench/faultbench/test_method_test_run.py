"""Running the tests of a class: their outcomes, the recorded calls, and their isolation."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench import method_test_run
from auditcoder_bench.faultbench.method_test_run import ClassProgram, MethodTestRun, watch

HEADER = "import unittest\nclass T(unittest.TestCase):\n"


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    with LocalSandbox() as opened:
        yield opened


@pytest.fixture(autouse=True)
def _ample_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(method_test_run, "_SECONDS", 20.0)


@pytest.fixture
def short_limit(monkeypatch: pytest.MonkeyPatch, _ample_limit: None) -> None:
    monkeypatch.setattr(method_test_run, "_SECONDS", 1.0)


def run_tests(
    sandbox: Sandbox, code: str, *bodies: str, before: str = "", to_first: bool = False
) -> MethodTestRun:
    """Run tests with these bodies below some code."""
    tests = HEADER + before
    for number, body in enumerate(bodies):
        tests += f"    def test_{number}(self):\n        {body}\n"
    cases = [("T", f"test_{number}") for number in range(len(bodies))]
    return watch(sandbox, ClassProgram(code, "A", tests), cases, to_first=to_first)


CODE = """\
class A:
    def __init__(self):
        self.f()
    def f(self):
        return [g() for _ in "ab"]
    def boom(self):
        return self.f() + help_me()
def g():
    return 1
def help_me():
    raise KeyError("x")
"""


class TestRecordedCalls:
    def test_calls_of_a_method_include_its_nested_functions(self, sandbox: Sandbox) -> None:
        (test,) = run_tests(sandbox, CODE, "A().f()").passing
        # Comprehensions are entered, too, up to Python 3.11.
        assert test.cov["__init__"] == 1
        assert test.cov["f"] in {2, 4}
        assert test.direct == ("__init__", "f")
        assert test.order == ("__init__", "f")

    def test_frames_have_their_kind_and_their_line_in_the_combined_source(
        self, sandbox: Sandbox
    ) -> None:
        (test,) = run_tests(sandbox, CODE, "A().boom()").failing
        assert (test.kind, test.exc_type, test.message) == ("exception", "KeyError", "'x'")
        found = [(frame.kind, frame.function, frame.line) for frame in test.frames]
        below = CODE.count("\n") + 1
        assert found == [
            ("test", "test_0", below + 4),
            ("gen", "boom", 7),
            ("gen_other", "help_me", 11),
        ]

    def test_library_frames_are_marked(self, sandbox: Sandbox) -> None:
        code = "import json\nclass A:\n    def f(self):\n        json.loads('{')\n"
        (test,) = run_tests(sandbox, code, "A().f()").failing
        assert {frame.kind for frame in test.frames} == {"test", "gen", "lib"}

    def test_a_failed_assertion_is_a_wrong_answer(self, sandbox: Sandbox) -> None:
        (test,) = run_tests(sandbox, CODE, "self.assertEqual(1, 2)").failing
        assert (test.kind, test.message) == ("wrong_answer", "1 != 2")
        assert [frame.kind for frame in test.frames] == ["test"]


class TestOutcomes:
    @pytest.mark.usefixtures("short_limit")
    @pytest.mark.parametrize(
        "body",
        [
            "while True: pass",
            "import time; time.sleep(3600)",
            "import re; re.match('(a+)+$', 'a' * 60 + 'b')",
        ],
    )
    def test_a_test_that_does_not_end_times_out(self, sandbox: Sandbox, body: str) -> None:
        found = run_tests(sandbox, CODE, body, "pass")
        assert [test.kind for test in found.failing] == ["timeout"]
        assert [test.test_name for test in found.passing] == ["test_1"]

    @pytest.mark.usefixtures("short_limit")
    def test_a_loop_that_catches_every_exception_times_out(self, sandbox: Sandbox) -> None:
        code = (
            "class A:\n    def f(self):\n        while True:\n            try:\n"
            "                while True: pass\n            except: pass\n"
        )
        found = run_tests(sandbox, code, "A().f()", "pass")
        assert [test.kind for test in found.failing] == ["timeout"]
        assert len(found.passing) == 1

    def test_a_test_that_ends_the_process_fails_alone(self, sandbox: Sandbox) -> None:
        found = run_tests(sandbox, CODE, "pass", "import os; os._exit(3)", "pass")
        assert [(test.test_name, test.exc_type) for test in found.failing] == [
            ("test_1", "ProcessEnded")
        ]
        assert [test.test_name for test in found.passing] == ["test_0", "test_2"]

    def test_system_exit_is_an_exception(self, sandbox: Sandbox) -> None:
        found = run_tests(sandbox, CODE, "raise SystemExit(2)", "pass")
        assert [test.exc_type for test in found.failing] == ["SystemExit"]
        assert len(found.passing) == 1

    @pytest.mark.parametrize(
        "code", ["class A:", "class A:\n    x = nothing", "import os; os._exit(0)"]
    )
    def test_a_program_that_does_not_load_runs_no_test(self, sandbox: Sandbox, code: str) -> None:
        found = run_tests(sandbox, code, "pass")
        assert found.broken
        assert found.not_run == (("T", "test_0"),)
        assert not found.passes

    def test_the_run_can_stop_at_the_first_failure(self, sandbox: Sandbox) -> None:
        found = run_tests(sandbox, CODE, "pass", "self.fail()", "pass", to_first=True)
        assert (len(found.passing), len(found.failing), len(found.not_run)) == (1, 1, 1)

    @pytest.mark.parametrize(
        "change",
        [
            "unittest.TestCase.assertEqual = print",
            "unittest.TestCase.assertEqual.__code__ = (lambda *a, **k: None).__code__",
            "unittest.TestResult.addFailure = print",
        ],
    )
    def test_a_class_that_replaces_unittest_does_not_pass(
        self, sandbox: Sandbox, change: str
    ) -> None:
        code = f"import unittest\nclass A:\n    def f(self):\n        {change}\n        return 2\n"
        (failing,) = run_tests(sandbox, code, "self.assertEqual(A().f(), 1)").failing
        assert (failing.kind, failing.exc_type) in {
            ("exception", "Tampering"),
            ("wrong_answer", "AssertionError"),
        }

    @pytest.mark.parametrize("kind", ["unittest.case._ShouldStop", "unittest.SkipTest"])
    def test_a_class_that_raises_an_exception_of_unittest_does_not_pass(
        self, sandbox: Sandbox, kind: str
    ) -> None:
        code = f"import unittest.case\nclass A:\n    def f(self):\n        raise {kind}\n"
        found = run_tests(sandbox, code, "A().f()", "self.skipTest('later')")
        assert [test.test_name for test in found.failing] == ["test_0"]

    def test_expected_failures_parts_and_own_comparisons_are_those_of_unittest(
        self, sandbox: Sandbox
    ) -> None:
        before = (
            "    @unittest.expectedFailure\n    def test_expected(self):\n        self.fail()\n"
            "    @unittest.expectedFailure\n    def test_unexpected(self):\n        pass\n"
            "    def test_parts(self):\n"
            "        with self.subTest(1):\n            self.fail('first')\n"
            "        with self.subTest(2):\n            self.fail('second')\n"
            "    def test_compares(self):\n"
            "        self.addTypeEqualityFunc(int, lambda *a, **k: None)\n"
            "        self.assertEqual(1, 2)\n"
        )
        names = ("expected", "unexpected", "parts", "compares")
        program = ClassProgram(CODE, "A", HEADER + before)
        found = watch(sandbox, program, [("T", f"test_{name}") for name in names])
        assert [test.test_name for test in found.passing] == ["test_expected", "test_compares"]
        assert [test.message for test in found.failing] == [
            "it was expected to fail, and passed",
            "first",
        ]


class TestIsolation:
    def test_files_of_one_test_are_removed_before_the_next(self, sandbox: Sandbox) -> None:
        leave = "import os; os.makedirs('a/b'); open('a/b/c', 'w').close(); os.chdir('a')"
        assert run_tests(
            sandbox, CODE, leave, "import os; self.assertFalse(os.path.exists('a'))"
        ).passes

    def test_class_state_is_reset_for_each_test(self, sandbox: Sandbox) -> None:
        code = "class A:\n    kept = []\n    def f(self):\n        self.kept.append(1)\n"
        once = "A().f(); self.assertEqual(A.kept, [1])"
        assert run_tests(sandbox, code, once, once).passes

    def test_set_up_and_tear_down_run_with_each_test(self, sandbox: Sandbox) -> None:
        before = (
            "    def setUp(self):\n        self.a = A()\n"
            "    def tearDown(self):\n        self.a.missing()\n"
        )
        found = run_tests(sandbox, CODE, "self.a.f()", before=before)
        assert [test.exc_type for test in found.failing] == ["AttributeError"]

    def test_random_numbers_are_determined_by_the_seed(self, sandbox: Sandbox) -> None:
        tests = (
            HEADER + "    def test_0(self):\n        import random; self.fail(random.random())\n"
        )
        program = ClassProgram(CODE, "A", tests)
        runs = [watch(sandbox, program, [("T", "test_0")], seed=seed) for seed in (0, 0, 1)]
        first, again, other = (run.failing[0].message for run in runs)
        assert first == again != other
