"""The laws of planning: the recorder refuses each illegal event, and verification finds it."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import Brief, PlannedCheck, Requirements
from auditcoder.domain.contract import Contract
from auditcoder.domain.docstring_examples import stated_examples
from auditcoder.domain.events import (
    BriefCommitted,
    CheckDropped,
    GraphCommitted,
    GraphRevised,
)
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.graph import FromNode, FromTask, GraphDelta, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import Law
from auditcoder.domain.repair import (
    Decision,
    TransactionKind,
)
from auditcoder.domain.targets import AtBranch, AtNode, AtNodes
from auditcoder.domain.task import ClassForm, StdioExample, derived_examples, example_check
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import (
    add_s1_2,
    assert_illegal,
    exception,
    move_interface,
    planning,
    retire_s1_1,
    started_at,
)
from tests.support.record_builders import (
    GRAPH,
    ROOT_NODE,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_branch,
    check_program,
    code,
    failing,
    failing_with,
    locate,
    node,
    repairing,
    started,
)

replace = msgspec.structs.replace


class TestIdsArePermanent:
    def test_the_graph_is_committed_once(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, GraphCommitted(graph=GRAPH), Law.ID_REPURPOSED)

    def test_a_retired_id_is_not_allocated_again(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(retire_s1_1())
        again = GraphDelta(added=(node("S1_1", S1),), order=(S1_1, S2))
        assert_illegal(recorder, GraphRevised(delta=again, reason="again"), Law.ID_REUSED)

    def test_a_retired_node_cannot_be_revised(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(retire_s1_1())
        delta = GraphDelta(revised=(GRAPH.by_id[S1_1],), order=(S1, S2))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="again"), Law.ID_REUSED)

    def test_an_id_of_a_rejected_candidate_is_not_allocated_again(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(add_s1_2())
        recorder.decide()
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        assert_illegal(recorder, add_s1_2(), Law.ID_REUSED)

    def test_an_id_keeps_its_goal(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        other = replace(GRAPH.by_id[S1_1], goal="Do something else")
        delta = GraphDelta(revised=(other,), order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="drift"), Law.ID_REPURPOSED)

    def test_an_id_must_name_its_parent(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        graph = TaskGraph(nodes=(replace(ROOT_NODE, dependencies=()), node("S1_1")), order=(S1_1,))
        assert_illegal(recorder, GraphCommitted(graph=graph), Law.GRAPH_INVALID)

    def test_the_graph_changes_only_in_a_transaction(self, store: SqliteStore) -> None:
        assert_illegal(failing(store), add_s1_2(), Law.OUT_OF_PLACE)


class TestGraphs:
    @pytest.mark.parametrize(
        "graph",
        [
            TaskGraph(nodes=(ROOT_NODE,), order=()),
            TaskGraph(nodes=GRAPH.nodes, order=(S1_1,)),
            TaskGraph(nodes=GRAPH.nodes, order=(S1_1, S2, S2)),
            TaskGraph(nodes=(*GRAPH.nodes, node("S2")), order=(S1_1, S2)),
            TaskGraph(nodes=(*GRAPH.nodes, node("S3", NodeId("S8"))), order=(S1_1, S2)),
            TaskGraph(nodes=(*GRAPH.nodes, node("S3", ROOT, NodeId("S8"))), order=(S1_1, S2)),
        ],
        ids=["no leaf", "leaf missing", "listed twice", "id twice", "no parent", "no dependency"],
    )
    def test_an_invalid_graph_is_refused(self, store: SqliteStore, graph: TaskGraph) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        assert_illegal(recorder, GraphCommitted(graph=graph), Law.GRAPH_INVALID)

    def test_two_contracts_of_one_name_are_refused(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        twin = replace(node("S3"), contract=node("S2").contract)
        graph = TaskGraph(nodes=(*GRAPH.nodes, twin), order=(S1_1, S2, NodeId("S3")))
        assert_illegal(recorder, GraphCommitted(graph=graph), Law.SECOND_OWNER)

    def test_a_name_that_a_frozen_node_owns_cannot_be_promised(self, store: SqliteStore) -> None:
        helper = "def helper():\n    return 1\n"
        recorder = failing_with(store, {S1: helper, S2: helper.replace("helper", "frozen")})
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        assert_illegal(recorder, add_s1_2("frozen"), Law.SECOND_OWNER)
        recorder.record(add_s1_2("helper"))

    def test_a_brief_is_revised_only_with_a_reason(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        recorder.record(BriefCommitted(brief=Brief()))
        assert_illegal(recorder, BriefCommitted(brief=Brief()), Law.OUT_OF_PLACE)
        recorder.record(BriefCommitted(brief=Brief(), reason="a constraint was misread"))


class TestGraphDeltas:
    def test_a_delta_outside_the_region_is_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        other = replace(GRAPH.by_id[S2], hints=("hurry",))
        delta = GraphDelta(revised=(other,), order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="why"), Law.BOUNDARY_CROSSED)

    def test_a_new_node_outside_the_region_is_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        delta = GraphDelta(added=(node("S3"),), order=(*GRAPH.order, NodeId("S3")))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="why"), Law.BOUNDARY_CROSSED)

    def test_an_interface_cannot_change_under_a_frozen_caller(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        assert_illegal(recorder, move_interface(S1_1), Law.BOUNDARY_CROSSED)
        recorder.record(exception(S1_1, S1))
        recorder.record(move_interface(S1_1))

    def test_an_interface_may_change_within_a_branch(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(move_interface(S1_1))

    def test_the_interface_of_a_branch_root_cannot_change(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        assert_illegal(recorder, move_interface(S1), Law.BOUNDARY_CROSSED)

    def test_the_root_is_never_retired(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        delta = GraphDelta(retired=(ROOT,), order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="why"), Law.GRAPH_INVALID)

    def test_a_node_that_joined_the_region_may_be_retired(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtNode(node=S1))
        recorder.record(exception(S1, S1_1))
        recorder.record(retire_s1_1())
        assert recorder.decide() is Decision.REJECTED


class TestRegressions:
    """Illegal histories that an earlier version accepted."""

    def test_retiring_a_leaf_invalidates_evidence_about_its_branch(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        check_branch(recorder, S1, Verdict.FAILED)
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.FAILED)
        check_program(recorder, "example-2", Verdict.FAILED)
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        recorder.record(retire_s1_1())
        assert CheckId("S1.branch") not in recorder.ledger.working.evidence

    def test_a_child_of_a_frozen_parent_cannot_be_moved(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNodes(nodes=(S1_1, S2)))
        recorder.open_transaction()
        moved = replace(GRAPH.by_id[S1_1], parent=S2)
        delta = GraphDelta(revised=(moved,), order=(S1_1, S1))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.BOUNDARY_CROSSED)

    def test_a_new_leaf_invalidates_the_assembly(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(add_s1_2())
        assert recorder.ledger.working.assembly is None

    def test_outputs_cannot_change_under_a_frozen_consumer(self, store: SqliteStore) -> None:
        provider = replace(node("S1"), outputs=(Slot(name="o", type="int"),))
        consumer = replace(node("S2"), inputs=(Slot(name="o", source=FromNode(node=S1, slot="o")),))
        graph = TaskGraph(
            nodes=(replace(ROOT_NODE, dependencies=()), provider, consumer), order=(S1, S2)
        )
        recorder = started(store, graph)
        for name in (S1, S2):
            recorder.write_code(name, code(name))
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.FAILED)
        check_program(recorder, "example-2", Verdict.FAILED)
        locate(recorder, AtNode(node=S1))
        recorder.open_transaction()
        other = replace(provider, outputs=(Slot(name="o", type="str"),))
        delta = GraphDelta(revised=(other,), order=(S1, S2))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.BOUNDARY_CROSSED)

    def test_a_bounded_repair_cannot_change_the_brief(self, store: SqliteStore) -> None:
        event = BriefCommitted(brief=Brief(), reason="an easier task")
        assert_illegal(repairing(store), event, Law.BOUNDARY_CROSSED)

    def test_a_delta_names_a_node_once(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        delta = GraphDelta(revised=(GRAPH.by_id[S1_1],) * 2, order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.GRAPH_INVALID)

    @pytest.mark.parametrize("name", ["loads", "S1_1.example", ".", "example-3", "example-01"])
    def test_a_brief_plans_no_check_under_a_reserved_name(
        self, store: SqliteStore, name: str
    ) -> None:
        recorder = started(store)
        event = BriefCommitted(brief=planning(name, Trust.GENERATED))
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_brief_may_repeat_an_example_of_the_task(self, store: SqliteStore) -> None:
        recorder = started(store)
        check = PlannedCheck(id=example_check(1), trust=Trust.GIVEN, example=TASK.examples[0])
        brief = Brief(requirements=Requirements(checks=(check,)))
        recorder.record(BriefCommitted(brief=brief))

    def test_a_dropped_check_is_not_planned_again(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.record(BriefCommitted(brief=planning("x", Trust.GENERATED)))
        recorder.record(CheckDropped(check=CheckId("x"), reason="wrong"))
        event = BriefCommitted(brief=planning("x", Trust.DERIVED), reason="again")
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_frozen_leaves_keep_their_order(self, store: SqliteStore) -> None:
        s3 = NodeId("S3")
        graph = TaskGraph(
            nodes=(replace(ROOT_NODE, dependencies=()), *(node(n) for n in ("S1", "S2", "S3"))),
            order=(S1, S2, s3),
        )
        recorder = started(store, graph)
        for name in (S1, S2, s3):
            recorder.write_code(name, code(name))
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.FAILED)
        check_program(recorder, "example-2", Verdict.FAILED)
        locate(recorder, AtNode(node=S1))
        recorder.open_transaction()
        event = GraphRevised(delta=GraphDelta(order=(S1, s3, S2)), reason="x")
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)


def graph_with(**changes: object) -> TaskGraph:
    """The graph with another S2."""
    return TaskGraph(
        nodes=(*GRAPH.nodes[:-1], replace(GRAPH.nodes[-1], **changes)), order=GRAPH.order
    )


TWO_SLOTS = (Slot(name="x", type="int", source=FromTask()),) * 2
CONTRACT = node("S2").contract or Contract(name="")


class TestOneFault:
    """A graph or a brief that is right but for one thing."""

    @pytest.mark.parametrize(
        "graph",
        [
            TaskGraph(nodes=(replace(ROOT_NODE, dependencies=()),), order=()),
            TaskGraph(nodes=GRAPH.nodes, order=GRAPH.order, root=S1),
            TaskGraph(
                nodes=(replace(node("S1"), parent=None), node("S2", S1)), order=(S2,), root=S1
            ),
            graph_with(dependencies=(S1_1, S1_1)),
            graph_with(inputs=TWO_SLOTS),
            graph_with(outputs=TWO_SLOTS),
            graph_with(contract=replace(CONTRACT, params=CONTRACT.params * 2)),
            graph_with(contract=replace(CONTRACT, name="not a name")),
        ],
        ids=[
            "no leaf",
            "other root",
            "no S0",
            "dependency",
            "input",
            "output",
            "parameter",
            "name",
        ],
    )
    def test_a_graph_is_refused(self, store: SqliteStore, graph: TaskGraph) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        assert_illegal(recorder, GraphCommitted(graph=graph), Law.GRAPH_INVALID)

    def test_a_contract_without_a_name_promises_nothing(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        recorder.record(GraphCommitted(graph=graph_with(contract=replace(CONTRACT, name=""))))

    def test_an_id_is_written_in_one_way(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        padded = node("S03")
        graph = TaskGraph(nodes=(*GRAPH.nodes, padded), order=(S1_1, S2, padded.id))
        assert_illegal(recorder, GraphCommitted(graph=graph), Law.GRAPH_INVALID)

    def test_a_dropped_check_is_not_planned_again_as_it_was(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.record(BriefCommitted(brief=planning("x", Trust.GENERATED)))
        recorder.record(CheckDropped(check=CheckId("x"), reason="wrong"))
        event = BriefCommitted(brief=planning("x", Trust.GENERATED), reason="again")
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_derived_check_follows_from_an_example(self, store: SqliteStore) -> None:
        task = replace(TASK, examples=(StdioExample(input="1\n", output="2\n"),))
        recorder = started(store, task=task)
        event = BriefCommitted(brief=planning("x", Trust.DERIVED, "3"))
        assert_illegal(recorder, event, Law.MISDECLARED)
        example = derived_examples(task)[0]
        check = PlannedCheck(id=CheckId("x"), trust=Trust.DERIVED, example=example)
        recorder.record(BriefCommitted(brief=Brief(requirements=Requirements(checks=(check,)))))

    def test_a_stated_check_stands_in_a_docstring_of_the_task(self, store: SqliteStore) -> None:
        skeleton = (
            'class C:\n    def one(self):\n        """>>> C().one()\n        1\n        """\n'
        )
        task = replace(TASK, form=ClassForm(name="C", skeleton=skeleton), examples=())
        recorder = started(store, task=task)
        event = BriefCommitted(brief=planning("x", Trust.STATED, "3"))
        assert_illegal(recorder, event, Law.MISDECLARED)
        (example,) = stated_examples(task)
        check = PlannedCheck(id=CheckId("x"), trust=Trust.STATED, example=example)
        recorder.record(BriefCommitted(brief=Brief(requirements=Requirements(checks=(check,)))))


class TestRevisions:
    def test_the_graph_after_a_revision_is_valid(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        delta = GraphDelta(added=(node("S1_2", S1),), order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.GRAPH_INVALID)

    def test_a_hint_does_not_invalidate_evidence(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        before = recorder.ledger.working.evidence
        hinted = replace(GRAPH.by_id[S1_1], hints=("start at one",))
        delta = GraphDelta(revised=(hinted,), order=GRAPH.order)
        recorder.record(GraphRevised(delta=delta, reason="a hint"))
        assert recorder.ledger.working.evidence == before

    def test_a_retired_node_has_no_code(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(retire_s1_1())
        working = recorder.ledger.working
        assert S1_1 not in {*working.code, *working.bundles}

    @pytest.mark.parametrize("kind", [TransactionKind.BOUNDED, TransactionKind.FALLBACK])
    def test_a_node_moves_only_within_the_region(
        self, store: SqliteStore, kind: TransactionKind
    ) -> None:
        sibling = node("S1_2", S1)
        graph = TaskGraph(nodes=(*GRAPH.nodes, sibling), order=(S1_1, sibling.id, S2))
        recorder = started(store, graph)
        for name in (S1_1, sibling.id, S2, S1, ROOT):
            recorder.write_code(name, code(name))
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.FAILED)
        check_program(recorder, "example-2", Verdict.PASSED)
        bounded = kind is TransactionKind.BOUNDED
        locate(recorder, AtNodes(nodes=(S1_1, S2)) if bounded else None)
        recorder.open_transaction(kind)
        moved = replace(GRAPH.by_id[S1_1], parent=S2)
        former = replace(GRAPH.by_id[S1], dependencies=())
        revised = (moved,) if bounded else (moved, former)
        delta = GraphDelta(revised=revised, order=(S1_1, sibling.id))
        event = GraphRevised(delta=delta, reason="it belongs there")
        if bounded:
            assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)
        else:
            recorder.record(event)
