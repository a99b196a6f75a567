"""Repair transactions in scripted runs: regeneration, branch replans, crossed boundaries."""

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import (
    ExceptionRaised,
    GraphRevised,
    ReplyRecorded,
    RolledBack,
    RunOutcome,
    TransactionDecided,
    TransactionOpened,
)
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision, RollbackStatus
from auditcoder.domain.request import FREE, Request
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.options import Build, LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.repair_transaction import PlannedRepair, _revise, repair
from auditcoder.lifecycle.root_cause import RootCause, StatedCause
from auditcoder.lifecycle.run_context import RunContext
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
    promising,
    targets,
)
from tests.support.record_builders import (
    RUN,
    S1_1,
    failing,
    locate,
    repairing,
    standing_failures,
)
from tests.support.record_builders import (
    TASK as A_TASK,
)
from tests.support.run_contexts import open_run
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    caused,
    opinions,
    python,
    resume_after,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching


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
            "repair_node": python(but_none),
        }
        finished = run(sandbox, task, replies, sketching(review=False, max_repairs=1))
        assert finished.outcome is RunOutcome.FAILED
        assert decisions(finished) == [Decision.ACCEPTED]
        assert finished.history[0].regressions == ("example-3",)

    def test_a_repair_leaves_everything_outside_its_region_unchanged(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            "sketch": KNOWN,
            "joint": python(READS + OFF),
            "repair_node": python(ADDS),
        }
        (done,) = run(sandbox, TASK, replies).history
        assert done.region == done.selected == ("S2",)
        assert {f.node for f in done.frozen} == {"S0", "S1"}
        assert [d.node for d in done.code_deltas] == ["S2"]


class TestRejectedRepair:
    def test_a_rejected_repair_restores_the_whole_state(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, sketching(review=False, max_repairs=1))
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
        finished = run(sandbox, TASK, REJECTED, sketching(review=False, max_repairs=1))
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
            "repair_node": python("class Tally:\n    def up(self):\n        return 2 // 0"),
        }
        finished = run(sandbox, CLASS, replies)
        written = Counter(r.digest for name, r in finished.asked if name == "repair_node")
        assert set(written.values()) == {1}

    def test_a_run_fails_after_the_maximum_number_of_repairs(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, sketching(review=False, max_repairs=2))
        assert finished.outcome is RunOutcome.FAILED
        assert finished.reason == "the program still fails after 2 repairs"
        assert len(finished.history) == 2

    def test_a_run_without_allowed_repairs_makes_no_diagnosis(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, REJECTED, sketching(max_repairs=0))
        assert (finished.outcome, finished.diagnoses) == (RunOutcome.FAILED, [])

    def test_a_repair_without_a_usable_reply_changes_nothing(self, sandbox: Sandbox) -> None:
        replies = {**REJECTED, "repair_node": "I would rather not."}
        finished = run(sandbox, TASK, replies, sketching(review=False, max_repairs=1))
        assert finished.history[0].reason == "nothing was changed"
        assert finished.history[0].rollback is RollbackStatus.RESTORED

    def test_a_repair_needs_no_stated_cause(self, sandbox: Sandbox) -> None:
        finished = run(sandbox, TASK, {**REJECTED, "repair_node": python(ADDS)})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.all(GraphRevised) == []
        assert finished.history[0].reason == "no cause was stated"


def test_what_the_plan_says_of_a_node_survives_its_repair(sandbox: Sandbox) -> None:
    sketch = promising("example: add_up([1, 2]) == 3", "assumes: numbers are small")
    replies: ScriptedReplies = {
        "sketch": sketch,
        "joint": python(READS + OFF),
        "repair_node": caused("implementation", "one too many", ADDS),
    }
    finished = run(sandbox, TASK, replies, SILENT)
    assert finished.outcome is RunOutcome.PASSED
    assert finished.graph.by_id[S2].context == "assumes: numbers are small\nfound: one too many"
    asked = finished.request("repair_node")
    assert "assumes: numbers are small" in asked
    assert finished.history[0].reason == "one too many"


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
        mends = caused("algorithm", "twice too much", ADDS)
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
            "repair_node": caused("decomposition", "adding is not one thing"),
            "replan_branch": python("def add_up(numbers: list[int]) -> int:\n    ..."),
        }
        finished = run(sandbox, TASK, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2)]
        assert localised(finished, 1).explanation.endswith("the task was cut in the wrong places")
        first, second = finished.history
        assert (first.code_deltas, first.global_evidence) == ((), ())
        assert first.reason == (
            "the plan is at fault: the task was cut in the wrong places,"
            " because adding is not one thing"
        )
        assert second.reason == "adding is not one thing"
        assert "adding is not one thing" in finished.request("replan_branch")

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
        finished = run(sandbox, TASK, replies, sketching(review=False, fallback=True))
        assert finished.outcome is RunOutcome.PASSED
        assert decisions(finished) == [Decision.REJECTED, Decision.ACCEPTED]
        assert finished.graph.order == ("S3",)
        given = set(finished.solution.trace.committed)
        planned = {n.id for n in finished.committed.graph.nodes}
        (rejected,) = given - planned - {"S3"}
        assert rejected.startswith("S2_")


class TestStatedCause:
    REPLIES: ScriptedReplies = {"sketch": KNOWN, "joint": [python(READS + OFF), python(ADDS)]}
    SAME = python("def add_up(numbers: list[int]) -> int:\n    ...")

    @pytest.mark.parametrize("kind", list(RootCause))
    def test_one_request_gives_the_cause_and_the_code(
        self, sandbox: Sandbox, kind: RootCause
    ) -> None:
        """New code is tried whatever its cause is; only the interface concerns others."""
        repaired = caused(kind.value, "it adds one", ADDS)
        replies = {**self.REPLIES, "repair_node": [repaired, python(SOLVE)]}
        finished = run(sandbox, TASK, replies, SILENT)
        assert finished.outcome is RunOutcome.PASSED
        callers = 1 if kind is RootCause.INTERFACE else 0
        assert finished.prompts == ["sketch", "joint", *["repair_node"] * (1 + callers)]
        (done,) = finished.history
        assert (done.decision, done.reason) == (Decision.ACCEPTED, "it adds one")

    def test_the_cause_is_on_record_before_the_code(self, sandbox: Sandbox) -> None:
        replies = {**self.REPLIES, "repair_node": caused("algorithm", "it adds one", ADDS)}
        finished = run(sandbox, TASK, replies, SILENT)
        events = finished.raw.events()
        reply = max(n for n, e in enumerate(events) if isinstance(e, ReplyRecorded))
        revised, written = finished.all(GraphRevised)[0], finished.written("S2")[-1]
        assert (revised.reason, written.reply) == ("algorithm", reply)
        assert reply < events.index(revised) < events.index(written)
        (node,) = revised.delta.revised
        assert (node.id, node.context) == (S2, "found: it adds one")
        assert node.contract == finished.committed.graph.by_id[S2].contract

    @pytest.mark.parametrize("kind", ["decomposition", "global"])
    def test_a_fault_of_the_plan_changes_and_checks_nothing(
        self, sandbox: Sandbox, kind: str
    ) -> None:
        replies = {**self.REPLIES, "repair_node": caused(kind, "it is two"), "replan_branch": "No."}
        finished = run(sandbox, TASK, replies, sketching(review=False, max_repairs=1))
        (done,) = finished.history
        assert (done.decision, done.rollback) == (Decision.REJECTED, RollbackStatus.RESTORED)
        assert (done.code_deltas, done.graph_delta, done.local_evidence) == ((), None, ())
        assert done.global_evidence == ()
        assert done.reason.startswith("the plan is at fault: ")
        assert done.reason.endswith(", because it is two")
        assert finished.solution.trace.working.digest() == done.snapshot

    def test_a_fault_of_the_plan_needs_no_second_diagnosis(self, sandbox: Sandbox) -> None:
        """The trace of the weighed locator is recorded once for the same program."""
        replies = {
            **self.REPLIES,
            "repair_node": caused("decomposition", "it is two"),
            "replan_branch": self.SAME,
            "second_opinion": python(READS + OFF),
        }
        finished = run(sandbox, TASK, replies, SILENT, locator=LocatorName.WEIGHED)
        assert finished.outcome is RunOutcome.PASSED
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2)]
        assert localised(finished, 1).evidence == localised(finished, 0).evidence

    def test_a_run_interrupted_in_a_fault_of_the_plan_is_resumed(self, sandbox: Sandbox) -> None:
        replies = {
            **self.REPLIES,
            "repair_node": caused("decomposition", "it is two"),
            "replan_branch": self.SAME,
        }
        finished = run(sandbox, TASK, replies, SILENT)
        events = finished.raw.events()
        opened, second = (n for n, e in enumerate(events) if isinstance(e, TransactionOpened))
        known = [(t.decision, t.reason) for t in finished.history]
        for entries in range(opened, second + 2):
            solution, _ = resume_after(finished, entries, sandbox)
            assert solution.outcome is RunOutcome.PASSED
            assert [(t.decision, t.reason) for t in solution.trace.history] == known

    def test_new_code_is_tried_before_the_plan_is_changed(self, sandbox: Sandbox) -> None:
        replies = {
            **self.REPLIES,
            "repair_node": caused("decomposition", "it is two", OFF_AGAIN),
            "replan_branch": self.SAME,
        }
        finished = run(sandbox, TASK, replies, SILENT)
        assert finished.outcome is RunOutcome.PASSED
        first, second = finished.history
        assert [d.node for d in first.code_deltas] == [S2]
        assert (first.decision, first.reason) == (Decision.REJECTED, "it is two")
        assert targets(finished) == [AtNode(node=S2), AtBranch(root=S2)]
        assert second.decision is Decision.ACCEPTED
        assert "it is two" in finished.request("replan_branch")

    def test_a_fault_of_the_plan_is_offered_only_where_something_can_follow(
        self, sandbox: Sandbox
    ) -> None:
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": python(ADDS)}, SILENT)
        asked = finished.request("repair_node")
        assert "`interface`" in asked
        assert "`global` (no function can be right alone); the last two need no code." in asked
        up = "class Tally:\n    def up(self):\n        self.count += 1{}\n        return self.count"
        methods = {"methods": python(up.format(" // 0")), "repair_node": python(up.format(""))}
        of_class = run(sandbox, CLASS, methods).request("repair_node")
        assert "`decomposition`" not in of_class
        assert "`interface`" not in of_class
        assert "`global` (no function can be right alone); the last needs no code." in of_class
        sole = "def solve(data):\n    return str(sum(map(int, data.split())){})"
        one = {
            "sketch": python("def solve(data):\n    ..."),
            "joint": python(sole.format(" + 1")),
            "repair_node": python(sole.format("")),
        }
        asked = run(sandbox, TASK, one).request("repair_node")
        assert "`global`" not in asked
        assert "`decomposition` (wrong functions); the last needs no code." in asked

    def test_only_the_first_of_several_nodes_may_blame_the_plan(self, sandbox: Sandbox) -> None:
        """`add_up` needs a start, which makes the caller part of the repair."""
        more = caused("interface", "it needs a start", "def add_up(xs, start):\n    return sum(xs)")
        blames = caused("global", "no part is right")
        said = [more, blames, caused("implementation", "it gave none", CALLS_WITH_START)]
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": said}, SILENT)
        assert finished.outcome is RunOutcome.PASSED
        assert finished.rejected == ["there is no ```python block in it"]
        assert finished.graph.by_id[S0].context.endswith("found: it gave none")


CALLS_WITH_START = SOLVE.replace("(data)))", "(data), 0))")


class TestCrossedBoundary:
    REPLIES: ScriptedReplies = {
        "sketch": KNOWN,
        "joint": python(READS + OFF),
    }

    def test_a_wrong_interface_widens_the_region_to_the_caller_first(
        self, sandbox: Sandbox
    ) -> None:
        replies: ScriptedReplies = {
            **self.REPLIES,
            "repair_node": [
                caused(
                    "interface",
                    "it must be told where to start",
                    "def add_up(numbers, start: int):\n    return sum(numbers) + start",
                ),
                python(CALLS_WITH_START),
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

    MORE = "def add_up(numbers, start):\n    return sum(numbers) + start\n"

    def test_other_parameters_are_a_wrong_interface_whatever_the_cause_says(
        self, sandbox: Sandbox
    ) -> None:
        repairs = [caused("algorithm", "it needs a start", self.MORE), python(CALLS_WITH_START)]
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": repairs})
        assert finished.outcome is RunOutcome.PASSED
        (raised,) = finished.all(ExceptionRaised)
        assert raised.exception.rationale == "it needs a start"
        assert finished.all(GraphRevised)[0].reason == "interface"
        contract = finished.graph.by_id[S2].contract
        assert contract is not None
        assert contract.header() == "add_up(numbers: list[int], start) -> int"
        assert "sum(numbers) + start" in finished.request("repair_node")
        assert "it needs a start" in finished.request("repair_node")

    def test_callers_in_the_same_reply_are_not_requested_again(self, sandbox: Sandbox) -> None:
        both = f"{self.MORE}\n# integration: it gives the start\n{CALLS_WITH_START}"
        repair = caused("interface", "it needs a start", both)
        finished = run(sandbox, TASK, {**self.REPLIES, "repair_node": repair})
        assert finished.outcome is RunOutcome.PASSED
        assert finished.prompts.count("repair_node") == 1
        assert finished.history[0].region == ("S0", "S2")
        assert finished.written("S0")[-1].cause == S2

    def test_the_interface_of_a_method_stays_as_the_skeleton_has_it(self, sandbox: Sandbox) -> None:
        up = (
            "class Tally:\n    def up(self{}):\n        self.count += {}\n        return self.count"
        )
        replies: ScriptedReplies = {
            "methods": python(up.format("", "1 // 0")),
            "repair_node": [
                caused("interface", "it needs a step", up.format(", step=1", "step")),
                caused("interface", "it needs a step", up.format("", "1")),
            ],
        }
        finished = run(sandbox, CLASS, replies)
        assert finished.outcome is RunOutcome.PASSED
        assert "parameters are (self, step), not (self)" in finished.rejected[0]
        assert finished.all(ExceptionRaised) == []

    def test_a_contract_that_the_laws_refuse_stays(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        before = recorder.ledger.graph.by_id[S1_1].contract
        assert before is not None
        twice = replace(before, params=(*before.params, *before.params))
        with open_run(recorder) as (context, _):
            _revise(context, S1_1, StatedCause(RootCause.INTERFACE, "it needs more"), twice)
        node = recorder.ledger.graph.by_id[S1_1]
        assert (node.contract, node.context) == (before, "found: it needs more")

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

        finished = run(sandbox, TASK, {"sketch": SKETCH, "node": node}, sketching(build=Build.NODE))
        assert finished.outcome is RunOutcome.PASSED
        assert finished.all(ExceptionRaised)[0].exception.child == S0
        assert "repr(add_up" in finished.program


@settings(max_examples=40, deadline=None)
@given(kind=st.sampled_from(["decomposition", "global"]), reason=st.text(max_size=80))
def test_no_answer_without_code_changes_anything(sandbox: Sandbox, kind: str, reason: str) -> None:
    """Whatever the reason is, the state is restored and the record verifies."""
    store = SqliteStore(":memory:")
    recorder = failing(store)
    locate(recorder, AtNode(node=S1_1))
    before = recorder.ledger.working.digest()
    _, diagnosis = recorder.ledger.diagnosis or (0, None)
    assert isinstance(diagnosis, Localised)
    failed = recorder.history.evidence(standing_failures(recorder)[-1])
    chosen = PlannedRepair(diagnosis, failed, without_code=frozenset(RootCause))
    model = ScriptedModel([f"cause: {kind}, because {reason}"])
    client = ModelClient(model, recorder, BudgetLedger(Budget(), FREE))
    result = repair(RunContext(A_TASK, sketching(), recorder, client, sandbox), chosen)
    cause = result.cause
    assert (result.decision, result.plan_fault) == (Decision.REJECTED, True)
    assert cause is not None
    assert cause.kind.value == kind
    assert recorder.ledger.working.digest() == before
    assert recorder.ledger.transaction is None
    assert verify_run(store, RUN).holds
    store.close()
