"""Code requests in scripted runs: jointly, node by node, for classes, and unusable replies."""

import threading
from collections.abc import Callable, Iterator

import pytest

from auditcoder.domain.events import CodeWritten, RunOutcome
from auditcoder.domain.request import FinishReason, Reply, Request
from auditcoder.domain.targets import AtNode
from auditcoder.domain.usage import Usage
from auditcoder.exports.audit_tables import audit_tables
from auditcoder.lifecycle.options import Build, LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.metrics.audit_metrics import summarise
from auditcoder.metrics.run_facts import collect_facts
from tests.support import adder_task
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
from tests.support.scripted_runs import ScriptedReplies, caused, python, run, sandboxed, stub
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestUnusableReplies:
    GOOD: ScriptedReplies = {"sketch": SKETCH, "joint": python(READS + ADDS)}

    def test_an_unusable_plan_is_replaced_by_one_node(self, sandbox: Sandbox) -> None:
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
            ("class A:\n    def f(self): ...\n", "has methods without a body"),
            (stub("f(x: int) -> int", "Do.") * 2, "names f twice"),
        ],
    )
    def test_a_refused_plan_is_requested_again_with_the_reason(
        self, sandbox: Sandbox, sketch: str, why: str
    ) -> None:
        faulty = python(sketch + "def solve(data: str) -> str:\n    ...\n")
        finished = run(sandbox, TASK, {**self.GOOD, "sketch": [faulty, SKETCH]})
        assert finished.outcome is RunOutcome.PASSED
        assert why in finished.rejected[0]
        assert why in finished.request("sketch")

    def test_a_root_that_calls_an_unplanned_function_is_refused(self, sandbox: Sandbox) -> None:
        unknown = python(READ + "def solve(data: str) -> str:\n    return magic(data)\n")
        finished = run(sandbox, TASK, {**self.GOOD, "sketch": [unknown, SKETCH]})
        assert finished.rejected == ["the root calls magic, which has no stub"]

    def test_a_function_missing_from_the_reply_is_replaced_by_a_noted_stub(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        first = finished.written("S2")[0]
        assert (first.agent, first.note) == ("degraded", "there is no function add_up in it")
        assert finished.prompts.count("joint") == 2
        assert "NotImplementedError" in localised(finished).explanation

    def test_a_run_with_only_truncated_replies_still_ends(self, sandbox: Sandbox) -> None:
        cut = Reply(text="def", finish=FinishReason.LENGTH, usage=Usage(calls=1))
        roles = ("sketch", "joint", "repair_node", "replan_branch")
        finished = run(sandbox, TASK, dict.fromkeys(roles, cut))
        assert finished.outcome is RunOutcome.ABSTAINED
        assert [t.reason for t in finished.history] == ["nothing was changed"] * 2

    def test_statements_without_an_owner_are_left_out_and_noted(self, sandbox: Sandbox) -> None:
        calls = "print(add_up([1]))\nif True:\n    add_up([])\n"
        finished = run(sandbox, TASK, {**self.GOOD, "joint": python(READS + ADDS + calls)})
        assert finished.outcome is RunOutcome.PASSED
        (loss,) = (text for _, text in finished.solution.trace.losses)
        assert loss == "`if True:`, which nobody owns"
        facts = collect_facts(finished.solution.trace, finished.raw.blob, intact=True)
        (table, *_) = audit_tables(summarise([facts]))
        assert ("lost statements of replies", 1, None, None) in [row.cells for row in table.rows]
        assert "print(add_up([1]))" not in finished.program

    def test_missing_imports_are_added_and_noted(self, sandbox: Sandbox) -> None:
        adds = "def add_up(numbers):\n    return reduce(operator.add, numbers, 0)\n"
        finished = run(sandbox, TASK, {**self.GOOD, "joint": python(READS + adds)})
        assert finished.outcome is RunOutcome.PASSED
        note = "added: from functools import reduce, import operator"
        assert finished.written("S2")[0].note == note

    def test_code_that_the_laws_refuse_is_refused_again_in_a_replay(self, sandbox: Sandbox) -> None:
        reads = "add_up = sum\n" + READS.replace("data.split()", "data.split() if add_up")
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(reads + ADDS),
            "repair_node": python(READS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert [e.agent for e in finished.written("S1")] == ["degraded", "agent_string"]

    def test_a_new_node_may_have_the_name_of_an_earlier_helper(self, sandbox: Sandbox) -> None:
        helped = "def part(x):\n    return x + 1\n\n" + ADDS.replace(
            "sum(numbers)", "part(sum(numbers))"
        )
        part = stub("part(xs: list[int]) -> int", "Add a part.")
        new = "def part(xs):\n    return sum(xs)\ndef add_up(numbers):\n    return part(numbers)\n"
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": [python(READS + helped), python(new)],
            "repair_node": caused("decomposition", "it is two things"),
            "replan_branch": python(part + "def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        assert run(sandbox, TASK, replies, sketching(max_repairs=2)).outcome is RunOutcome.PASSED

    def test_a_shared_helper_is_copied_to_each_node_that_uses_it(self, sandbox: Sandbox) -> None:
        helped = "def helper(x):\n    return x\n"
        adds = ADDS.replace("sum(numbers)", "helper(sum(numbers))")
        reads = READS.replace("int(word)", "helper(int(word))")
        finished = run(sandbox, TASK, {**self.GOOD, "joint": python(helped + reads + adds)})
        assert finished.outcome is RunOutcome.PASSED
        assert "helper" in finished.code("S1")
        assert "helper" in finished.code("S2")
        assert "helper__S2" in finished.program

    def test_a_node_whose_names_clash_with_another_is_replaced_by_a_stub(
        self, sandbox: Sandbox
    ) -> None:
        importing = (
            "from math import gcd\n" + READ + ADD + SOLVE.replace("str(", "str(gcd(0, 0) + ")
        )
        clashing = "def gcd(x):\n    return x\n" + ADDS.replace("sum(numbers)", "gcd(sum(numbers))")
        replies: ScriptedReplies = {"sketch": python(importing), "joint": python(READS + clashing)}
        finished = run(sandbox, TASK, replies, sketching(max_repairs=0))
        assert finished.outcome is RunOutcome.FAILED
        last = finished.written("S2")[-1]
        assert (last.agent, last.note) == (
            "degraded",
            "it clashes with another part of the program",
        )

    def test_an_inner_node_whose_names_clash_does_not_stop_the_run(self, sandbox: Sandbox) -> None:
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
        replies: ScriptedReplies = {
            "sketch": python(importing + solve),
            "joint": python(READS + clashing),
        }
        assert run(sandbox, TASK, replies, sketching(max_repairs=0)).outcome is RunOutcome.FAILED

    def test_a_parameter_type_without_values_does_not_stop_the_run(self, sandbox: Sandbox) -> None:
        add = stub("add_up(numbers: set[list[int]]) -> int", "Add them up.")
        finished = run(sandbox, TASK, {**self.GOOD, "sketch": python(READ + add + SOLVE)})
        assert finished.outcome is RunOutcome.PASSED


class TestBuildingNodeByNode:
    OPTIONS = sketching(build=Build.NODE)

    @staticmethod
    def node(request: Request) -> str:
        reads = "Write `read_numbers" in request.messages[-1].text
        return python(READS if reads else ADDS)

    def nodes_in_reverse(self) -> Callable[[Request], str]:
        """Return a script that replies to the first node only after the second one."""
        second = threading.Event()

        def node(request: Request) -> str:
            reply = self.node(request)
            if reply == python(READS):
                assert second.wait(60)
            else:
                second.set()
            return reply

        return node

    def test_each_kind_of_node_is_requested_from_its_specialist(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {"sketch": SKETCH, "node": self.node}, self.OPTIONS)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["sketch", "node", "node"]
        assert [(e.node, e.agent) for e in finished.all(CodeWritten)] == [
            ("S0", "sketch"),
            ("S1", "agent_string"),
            ("S2", "agent_math"),
        ]

    def test_the_program_does_not_depend_on_the_number_of_parallel_requests(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {"sketch": SKETCH, "node": self.node}
        reversed_replies = {**replies, "node": self.nodes_in_reverse()}
        alone = run(sandbox, TASK, replies, self.OPTIONS, parallel=1)
        together = run(sandbox, TASK, reversed_replies, self.OPTIONS, parallel=4)
        assert alone.program == together.program
        assert alone.graph == together.graph
        order = [r.messages[-1].text for name, r in alone.asked if name == "node"]
        assert sorted(order) == sorted(
            r.messages[-1].text for name, r in together.asked if name == "node"
        )

    def test_a_node_without_a_usable_reply_is_replaced_by_a_stub(self, sandbox: Sandbox) -> None:
        def node(request: Request) -> str:
            return "No." if "Write `add_up" in request.messages[1].text else python(READS)

        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "node": node,
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies, self.OPTIONS, parallel=4)
        assert finished.outcome is RunOutcome.PASSED
        assert [e.agent for e in finished.written("S2")] == ["degraded", "agent_math"]


UP = "class Tally:\n    def up(self):\n        self.count += 1\n        return self.count\n"


class TestClassTask:
    def test_a_class_is_planned_from_its_skeleton_without_a_model_call(
        self, sandbox: Sandbox
    ) -> None:
        finished = run(sandbox, CLASS, {"methods": python(UP)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["methods"]
        assert finished.committed.planner == "skeleton"
        assert [n.contract.name for n in finished.graph.nodes if n.contract] == ["__init__", "up"]
        assert [e.agent for e in finished.written("S1")] == ["skeleton"]

    def test_a_class_is_repaired_method_by_method(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "methods": python(UP.replace("+= 1", "+= 1 // 0")),
            "repair_node": python(UP),
        }
        finished = run(sandbox, CLASS, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2)]
        assert finished.history[0].region == ("S2",)

    def test_methods_may_be_requested_one_by_one(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, CLASS, {"method": python(UP)}, sketching(build=Build.NODE))
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts == ["method"]

    def test_helpers_of_methods_are_placed_before_the_class(self, sandbox: Sandbox) -> None:
        helped = "def more(x):\n    return x + 1\n\n" + UP.replace(
            "self.count += 1", "self.count = more(self.count)"
        )
        finished = run(sandbox, CLASS, {"methods": python(helped)})
        assert finished.outcome is RunOutcome.PASSED
        assert "def more" in finished.code("S0")

    def test_helpers_that_a_repair_adds_are_kept(self, sandbox: Sandbox) -> None:
        helped = "def more(x):\n    return x + 1\n\n" + UP.replace(
            "self.count += 1", "self.count = more(self.count)"
        )
        replies: ScriptedReplies = {
            "methods": python(UP.replace("+= 1", "+= 1 // 0")),
            "repair_node": python(helped),
        }
        assert run(sandbox, CLASS, replies).outcome is RunOutcome.PASSED


class TestDrafts:
    DRAFT = (
        "def add(numbers: list[int]) -> int:\n"
        '    """Add them up.\n\n    cost: O(n)\n    """\n'
        "    # the empty sum is 0\n    return sum(numbers)\n"
    )
    SKETCH = python(adder_task.READ + DRAFT + adder_task.ROOT)

    @pytest.mark.parametrize("build", Build)
    def test_a_function_that_the_plan_has_in_full_is_shown_to_its_writer(
        self, sandbox: Sandbox, build: Build
    ) -> None:
        replies = {
            "sketch": self.SKETCH,
            "joint": python(adder_task.GOOD_READ + self.DRAFT),
            "node": [python(adder_task.GOOD_READ), python(self.DRAFT)],
        }
        finished = run(sandbox, adder_task.TASK, replies, sketching(build=build))
        assert finished.outcome is RunOutcome.PASSED
        asked = [r.messages[-1].text for prompt, r in finished.asked if prompt in {"joint", "node"}]
        shown = [text.count(self.DRAFT) for text in asked]
        assert shown == ([1] if build is Build.JOINT else [0, 1])
        assert finished.code("S2") == self.DRAFT
        assert [e.agent for e in finished.written("S2")] != ["sketch"]
        assert finished.committed.losses == ()
        assert finished.solution.trace.losses == ()

    def test_a_second_opinion_does_not_see_the_draft(self, sandbox: Sandbox) -> None:
        replies = adder_task.script(adder_task.GOOD_READ, adder_task.BAD_ADD, sketch=self.SKETCH)
        finished = run(sandbox, adder_task.TASK, replies, locator=LocatorName.WEIGHED)
        assert finished.outcome is RunOutcome.PASSED
        assert "the empty sum is 0" in finished.request("joint")
        assert "the empty sum is 0" not in finished.request("second_opinion")
