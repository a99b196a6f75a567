"""Code requests in scripted runs: jointly, node by node, for classes, and unusable replies."""

import time
from collections.abc import Iterator

import pytest

from auditcoder.domain.events import CodeWritten, RunOutcome
from auditcoder.domain.request import FinishReason, Reply, Request
from auditcoder.domain.targets import AtNode
from auditcoder.domain.usage import Usage
from auditcoder.lifecycle.options import Build, Options
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import (
    ADD,
    ADDS,
    CLASS,
    KNOWN,
    READ,
    READS,
    S2,
    SKETCH,
    SOLVE,
    TASK,
    localised,
    targets,
)
from tests.support.scripted_runs import ScriptedReplies, finding, python, run, sandboxed, stub


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestRepliesThatCannotBeUsed:
    GOOD: ScriptedReplies = {"sketch": SKETCH, "joint": python(READS + ADDS)}

    def test_make_one_node_of_a_plan_that_never_came(self, sandbox: Sandbox) -> None:
        solve = python("def solve(data):\n    return str(sum(map(int, data.split())))")
        finished = run(sandbox, TASK, {"sketch": "First, we think.", "joint": solve})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["sketch", "sketch", "joint"]
        assert finished.committed.granularity == (
            "one node, because no plan could be used: there is no ```python block in it"
        )

    @pytest.mark.parametrize(
        ("sketch", "why"),
        [
            ("".join(stub(f"f{i}(x: int) -> int", "Do.") for i in range(6)), "use at most 5"),
            (
                stub("f(x: int) -> int", "Do.", "uses: g")
                + stub("g(x: int) -> int", "Do.", "uses: f"),
                "in a circle",
            ),
            (stub("len(x: int) -> int", "Count."), "len is Python's own name"),
            ("class A:\n    pass\n", "no classes"),
            (stub("f(x: int) -> int", "Do.") * 2, "names f twice"),
        ],
    )
    def test_are_asked_for_again_with_what_is_wrong_with_a_plan(
        self, sandbox: Sandbox, sketch: str, why: str
    ) -> None:
        faulty = python(sketch + "def solve(data: str) -> str:\n    ...\n")
        finished = run(sandbox, TASK, {**self.GOOD, "sketch": [faulty, SKETCH]})
        assert finished.outcome is RunOutcome.PASSED
        assert why in finished.rejected[0]
        assert why in finished.request("sketch")

    def test_refuse_a_root_that_calls_what_nobody_promised(self, sandbox: Sandbox) -> None:
        unknown = python(READ + "def solve(data: str) -> str:\n    return magic(data)\n")
        finished = run(sandbox, TASK, {**self.GOOD, "sketch": [unknown, SKETCH]})
        assert finished.rejected == ["the root calls magic, which has no stub"]

    def test_leave_a_node_that_says_it_was_never_written(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        first = finished.written("S2")[0]
        assert (first.agent, first.note) == ("degraded", "there is no function add_up in it")
        assert finished.prompts.count("joint") == 2
        assert "NotImplementedError" in localised(finished).explanation

    def test_never_lose_a_run(self, sandbox: Sandbox) -> None:
        cut = Reply(text="def", finish=FinishReason.LENGTH, usage=Usage(calls=1))
        roles = ("sketch", "joint", "replan_node", "repair_node", "replan_branch")
        finished = run(sandbox, TASK, dict.fromkeys(roles, cut))
        assert finished.outcome is RunOutcome.ABSTAINED
        assert [t.reason for t in finished.history] == ["nothing was changed"] * 2

    def test_leave_out_what_nobody_owns_and_say_so(self, sandbox: Sandbox) -> None:
        calls = "print(add_up([1]))\nif True:\n    add_up([])\n"
        finished = run(sandbox, TASK, {**self.GOOD, "joint": python(READS + ADDS + calls)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.written("S2")[0].note == (
            "left out, because nobody owns it: print(add_up([1])); if True:"
        )
        assert "print(add_up([1]))" not in finished.program

    def test_are_completed_by_imports_that_were_forgotten(self, sandbox: Sandbox) -> None:
        adds = "def add_up(numbers):\n    return reduce(operator.add, numbers, 0)\n"
        finished = run(sandbox, TASK, {**self.GOOD, "joint": python(READS + adds)})
        assert finished.outcome is RunOutcome.PASSED
        note = "added: from functools import reduce, import operator"
        assert finished.written("S2")[0].note == note

    def test_that_the_laws_refuse_are_refused_again_in_a_replay(self, sandbox: Sandbox) -> None:
        reads = "add_up = sum\n" + READS.replace("data.split()", "data.split() if add_up")
        said: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(reads + ADDS),
            "replan_node": finding(),
            "repair_node": python(READS),
        }
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        assert [e.agent for e in finished.written("S1")] == ["degraded", "agent_string"]

    def test_may_name_a_part_as_a_helper_was_named(self, sandbox: Sandbox) -> None:
        helped = "def part(x):\n    return x + 1\n\n" + ADDS.replace(
            "sum(numbers)", "part(sum(numbers))"
        )
        part = stub("part(xs: list[int]) -> int", "Add a part.")
        new = "def part(xs):\n    return sum(xs)\ndef add_up(numbers):\n    return part(numbers)\n"
        said: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": [python(READS + helped), python(new)],
            "replan_node": finding("decomposition"),
            "replan_branch": python(part + "def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        assert run(sandbox, TASK, said, Options(max_repairs=1)).outcome is RunOutcome.PASSED

    def test_share_helpers_by_who_uses_them(self, sandbox: Sandbox) -> None:
        helped = "def helper(x):\n    return x\n"
        adds = ADDS.replace("sum(numbers)", "helper(sum(numbers))")
        reads = READS.replace("int(word)", "helper(int(word))")
        finished = run(sandbox, TASK, {**self.GOOD, "joint": python(helped + reads + adds)})
        assert finished.outcome is RunOutcome.PASSED
        assert "helper" in finished.code("S1")
        assert "helper" in finished.code("S2")
        assert "helper__S2" in finished.program

    def test_give_up_a_part_that_clashes_with_another(self, sandbox: Sandbox) -> None:
        importing = (
            "from math import gcd\n" + READ + ADD + SOLVE.replace("str(", "str(gcd(0, 0) + ")
        )
        clashing = "def gcd(x):\n    return x\n" + ADDS.replace("sum(numbers)", "gcd(sum(numbers))")
        said: ScriptedReplies = {"sketch": python(importing), "joint": python(READS + clashing)}
        finished = run(sandbox, TASK, said, Options(max_repairs=0))
        assert finished.outcome is RunOutcome.FAILED
        last = finished.written("S2")[-1]
        assert (last.agent, last.note) == (
            "degraded",
            "it clashes with another part of the program",
        )

    def test_give_up_an_inner_part_that_clashes_too(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: list[int]) -> int", "Add.", "uses: one")
        importing = "from math import gcd\n" + READ + add + stub("one(x: int) -> int", "One.")
        solve = SOLVE.replace("str(", "str(gcd(0, 0) + ")
        clashing = """\
def gcd(x):
    return x
def add_up(numbers):
    return gcd(sum(map(one, numbers)))
def one(x):
    return x
"""
        said: ScriptedReplies = {
            "sketch": python(importing + solve),
            "joint": python(READS + clashing),
        }
        assert run(sandbox, TASK, said, Options(max_repairs=0)).outcome is RunOutcome.FAILED

    def test_may_have_types_that_no_value_has(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: set[list[int]]) -> int", "Add them up.")
        finished = run(sandbox, TASK, {**self.GOOD, "sketch": python(READ + add + SOLVE)})
        assert finished.outcome is RunOutcome.PASSED


class TestBuildingNodeByNode:
    OPTIONS = Options(build=Build.NODE)

    @staticmethod
    def node(request: Request) -> str:
        asked = request.messages[-1].text
        if "Write `read_numbers" in asked:
            time.sleep(0.1)  # so that the last comes first
            return python(READS)
        return python(ADDS)

    def test_asks_each_kinds_specialist(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": SKETCH, "node": self.node}, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["sketch", "node", "node"]
        assert [(e.node, e.agent) for e in finished.all(CodeWritten)] == [
            ("S0", "sketch"),
            ("S1", "agent_string"),
            ("S2", "agent_math"),
        ]

    def test_gives_the_same_program_however_many_are_asked_at_once(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {"sketch": SKETCH, "node": self.node}
        alone = run(sandbox, TASK, said, self.OPTIONS, parallel=1)
        together = run(sandbox, TASK, said, self.OPTIONS, parallel=4)
        assert alone.program == together.program
        assert alone.graph == together.graph
        order = [r.messages[-1].text for name, r in alone.asked if name == "node"]
        assert sorted(order) == sorted(
            r.messages[-1].text for name, r in together.asked if name == "node"
        )

    def test_stands_in_for_the_one_that_never_came(self, sandbox: Sandbox) -> None:
        def node(request: Request) -> str:
            return "No." if "Write `add_up" in request.messages[1].text else python(READS)

        said: ScriptedReplies = {
            "sketch": SKETCH,
            "node": node,
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, said, self.OPTIONS, parallel=4)
        assert finished.outcome is RunOutcome.PASSED
        assert [e.agent for e in finished.written("S2")] == ["degraded", "agent_math"]


UP = "class Tally:\n    def up(self):\n        self.count += 1\n        return self.count\n"


class TestAClass:
    def test_is_planned_by_its_skeleton_without_a_call(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, CLASS, {"methods": python(UP)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["methods"]
        assert finished.committed.planner == "skeleton"
        assert [n.contract.name for n in finished.graph.nodes if n.contract] == ["__init__", "up"]
        assert [e.agent for e in finished.written("S1")] == ["skeleton"]

    def test_is_repaired_method_by_method(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {
            "methods": python(UP.replace("+= 1", "+= 1 // 0")),
            "replan_node": finding(),
            "repair_node": python(UP),
        }
        finished = run(sandbox, CLASS, said)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2)]
        assert finished.history[0].region == ("S2",)

    def test_may_be_asked_for_method_by_method(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, CLASS, {"method": python(UP)}, Options(build=Build.NODE))
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["method"]

    def test_keeps_helpers_before_its_statement(self, sandbox: Sandbox) -> None:
        helped = "def more(x):\n    return x + 1\n\n" + UP.replace(
            "self.count += 1", "self.count = more(self.count)"
        )
        finished = run(sandbox, CLASS, {"methods": python(helped)})
        assert finished.outcome is RunOutcome.PASSED
        assert "def more" in finished.code("S0")

    def test_keeps_helpers_that_a_repair_brings(self, sandbox: Sandbox) -> None:
        helped = "def more(x):\n    return x + 1\n\n" + UP.replace(
            "self.count += 1", "self.count = more(self.count)"
        )
        said: ScriptedReplies = {
            "methods": python(UP.replace("+= 1", "+= 1 // 0")),
            "replan_node": finding(),
            "repair_node": python(helped),
        }
        assert run(sandbox, CLASS, said).outcome is RunOutcome.PASSED
