"""Test driver: checks of every form become code that is driven test by test."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.task import (
    CallExample,
    CodeExample,
    FilesExample,
    FilesForm,
    FunctionForm,
    ProgramForm,
    StdioExample,
)
from auditcoder.lifecycle.locating.test_driver import ExtractedTests, suite_of, trace_plan_of
from auditcoder.lifecycle.ports import Sandbox
from tests.support.failing_programs import CASES, GOOD, GRAPH, looked, task
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestTrials:
    def test_standard_input_is_given_to_the_root_as_its_main_block_does(
        self, sandbox: Sandbox
    ) -> None:
        program = "def solve(data):\n    return data.upper()"
        asked = task(StdioExample(input="a\n", output="A\n"), form=ProgramForm())
        assert looked(sandbox, program, asked).seen.passes
        wrong = task(StdioExample(input="a\n", output="B\n"), form=ProgramForm())
        assert not looked(sandbox, program, wrong).seen.passes

    def test_files_are_written_before_and_compared_after(self, sandbox: Sandbox) -> None:
        program = "def solve():\n    open('b', 'w').write(open('a').read() + '!')"
        example = FilesExample(inputs={"a": "x"}, artefacts={"b": "x!"})
        asked = task(example, form=FilesForm(inputs=("a",), artefacts=("b",)))
        assert looked(sandbox, program, asked).seen.passes

    def test_near_floats_are_the_same_as_where_verdicts_are_made(self, sandbox: Sandbox) -> None:
        program = "def main(a, b):\n    return a + b"
        asked = task(CallExample(arguments="0.1, 0.2", result="0.3"))
        assert looked(sandbox, program, asked).seen.passes

    def test_a_driver_takes_no_name_from_the_program(self, sandbox: Sandbox) -> None:
        program = "def _lines(n):\n    return n\n\ndef main(n):\n    return _lines(n)"
        assert looked(sandbox, program, task(CallExample(arguments="3", result="3"))).seen.passes

    def test_test_code_is_driven_test_by_test_and_plain_code_as_one(self, sandbox: Sandbox) -> None:
        code = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(main('1'), 1)\n"
            "    def test_b(self):\n        self.assertEqual(main('1'), 2)\n"
        )
        assert suite_of(code) == ExtractedTests(code, ("T.test_a", "T.test_b"))
        seen = looked(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert seen.failed_tests == {"T.test_b"}
        plain = looked(sandbox, GOOD, task(CodeExample(code="assert main('1') == 2"))).seen
        assert plain.failed_tests == {"Examples.test_1"}

    def test_tests_without_unittest_are_driven_as_they_are_judged(self, sandbox: Sandbox) -> None:
        code = (
            "LIMIT = 2\n"
            "def test_right():\n    assert main('1') == 1\n"
            "def test_wrong(n=1):\n    assert main(str(n)) == LIMIT\n"
            "def test_with_a_fixture(tmp_path):\n    assert False\n"
            "class TestPlain:\n    def test_wrong(self):\n        assert main('1') == 2\n"
            "class Helper:\n    def test_nothing(self):\n        assert False\n"
        )
        found = looked(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert set(found.tests) == {
            *("TestPlain.test_wrong", "Functions.test_right", "Functions.test_wrong")
        }
        assert found.failed_tests == {"TestPlain.test_wrong", "Functions.test_wrong"}
        assert all(step.test in found.failed_tests for step in found.failing_steps)
        assert not found.blind

    def test_two_pieces_of_test_code_may_call_their_tests_alike(self, sandbox: Sandbox) -> None:
        def case(expected: int) -> CodeExample:
            return CodeExample(
                code="import unittest\nclass Test(unittest.TestCase):\n"
                f"    wanted = {expected}\n"
                "    def test(self):\n        self.assertEqual(main('1'), Test.wanted)\n"
                f"def test_alike():\n    assert main('1') == {expected}\n"
            )

        trial = trace_plan_of(task(case(2), case(1)), (case(2), case(1)), GRAPH, passed=[1])
        assert trial is not None
        assert trial.passing == {"Test2.test", "Functions2.test_alike"}
        found = looked(sandbox, GOOD, task(case(2), case(1))).seen
        assert found.failed_tests == {"Test.test", "Functions.test_alike"}

    def test_files_have_the_folders_that_they_are_in(self, sandbox: Sandbox) -> None:
        program = "def solve():\n    open('b', 'w').write(open('in/of/a').read())"
        example = FilesExample(inputs={"in/of/a": "x"}, artefacts={"b": "x"})
        asked = task(example, form=FilesForm(inputs=("in/of/a",), artefacts=("b",)))
        assert looked(sandbox, program, asked).seen.passes

    def test_who_fails_beside_its_steps_was_not_seen_to_fail(self, sandbox: Sandbox) -> None:
        code = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(main('1'), 1)\n"
            "    def tearDown(self):\n        self.assertEqual(main('1'), 2)\n"
        )
        found = looked(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert not found.passes
        assert found.blind

    def test_one_case_that_never_ends_leaves_the_others_their_time(self, sandbox: Sandbox) -> None:
        slow = GOOD.replace("def main(text):\n", "def main(text):\n    while text == '4': pass\n")
        seen = looked(sandbox, slow, task(*CASES, seconds=0.5)).seen
        assert seen.failed_tests == {"Examples.test_2"}
        assert len(seen.tests) == 3

    def test_a_name_that_the_comparison_has_is_the_programs_own(self, sandbox: Sandbox) -> None:
        program = "def same_value(n):\n    return n\n\ndef main(n):\n    return same_value(n)"
        form = FunctionForm(entry="same_value")
        asked = task(CallExample(arguments="3", result="3"), form=form)
        assert looked(sandbox, program, asked).seen.passes

    def test_star_imports_stay_where_they_are_allowed(self, sandbox: Sandbox) -> None:
        code = CodeExample(code="from math import *\nassert main('9') == int(sqrt(81))")
        assert looked(sandbox, GOOD, task(code)).seen.passes

    def test_nothing_to_drive_is_no_trial(self) -> None:
        assert trace_plan_of(task(), (), GRAPH) is None
