"""What of the plan writers see: labelled, and nothing where the plan is silent."""

from collections.abc import Iterator

import msgspec
import pytest

from auditcoder.domain.brief import Approach, Brief, DataRange, Parsed, Trap
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import GENEROUS
from auditcoder.domain.task import Limits
from auditcoder.lifecycle.options import AutoSwitch, Build
from auditcoder.lifecycle.plan_excerpts import blamable_names, shown_plan
from auditcoder.lifecycle.ports import Sandbox
from tests.support import adder_task
from tests.support.addition_runs import ADDS, CLASS, FUNCTION, READS, SKETCH, TASK
from tests.support.scripted_runs import python, run, sandboxed
from tests.support.sketched_runs import sketching
from tests.support.sketches import planned

RICH = '''"""Read, then add.

Blank lines stand for zero.

parts: each can be tested
assumes: no number is negative
trap: a sum may exceed 32 bits
limits: up to 10**5 numbers
"""
'''


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_silent_plan_adds_nothing() -> None:
    silent = planned("def solve(data): ...")
    assert shown_plan(silent.brief, silent.graph.nodes[1]) == ""


def test_every_part_of_the_brief_has_its_label() -> None:
    brief = Brief(
        parsed=Parsed(
            limits=Limits(seconds=2.0, memory_mb=256),
            ranges=(DataRange(variable="n", minimum=1, maximum=1000), DataRange(variable="x")),
        ),
        approach=Approach(
            strategy="Sort first.",
            observations=("Order is free.",),
            traps=(Trap(trap="greedy", why="it is not optimal"),),
            assumptions=("no ties",),
        ),
    )
    assert shown_plan(brief).strip().split("\n") == [
        "The plan says:",
        "Strategy: Sort first.",
        "Note: Order is free.",
        "Assumes: no ties",
        "Trap: greedy (it is not optimal)",
        "Limits: 1 <= n <= 1000",
    ]


@pytest.mark.parametrize("build", Build)
def test_the_docstring_of_a_sketch_reaches_every_writer(sandbox: Sandbox, build: Build) -> None:
    sketch = python(RICH + SKETCH.removeprefix("```python\n").partition('"""\n')[2][:-3])
    replies = {
        "sketch": sketch,
        "joint": python(READS + ADDS),
        "node": [python(READS), python(ADDS)],
    }
    finished = run(sandbox, TASK, replies, sketching(build=build))
    assert finished.outcome is RunOutcome.PASSED
    asked = finished.request("joint" if build is Build.JOINT else "node")
    for line in (
        "Strategy: Read, then add.",
        "Note: Blank lines stand for zero.",
        "Assumes: no number is negative",
        "Trap: a sum may exceed 32 bits",
        "Limits: up to 10**5 numbers",
    ):
        assert line in asked


def test_the_only_function_is_requested_with_what_the_plan_says_of_it(sandbox: Sandbox) -> None:
    sketch = python(
        '"""Double and add."""\nOFFSET = 1\n\n\n'
        "def twice_and_one(x: int) -> int:\n"
        '    """Return twice x and one more.\n\n    The result is odd.\n\n'
        "    param x: any integer\n    returns: an odd number\n    ensures: result % 2 == 1\n"
        "    trap: x may be negative\n    example: twice_and_one(1) == 3\n"
        '    """\n    return 2 * x + OFFSET\n'
    )
    code = python("def twice_and_one(x):\n    return 2 * x + 1\n")
    quiet = sketching(edge_cases=AutoSwitch.OFF, adjudication=AutoSwitch.OFF)
    finished = run(sandbox, FUNCTION, {"sketch": sketch, "joint": code}, quiet, limits=GENEROUS)
    assert finished.outcome is RunOutcome.PASSED
    small = run(sandbox, FUNCTION, {"sketch": sketch, "joint": code})
    assert "The plan says" not in small.request("joint")
    for line in (
        "Strategy: Double and add.",
        "Goal: Return twice x and one more.",
        "The result is odd.",
        "param x: any integer",
        "returns: an odd number",
        "ensures: result % 2 == 1",
        "trap: x may be negative",
        "example: twice_and_one(1) == 3",
        "OFFSET = 1",
        "Draft, to be kept or improved:",
        "return 2 * x + OFFSET",
    ):
        assert [said.strip() for said in finished.request("joint").split("\n")].count(line) == 1


@pytest.mark.parametrize("build", Build)
def test_methods_are_requested_with_the_limits_of_the_task(sandbox: Sandbox, build: Build) -> None:
    limited = msgspec.structs.replace(CLASS, limits=Limits(seconds=3.0))
    up = python(
        "class Tally:\n    def up(self):\n        self.count += 1\n        return self.count"
    )
    finished = run(sandbox, limited, {"methods": up, "method": up}, sketching(build=build))
    assert finished.outcome is RunOutcome.PASSED
    assert "\nLimits of one run: 3 s.\n" in finished.request(
        "methods" if build is Build.JOINT else "method"
    )


def test_helpers_can_be_blamed_beside_promised_functions(sandbox: Sandbox) -> None:
    reads = (
        "def read(text):\n    return [_number(word) for word in text.split()]\n\n"
        "def _number(word):\n    return int(word)\n"
    )
    replies = adder_task.script(reads, adder_task.GOOD_ADD)
    finished = run(sandbox, adder_task.TASK, replies, sketching(review=False))
    working = finished.solution.trace.working
    names = blamable_names(finished.graph, working, NodeId("S2"))
    assert (names["read"], names["add"], names["_number"]) == ("S1", "S2", "S1")
