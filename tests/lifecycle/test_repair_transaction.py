"""Repair transactions in scripted runs: regeneration, branch replans, crossed boundaries."""

from collections import Counter
from collections.abc import Iterator

import pytest

from auditcoder.domain.events import (
    ExceptionRaised,
    GraphRevised,
    RolledBack,
    RunOutcome,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision, RollbackStatus
from auditcoder.domain.request import Request
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.lifecycle.options import Build, Options
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import (
    ADDS,
    BRANCH,
    BRANCH_REPLANNED,
    BRANCH_WRONG,
    CLASS,
    KNOWN,
    OFF,
    OFF_AGAIN,
    READ,
    READS,
    REJECTED,
    S0,
    S1,
    S2,
    SILENT,
    SKETCH,
    SOLVE,
    TASK,
    decisions,
    localised,
    program,
    targets,
)
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    finding,
    opinions,
    python,
    run,
    sandboxed,
    stub,
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


class TestAcceptedRepair:
    def test_a_repair_that_improves_the_rank_is_accepted_even_if_checks_still_fail(
        self, sandbox: Sandbox
    ) -> None:
        half = "def add_up(numbers):\n    return sum(numbers) if numbers else 7\n"
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": [python(half), python(ADDS)],
            "verdict": opinions(add_up="reject"),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert decisions(finished) == [Decision.ACCEPTED] * 2
        first, second = finished.history
        assert first.after is not None
        assert first.before < first.after == second.before

    def test_an_accepted_repair_records_its_regressions(self, sandbox: Sandbox) -> None:
        task = program(("1 2 3", "6\n"), ("5", "5\n"), ("", "0\n"))
        good_for_none = "def add_up(numbers):\n    return 0 if not numbers else 9\n"
        but_none = "def add_up(numbers):\n    return sum(numbers) or 9\n"
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + good_for_none),
            "replan_node": finding(),
            "repair_node": python(but_none),
        }
        finished = run(sandbox, task, replies, Options(review=False, max_repairs=1))
        assert finished.outcome is RunOutcome.FAILED
        assert decisions(finished) == [Decision.ACCEPTED]
        assert finished.history[0].regressions == ("example-3",)

    def test_a_repair_leaves_everything_outside_its_region_unchanged(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        (done,) = run(sandbox, TASK, replies).history
        assert done.region == done.selected == ("S2",)
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert [d.node for d in done.code_deltas] == ["S2"]


class TestRejectedRepair:
    def test_a_rejected_repair_restores_the_whole_state(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(review=False, max_repairs=1))
        assert decisions(finished) == [Decision.REJECTED]
        (opened,), (back,) = finished.all(TransactionOpened), finished.all(RolledBack)
        assert opened.snapshot == back.restored == finished.solution.trace.working.digest()
        assert finished.history[0].rollback is RollbackStatus.RESTORED
        assert finished.code("S2") == OFF
        (decided,) = finished.all(TransactionDecided)
        assert [(d.node, d.before) for d in decided.code_deltas] == [
            (S2, finished.solution.trace.working.code[S2].digest)
        ]

    def test_a_rejected_candidate_stays_on_record(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(review=False, max_repairs=1))
        assert [finished.text_of(e.code) for e in finished.written("S2")] == [OFF, OFF_AGAIN]
        assert finished.history[0].global_evidence

    def test_a_rejected_repair_is_widened_to_the_branch_and_then_abandoned(
        self, sandbox: Sandbox
    ) -> None:
        finished = run(sandbox, TASK, REJECTED, SILENT)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2), None]
        assert decisions(finished) == [Decision.REJECTED] * 2
        assert finished.reason == "what R3 points to was repaired in vain"
        opened = finished.all(TransactionOpened)
        assert opened[0].snapshot == opened[1].snapshot == finished.solution.trace.working.digest()

    def test_a_rejected_repair_is_never_requested_again_unchanged(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, SILENT)
        written = Counter(
            r.digest for name, r in finished.asked if name in {"joint", "repair_node"}
        )
        assert set(written.values()) == {1}

    def test_a_rejected_repair_of_a_method_is_never_requested_again_unchanged(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            "methods": python("class Tally:\n    def up(self):\n        return 1 // 0"),
            "replan_node": finding(),
            "repair_node": python("class Tally:\n    def up(self):\n        return 2 // 0"),
        }
        finished = run(sandbox, CLASS, replies)
        written = Counter(r.digest for name, r in finished.asked if name == "repair_node")
        assert set(written.values()) == {1}

    def test_a_run_fails_after_the_maximum_number_of_repairs(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(review=False, max_repairs=2))
        assert finished.outcome is RunOutcome.FAILED
        assert finished.reason == "the program still fails after 2 repairs"
        assert len(finished.history) == 2

    def test_a_run_without_allowed_repairs_makes_no_diagnosis(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(max_repairs=0))
        assert (finished.outcome, finished.diagnoses) == (RunOutcome.FAILED, [])

    def test_a_repair_without_a_usable_reply_changes_nothing(self, sandbox: Sandbox) -> None:
        replies = {**REJECTED, "repair_node": "I would rather not."}
        finished = run(sandbox, TASK, replies, Options(review=False, max_repairs=1))
        assert finished.history[0].reason == "nothing was changed"
        assert finished.history[0].rollback is RollbackStatus.RESTORED

    def test_a_repair_continues_without_a_known_root_cause(self, sandbox: Sandbox) -> None:
        replies = {**REJECTED, "replan_node": "No idea.", "repair_node": python(ADDS)}
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert "nobody could say" in finished.request("repair_node")


class TestBranchRepair:
    CODE = python("def one(x):\n    return x\n\ndef fold(xs):\n    return sum(xs)\n")

    def run_branch_repair(self, sandbox: Sandbox) -> FinishedRun:
        replies = {**BRANCH, "joint": [BRANCH_WRONG, self.CODE], "replan_branch": BRANCH_REPLANNED}
        return run(sandbox, TASK, replies)

    def test_a_branch_repair_grafts_a_new_plan_into_the_graph(self, sandbox: Sandbox) -> None:
        finished = self.run_branch_repair(sandbox)
        assert finished.outcome is RunOutcome.PASSED
        (done,) = finished.history
        assert done.graph_delta is not None
        (new,) = done.graph_delta.added
        assert new.contract is not None
        assert (new.contract.name, new.parent) == ("fold", S2)
        assert done.graph_delta.retired == ("S2_2",)
        assert finished.graph.children[S2] == ("S2_1", new.id)
        assert done.region == ("S2", "S2_1", "S2_2", new.id)

    def test_surviving_nodes_keep_their_ids_and_the_others_are_retired(
        self, sandbox: Sandbox
    ) -> None:
        finished = self.run_branch_repair(sandbox)
        assert finished.graph.by_id[NodeId("S2_1")].goal == "Take one."
        assert set(finished.solution.trace.retired) == {"S2_2"}
        assert "S2_2" in finished.solution.trace.committed
        assert "def total" not in finished.program

    def test_a_branch_repair_leaves_the_frozen_complement_unchanged(self, sandbox: Sandbox) -> None:
        finished = self.run_branch_repair(sandbox)
        (done,) = finished.history
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert not {d.node for d in done.code_deltas} & {"S0", "S1"}
        after = finished.solution.trace.working
        for frozen in done.frozen:
            assert after.code[frozen.node].digest == frozen.code
            assert finished.graph.commitments[frozen.node] == frozen.commitment

    def test_the_node_itself_is_repaired_if_no_branch_plan_is_usable(
        self, sandbox: Sandbox
    ) -> None:
        mends = python("def add_up(numbers):\n    return sum(numbers)\n")
        replies = {**BRANCH, "replan_branch": python("def other(): ..."), "repair_node": mends}
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert all("no root function add_up" in r for r in finished.rejected)
        assert finished.history[0].graph_delta is not None  # a revision without new nodes
        assert finished.history[0].graph_delta.added == ()

    def test_the_definitions_of_a_branch_plan_get_a_node_in_the_branch(
        self, sandbox: Sandbox
    ) -> None:
        plan = "START = 0\nassert START == 0\n" + BRANCH_REPLANNED.removeprefix("```python\n")
        plan = f"```python\n{plan.replace('Fold them.', 'Fold them from START.')}"
        code = self.CODE.replace("sum(xs)", "sum(xs, START)")
        replies = {**BRANCH, "joint": [BRANCH_WRONG, code], "replan_branch": plan}
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        (done,) = finished.history
        assert done.graph_delta is not None
        defining, fold = done.graph_delta.added
        assert (defining.contract, defining.parent) == (None, S2)
        assert fold.dependencies == (defining.id,)
        assert finished.code(defining.id) == "START = 0\n"
        (revised,) = (e for e in finished.all(GraphRevised) if e.delta.added)
        assert revised.losses == ("`assert START == 0`, which defines nothing",)
        assert [text for _, text in finished.solution.trace.losses] == list(revised.losses)

    def test_a_branch_plan_that_uses_a_name_of_the_rest_is_refused(self, sandbox: Sandbox) -> None:
        taken = python(
            READ + "def add_up(numbers: list[int]) -> int:\n    return read_numbers('')[0]"
        )
        replies = {
            **BRANCH,
            "joint": [BRANCH_WRONG, self.CODE],
            "replan_branch": [taken, BRANCH_REPLANNED],
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.rejected == ["read_numbers is a name of the rest of the program"]

    def test_a_wrong_decomposition_widens_the_target_to_the_branch(self, sandbox: Sandbox) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": [python(READS + OFF), python(ADDS)],
            "replan_node": finding("decomposition", "adding is not one thing"),
            "replan_branch": python("def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2)]
        assert localised(finished, 1).explanation.endswith("the task was cut in the wrong places")
        assert len(finished.history) == 1

    def test_ids_of_a_rejected_branch_plan_are_never_reused(self, sandbox: Sandbox) -> None:
        wrong = self.CODE.replace("sum(xs)", "sum(xs) + 1")
        anew = python(
            stub("take(data: str) -> int", "Take all in.")
            + "def solve(data: str) -> str:\n    return str(take(data))\n"
        )
        replies = {
            **BRANCH,
            "joint": [
                BRANCH_WRONG,
                wrong,
                python("def take(data):\n    return sum(map(int, data.split()))"),
            ],
            "replan_branch": BRANCH_REPLANNED,
            "redo": anew,
        }
        finished = run(sandbox, TASK, replies, Options(review=False, fallback=True))
        assert finished.outcome is RunOutcome.PASSED
        assert decisions(finished) == [Decision.REJECTED, Decision.ACCEPTED]
        assert finished.graph.order == ("S3",)
        given = set(finished.solution.trace.committed)
        planned = {n.id for n in finished.committed.graph.nodes}
        (rejected,) = given - planned - {"S3"}
        assert rejected.startswith("S2_")


class TestCrossedBoundary:
    REPLIES: ScriptedReplies = {
        "sketch": KNOWN,
        "joint": python(READS + OFF),
        "replan_node": finding(),
    }

    def test_a_wrong_interface_widens_the_region_to_the_caller_first(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            **self.REPLIES,
            "replan_node": finding(
                "interface",
                "it must be told where to start",
                signature="def add_up(numbers: list[int], start: int) -> int:",
            ),
            "repair_node": [
                python("def add_up(numbers, start):\n    return sum(numbers) + start"),
                python(SOLVE.replace("(data)))", "(data), 0))")),
            ],
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        (raised,) = finished.all(ExceptionRaised)
        assert (raised.exception.parent, raised.exception.child) == (S2, S0)
        assert raised.exception.rationale == "it must be told where to start"
        events = finished.raw.events()
        assert events.index(raised) < events.index(finished.written("S0")[-1])
        (done,) = finished.history
        assert (done.selected, done.region) == (("S2",), ("S0", "S2"))
        contract = finished.graph.by_id[S2].contract
        assert contract is not None
        assert contract.header() == "add_up(numbers: list[int], start: int) -> int"

    def test_an_edit_across_the_boundary_with_a_reason_widens_the_region(
        self, sandbox: Sandbox
    ) -> None:
        reads = "# integration: it must skip zeros\n" + READS.replace("()]", "() if word != '0']")
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": python(ADDS + reads)})
        assert finished.outcome is RunOutcome.PASSED
        (raised,) = finished.all(ExceptionRaised)
        assert (raised.exception.parent, raised.exception.child) == (S2, S1)
        assert raised.exception.rationale == "it must skip zeros"
        assert finished.written("S1")[-1].cause == S2
        assert "!= '0'" in finished.program
        assert finished.history[0].region == ("S1", "S2")

    def test_an_edit_across_the_boundary_without_a_reason_is_refused(
        self, sandbox: Sandbox
    ) -> None:
        reads = READS.replace("()]", "() if word != '0']")
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": python(ADDS + reads)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts.count("repair_node") == 2
        assert len(finished.rejected) == 1
        assert "read_numbers is there already and not yours to write" in finished.rejected[0]
        assert finished.all(ExceptionRaised) == []
        assert "!= '0'" not in finished.program

    def test_code_that_only_repeats_another_node_does_not_cross_the_boundary(
        self, sandbox: Sandbox
    ) -> None:
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": python(ADDS + READS)})
        assert finished.outcome is RunOutcome.PASSED
        assert (finished.rejected, finished.all(ExceptionRaised)) == ([], [])

    def test_joint_building_refuses_another_body_for_the_given_root(self, sandbox: Sandbox) -> None:
        other = SOLVE.replace("str(", "str(1 + ")
        finished = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS + other)})
        assert finished.outcome is RunOutcome.PASSED
        assert "solve is there already" in finished.rejected[0]
        assert "1 + " not in finished.program

    def test_a_boundary_may_be_crossed_with_a_reason_while_building(self, sandbox: Sandbox) -> None:
        def node(request: Request) -> str:
            if "Write `read_numbers" in request.messages[-1].text:
                return python(READS)
            why = "# integration: the sum is asked for as it is\n"
            return python(ADDS + why + SOLVE.replace("str(add", "repr(add"))

        finished = run(sandbox, TASK, {"sketch": SKETCH, "node": node}, Options(build=Build.NODE))
        assert finished.outcome is RunOutcome.PASSED
        assert finished.all(ExceptionRaised)[0].exception.child == S0
        assert "repr(add_up" in finished.program
