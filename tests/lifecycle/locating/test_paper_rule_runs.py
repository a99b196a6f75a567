"""Scripted runs in which each of the rules R1 to R4 selects the target of the repair."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.diagnosis import Abstained, Level
from auditcoder.domain.events import GraphRevised, RunOutcome
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.domain.task import CodeExample, FunctionForm, Task
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import (
    ADD,
    ADDS,
    BRANCH,
    BRANCH_WRONG,
    CRASHES,
    KNOWN,
    OFF,
    READ,
    READS,
    S0,
    S1,
    S2,
    SILENT,
    SKETCH,
    SOLVE,
    TASK,
    localised,
    placed,
    program,
    promising,
    targets,
)
from tests.support.scripted_runs import (
    ScriptedReplies,
    caused,
    opinions,
    python,
    run,
    sandboxed,
    stub,
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestR1:
    def test_r1_selects_the_leaf_whose_line_crashed(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS + CRASHES),
            "repair_node": caused("implementation", "the list can be empty", ADDS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        diagnosis = localised(finished)
        assert placed(diagnosis) == (AtNode(node=S2), "R1", Level.HIGH)
        assert diagnosis.agents == ("joint",)
        assert "ZeroDivisionError" in diagnosis.explanation
        assert finished.graph.by_id[S2].context == "found: the list can be empty"

    def test_r1_selects_the_root_if_its_line_crashed(self, sandbox: Sandbox) -> None:
        solve = SOLVE.replace("str(add_up", "str(1 // 0 + add_up")
        replies: ScriptedReplies = {
            "sketch": python(READ + ADD + solve),
            "joint": python(READS + ADDS),
            "repair_node": python(SOLVE),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S0)]
        assert 'if __name__ == "__main__":' in finished.code("S0")
        assert [d.node for d in finished.history[0].code_deltas] == [S0]


SLOW = """\
def add_up(numbers):
    total = 0
    for i, number in enumerate(numbers):
        for j in range(len(numbers)):
            if i == j:
                total += number
    return total
"""


SLOWLY_READS = """\
def read_numbers(data):
    words = data.split()
    for a in data:
        for b in data:
            pass
    return [int(word) for word in words if word.isdigit()]
"""


HANGS = """\
def add_up(numbers):
    while len(numbers) > 100:
        pass
    return sum(numbers)
"""


BIG = program(("1 " * 40_000, "40000\n"), seconds=2.0)


class TestR2:
    @pytest.mark.parametrize(
        ("slow", "growth"),
        [
            pytest.param(HANGS, Verdict.TIMEOUT, id="too slow to measure"),
            # Measured times depend on the load of the machine.
            pytest.param(SLOW, Verdict.FAILED, id="measured", marks=pytest.mark.campaign),
        ],
    )
    def test_r2_selects_the_node_whose_cost_grows_faster_than_promised(
        self, sandbox: Sandbox, slow: str, growth: Verdict
    ) -> None:
        replies: ScriptedReplies = {
            "sketch": promising("cost: O(n)"),
            "joint": python(READS + slow),
            "repair_node": caused("algorithm", "it is quadratic", ADDS),
        }
        finished = run(sandbox, BIG, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert placed(localised(finished)) == (AtNode(node=S2), "R2", Level.MEDIUM)
        measured = finished.checks("S2.growth")[0]
        assert (measured.kind, measured.verdict) == (CheckKind.PROBE, growth)
        (revised,) = finished.all(GraphRevised)
        assert revised.reason == "algorithm"
        assert "found: it is quadratic" in finished.graph.by_id[S2].context

    def test_r2_selects_the_node_that_was_running_at_the_timeout(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS + "def add_up(numbers):\n    while True:\n        pass\n"),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, program(("1 2", "3\n"), seconds=2.0), replies)
        assert finished.outcome is RunOutcome.PASSED
        assert placed(localised(finished)) == (AtNode(node=S2), "R2", Level.LOW)

    @pytest.mark.campaign
    def test_r2_abstains_if_two_nodes_could_each_be_too_slow(self, sandbox: Sandbox) -> None:
        read = stub("read_numbers(data: str) -> list[int]", "Read them.", "cost: O(1)")
        add = stub("add_up(numbers: list[int]) -> int", "Add them up.", "cost: O(1)")
        replies: ScriptedReplies = {
            "sketch": python(read + add + SOLVE),
            "joint": python(SLOWLY_READS + SLOW),
        }
        finished = run(sandbox, BIG, replies)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert finished.reason == "S1, S2 could each be what uses too much"
        assert finished.history == ()


class TestR3:
    def test_r3_selects_the_node_that_its_own_example_rejects(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        diagnosis = localised(finished)
        assert placed(diagnosis) == (AtNode(node=S2), "R3", Level.MEDIUM)
        assert "it is 4" in diagnosis.explanation

    def test_r3_selects_the_node_that_breaks_its_promise(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": promising("ensures: result == sum(numbers)"),
            "joint": python(READS + OFF),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2)]
        broken, kept = finished.checks("S2.ensures")
        assert (broken.verdict, broken.kind) == (Verdict.FAILED, CheckKind.CONTRACT)
        assert kept.verdict is Verdict.PASSED

    def test_r3_follows_the_reviewer_if_there_is_no_other_evidence(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": SKETCH,
            "joint": python(READS + OFF),
            "verdict": opinions(read_numbers="accept", add_up="reject", solve="accept"),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert localised(finished).level is Level.LOW
        assert targets(finished) == [AtNode(node=S2)]
        assert {e.check: e.verdict for e in finished.checks("S") if e.kind is CheckKind.REVIEW} == {
            "S0.review": Verdict.PASSED,
            "S1.review": Verdict.PASSED,
            "S2.review": Verdict.FAILED,
        }

    def test_r3_selects_the_branch_of_several_rejected_nodes(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {**BRANCH, "joint": [BRANCH_WRONG, python(ADDS)]})
        assert targets(finished) == [AtBranch(root=S2)]
        assert finished.history[0].selected == ("S2", "S2_1", "S2_2")

    def test_r3_abstains_if_rejected_nodes_share_only_the_root(self, sandbox: Sandbox) -> None:
        read = stub(
            "read_numbers(data: str) -> list[int]", "Read.", "example: read_numbers('1') == [1]"
        )
        add = stub("add_up(numbers: list[int]) -> int", "Add.", "example: add_up([1]) == 1")
        reads = READS.replace("int(word)", "int(word) + 1")
        replies: ScriptedReplies = {
            "sketch": python(read + add + SOLVE),
            "joint": python(reads + OFF),
        }
        finished = run(sandbox, TASK, replies, SILENT)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert finished.reason == "S1, S2 are each rejected, and only the root is above them all"

    def test_r3_considers_only_nodes_that_ran_in_the_failing_case(self, sandbox: Sandbox) -> None:
        rare = stub("rare(x: int) -> int", "For large sums.", "example: rare(1) == 1")
        solve = """\
def solve(data: str) -> str:
    total = add_up(read_numbers(data))
    return str(rare(total) if total > 100 else total)
"""
        add = stub("add_up(numbers: list[int]) -> int", "Add.", "example: add_up([1, 2]) == 3")
        replies: ScriptedReplies = {
            "sketch": python(READ + add + rare + solve),
            "joint": python(READS + OFF + "def rare(x):\n    return x + 1\n"),
            "repair_node": python(ADDS),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2)]
        assert finished.checks("example-1")[0].ran == ("S0", "S1", "S2")
        assert finished.checks("S3.example")[0].verdict is Verdict.FAILED

    def test_r3_selects_the_only_node(self, sandbox: Sandbox) -> None:
        task = Task(
            title="Twice",
            statement="Write twice(x).",
            form=FunctionForm(entry="twice", signature="def twice(x: int) -> int"),
            examples=(CodeExample(code="assert twice(2) == 4\n"),),
        )
        replies: ScriptedReplies = {
            "sketch": python("def twice(x: int) -> int:\n    ..."),
            "joint": python("def twice(x):\n    return x"),
            "repair_node": python("def twice(x):\n    return 2 * x"),
        }
        finished = run(sandbox, task, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert "only responsibility" in localised(finished).explanation
        assert targets(finished) == [AtNode(node=S1)]


class TestR4:
    REPLIES: ScriptedReplies = {"sketch": SKETCH, "joint": python(READS + OFF)}

    def test_r4_abstains_without_evidence(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, self.REPLIES, SILENT)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert isinstance(finished.diagnoses[0], Abstained)
        assert finished.history == ()
        assert finished.program

    def test_r4_abstains_if_the_reviewer_accepts_every_node(self, sandbox: Sandbox) -> None:
        fine = opinions(read_numbers="accept", add_up="accept", solve="accept")
        assert run(sandbox, TASK, {**self.REPLIES, "verdict": fine}).outcome is RunOutcome.ABSTAINED

    def test_r4_abstains_if_the_review_is_unusable(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {**self.REPLIES, "verdict": "I cannot say."})
        assert finished.outcome is RunOutcome.ABSTAINED
        assert finished.prompts[-2:] == ["verdict", "verdict"]

    def test_r4_abstains_if_the_root_cause_is_global(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "repair_node": caused("global", "the units differ"),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert finished.reason == "no single part can be right alone: the units differ"
        assert targets(finished) == [AtNode(node=S2), None]
        (done,) = finished.history
        assert (done.decision, done.code_deltas) == (Decision.REJECTED, ())
        assert done.reason == (
            "the plan is at fault: no single part can be right alone, because the units differ"
        )

    def test_a_global_fault_is_repaired_if_there_is_only_one_node(self, sandbox: Sandbox) -> None:
        solve = "def solve(data):\n    return str(sum(map(int, data.split())){})"
        replies: ScriptedReplies = {
            "sketch": python("def solve(data):\n    ..."),
            "joint": python(solve.format(" + 1")),
            "repair_node": [
                caused("global", "all of it is wrong"),
                caused("global", "all of it is wrong", solve.format("")),
            ],
        }
        assert run(sandbox, TASK, replies).outcome is RunOutcome.PASSED
