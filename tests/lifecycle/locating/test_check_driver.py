"""Test driver: checks of every form become code that runs test by test."""

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
from auditcoder.lifecycle.locating.check_driver import ExtractedTests, suite_of, trace_plan_of
from auditcoder.lifecycle.ports import Sandbox
from tests.support.failing_programs import CASES, GOOD, GRAPH, collect, task
from tests.support.scripted_runs import sandboxed


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestTracePlans:
    def test_the_driver_passes_standard_input_to_the_root_as_the_main_block_does(
        self, sandbox: Sandbox
    ) -> None:
        program = "def solve(data):\n    return data.upper()"
        asked = task(StdioExample(input="a\n", output="A\n"), form=ProgramForm())
        assert collect(sandbox, program, asked).seen.passes
        wrong = task(StdioExample(input="a\n", output="B\n"), form=ProgramForm())
        assert not collect(sandbox, program, wrong).seen.passes

    def test_input_files_are_written_before_and_artefacts_compared_after_the_call(
        self, sandbox: Sandbox
    ) -> None:
        program = "def solve():\n    open('b', 'w').write(open('a').read() + '!')"
        example = FilesExample(inputs={"a": "x"}, artefacts={"b": "x!"})
        asked = task(example, form=FilesForm(inputs=("a",), artefacts=("b",)))
        assert collect(sandbox, program, asked).seen.passes

    def test_the_driver_compares_floats_with_the_tolerance_of_validation(
        self, sandbox: Sandbox
    ) -> None:
        program = "def main(a, b):\n    return a + b"
        asked = task(CallExample(arguments="0.1, 0.2", result="0.3"))
        assert collect(sandbox, program, asked).seen.passes

    def test_the_driver_does_not_shadow_names_of_the_program(self, sandbox: Sandbox) -> None:
        program = "def _lines(n):\n    return n\n\ndef main(n):\n    return _lines(n)"
        assert collect(sandbox, program, task(CallExample(arguments="3", result="3"))).seen.passes

    def test_test_code_runs_test_by_test_and_plain_code_as_one_test(self, sandbox: Sandbox) -> None:
        code = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(main('1'), 1)\n"
            "    def test_b(self):\n        self.assertEqual(main('1'), 2)\n"
        )
        assert suite_of(code) == ExtractedTests(code, ("T.test_a", "T.test_b"))
        seen = collect(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert seen.failed_tests == {"T.test_b"}
        plain = collect(sandbox, GOOD, task(CodeExample(code="assert main('1') == 2"))).seen
        assert plain.failed_tests == {"Examples.test_1"}

    def test_plain_test_functions_and_classes_run_without_unittest(self, sandbox: Sandbox) -> None:
        code = (
            "LIMIT = 2\n"
            "def test_right():\n    assert main('1') == 1\n"
            "def test_wrong(n=1):\n    assert main(str(n)) == LIMIT\n"
            "def test_with_a_fixture(tmp_path):\n    assert False\n"
            "class TestPlain:\n    def test_wrong(self):\n        assert main('1') == 2\n"
            "class Helper:\n    def test_nothing(self):\n        assert False\n"
        )
        found = collect(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert set(found.tests) == {
            *("TestPlain.test_wrong", "Functions.test_right", "Functions.test_wrong")
        }
        assert found.failed_tests == {"TestPlain.test_wrong", "Functions.test_wrong"}
        assert all(step.test in found.failed_tests for step in found.failing_steps)
        assert not found.blind

    def test_two_code_examples_may_use_the_same_test_names(self, sandbox: Sandbox) -> None:
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
        found = collect(sandbox, GOOD, task(case(2), case(1))).seen
        assert found.failed_tests == {"Test.test", "Functions.test_alike"}

    def test_folders_of_input_files_are_created(self, sandbox: Sandbox) -> None:
        program = "def solve():\n    open('b', 'w').write(open('in/of/a').read())"
        example = FilesExample(inputs={"in/of/a": "x"}, artefacts={"b": "x"})
        asked = task(example, form=FilesForm(inputs=("in/of/a",), artefacts=("b",)))
        assert collect(sandbox, program, asked).seen.passes

    def test_a_failure_outside_the_traced_steps_invalidates_the_observation(
        self, sandbox: Sandbox
    ) -> None:
        code = (
            "import unittest\nclass T(unittest.TestCase):\n"
            "    def test_a(self):\n        self.assertEqual(main('1'), 1)\n"
            "    def tearDown(self):\n        self.assertEqual(main('1'), 2)\n"
        )
        found = collect(sandbox, GOOD, task(CodeExample(code=code))).seen
        assert not found.passes
        assert found.blind

    def test_an_endless_case_does_not_use_up_the_time_of_the_others(self, sandbox: Sandbox) -> None:
        slow = GOOD.replace("def main(text):\n", "def main(text):\n    while text == '4': pass\n")
        seen = collect(sandbox, slow, task(*CASES, seconds=2.0)).seen
        assert seen.failed_tests == {"Examples.test_2"}
        assert len(seen.tests) == 3

    def test_the_program_may_define_the_name_of_the_comparison_function(
        self, sandbox: Sandbox
    ) -> None:
        program = "def same_value(n):\n    return n\n\ndef main(n):\n    return same_value(n)"
        form = FunctionForm(entry="same_value")
        asked = task(CallExample(arguments="3", result="3"), form=form)
        assert collect(sandbox, program, asked).seen.passes

    def test_star_imports_stay_at_module_level(self, sandbox: Sandbox) -> None:
        code = CodeExample(code="from math import *\nassert main('9') == int(sqrt(81))")
        assert collect(sandbox, GOOD, task(code)).seen.passes

    def test_without_examples_there_is_no_trace_plan(self) -> None:
        assert trace_plan_of(task(), (), GRAPH) is None


def test_helpers_that_several_examples_repeat_are_defined_once_in_the_driver() -> None:
    helper = "def helper():\n    return 1\n"
    other = "def helper():\n    return 2\n"
    codes = [
        f"import unittest\n{text}class T{n}(unittest.TestCase):\n    def test(self): pass\n"
        for n, text in enumerate((helper, helper, other, helper))
    ]
    plan = trace_plan_of(task(), [CodeExample(code=code) for code in codes], GRAPH)
    assert plan is not None
    assert plan.driver.count("return 1") == 2, "again after another helper of the same name"
    assert plan.driver.count("return 2") == 1
    assert plan.tests == ("T0.test", "T1.test", "T2.test", "T3.test")


def test_inherited_tests_are_traced() -> None:
    code = (
        "import unittest\nclass Mixin:\n    def test_a(self):\n        pass\n"
        "class T(Mixin, unittest.TestCase):\n    pass\n"
    )
    assert suite_of(code) == ExtractedTests(code, ("T.test_a",))
