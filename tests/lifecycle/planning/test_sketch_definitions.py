"""Definitions of a sketch are a node: owned, shown to writers, part of the program."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import ProgramForm, StdioExample, Task
from auditcoder.lifecycle.options import Build
from auditcoder.lifecycle.planning.plan import PlanRefused
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.metrics.trace_metrics import signature_consistency, trace_coverage
from tests.support.scripted_runs import python, run, sandboxed, stub
from tests.support.sketched_runs import sketching
from tests.support.sketches import ADD, ONE, READ, SOLVE, planned

S1 = NodeId("S1")
TASK = Task(
    title="Known words",
    statement="Count the words of the input that are known.",
    form=ProgramForm(),
    examples=(StdioExample(input="a b c a\n", output="3\n"),),
)
DEFINITIONS = """\
from dataclasses import dataclass

KNOWN_WORDS = {"a", "b"}  # all of them
LENGTHS: dict[str, int] = {}
for word in KNOWN_WORDS:
    LENGTHS[word] = len(word)


@dataclass(frozen=True)
class Item:
    \"\"\"A word.\"\"\"

    name: str

"""
SKETCH = (
    DEFINITIONS
    + stub("read_items(data: str) -> list[Item]", "Read the items.")
    + stub("count_known(items: list[Item]) -> int", "Count those in KNOWN_WORDS.")
    + "def solve(data: str) -> str:\n    return str(count_known(read_items(data)))\n"
)
READS = "def read_items(data):\n    return [Item(word) for word in data.split()]\n"
COUNTS = "def count_known(items):\n    return sum(i.name in KNOWN_WORDS for i in items)\n"


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestPlan:
    def test_the_definitions_are_the_first_node_and_have_no_contract(self) -> None:
        plan = planned(SKETCH, TASK)
        node = plan.graph.by_id[S1]
        assert plan.graph.order == ("S1", "S2", "S3")
        assert (node.contract, node.parent) == (None, ROOT)
        assert plan.given[S1].source.split() == DEFINITIONS.split()
        assert plan.losses == ()

    def test_the_nodes_that_name_a_definition_depend_on_its_node(self) -> None:
        text = "LIMIT = 3\n\n" + READ + ADD.replace("they are finite", "below LIMIT") + ONE + SOLVE
        graph = planned(text).graph
        needing = {node.id for node in graph.nodes if S1 in node.dependencies}
        assert needing == {"S0", "S3"}

    def test_a_sketch_of_one_function_shows_its_definitions_to_the_writer(self) -> None:
        plan = planned('LIMIT = 3\n\ndef solve(data: str) -> str:\n    """Solve it."""\n')
        assert plan.graph.order == ("S1",)
        assert "definitions:\nLIMIT = 3" in plan.graph.by_id[S1].context

    def test_what_defines_nothing_and_does_something_is_noted(self) -> None:
        text = (
            READ
            + ADD
            + ONE
            + SOLVE
            + "SIZE = ...\nassert one(1) == 1\nprint(one(1))\n"
            + 'if __name__ == "__main__":\n    solve("")\n'
        )
        assert planned(text).losses == (
            "`SIZE = ...`, which has no value",
            "`assert one(1) == 1`, which defines nothing",
        )

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("max = 3\n" + SOLVE, "max is Python's own name"),
            ("solve = 3\n" + SOLVE, "names solve twice"),
            ("import math\nmath = 3\n" + READ + ADD + ONE + SOLVE, "math is imported"),
        ],
    )
    def test_a_definition_that_would_clash_is_refused(self, text: str, why: str) -> None:
        with pytest.raises(PlanRefused, match=why):
            planned(text)


class TestRun:
    @pytest.mark.parametrize("build", Build)
    def test_definitions_reach_the_writers_and_the_program(
        self, sandbox: Sandbox, build: Build
    ) -> None:
        replies = {
            "sketch": python(SKETCH),
            "joint": python(READS + COUNTS),
            "node": [python(READS), python(COUNTS)],
        }
        finished = run(sandbox, TASK, replies, sketching(build=build))
        assert finished.outcome is RunOutcome.PASSED
        assert 'KNOWN_WORDS = {"a", "b"}  # all of them' in finished.program
        assert "class Item:" in finished.request("joint" if build is Build.JOINT else "node")
        (written,) = finished.written("S1")
        assert (written.agent, written.reply is None) == ("sketch", False)
        trace = finished.solution.trace
        assert trace_coverage(trace, finished.raw.blob).rate == 1
        assert signature_consistency(trace, finished.raw.blob).rate == 1
        assert trace.losses == ()

    def test_definitions_that_the_laws_refuse_are_a_noted_loss(self, sandbox: Sandbox) -> None:
        wrong = SKETCH.replace("KNOWN_WORDS = ", "if True:\n    from math import *\nKNOWN_WORDS = ")
        replies = {"sketch": python(wrong), "joint": python(READS + COUNTS)}
        finished = run(sandbox, TASK, replies, sketching(max_repairs=0))
        assert finished.outcome is RunOutcome.FAILED
        (loss,) = (text for _, text in finished.solution.trace.losses)
        assert loss.startswith("the definitions, because")


def test_a_clause_that_names_a_definition_is_checked(sandbox: Sandbox) -> None:
    bounded = stub(
        "capped(total: int) -> int",
        "Cap the total.",
        "requires: 0 <= total <= 2 * CAP",
        "ensures: 0 <= result <= CAP",
    )
    top = "def solve(data: str) -> str:\n    return str(capped(int(data)))\n"
    code = "def capped(total):\n    return min(total, 10)\n"
    task = Task(
        title="Cap",
        statement="Cap a number at 10.",
        form=ProgramForm(),
        examples=(StdioExample(input="12\n", output="10\n"),),
    )
    replies = {"sketch": python("CAP = 10\n\n" + bounded + top), "joint": python(code)}
    finished = run(sandbox, task, replies)
    (promise,) = finished.checks("S2.ensures")
    assert (promise.verdict, promise.requirement) == (Verdict.PASSED, "0 <= result <= CAP")
    assert promise.tried
    assert finished.outcome is RunOutcome.PASSED
