"""Traced runs: every step is attempted, and its reads, calls and effects are recorded."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from auditcoder.lifecycle.locating.contract_blame import cost_features
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.trace_analysis import collect_evidence
from auditcoder.lifecycle.locating.trace_run import (
    NO_OBSERVATION,
    ContractExpressions,
    FailingRun,
    Observation,
    TracePlan,
    run_traced,
)
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import sandboxed

SHOP = """\
class Shop:
    def __init__(self):
        self.stock = {}

    def add(self, name, number):
        self.stock[name] = self.stock.get(name, 0) + number

    def total(self):
        return sum(self.stock.values()) + self.bonus()

    def bonus(self):
        return 1

    def broken(self):
        return self.inner()

    def inner(self):
        raise ValueError("no")
"""
NODES = tuple(f"Shop.{name}" for name in ("__init__", "add", "total", "bonus", "broken", "inner"))

TESTS = """\
import unittest

class ShopTest(unittest.TestCase):
    def setUp(self):
        self.shop = Shop()

    def test_main(self):
        self.shop.add("nut", 2)
        self.assertEqual(self.shop.total(), 2)
        self.shop.broken()
        self.shop.nowhere()
        result = self.shop.total()
        for wanted in (3, 4):
            self.assertEqual(result, wanted)
        self.assertEqual(self.shop.stock, {"nut": 2})
"""


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module", name="seen")
def _seen(sandbox: Sandbox) -> Observation:
    return run_traced(sandbox, SHOP, NODES, TracePlan(TESTS, ("ShopTest.test_main",)))


class TestSteps:
    def test_every_step_is_attempted_even_after_a_failure(self, seen: Observation) -> None:
        assert [(step.line, step.fine) for step in seen.steps] == [
            (5, True),
            (8, True),
            (9, False),
            (10, False),
            (11, False),
            (12, True),
            (14, True),
            (14, False),
            (15, True),
        ]
        assert seen.failing == {9, 10, 11, 14}
        assert not seen.passes

    def test_set_up_steps_belong_to_the_test(self, seen: Observation) -> None:
        assert {step.test for step in seen.steps} == {"ShopTest.test_main"}
        assert seen.failed_tests == {"ShopTest.test_main"}

    def test_a_step_records_the_frames_of_its_exception(self, seen: Observation) -> None:
        step = seen.steps[3]
        assert [name for name, _ in step.frames] == ["Shop.broken", "Shop.inner"]

    def test_a_step_names_the_missing_attribute(self, seen: Observation) -> None:
        assert seen.steps[4].lacks == "nowhere"

    @pytest.mark.parametrize("wrong", ["[1].add(2)", "None.total()", "''.bonus"])
    def test_missing_attributes_of_other_objects_are_not_recorded(
        self, sandbox: Sandbox, wrong: str
    ) -> None:
        seen = run_traced(sandbox, SHOP, NODES, TracePlan(f"Shop()\n{wrong}\n"))
        assert [(step.fine, step.lacks) for step in seen.steps] == [(True, ""), (False, "")]

    def test_values_are_traced_to_the_calls_that_produced_them(self, seen: Observation) -> None:
        (source,) = (s for s in seen.steps[7].sources if s.text == "result")
        producers = [seen.calls[number] for number in source.calls]
        assert {call.node for call in producers} == {"Shop.total"}

    def test_a_passing_program_passes_in_a_traced_run(self, sandbox: Sandbox) -> None:
        driver = "shop = Shop()\nshop.add('nut', 2)\nassert shop.total() == 3\n"
        seen = run_traced(sandbox, SHOP, NODES, TracePlan(driver))
        assert seen.passes
        assert [step.line for step in seen.steps] == [1, 2, 3]

    def test_an_expected_exception_is_no_failure(self, sandbox: Sandbox) -> None:
        tests = (
            "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
            "        with self.assertRaises(ValueError):\n            Shop().broken()\n"
        )
        assert run_traced(sandbox, SHOP, NODES, TracePlan(tests, ("T.test_it",))).passes


class TestCalls:
    def test_callers_values_and_writes_are_recorded(self, seen: Observation) -> None:
        init, add, total, bonus = seen.calls[:4]
        assert [c.node for c in (init, add, total, bonus)] == [
            "Shop.__init__",
            "Shop.add",
            "Shop.total",
            "Shop.bonus",
        ]
        assert (init.wrote, add.wrote, total.wrote) == (("stock",), ("stock",), ())
        assert add.shapes == {"name": "str", "number": "int"}
        assert (total.parent, bonus.parent) == (None, 2)
        assert (total.returned, bonus.returned) == ("3", "1")
        assert (init.step, add.step, total.step) == (0, 1, 2)

    def test_files_are_recorded_with_the_call_that_opened_them(self, sandbox: Sandbox) -> None:
        program = (
            "def put():\n    with open('f.txt', 'w') as f:\n        f.write('x')\n"
            "def get():\n    return open('f.txt').read()\n"
        )
        driver = "put()\nassert get() == 'y'\n"
        seen = run_traced(sandbox, program, ("put", "get"), TracePlan(driver))
        assert [(f.path, f.writing, f.step) for f in seen.files] == [
            ("f.txt", True, 0),
            ("f.txt", False, 1),
        ]
        assert [seen.calls[f.call].node for f in seen.files if f.call is not None] == ["put", "get"]


ODD = (
    "class Odd:\n    def __repr__(self): raise TypeError\n    def __eq__(self, o): 1 / 0\n"
    "def f():\n    return Odd()\n"
)


class TestProgramsThatMisbehave:
    def test_a_program_that_cannot_be_loaded_reports_why(self, sandbox: Sandbox) -> None:
        seen = run_traced(sandbox, "import nothing_of_that_name", (), TracePlan("pass"))
        assert "nothing_of_that_name" in seen.loads
        assert not seen.passes

    def test_an_endless_loop_is_interrupted_and_its_function_is_recorded(
        self, sandbox: Sandbox
    ) -> None:
        program = "def f():\n    while True:\n        pass\n"
        seen = run_traced(sandbox, program, ("f",), TracePlan("f()\nx = 1\n", seconds=1.0))
        assert seen.tests == {"": "out of time"}
        (step,) = seen.steps
        assert step.frames[-1][0] == "f"

    @pytest.mark.parametrize(
        "program",
        [
            "import os\nos._exit(0)\n",
            "import sys\nsys.exit(3)\n",
            "def f():\n    import os\n    os.kill(os.getpid(), 9)\n",
            "def f():\n    open('seen.json', 'w').write('{')\n    import os\n    os._exit(0)\n",
            ODD,
        ],
    )
    def test_a_misbehaving_program_raises_no_error_outside_the_sandbox(
        self, sandbox: Sandbox, program: str
    ) -> None:
        seen = run_traced(sandbox, program, ("f",), TracePlan("x = f()\nassert x == 1\n"))
        assert not seen.passes

    def test_a_program_that_exits_leaves_no_observation(self, sandbox: Sandbox) -> None:
        program = "def f():\n    import os\n    os._exit(0)\n"
        assert run_traced(sandbox, program, ("f",), TracePlan("f()")) == NO_OBSERVATION

    def test_a_program_that_catches_the_interruption_is_interrupted_again(
        self, sandbox: Sandbox
    ) -> None:
        program = (
            "def f():\n    for _ in range(3):\n        try:\n            while True: pass\n"
            "        except:\n            pass\n    return 1\n"
        )
        seen = run_traced(sandbox, program, ("f",), TracePlan("f()\nassert False\n", seconds=0.3))
        assert seen is not NO_OBSERVATION
        assert not seen.passes

    def test_a_base_exception_is_a_failure_too(self, sandbox: Sandbox) -> None:
        program = "class Bye(BaseException): pass\n\ndef f():\n    raise Bye\n"
        seen = run_traced(sandbox, program, ("f",), TracePlan("f()"))
        assert [step.fine for step in seen.steps] == [False]
        assert seen.steps[0].frames[-1][0] == "f"

    def test_large_values_are_not_traversed_for_every_call(self, sandbox: Sandbox) -> None:
        # Reading every item a thousand times would take many minutes.
        program = (
            "def f(xs, i):\n    return xs[i]\n\n"
            "def g():\n    xs = list(range(4_000_000))\n"
            "    return sum(f(xs, i) for i in range(1000))\n"
        )
        seen = run_traced(
            sandbox, program, ("f", "g"), TracePlan("assert g() == 499500", seconds=30.0)
        )
        assert seen.passes

    def test_an_error_inside_the_tracer_does_not_fail_the_program(self, sandbox: Sandbox) -> None:
        program = (
            "class Odd(str):\n    __hash__ = None\n\n"
            "def f():\n    return Odd('x')\n\ndef g(x):\n    return len(x)\n"
        )
        assert run_traced(sandbox, program, ("f", "g"), TracePlan("assert g(f()) == 1")).passes

    def test_a_deep_recursion_is_analysed_without_recursion(self, sandbox: Sandbox) -> None:
        program = (
            "import sys\nsys.setrecursionlimit(10**6)\n\n"
            "def f(n):\n    return 0 if n == 0 else f(n - 1) + 1\n"
        )
        failing = FailingRun(program, ("f",), TracePlan("assert f(1500) == 1"))
        assert {feature.node for feature in collect_evidence(sandbox, failing).features} == {"f"}


def test_an_interrupted_call_stays_on_record(sandbox: Sandbox) -> None:
    program = (
        "def many(n):\n    return tuple(range(n, n + 10))\n\n"
        "def endless(*_):\n    while True: pass\n"
    )
    driver = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self):\n        kept = [many(n) for n in range(1500)]\n"
        "        self.assertEqual(endless(kept, kept, kept), kept)\n"
        "    def test_b(self):\n        self.assertEqual(many(0)[0], 0)\n"
    )
    trial = TracePlan(driver, ("T.test_a", "T.test_b"), seconds=3.0)
    seen = run_traced(sandbox, program, ("many", "endless"), trial)
    assert [(step.test, step.line) for step in seen.failing_steps] == [("T.test_a", 5)]
    (call,) = (call for call in seen.calls if call.node == "endless")
    assert seen.test_of(call) == "T.test_a"
    assert call.own > 0


class TestGenerators:
    PROGRAM = (
        "def numbers(n):\n    for i in range(n):\n        yield i\n\n"
        "def total(xs):\n    return sum(xs)\n"
    )

    def test_a_generator_is_recorded_as_one_call_however_often_it_is_resumed(
        self, sandbox: Sandbox
    ) -> None:
        driver = "assert total(numbers(3)) == 3\nassert total(numbers(4)) == 6\n"
        seen = run_traced(sandbox, self.PROGRAM, ("numbers", "total"), TracePlan(driver))
        assert seen.passes
        assert [call.node for call in seen.calls] == ["total", "numbers"] * 2

    def test_the_time_of_a_generator_is_not_attributed_to_its_consumer(
        self, sandbox: Sandbox
    ) -> None:
        slow = self.PROGRAM.replace("yield i", "yield sum(range(20_000)) * 0")
        seen = run_traced(
            sandbox, slow, ("numbers", "total"), TracePlan("assert total(numbers(200))\n")
        )
        (total,) = (call for call in seen.calls if call.node == "total")
        assert seen.unnoted[""]["numbers"] > total.own

    def test_evaluating_promises_does_not_exhaust_an_iterator(self, sandbox: Sandbox) -> None:
        promised = {
            "total": ContractExpressions(requires=("all(x >= 0 for x in xs)",)),
            "numbers": ContractExpressions(ensures=("list(result) == []",)),
        }
        trial = TracePlan("assert total(numbers(3)) == 3\n", promises=promised)
        seen = run_traced(sandbox, self.PROGRAM, ("numbers", "total"), trial)
        assert seen.passes
        assert not any(call.broke or call.refused for call in seen.calls)


MANY = """\
def helper():
    return sum(range(200))

def outer(most):
    for _ in range(most):
        helper()
"""


def test_time_of_calls_beyond_the_recording_limit_is_attributed_to_their_function(
    sandbox: Sandbox,
) -> None:
    costly = MANY.replace("range(200)", "range(3000)")
    driver = "outer(20_000)\nassert False\n"
    seen = run_traced(sandbox, costly, ("helper", "outer"), TracePlan(driver, seconds=60))
    assert seen.cut
    spent = {s.node for s in cost_features(seen) if s.kind is FeatureKind.TOOK_TIME}
    assert spent <= {"helper"}, "the caller itself used little time"
    assert seen.unnoted[""]["helper"] > sum(c.own for c in seen.calls if c.node == "outer")


def test_a_program_interrupted_while_the_tracer_records_is_still_reported(sandbox: Sandbox) -> None:
    endless = MANY.replace("for _ in range(most):", "while True:")
    for _ in range(3):
        trial = TracePlan("outer(1)\n", seconds=1.0)
        seen = run_traced(sandbox, endless, ("helper", "outer"), trial)
        assert seen.tests == {"": "out of time"}
        took = sum(call.own for call in seen.calls) + sum(seen.unnoted[""].values())
        assert took > 0
        assert [step.frames[0][0] for step in seen.steps] == ["outer"]


def test_without_traced_functions_no_profiler_is_installed(sandbox: Sandbox) -> None:
    program = "import sys\ndef f():\n    return sys.getprofile() is None\n"
    assert run_traced(sandbox, program, (), TracePlan("assert f()\n")).passes
    assert not run_traced(sandbox, program, ("f",), TracePlan("assert f()\n")).passes


def test_a_test_with_many_calls_does_not_use_up_the_recording_limit_of_the_next(
    sandbox: Sandbox,
) -> None:
    program = (
        "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\n\n"
        "def late():\n    return 1\n"
    )
    driver = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def test_1(self):\n        assert fib(18) == 2584\n"
        "    def test_2(self):\n        assert late() == 2\n"
    )
    seen = run_traced(
        sandbox, program, ("fib", "late"), TracePlan(driver, ("T.test_1", "T.test_2"))
    )
    assert seen.cut
    assert "late" in {call.node for call in seen.calls}


def test_class_set_up_runs_and_skipped_tests_are_not_failures(sandbox: Sandbox) -> None:
    driver = (
        "import unittest\nclass T(unittest.TestCase):\n"
        "    @classmethod\n    def setUpClass(cls):\n        cls.n = 1\n"
        "    def test_1(self):\n        assert f() == self.n\n"
        "    def test_2(self):\n        self.skipTest('no')\n        assert False\n"
    )
    trial = TracePlan(driver, ("T.test_1", "T.test_2"))
    assert run_traced(sandbox, "def f():\n    return 1\n", ("f",), trial).passes


@pytest.mark.parametrize(
    "forged",
    [
        {"calls": [{"node": "f", "parent": 7, "step": 0}]},
        {"calls": [{"node": "f", "parent": 0, "step": 0}]},
        {"calls": [{"node": "f", "parent": None, "step": 5}]},
        {"calls": [{"node": "f", "parent": None, "step": 0, "came_from": {"x": 3}}]},
        {"calls": [{"node": "f", "parent": None, "step": 0, "refused": [-5]}]},
        {"calls": [{"node": "f", "parent": None, "step": 0, "held": 10**400}]},
        {"calls": [{"node": "f", "parent": None, "step": 0, "left": -(10**400)}]},
        {"steps": [{"test": "", "line": 1, "fine": False, "sources": [
            {"text": "x", "same": True, "calls": [99]}]}]},
        {"files": [{"path": "a", "writing": True, "step": 0, "call": 44}]},
        {"files": [{"path": "a", "writing": True, "step": 0}] * 2001},
        {"tests": {}},
        {"tests": {"other": ""}},
    ],
)  # fmt: skip
def test_a_forged_report_is_not_an_observation(sandbox: Sandbox, forged: dict[str, Any]) -> None:
    step = {"test": "", "line": 1, "fine": True}
    whole = {"loads": "", "steps": [step], "calls": [], "files": [], "tests": {"": ""}, **forged}
    program = (
        "def f():\n    import os\n"
        f"    open('seen.json', 'w').write({json.dumps(whole)!r})\n    os._exit(0)\n"
    )
    assert run_traced(sandbox, program, ("f",), TracePlan("f()")) == NO_OBSERVATION
