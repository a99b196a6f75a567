"""Each illegal history is refused by the writer, and found if it is written all the same."""

import contextlib

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.assembly import AssemblyConflict, Segment, build_order
from auditcoder.domain.binding import BUILTINS
from auditcoder.domain.brief import Brief, PlannedCheck, Requirements
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.contract import Param
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.errors import RecordRefused, RecordUnreadable
from auditcoder.domain.events import (
    Assembled,
    BriefCommitted,
    CheckDropped,
    CheckRan,
    CodeWritten,
    Event,
    ExceptionRaised,
    GraphCommitted,
    GraphRevised,
    Located,
    Outcome,
    ReplyRecorded,
    RolledBack,
    RunFinished,
    RunResumed,
    RunStarted,
)
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import FromNode, GraphDelta, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.law import Law, deciding, opening
from auditcoder.domain.places import AtBranch, AtNode, AtNodes, AtProgram
from auditcoder.domain.repair import (
    Decision,
    IntegrationException,
    Rank,
    TransactionKind,
)
from auditcoder.domain.task import StdioExample
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import CheckId, Digest, RunId, digest
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.transfer import verify_run
from tests.support.records import forge, take
from tests.support.worlds import (
    GRAPH,
    ROOT_NODE,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_branch,
    check_node,
    check_program,
    code,
    failing,
    locate,
    node,
    repairing,
    started,
    ticking,
)

replace = msgspec.structs.replace


def written(
    recorder: Recorder,
    name: NodeId,
    source: str,
    *,
    cause: NodeId | None = None,
    reply: int | None = None,
) -> CodeWritten:
    """The event that writing `source` would be, with its units taken at their word."""
    return CodeWritten(
        node=name,
        code=recorder.put(source),
        units=units_of(read_bundle(source), name, "", BUILTINS),
        cause=cause,
        reply=reply,
    )


def assert_illegal(recorder: Recorder, event: Event, law: Law, *blobs: str) -> None:
    """The writer refuses `event`, and verification finds it if it is written all the same."""
    before = recorder.head
    with pytest.raises(RecordRefused) as refused:
        recorder.record(event)
    assert refused.value.code == f"law.{law.value}"
    assert recorder.head == before, "a refused event leaves the record as it was"
    raw = take(recorder._store, RUN)
    assert raw.verify().holds
    staged = tuple(recorder._staged.values())
    forged = forge(raw, [*raw.events(), event], *staged, *(b.encode() for b in blobs))
    report = forged.verify()
    assert [f.code for f in report.findings] == [f"law.{law.value}"]
    assert report.findings[0].seq == len(raw.bodies)


class TestIdsComeBeforeCode:
    def test_code_for_a_node_that_was_never_committed(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = written(recorder, NodeId("S9"), code("S9"))
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    def test_code_before_any_graph(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        event = written(recorder, S1, code("S1"))
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    def test_code_asked_for_before_any_graph(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        assert_illegal(recorder, reply(recorder, phase=Phase.GENERATION), Law.CODE_BEFORE_ID)

    def test_code_sampled_before_its_own_id(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        early = recorder.record(reply(recorder, phase=Phase.PLANNING))
        recorder.record(GraphCommitted(graph=GRAPH))
        event = written(recorder, S2, code("S2"), reply=early)
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    def test_the_root_may_take_its_body_from_the_sketch_that_planned_it(
        self, store: SqliteStore
    ) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        sketch = recorder.record(reply(recorder, phase=Phase.PLANNING))
        recorder.record(GraphCommitted(graph=GRAPH))
        recorder.record(written(recorder, ROOT, code(ROOT), reply=sketch))

    def test_code_taken_from_a_rejected_reply(self, store: SqliteStore) -> None:
        recorder = started(store)
        bad = recorder.record(replace(reply(recorder), rejected="no code in it"))
        assert_illegal(recorder, written(recorder, S2, code("S2"), reply=bad), Law.MISDECLARED)

    def test_no_code_at_all(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, written(recorder, S2, "\n"), Law.MISDECLARED)


class TestIdsAreForGood:
    def test_the_graph_is_committed_once(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, GraphCommitted(graph=GRAPH), Law.ID_REPURPOSED)

    def test_a_retired_id_is_not_given_again(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(retire_s1_1())
        again = GraphDelta(added=(node("S1_1", S1),), order=(S1_1, S2))
        assert_illegal(recorder, GraphRevised(delta=again, reason="again"), Law.ID_REUSED)

    def test_a_retired_node_is_not_changed_any_more(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(retire_s1_1())
        delta = GraphDelta(revised=(GRAPH.by_id[S1_1],), order=(S1, S2))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="again"), Law.ID_REUSED)

    def test_an_id_of_a_rejected_candidate_is_not_given_again(self, store: SqliteStore) -> None:
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

    def test_an_id_names_where_it_was_given(self, store: SqliteStore) -> None:
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

    def test_two_contracts_of_one_name(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        twin = replace(node("S3"), contract=node("S2").contract)
        graph = TaskGraph(nodes=(*GRAPH.nodes, twin), order=(S1_1, S2, NodeId("S3")))
        assert_illegal(recorder, GraphCommitted(graph=graph), Law.SECOND_OWNER)

    def test_a_brief_is_revised_only_with_a_reason(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        recorder.record(BriefCommitted(brief=Brief()))
        assert_illegal(recorder, BriefCommitted(brief=Brief()), Law.OUT_OF_PLACE)
        recorder.record(BriefCommitted(brief=Brief(), reason="a constraint was misread"))


class TestOneOwner:
    def test_a_name_that_another_node_owns(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2") + "def helper():\n    return 1\n")
        event = written(recorder, S1_1, code("S1_1") + "def helper():\n    return 2\n")
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_the_writer_renames_a_colliding_helper_instead(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2") + "def helper():\n    return 1\n")
        recorder.write_code(S1_1, code("S1_1") + "def helper():\n    return 2\n")
        owners = recorder.ledger.working.owners()
        assert owners["helper"] == S2
        assert owners["helper__S1_1"] == S1_1

    def test_a_name_that_another_node_has_promised(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, code("S1_1") + code("S2"))
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_units_that_are_not_in_the_code(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = replace(written(recorder, S2, code("S2")), units=())
        assert_illegal(recorder, event, Law.MISDECLARED)


class TestAssembly:
    def test_a_program_that_is_not_what_the_nodes_own(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        honest = take(store, RUN).events()[-1]
        assert isinstance(honest, Assembled)
        text = recorder.text(honest.program).replace("return x", "return 0", 1)
        forged = Assembled(program=recorder.put(text), segments=honest.segments)
        assert_illegal(recorder, forged, Law.UNFAITHFUL_ASSEMBLY)

    def test_a_line_that_is_attributed_to_another_node(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        honest = take(store, RUN).events()[-1]
        assert isinstance(honest, Assembled)
        lying = tuple(replace(s, node=S1) if s.node == S2 else s for s in honest.segments)
        assert_illegal(recorder, replace(honest, segments=lying), Law.UNFAITHFUL_ASSEMBLY)

    def test_lines_that_belong_to_nobody(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        honest = take(store, RUN).events()[-1]
        assert isinstance(honest, Assembled)
        text = recorder.text(honest.program) + "print('surprise')\n"
        event = Assembled(program=recorder.put(text), segments=(*honest.segments, Segment(lines=1)))
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

    def test_a_leaf_without_code(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        event = Assembled(
            program=recorder.put(code("S2")), segments=(Segment(lines=2, node=S2, source=1),)
        )
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)


class TestEvidence:
    def test_evidence_about_code_that_is_gone(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        old = recorder.ledger.working.code[S2].digest
        recorder.write_code(S2, code("S2", "return x + 1"))
        assert_illegal(recorder, ran(S2, old), Law.STALE_EVIDENCE)

    def test_evidence_for_a_node_without_code(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert_illegal(recorder, ran(S2, digest(b"")), Law.STALE_EVIDENCE)

    def test_a_check_that_becomes_another_check(self, store: SqliteStore) -> None:
        recorder = failing(store)
        standing = recorder.ledger.working.code[S1_1].digest
        event = ran(S1_1, standing)
        other = replace(event.evidence, check=CheckId("S1_1-generated"), trust=Trust.GIVEN)
        assert_illegal(recorder, CheckRan(evidence=other), Law.MISDECLARED)

    def test_a_check_that_came_with_the_task_cannot_be_dropped(self, store: SqliteStore) -> None:
        recorder = failing(store)
        event = CheckDropped(check=CheckId("given-1"), reason="inconvenient")
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_dropped_check_stays_dropped(self, store: SqliteStore) -> None:
        recorder = failing(store)
        recorder.record(CheckDropped(check=CheckId("S1_1-generated"), reason="it was wrong"))
        event = ran(S1_1, recorder.ledger.working.code[S1_1].digest)
        again = replace(event.evidence, check=CheckId("S1_1-generated"))
        assert_illegal(recorder, CheckRan(evidence=again), Law.STALE_EVIDENCE)

    def test_no_check_is_dropped_while_a_transaction_is_open(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = CheckDropped(check=CheckId("S1_1-generated"), reason="in the way")
        assert_illegal(recorder, event, Law.WRONG_DECISION)

    def test_changed_code_takes_its_evidence_with_it(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        check_node(recorder, S2, Verdict.PASSED)
        recorder.write_code(S2, code("S2", "return 2 * x"))
        assert not recorder.ledger.working.evidence


class TestDiagnoses:
    def test_a_passing_program_is_never_diagnosed(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        seen = check_program(recorder, "given-1", Verdict.PASSED)
        assert_illegal(recorder, localised(S2, seen), Law.UNSUPPORTED_DIAGNOSIS)

    def test_a_boundary_needs_evidence(self, store: SqliteStore) -> None:
        assert_illegal(failing(store), localised(S2), Law.UNSUPPORTED_DIAGNOSIS)

    def test_the_evidence_must_stand(self, store: SqliteStore) -> None:
        assert_illegal(failing(store), localised(S2, 1), Law.UNSUPPORTED_DIAGNOSIS)

    def test_the_target_must_exist(self, store: SqliteStore) -> None:
        recorder = failing(store)
        seen = recorder.ledger.working.evidence[CheckId("given-1")].seq
        assert_illegal(recorder, localised(NodeId("S9"), seen), Law.UNSUPPORTED_DIAGNOSIS)


class TestRegionsAndFreezing:
    def test_a_frozen_node_whose_code_changes(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = written(recorder, S2, code("S2", "return 0"))
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_frozen_evidence_is_frozen_too(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = ran(S2, recorder.ledger.working.code[S2].digest)
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_after_assembly_code_changes_only_in_a_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        event = written(recorder, S2, code("S2", "return 0"))
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_an_edit_across_the_boundary_without_an_exception(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = written(recorder, S2, code("S2", "return 0"), cause=S1_1)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)

    def test_with_an_exception_the_region_is_wider(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.record(exception(S1_1, S2))
        recorder.write_code(S2, code("S2", "return 0"), cause=S1_1)
        assert recorder.ledger.transaction is not None
        assert recorder.ledger.transaction.region == {S1_1, S2}

    def test_writing_for_another_node_while_building(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = written(recorder, S2, code("S2"), cause=S1)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)
        recorder.record(exception(S1, S2))
        recorder.record(event)

    def test_an_exception_gives_its_reason(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        silent = replace(exception(S1_1, S2).exception, rationale=" ")
        assert_illegal(recorder, ExceptionRaised(exception=silent), Law.BOUNDARY_CROSSED)

    def test_a_region_larger_than_the_diagnosis_gives(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        greedy = replace(opening(recorder.ledger, TransactionKind.BOUNDED), selected=(S1_1, S2))
        assert_illegal(recorder, greedy, Law.WRONG_REGION)

    def test_an_abstention_gives_no_boundary(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        bounded = opening(recorder.ledger, TransactionKind.BOUNDED)
        seq = locate(recorder, None)
        assert_illegal(recorder, replace(bounded, diagnosis=seq), Law.WRONG_REGION)

    def test_a_boundary_is_no_licence_for_a_fallback(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        fallback = opening(recorder.ledger, TransactionKind.FALLBACK)
        seq = locate(recorder, AtNode(node=S1_1))
        assert_illegal(recorder, replace(fallback, diagnosis=seq), Law.WRONG_REGION)

    def test_frozen_digests_that_are_not_those_of_the_complement(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        honest = opening(recorder.ledger, TransactionKind.BOUNDED)
        assert_illegal(recorder, replace(honest, frozen=honest.frozen[1:]), Law.FROZEN_CHANGED)

    @pytest.mark.parametrize("field", ["snapshot", "rank", "pinned", "number"])
    def test_a_transaction_opens_on_the_state_as_it_is(
        self, store: SqliteStore, field: str
    ) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        honest = opening(recorder.ledger, TransactionKind.BOUNDED)
        wrong = {
            "snapshot": replace(honest.snapshot, evidence=digest(b"other")),
            "rank": replace(honest.rank, external_passes=0),
            "pinned": honest.pinned[1:],
            "number": 7,
        }
        assert_illegal(recorder, replace(honest, **{field: wrong[field]}), Law.MISDECLARED)

    def test_one_transaction_at_a_time(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        recorder.record(event)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_a_diagnosis_serves_one_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        recorder.record(event)
        recorder.decide()
        assert_illegal(recorder, replace(event, number=2), Law.OUT_OF_PLACE)


class TestGraphDeltas:
    def test_a_delta_outside_the_region(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        other = replace(GRAPH.by_id[S2], hints=("hurry",))
        delta = GraphDelta(revised=(other,), order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="why"), Law.BOUNDARY_CROSSED)

    def test_a_new_node_outside_the_region(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        delta = GraphDelta(added=(node("S3"),), order=(*GRAPH.order, NodeId("S3")))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="why"), Law.BOUNDARY_CROSSED)

    def test_an_interface_does_not_move_under_a_frozen_caller(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        assert_illegal(recorder, move_interface(S1_1), Law.BOUNDARY_CROSSED)
        recorder.record(exception(S1_1, S1))
        recorder.record(move_interface(S1_1))

    def test_an_interface_may_move_within_a_branch(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(move_interface(S1_1))

    def test_the_branch_keeps_its_own_interface(self, store: SqliteStore) -> None:
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


class TestDecisions:
    def test_acceptance_without_strict_improvement(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        lie = replace(deciding(recorder.ledger), decision=Decision.ACCEPTED)
        assert_illegal(recorder, lie, Law.WRONG_DECISION)

    def test_rejection_of_an_improvement(self, store: SqliteStore) -> None:
        recorder = improved(store)
        lie = replace(deciding(recorder.ledger), decision=Decision.REJECTED)
        assert_illegal(recorder, lie, Law.WRONG_DECISION)

    def test_ranks_that_the_evidence_does_not_give(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        best = Rank(
            full=True, external_passes=9, internal_passes=9, external_clean=9, internal_clean=9
        )
        lie = replace(deciding(recorder.ledger), after=best, decision=Decision.ACCEPTED)
        assert_illegal(recorder, lie, Law.WRONG_DECISION)

    def test_deltas_that_are_not_what_changed(self, store: SqliteStore) -> None:
        recorder = improved(store)
        lie = replace(deciding(recorder.ledger), code_deltas=())
        assert_illegal(recorder, lie, Law.MISDECLARED)

    def test_a_regression_is_always_named(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 1"))
        recorder.assemble()
        check_program(recorder, "given-1", Verdict.PASSED)
        check_program(recorder, "given-2", Verdict.FAILED)
        check_program(recorder, "derived-1", Verdict.PASSED, Trust.DERIVED)
        honest = deciding(recorder.ledger)
        assert honest.regressions == ("given-2",)
        assert_illegal(recorder, replace(honest, regressions=()), Law.MISDECLARED)

    def test_a_candidate_that_was_never_assembled_is_rejected(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 1"))
        assert recorder.decide() is Decision.REJECTED


class TestRollback:
    @pytest.mark.parametrize(
        "part", ["brief", "graph", "code", "ownership", "assembly", "evidence"]
    )
    def test_a_rollback_restores_nothing_less_than_everything(
        self, store: SqliteStore, part: str
    ) -> None:
        recorder = rejected(store)
        transaction = recorder.ledger.transaction
        assert transaction is not None
        restored = replace(transaction.snapshot, **{part: digest(b"something else")})
        event = RolledBack(number=1, restored=restored)
        assert_illegal(recorder, event, Law.ROLLBACK_INCOMPLETE)

    def test_a_rejected_candidate_is_rolled_back_at_once(self, store: SqliteStore) -> None:
        recorder = rejected(store)
        event = written(recorder, S1_1, code("S1_1", "return 3"))
        assert_illegal(recorder, event, Law.ROLLBACK_INCOMPLETE)

    def test_nothing_else_is_rolled_back(self, store: SqliteStore) -> None:
        recorder = failing(store)
        event = RolledBack(number=1, restored=recorder.ledger.working.digest())
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_the_state_afterwards_is_the_state_before(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        before = recorder.ledger.working
        recorder.record(add_s1_2())
        recorder.write_code(S1_1, code("S1_1", "return 3"))
        check_node(recorder, S1_1, Verdict.PASSED)
        assert recorder.decide() is Decision.REJECTED
        assert recorder.ledger.working == before

    def test_a_rejected_fallback_gives_the_brief_back_too(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        before = recorder.ledger.working
        recorder.record(BriefCommitted(brief=Brief(), reason="another reading"))
        assert deciding(recorder.ledger).brief == Brief().digest
        assert recorder.decide() is Decision.REJECTED
        assert recorder.ledger.working == before

    def test_a_writer_cut_off_before_the_rollback_can_go_on(self, store: SqliteStore) -> None:
        rejected(store)
        resumed = Recorder.resume(store, RUN, ticking())
        resumed.record(RunResumed())
        assert resumed.decide() is Decision.REJECTED
        assert resumed.ledger.transaction is None

    def test_going_on_with_the_rejected_program_is_noticed(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 3"))
        candidate = recorder.assemble()
        recorder.decide()
        event = RunFinished(outcome=Outcome.FAILED, program=candidate)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)


class TestBeginningAndEnd:
    def test_a_run_starts_once(self, store: SqliteStore) -> None:
        recorder = started(store)
        event = RunStarted(format=1, run=RUN, task=TASK)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_nothing_follows_the_end(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.record(RunFinished(outcome=Outcome.STOPPED, program=None))
        assert_illegal(recorder, written(recorder, S2, code("S2")), Law.OUT_OF_PLACE)

    def test_passed_is_earned(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = RunFinished(outcome=Outcome.PASSED, program=assembly.program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_a_run_does_not_end_within_a_transaction(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = RunFinished(outcome=Outcome.STOPPED, program=None)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)


class TestWhatAttackersFound:
    """Histories that once slipped through."""

    def test_passed_needs_every_given_check_there_ever_was(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        check_program(recorder, "given-1", Verdict.FAILED)
        check_program(recorder, "given-2", Verdict.FAILED)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        program = recorder.assemble()
        check_program(recorder, "given-1", Verdict.PASSED)
        assert recorder.decide() is Decision.ACCEPTED
        event = RunFinished(outcome=Outcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_passed_needs_the_checks_that_the_brief_planned(self, store: SqliteStore) -> None:
        recorder = built(store)
        planned = PlannedCheck(
            id=CheckId("planned"), trust=Trust.GIVEN, example=StdioExample(input="1", output="2")
        )
        brief = Brief(requirements=Requirements(checks=(planned,)))
        recorder.record(BriefCommitted(brief=brief))
        program = recorder.assemble()
        check_program(recorder, "given-1", Verdict.PASSED)
        event = RunFinished(outcome=Outcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_the_program_changes_only_in_a_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = Assembled(
            program=recorder.put(recorder.text(assembly.program) + "\n"),
            segments=(*assembly.segments, Segment(lines=1)),
        )
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_a_check_keeps_its_content(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        program = recorder.assemble()
        easier = Evidence(
            check=CheckId("given-1"),
            kind=CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=program,
            expected=recorder.put("whatever it printed"),
        )
        assert_illegal(recorder, CheckRan(evidence=easier), Law.MISDECLARED)

    def test_running_a_check_again_is_no_repair(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        lucky = Evidence(
            check=CheckId("given-1"),
            kind=CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=assembly.program,
        )
        assert_illegal(recorder, CheckRan(evidence=lucky), Law.STALE_EVIDENCE)

    def test_every_check_runs_on_the_program_before_a_transaction_opens(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return x + 1"))
        recorder.assemble()
        check_program(recorder, "new", Verdict.PASSED, Trust.GENERATED)
        recorder.decide()
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        assert_illegal(recorder, event, Law.WRONG_DECISION)
        check_program(recorder, "new", Verdict.PASSED, Trust.GENERATED)
        recorder.open_transaction()

    @pytest.mark.parametrize(
        "hijack",
        [
            "if True:\n    def f_S2(x): return 'hijacked'\n",
            "for f_S2 in [None]: pass\n",
            "with open('x') as f_S2: pass\n",
            "try:\n    f_S2 = 1\nexcept Exception: pass\n",
            "while True:\n    f_S2 = 1\n    break\n",
            "(f_S2 := 1)\n",
            "match 1:\n    case f_S2: pass\n",
            "def q(a=(f_S2 := 1)): pass\n",
            "@(f_S2 := print)\ndef q(): pass\n",
            "class Q(f_S2 := object): pass\n",
            "[f_S2 := 1 for _ in (1,)]\n",
            "del f_S2\n",
            "def q():\n    global f_S2\n    f_S2 = 1\n",
            "try: pass\nexcept Exception as f_S2: pass\n",
            "a = 1; f_S2 = 2\n",
        ],
    )
    def test_nobody_takes_a_promised_name_by_the_back_door(
        self, store: SqliteStore, hijack: str
    ) -> None:
        recorder = started(store)
        event = written(recorder, S1_1, code("S1_1") + hijack)
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    @pytest.mark.parametrize(
        "text",
        [
            "import os as f_S2; b = 1\n",
            "from operator import neg as f_S2\n",
            "try:\n    import json as f_S2\nexcept ImportError: pass\n",
        ],
    )
    def test_nor_by_importing_it(self, store: SqliteStore, text: str) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name) if name != S1 else text + code("S1"))
        with pytest.raises(AssemblyConflict):
            recorder.assemble()
        working = recorder.ledger.working
        lines: list[str] = []
        segments: list[Segment] = []
        for name in build_order(recorder.ledger.graph, working.code):
            for part in working.bundles[name].body:
                piece = working.bundles[name].lines[part.first - 1 : part.last]
                lines.extend(piece)
                segments.append(Segment(lines=len(piece), node=name, source=part.first))
        for statement in working.bundles[S1].imports:
            lines.insert(0, statement)
            segments.insert(0, Segment(lines=1, asked=(S1,)))
        program = recorder.put("\n".join(lines) + "\n")
        event = Assembled(program=program, segments=tuple(segments))
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

    @pytest.mark.parametrize(
        "source",
        [
            b"def f_S2(x):\r\n    return 1\r\n",
            b"# coding: latin-1\ndef f_S2(x):\n    return '\xff'\n",
            "\ufeffdef f_S2(x):\n    return 1\n".encode(),
            b"from math import *\ndef f_S2(x):\n    return 1\n",
            b"if True:\n    from math import *\ndef f_S2(x):\n    return 1\n",
        ],
    )
    def test_code_has_one_reading(self, store: SqliteStore, source: bytes) -> None:
        recorder = started(store)
        event = CodeWritten(node=S2, code=recorder.put(source), units=())
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_the_writer_ends_lines_as_the_law_wants_them(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, "def f_S2(x):\r\n    return 1\r")
        assert recorder.ledger.working.owners() == {"f_S2": S2}

    def test_code_that_does_not_parse_cannot_swallow_its_neighbour(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        sources = {S1_1: code("S1_1") + "a = '''\n", S1: "'''\n" + code("S1")}
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, sources.get(name, code(name)))
        with pytest.raises(RecordRefused) as refused:
            recorder.assemble()
        assert refused.value.code == "law.unfaithful-assembly"

    def test_a_method_that_lands_outside_its_class_is_noticed(self, store: SqliteStore) -> None:
        graph = TaskGraph(
            nodes=(replace(ROOT_NODE, contract=None, dependencies=()), node("S1")), order=(S1,)
        )
        recorder = started(store, graph)
        recorder.write_code(ROOT, "class C:\n  def a(self):\n    pass\n")
        recorder.write_code(S1, "def f_S1(self, x):\n    return x\n", scope="C")
        with pytest.raises(RecordRefused) as refused:
            recorder.assemble()
        assert refused.value.code == "law.unfaithful-assembly"

    def test_branch_evidence_falls_with_a_retired_leaf(self, store: SqliteStore) -> None:
        recorder = built(store)
        check_branch(recorder, S1, Verdict.FAILED)
        recorder.assemble()
        check_program(recorder, "given-1", Verdict.FAILED)
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        recorder.record(retire_s1_1())
        assert CheckId("S1-branch") not in recorder.ledger.working.evidence

    def test_a_child_is_not_taken_from_a_frozen_parent(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNodes(nodes=(S1_1, S2)))
        recorder.open_transaction()
        moved = replace(GRAPH.by_id[S1_1], parent=S2)
        delta = GraphDelta(revised=(moved,), order=(S1_1, S1))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.BOUNDARY_CROSSED)

    def test_a_new_leaf_needs_code_before_anything_passes(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.record(add_s1_2())
        assert recorder.ledger.working.assembly is None

    def test_a_diagnosis_does_not_outlive_its_evidence(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        check_node(recorder, S1_1, Verdict.PASSED)
        assert_illegal(recorder, event, Law.UNSUPPORTED_DIAGNOSIS)

    def test_a_boundary_is_not_drawn_from_what_passed(self, store: SqliteStore) -> None:
        recorder = failing(store)
        passed = recorder.ledger.working.evidence[CheckId("given-2")].seq
        assert_illegal(recorder, localised(S2, passed), Law.UNSUPPORTED_DIAGNOSIS)

    def test_a_reply_for_one_node_is_no_code_for_another(self, store: SqliteStore) -> None:
        recorder = started(store)
        answer = recorder.record(replace(reply(recorder), node=S1))
        event = written(recorder, S2, code("S2"), reply=answer)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)

    def test_a_reviewers_reply_is_no_code(self, store: SqliteStore) -> None:
        recorder = started(store)
        answer = recorder.record(reply(recorder, phase=Phase.VERIFICATION))
        event = written(recorder, S2, code("S2"), reply=answer)
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize("alone", [True, False], ids=["alone", "with others"])
    def test_what_was_said_to_verify_a_node_may_become_its_code_and_no_other(
        self, store: SqliteStore, alone: bool
    ) -> None:
        recorder = failing(store)
        said = reply(recorder, phase=Phase.VERIFICATION)

        def about(*nodes: NodeId) -> int:
            return recorder.record(
                replace(said, **{"node": nodes[0]} if alone else {"nodes": nodes})
            )

        older, newer, other = about(S1_1, S2), about(S1_1, S1), about(S2)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        another = f"{code('S1_1')}\n# another\n"
        for seq, law in ((older, Law.MISDECLARED), (other, Law.BOUNDARY_CROSSED)):
            assert_illegal(recorder, written(recorder, S1_1, another, reply=seq), law)
        recorder.record(written(recorder, S1_1, another, reply=newer))
        assert recorder.ledger.working.code[S1_1].digest == recorder.put(another)

    def test_nobody_is_asked_about_a_node_that_has_no_id(self, store: SqliteStore) -> None:
        recorder = failing(store)
        said = reply(recorder, phase=Phase.VERIFICATION)
        event = replace(said, nodes=(S2, NodeId("S9")))
        assert_illegal(recorder, event, Law.CODE_BEFORE_ID)

    @pytest.mark.parametrize(("parent", "child"), [(S2, S1), (S1_1, S1_1), (S2, S2)])
    def test_an_exception_leads_from_the_region_outwards(
        self, store: SqliteStore, parent: NodeId, child: NodeId
    ) -> None:
        assert_illegal(repairing(store), exception(parent, child), Law.WRONG_REGION)

    def test_outputs_do_not_change_under_a_frozen_consumer(self, store: SqliteStore) -> None:
        makes = replace(node("S1"), outputs=(Slot(name="o", type="int"),))
        takes = replace(node("S2"), inputs=(Slot(name="o", source=FromNode(node=S1, slot="o")),))
        graph = TaskGraph(nodes=(replace(ROOT_NODE, dependencies=()), makes, takes), order=(S1, S2))
        recorder = started(store, graph)
        for name in (S1, S2):
            recorder.write_code(name, code(name))
        recorder.assemble()
        check_program(recorder, "given-1", Verdict.FAILED)
        locate(recorder, AtNode(node=S1))
        recorder.open_transaction()
        other = replace(makes, outputs=(Slot(name="o", type="str"),))
        delta = GraphDelta(revised=(other,), order=(S1, S2))
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.BOUNDARY_CROSSED)

    def test_code_does_not_move_into_another_class(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2"))
        source = code("S2")
        event = CodeWritten(
            node=S2,
            code=recorder.put(source),
            units=units_of(read_bundle(source), S2, "C"),
            scope="C",
        )
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_bounded_repair_leaves_the_brief_alone(self, store: SqliteStore) -> None:
        event = BriefCommitted(brief=Brief(), reason="an easier task")
        assert_illegal(repairing(store), event, Law.BOUNDARY_CROSSED)

    def test_a_delta_names_a_node_once(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        delta = GraphDelta(revised=(GRAPH.by_id[S1_1],) * 2, order=GRAPH.order)
        assert_illegal(recorder, GraphRevised(delta=delta, reason="x"), Law.GRAPH_INVALID)

    def test_evidence_about_no_code_is_none(self, store: SqliteStore) -> None:
        recorder = started(store)
        evidence = Evidence(
            check=CheckId("empty"),
            kind=CheckKind.CONTRACT,
            subject=AtBranch(root=S1),
            trust=Trust.DERIVED,
            verdict=Verdict.PASSED,
            against=recorder.ledger.working.codes_of([]),
        )
        assert_illegal(recorder, CheckRan(evidence=evidence), Law.STALE_EVIDENCE)

    @pytest.mark.parametrize("name", ["../up", "/abs", "", "-flag", "a b", "x" * 200, "\x1b[2J"])
    def test_a_runs_name_is_plain(self, store: SqliteStore, name: str) -> None:
        with pytest.raises(RecordRefused) as refused:
            Recorder.start(store, RunId(name), TASK, ticking())
        assert refused.value.code == "law.misdeclared"
        assert store.runs() == []

    def test_what_cannot_be_written_is_refused_and_loses_nothing(self, store: SqliteStore) -> None:
        recorder = started(store)
        before = recorder.head
        with pytest.raises(RecordRefused) as refused:
            recorder.record(CheckDropped(check=CheckId("\ud800"), reason="half a character"))
        assert refused.value.code == "record.unwritable"
        assert recorder.head == before

    def test_half_characters_in_code_are_marked(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2", "return '\ud800'"))
        assert verify_run(store, RUN).holds

    @pytest.mark.parametrize("mark", ["# coding: utf-7", "# -*- coding: utf_16 -*-"])
    def test_no_comment_declares_an_encoding(self, store: SqliteStore, mark: str) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, f"{mark}\n" + code(name))
        program = recorder.assemble()
        assert recorder.text(program).startswith("\n\n")
        raw = take(store, RUN)
        bare = recorder.text(program).removeprefix("\n\n")
        honest = raw.events()[-1]
        assert isinstance(honest, Assembled)
        event = Assembled(program=digest(bare.encode()), segments=honest.segments[1:])
        forged = forge(raw, [*raw.events()[:-1], event], bare.encode())
        assert [f.code for f in forged.verify().findings] == ["law.unfaithful-assembly"]

    def test_nodes_are_not_interleaved(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name) + (f"log_{name} = 1\n"))
        recorder.assemble()
        working = recorder.ledger.working
        raw = take(store, RUN)
        parts = [
            (name, part)
            for name in build_order(recorder.ledger.graph, working.code)
            for part in working.bundles[name].body
        ]
        parts.append(parts.pop(1))
        lines = [x for n, p in parts for x in working.bundles[n].lines[p.first - 1 : p.last]]
        text = "\n".join(lines) + "\n"
        segments = tuple(
            Segment(lines=p.last - p.first + 1, node=n, source=p.first) for n, p in parts
        )
        event = Assembled(program=digest(text.encode()), segments=segments)
        forged = forge(raw, [*raw.events()[:-1], event], text.encode())
        assert [f.code for f in forged.verify().findings] == ["law.unfaithful-assembly"]

    def test_a_dropped_check_is_not_planned_again(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.record(BriefCommitted(brief=planning("x", Trust.GENERATED)))
        recorder.record(CheckDropped(check=CheckId("x"), reason="wrong"))
        event = BriefCommitted(brief=planning("x", Trust.GIVEN), reason="again")
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_planned_check_runs_as_it_was_planned(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.record(BriefCommitted(brief=planning("x", Trust.GIVEN)))
        easier = planning("x", Trust.GIVEN, output="0")
        assert_illegal(recorder, BriefCommitted(brief=easier, reason="easier"), Law.MISDECLARED)
        program = recorder.assemble()
        honest = Evidence(
            check=CheckId("x"),
            kind=CheckKind.EXAMPLE,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=program,
            input=recorder.put("1"),
            expected=recorder.put("2"),
        )
        lie = replace(honest, expected=recorder.put("0"))
        assert_illegal(recorder, CheckRan(evidence=lie), Law.MISDECLARED)
        recorder.record(CheckRan(evidence=honest))
        recorder.record(BriefCommitted(brief=planning("x", Trust.GIVEN), reason="the same"))

    def test_the_tasks_own_examples_must_pass(self, store: SqliteStore) -> None:
        task = replace(TASK, examples=(StdioExample(input="1", output="2"),))
        recorder = Recorder.start(store, RUN, task, ticking())
        recorder.record(GraphCommitted(graph=GRAPH))
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name))
        program = recorder.assemble()
        check_program(recorder, "made-up", Verdict.PASSED, Trust.DERIVED)
        event = RunFinished(outcome=Outcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_what_came_with_the_task_is_about_the_program(self, store: SqliteStore) -> None:
        recorder = built(store)
        event = ran(S2, recorder.ledger.working.code[S2].digest)
        given = replace(event.evidence, trust=Trust.GIVEN)
        assert_illegal(recorder, CheckRan(evidence=given), Law.MISDECLARED)

    def test_an_opinion_is_never_given(self, store: SqliteStore) -> None:
        recorder = built(store)
        program = recorder.assemble()
        opinion = Evidence(
            check=CheckId("opinion"),
            kind=CheckKind.REVIEW,
            subject=AtProgram(),
            trust=Trust.GIVEN,
            verdict=Verdict.PASSED,
            against=program,
        )
        assert_illegal(recorder, CheckRan(evidence=opinion), Law.MISDECLARED)

    def test_only_what_a_model_wrote_is_dropped(self, store: SqliteStore) -> None:
        event = CheckDropped(check=CheckId("derived-1"), reason="in the way")
        assert_illegal(failing(store), event, Law.MISDECLARED)

    def test_a_blank_line_more_is_no_candidate(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        event = Assembled(
            program=recorder.put(recorder.text(assembly.program) + "\n"),
            segments=(*assembly.segments, Segment(lines=1)),
        )
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

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
        check_program(recorder, "given-1", Verdict.FAILED)
        locate(recorder, AtNode(node=S1))
        recorder.open_transaction()
        event = GraphRevised(delta=GraphDelta(order=(S1, s3, S2)), reason="x")
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)

    @pytest.mark.parametrize("cause", ["S2", "S99"])
    def test_a_cause_is_a_node_of_the_region(self, store: SqliteStore, cause: str) -> None:
        recorder = repairing(store)
        event = written(recorder, S1_1, code("S1_1", "return 3"), cause=NodeId(cause))
        law = Law.BOUNDARY_CROSSED if cause == "S2" else Law.MISDECLARED
        assert_illegal(recorder, event, law)

    def test_nobody_takes_a_builtin_from_the_others(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2", "return sum([x])"))
        recorder.write_code(
            S1_1, code("S1_1", "return sum(x)") + "def sum(x):\n    return 'mine'\n"
        )
        assert recorder.ledger.working.owners()["sum__S1_1"] == S1_1
        source = code("S1_1") + "class sum: pass\n"
        event = CodeWritten(
            node=S1_1, code=recorder.put(source), units=units_of(read_bundle(source), S1_1)
        )
        assert_illegal(recorder, event, Law.SECOND_OWNER)

    def test_nor_by_importing_one(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S2, code("S2", "return pow(x, 2)"))
        for name in (S1_1, S1, ROOT):
            recorder.write_code(name, "from math import pow\n" + code(name))
        with pytest.raises(AssemblyConflict, match="pow"):
            recorder.assemble()

    def test_an_exception_frees_the_child_and_no_more(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        wide = replace(exception(S1_1, S2).exception, region=(S1, S2))
        assert_illegal(recorder, ExceptionRaised(exception=wide), Law.WRONG_REGION)

    def test_a_class_is_named_by_an_identifier(self, store: SqliteStore) -> None:
        recorder = started(store)
        with pytest.raises(RecordRefused):
            recorder.write_code(S2, code("S2"), scope="not one\n")

    def test_code_that_cannot_be_read_passes_nothing(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, "type X = int\n" if name == S2 else code(name))
        program = recorder.assemble()
        check_program(recorder, "given-1", Verdict.PASSED)
        event = RunFinished(outcome=Outcome.PASSED, program=program)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)

    def test_acts_out_of_place_are_refused_like_events(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, ticking())
        for act in (recorder.assemble, recorder.decide, recorder.open_transaction):
            with pytest.raises(RecordRefused):
                act()

    def test_a_writer_does_not_go_on_with_a_broken_chain(self, store: SqliteStore) -> None:
        started(store)
        store._db.execute("DROP TRIGGER events_stand")
        store._db.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), '03:04:05', '03:04:09')"
            " AS BLOB) WHERE seq = 0"
        )
        with pytest.raises(RecordUnreadable):
            Recorder.resume(store, RUN, ticking())

    def test_deeply_nested_code_reads_the_same_from_any_depth(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.write_code(S2, code("S2") + "v = " + "+".join(["1"] * 2500) + "\n")
        recorder.assemble()

        def deep(n: int) -> bool:
            if n:
                return deep(n - 1)
            read_bundle.cache_clear()
            return verify_run(store, RUN).holds

        assert deep(0)
        assert deep(700)

    def test_a_collision_in_deeply_nested_code_is_resolved_or_refused(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.write_code(S1_1, code("S1_1") + "h = 1\n")
        source = code("S2") + "h = 2\nv = " + "+".join(["h"] * 1500) + "\n"
        with contextlib.suppress(RecordRefused):
            recorder.write_code(S2, source)
        assert verify_run(store, RUN).holds


def test_every_law_has_a_test_that_breaks_it() -> None:
    source = (__import__("pathlib").Path(__file__)).read_text(encoding="utf-8")
    unbroken = [law.name for law in Law if f"Law.{law.name})" not in source]
    assert not unbroken


# Builders of events, honest and otherwise

started_at = msgspec.convert("2026-01-02T03:04:05Z", __import__("datetime").datetime)


def reply(recorder: Recorder, phase: Phase = Phase.GENERATION) -> ReplyRecorded:
    return ReplyRecorded(
        role="math",
        scope=Scope.INITIAL,
        phase=phase,
        request=recorder.put("please"),
        reply=recorder.put("here"),
    )


def planning(name: str, trust: Trust, output: str = "2") -> Brief:
    example = StdioExample(input="1", output=output)
    planned = PlannedCheck(id=CheckId(name), trust=trust, example=example)
    return Brief(requirements=Requirements(checks=(planned,)))


def ran(name: NodeId, against: Digest) -> CheckRan:
    return CheckRan(
        evidence=Evidence(
            check=CheckId("late"),
            kind=CheckKind.BOUNDARY,
            subject=AtNode(node=name),
            trust=Trust.GENERATED,
            verdict=Verdict.PASSED,
            against=against,
        )
    )


def localised(name: NodeId, *evidence: int) -> Located:
    return Located(
        diagnosis=Localised(
            target=AtNode(node=name), agents=(), rule="R1", level=Level.HIGH, evidence=evidence
        )
    )


def exception(parent: NodeId, child: NodeId) -> ExceptionRaised:
    return ExceptionRaised(
        exception=IntegrationException(
            parent=parent, child=child, rationale="the shape must change", region=(child,)
        )
    )


def add_s1_2() -> GraphRevised:
    new = NodeId("S1_2")
    delta = GraphDelta(added=(node(new, S1),), order=(S1_1, new, S2))
    return GraphRevised(delta=delta, reason="one part was missing")


def retire_s1_1() -> GraphRevised:
    lonely = replace(GRAPH.by_id[S1], dependencies=())
    delta = GraphDelta(revised=(lonely,), retired=(S1_1,), order=(S1, S2))
    return GraphRevised(delta=delta, reason="one part was too many")


def move_interface(name: NodeId) -> GraphRevised:
    old = GRAPH.by_id[name]
    assert old.contract is not None
    contract = replace(old.contract, params=(Param(name="y", type="float"),))
    delta = GraphDelta(revised=(replace(old, contract=contract),), order=GRAPH.order)
    return GraphRevised(delta=delta, reason="the types did not fit")


def improved(store: SqliteStore) -> Recorder:
    recorder = repairing(store)
    recorder.write_code(S1_1, code("S1_1", "return 2 * x"))
    recorder.assemble()
    check_program(recorder, "given-1", Verdict.PASSED)
    check_program(recorder, "given-2", Verdict.PASSED)
    check_program(recorder, "derived-1", Verdict.PASSED, Trust.DERIVED)
    return recorder


def rejected(store: SqliteStore) -> Recorder:
    recorder = repairing(store)
    recorder.write_code(S1_1, code("S1_1", "return 3"))
    recorder.record(deciding(recorder.ledger))
    return recorder
