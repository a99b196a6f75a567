"""Watching: every step is tried, and what it saw, called and left is noted."""

from collections.abc import Iterator

import pytest

from auditcoder.lifecycle.locating.watching import NOTHING, Observation, Trial, watch
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripts import sandboxed

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
    return watch(sandbox, SHOP, NODES, Trial(TESTS, ("ShopTest.test_main",)))


class TestSteps:
    def test_all_are_tried_whatever_became_of_the_others(self, seen: Observation) -> None:
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

    def test_an_exception_has_its_way_through_the_program(self, seen: Observation) -> None:
        step = seen.steps[3]
        assert (step.exception, step.message) == ("ValueError", "'no'")
        assert [name for name, _ in step.frames] == ["Shop.broken", "Shop.inner"]

    def test_what_was_not_there_is_named(self, seen: Observation) -> None:
        assert seen.steps[4].lacks == "nowhere"

    def test_values_are_traced_to_the_calls_that_made_them(self, seen: Observation) -> None:
        (source,) = (s for s in seen.steps[7].sources if s.text == "result")
        made = [seen.calls[number] for number in source.calls]
        assert {call.node for call in made} == {"Shop.total"}

    def test_a_passing_program_is_seen_to_pass(self, sandbox: Sandbox) -> None:
        driver = "shop = Shop()\nshop.add('nut', 2)\nassert shop.total() == 3\n"
        seen = watch(sandbox, SHOP, NODES, Trial(driver))
        assert seen.passes
        assert [step.line for step in seen.steps] == [1, 2, 3]

    def test_an_expected_exception_is_no_failure(self, sandbox: Sandbox) -> None:
        tests = (
            "import unittest\nclass T(unittest.TestCase):\n    def test_it(self):\n"
            "        with self.assertRaises(ValueError):\n            Shop().broken()\n"
        )
        assert watch(sandbox, SHOP, NODES, Trial(tests, ("T.test_it",))).passes


class TestCalls:
    def test_callers_values_and_writes_are_noted(self, seen: Observation) -> None:
        init, add, total, bonus = seen.calls[:4]
        assert [c.node for c in (init, add, total, bonus)] == [
            "Shop.__init__",
            "Shop.add",
            "Shop.total",
            "Shop.bonus",
        ]
        assert (init.wrote, add.wrote, total.wrote) == (("stock",), ("stock",), ())
        assert add.given == {"name": "'nut'", "number": "2"}
        assert (total.parent, bonus.parent) == (None, 2)
        assert (total.returned, bonus.returned) == ("3", "1")
        assert (init.step, add.step, total.step) == (0, 1, 2)

    def test_files_are_noted_with_who_opened_them(self, sandbox: Sandbox) -> None:
        program = (
            "def put():\n    with open('f.txt', 'w') as f:\n        f.write('x')\n"
            "def get():\n    return open('f.txt').read()\n"
        )
        driver = "put()\nassert get() == 'y'\n"
        seen = watch(sandbox, program, ("put", "get"), Trial(driver))
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
    def test_one_that_cannot_be_loaded_says_why(self, sandbox: Sandbox) -> None:
        seen = watch(sandbox, "import nothing_of_that_name", (), Trial("pass"))
        assert "nothing_of_that_name" in seen.loads
        assert not seen.passes

    def test_one_that_loops_is_stopped_where_it_loops(self, sandbox: Sandbox) -> None:
        program = "def f():\n    while True:\n        pass\n"
        seen = watch(sandbox, program, ("f",), Trial("f()\nx = 1\n", seconds=0.3))
        assert seen.tests == {"": "out of time"}
        (step,) = seen.steps
        assert (step.exception, step.frames[-1][0]) == ("OutOfTime", "f")

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
    def test_none_of_it_is_ours_to_raise(self, sandbox: Sandbox, program: str) -> None:
        seen = watch(sandbox, program, ("f",), Trial("x = f()\nassert x == 1\n"))
        assert not seen.passes

    def test_one_that_is_gone_leaves_nothing(self, sandbox: Sandbox) -> None:
        program = "def f():\n    import os\n    os._exit(0)\n"
        assert watch(sandbox, program, ("f",), Trial("f()")) == NOTHING
