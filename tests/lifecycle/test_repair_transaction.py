"""Repair transactions in scripted runs: regeneration, branch replans, crossed boundaries."""

from collections import Counter
from collections.abc import Iterator

import pytest

from auditcoder.domain.events import (
    ExceptionRaised,
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


class TestAnAcceptedRepair:
    def test_is_a_strict_improvement_even_if_not_the_end(self, sandbox: Sandbox) -> None:
        half = "def add_up(numbers):\n    return sum(numbers) if numbers else 7\n"
        said: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": [python(half), python(ADDS)],
            "verdict": opinions(add_up="reject"),
        }
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        assert decisions(finished) == [Decision.ACCEPTED] * 2
        first, second = finished.history
        assert first.after is not None
        assert first.before < first.after == second.before

    def test_tells_what_it_made_worse(self, sandbox: Sandbox) -> None:
        task = program(("1 2 3", "6\n"), ("5", "5\n"), ("", "0\n"))
        good_for_none = "def add_up(numbers):\n    return 0 if not numbers else 9\n"
        but_none = "def add_up(numbers):\n    return sum(numbers) or 9\n"
        said: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + good_for_none),
            "replan_node": finding(),
            "repair_node": python(but_none),
        }
        finished = run(sandbox, task, said, Options(review=False, max_repairs=1))
        assert finished.outcome is RunOutcome.FAILED
        assert decisions(finished) == [Decision.ACCEPTED]
        assert finished.history[0].regressions == ("example-3",)

    def test_leaves_everything_outside_its_region_as_it_was(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "replan_node": finding(),
            "repair_node": python(ADDS),
        }
        (done,) = run(sandbox, TASK, said).history
        assert done.region == done.selected == ("S2",)
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert [d.node for d in done.code_deltas] == ["S2"]


class TestARejectedRepair:
    def test_restores_the_whole_state(self, sandbox: Sandbox) -> None:
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

    def test_keeps_the_candidate_on_record(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(review=False, max_repairs=1))
        assert [finished.text_of(e.code) for e in finished.written("S2")] == [OFF, OFF_AGAIN]
        assert finished.history[0].global_evidence

    def test_is_lifted_to_the_branch_and_then_given_up(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, SILENT)
        assert finished.outcome is RunOutcome.ABSTAINED
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2), None]
        assert decisions(finished) == [Decision.REJECTED] * 2
        assert finished.reason == "what R3 points to was repaired in vain"
        opened = finished.all(TransactionOpened)
        assert opened[0].snapshot == opened[1].snapshot == finished.solution.trace.working.digest()

    def test_is_never_tried_again_unchanged(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, SILENT)
        written = Counter(
            r.digest for name, r in finished.asked if name in {"joint", "repair_node"}
        )
        assert set(written.values()) == {1}

    def test_is_never_tried_again_unchanged_in_a_class_either(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {
            "methods": python("class Tally:\n    def up(self):\n        return 1 // 0"),
            "replan_node": finding(),
            "repair_node": python("class Tally:\n    def up(self):\n        return 2 // 0"),
        }
        finished = run(sandbox, CLASS, said)
        written = Counter(r.digest for name, r in finished.asked if name == "repair_node")
        assert set(written.values()) == {1}

    def test_ends_the_run_as_failed_when_there_may_be_no_more(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(review=False, max_repairs=2))
        assert finished.outcome is RunOutcome.FAILED
        assert finished.reason == "the program still fails after 2 repairs"
        assert len(finished.history) == 2

    def test_may_be_none_at_all(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, Options(max_repairs=0))
        assert (finished.outcome, finished.diagnoses) == (RunOutcome.FAILED, [])

    def test_changed_nothing_if_no_answer_was_usable(self, sandbox: Sandbox) -> None:
        said = {**REJECTED, "repair_node": "I would rather not."}
        finished = run(sandbox, TASK, said, Options(review=False, max_repairs=1))
        assert finished.history[0].reason == "nothing was changed"
        assert finished.history[0].rollback is RollbackStatus.RESTORED

    def test_goes_on_where_nobody_can_say_what_was_wrong(self, sandbox: Sandbox) -> None:
        said = {**REJECTED, "replan_node": "No idea.", "repair_node": python(ADDS)}
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        assert "nobody could say" in finished.request("repair_node")


class TestABranchRepair:
    CODE = python("def one(x):\n    return x\n\ndef fold(xs):\n    return sum(xs)\n")

    def told(self, sandbox: Sandbox) -> FinishedRun:
        said = {**BRANCH, "joint": [BRANCH_WRONG, self.CODE], "replan_branch": BRANCH_REPLANNED}
        return run(sandbox, TASK, said)

    def test_grafts_a_new_plan_into_the_graph(self, sandbox: Sandbox) -> None:
        finished = self.told(sandbox)
        assert finished.outcome is RunOutcome.PASSED
        (done,) = finished.history
        assert done.graph_delta is not None
        (new,) = done.graph_delta.added
        assert new.contract is not None
        assert (new.contract.name, new.parent) == ("fold", S2)
        assert done.graph_delta.retired == ("S2_2",)
        assert finished.graph.children[S2] == ("S2_1", new.id)
        assert done.region == ("S2", "S2_1", "S2_2", new.id)

    def test_keeps_the_id_of_what_survives_and_retires_the_rest(self, sandbox: Sandbox) -> None:
        finished = self.told(sandbox)
        assert finished.graph.by_id[NodeId("S2_1")].goal == "Take one."
        assert set(finished.solution.trace.retired) == {"S2_2"}
        assert "S2_2" in finished.solution.trace.committed
        assert "def total" not in finished.program

    def test_leaves_the_frozen_complement_as_it_was(self, sandbox: Sandbox) -> None:
        finished = self.told(sandbox)
        (done,) = finished.history
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert not {d.node for d in done.code_deltas} & {"S0", "S1"}
        after = finished.solution.trace.working
        for frozen in done.frozen:
            assert after.code[frozen.node].digest == frozen.code
            assert finished.graph.commitments[frozen.node] == frozen.commitment

    def test_falls_back_to_the_node_where_no_new_plan_fits(self, sandbox: Sandbox) -> None:
        mends = python("def add_up(numbers):\n    return sum(numbers)\n")
        said = {**BRANCH, "replan_branch": python("def other(): ..."), "repair_node": mends}
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        assert all("no root function add_up" in r for r in finished.rejected)
        assert finished.history[0].graph_delta is not None  # what was learned, and no new nodes
        assert finished.history[0].graph_delta.added == ()

    def test_refuses_names_of_the_rest_of_the_program(self, sandbox: Sandbox) -> None:
        taken = python(
            READ + "def add_up(numbers: list[int]) -> int:\n    return read_numbers('')[0]"
        )
        said = {
            **BRANCH,
            "joint": [BRANCH_WRONG, self.CODE],
            "replan_branch": [taken, BRANCH_REPLANNED],
        }
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.rejected == ["read_numbers is a name of the rest of the program"]

    def test_is_what_a_wrong_cut_is_lifted_to(self, sandbox: Sandbox) -> None:
        said: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": [python(READS + OFF), python(ADDS)],
            "replan_node": finding("decomposition", "adding is not one thing"),
            "replan_branch": python("def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        finished = run(sandbox, TASK, said)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2)]
        assert localised(finished, 1).explanation.endswith("the task was cut in the wrong places")
        assert len(finished.history) == 1

    def test_never_uses_an_id_again_not_even_a_rejected_one(self, sandbox: Sandbox) -> None:
        wrong = self.CODE.replace("sum(xs)", "sum(xs) + 1")
        anew = python(
            stub("take(data: str) -> int", "Take all in.")
            + "def solve(data: str) -> str:\n    return str(take(data))\n"
        )
        said = {
            **BRANCH,
            "joint": [
                BRANCH_WRONG,
                wrong,
                python("def take(data):\n    return sum(map(int, data.split()))"),
            ],
            "replan_branch": BRANCH_REPLANNED,
            "redo": anew,
        }
        finished = run(sandbox, TASK, said, Options(review=False, fallback=True))
        assert finished.outcome is RunOutcome.PASSED
        assert decisions(finished) == [Decision.REJECTED, Decision.ACCEPTED]
        assert finished.graph.order == ("S3",)
        given = set(finished.solution.trace.committed)
        planned = {n.id for n in finished.committed.graph.nodes}
        (rejected,) = given - planned - {"S3"}
        assert rejected.startswith("S2_")


class TestABoundaryThatMustBeCrossed:
    SAID: ScriptedReplies = {
        "sketch": KNOWN,
        "joint": python(READS + OFF),
        "replan_node": finding(),
    }

    def test_is_widened_to_the_caller_first_where_the_interface_is_wrong(
        self, sandbox: Sandbox
    ) -> None:
        said: ScriptedReplies = {
            **self.SAID,
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
        finished = run(sandbox, TASK, said)
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

    def test_is_crossed_where_the_model_gives_a_reason(self, sandbox: Sandbox) -> None:
        reads = "# integration: it must skip zeros\n" + READS.replace("()]", "() if word != '0']")
        finished = run(sandbox, TASK, {**self.SAID, "repair_node": python(ADDS + reads)})
        assert finished.outcome is RunOutcome.PASSED
        (raised,) = finished.all(ExceptionRaised)
        assert (raised.exception.parent, raised.exception.child) == (S2, S1)
        assert raised.exception.rationale == "it must skip zeros"
        assert finished.written("S1")[-1].cause == S2
        assert "!= '0'" in finished.program
        assert finished.history[0].region == ("S1", "S2")

    def test_holds_without_a_reason(self, sandbox: Sandbox) -> None:
        reads = READS.replace("()]", "() if word != '0']")
        finished = run(sandbox, TASK, {**self.SAID, "repair_node": python(ADDS + reads)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts.count("repair_node") == 2
        assert len(finished.rejected) == 1
        assert "read_numbers is there already and not yours to write" in finished.rejected[0]
        assert finished.all(ExceptionRaised) == []
        assert "!= '0'" not in finished.program

    def test_is_not_touched_by_code_that_only_repeats_what_is_there(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {**self.SAID, "repair_node": python(ADDS + READS)})
        assert finished.outcome is RunOutcome.PASSED
        assert (finished.rejected, finished.all(ExceptionRaised)) == ([], [])

    def test_holds_when_all_are_written_together(self, sandbox: Sandbox) -> None:
        other = SOLVE.replace("str(", "str(1 + ")
        finished = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + ADDS + other)})
        assert finished.outcome is RunOutcome.PASSED
        assert "solve is there already" in finished.rejected[0]
        assert "1 + " not in finished.program

    def test_can_be_crossed_while_building_too(self, sandbox: Sandbox) -> None:
        def node(request: Request) -> str:
            if "Write `read_numbers" in request.messages[-1].text:
                return python(READS)
            why = "# integration: the sum is asked for as it is\n"
            return python(ADDS + why + SOLVE.replace("str(add", "repr(add"))

        finished = run(sandbox, TASK, {"sketch": SKETCH, "node": node}, Options(build=Build.NODE))
        assert finished.outcome is RunOutcome.PASSED
        assert finished.all(ExceptionRaised)[0].exception.child == S0
        assert "repr(add_up" in finished.program
