"""The laws of repair: the recorder refuses each illegal event, and verification finds it."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.brief import Brief, DataRange, Parsed
from auditcoder.domain.diagnosis import Abstained
from auditcoder.domain.events import (
    BriefCommitted,
    CheckRan,
    ExceptionRaised,
    GraphRevised,
    Located,
    RolledBack,
    RunFinished,
    RunOutcome,
    RunResumed,
    RunStarted,
)
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.graph import GraphDelta
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import IllegalHistory, Law, advance, deciding, open_doubts, opening
from auditcoder.domain.ledger import rework
from auditcoder.domain.repair import (
    Decision,
    Rank,
    TransactionKind,
)
from auditcoder.domain.targets import AtBranch, AtNode, AtNodes
from auditcoder.domain.task import Example
from auditcoder.domain.trace import fold
from auditcoder.domain.values import CheckId, digest
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import (
    accept_repair,
    add_s1_2,
    assert_illegal,
    exception,
    improved,
    located_at,
    ran,
    rejected,
    written,
)
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_node,
    check_program,
    code,
    failing,
    localised,
    locate,
    node,
    observe_node,
    plan_check,
    repairing,
    standing_failures,
    started,
    ticking,
)
from tests.support.records import forge, take

replace = msgspec.structs.replace


class TestDiagnoses:
    def test_a_passing_program_is_never_diagnosed(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        seen = check_program(recorder, "example-1", Verdict.PASSED)
        assert_illegal(recorder, located_at(recorder, S2, seen), Law.UNSUPPORTED_DIAGNOSIS)

    def test_a_localised_diagnosis_needs_evidence(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assert_illegal(recorder, located_at(recorder, S2), Law.UNSUPPORTED_DIAGNOSIS)

    def test_the_evidence_of_a_diagnosis_must_stand(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assert_illegal(recorder, located_at(recorder, S2, 1), Law.UNSUPPORTED_DIAGNOSIS)

    def test_the_target_of_a_diagnosis_must_exist(self, store: SqliteStore) -> None:
        recorder = failing(store)
        seen = recorder.ledger.working.evidence[CheckId("example-1")].seq
        assert_illegal(
            recorder, located_at(recorder, NodeId("S9"), seen), Law.UNSUPPORTED_DIAGNOSIS
        )

    def test_a_target_without_nodes_is_refused(self, store: SqliteStore) -> None:
        recorder = failing(store)
        nowhere = localised(recorder, AtNodes(nodes=()), evidence=standing_failures(recorder))
        assert_illegal(recorder, Located(diagnosis=nowhere), Law.UNSUPPORTED_DIAGNOSIS)

    def test_a_diagnosis_names_the_authors_of_the_targets_code(self, store: SqliteStore) -> None:
        recorder = failing(store)
        honest = localised(recorder, AtNode(node=S1_1), evidence=standing_failures(recorder))
        forged = Located(diagnosis=replace(honest, agents=("somebody else",)))
        assert_illegal(recorder, forged, Law.MISDECLARED)

    def test_evidence_is_cited_once(self, store: SqliteStore) -> None:
        recorder = failing(store)
        seen, _ = standing_failures(recorder)
        assert_illegal(recorder, located_at(recorder, S2, seen, seen), Law.UNSUPPORTED_DIAGNOSIS)

    def test_where_nothing_fails_there_is_nothing_to_abstain_from(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        seen = check_program(recorder, "example-1", Verdict.PASSED)
        for cited in ((), (seen,)):
            abstained = Located(diagnosis=Abstained(reason="no idea", evidence=cited))
            assert_illegal(recorder, abstained, Law.UNSUPPORTED_DIAGNOSIS)

    def test_fallen_evidence_cannot_be_cited_beside_standing_evidence(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        fallen = check_node(recorder, S2, Verdict.FAILED)
        recorder.write_code(S2, code("S2", "return x + 1"))
        stands = check_node(recorder, S1_1, Verdict.FAILED)
        event = located_at(recorder, S1_1, fallen, stands)
        assert_illegal(recorder, event, Law.UNSUPPORTED_DIAGNOSIS)
        recorder.record(located_at(recorder, S1_1, stands))

    def test_no_diagnosis_is_made_while_a_transaction_is_open(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = located_at(recorder, S1_1, *standing_failures(recorder))
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)


class TestRegionsAndFreezing:
    def test_a_change_to_the_code_of_a_frozen_node_is_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = written(recorder, S2, code("S2", "return 0"))
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_new_evidence_about_a_frozen_node_is_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        event = ran(S2, recorder.ledger.working.code[S2].digest)
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_after_assembly_code_changes_only_in_a_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        event = written(recorder, S2, code("S2", "return 0"))
        assert_illegal(recorder, event, Law.FROZEN_CHANGED)

    def test_an_edit_across_the_boundary_without_an_exception_is_refused(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        event = written(recorder, S2, code("S2", "return 0"), cause=S1_1)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)

    def test_an_integration_exception_widens_the_region(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.record(exception(S1_1, S2))
        recorder.write_code(S2, code("S2", "return 0"), cause=S1_1)
        assert recorder.ledger.transaction is not None
        assert recorder.ledger.transaction.region == {S1_1, S2}
        recorder.record(deciding(recorder.ledger))

    def test_writing_for_another_node_while_building_needs_an_exception(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        event = written(recorder, S2, code("S2"), cause=S1)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)
        recorder.record(exception(S1, S2))
        recorder.record(event)

    def test_an_integration_exception_needs_a_reason(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        silent = replace(exception(S1_1, S2).exception, rationale=" ")
        assert_illegal(recorder, ExceptionRaised(exception=silent), Law.BOUNDARY_CROSSED)

    def test_a_region_larger_than_the_target_is_refused(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        greedy = replace(opening(recorder.ledger, TransactionKind.BOUNDED), selected=(S1_1, S2))
        assert_illegal(recorder, greedy, Law.WRONG_REGION)

    def test_an_abstention_cannot_open_a_bounded_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        bounded = opening(recorder.ledger, TransactionKind.BOUNDED)
        seq = locate(recorder, None)
        assert_illegal(recorder, replace(bounded, diagnosis=seq), Law.WRONG_REGION)

    def test_a_localised_diagnosis_cannot_open_a_fallback(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        fallback = opening(recorder.ledger, TransactionKind.FALLBACK)
        seq = locate(recorder, AtNode(node=S1_1))
        assert_illegal(recorder, replace(fallback, diagnosis=seq), Law.WRONG_REGION)

    def test_frozen_digests_must_cover_the_whole_complement(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        honest = opening(recorder.ledger, TransactionKind.BOUNDED)
        assert_illegal(recorder, replace(honest, frozen=honest.frozen[1:]), Law.FROZEN_CHANGED)

    @pytest.mark.parametrize("field", ["snapshot", "rank", "pinned", "number"])
    def test_a_transaction_must_declare_the_current_state(
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

    def test_only_one_transaction_can_be_open(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        recorder.record(event)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)
        recorder.write_code(S1_1, code("S1_1", "return 2 * x"))
        recorder.assemble()
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    @pytest.mark.parametrize("examples", [TASK.examples, ()])
    def test_a_transaction_needs_a_program_to_repair(
        self, store: SqliteStore, examples: tuple[Example, ...]
    ) -> None:
        recorder = built(store, replace(TASK, examples=examples))
        check_node(recorder, S1_1, Verdict.FAILED)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_a_diagnosis_serves_one_transaction(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        recorder.record(event)
        recorder.decide()
        assert_illegal(recorder, replace(event, number=2), Law.OUT_OF_PLACE)


class TestDecisions:
    def test_acceptance_without_strict_improvement_is_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        forged = replace(deciding(recorder.ledger), decision=Decision.ACCEPTED)
        assert_illegal(recorder, forged, Law.WRONG_DECISION)

    def test_rejection_of_an_improvement_is_refused(self, store: SqliteStore) -> None:
        recorder = improved(store)
        forged = replace(deciding(recorder.ledger), decision=Decision.REJECTED)
        assert_illegal(recorder, forged, Law.WRONG_DECISION)

    def test_ranks_that_contradict_the_evidence_are_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        best = Rank(
            full=True, external_passes=9, internal_passes=9, external_clean=9, internal_clean=9
        )
        forged = replace(deciding(recorder.ledger), after=best, decision=Decision.ACCEPTED)
        assert_illegal(recorder, forged, Law.WRONG_DECISION)

    @pytest.mark.parametrize("field", ["before", "after"])
    def test_each_rank_follows_from_the_evidence_whatever_the_decision(
        self, store: SqliteStore, field: str
    ) -> None:
        recorder = repairing(store)
        honest = deciding(recorder.ledger)
        clean = getattr(honest, field).external_clean
        forged = replace(getattr(honest, field), external_clean=clean + 1)
        assert_illegal(recorder, replace(honest, **{field: forged}), Law.WRONG_DECISION)

    def test_code_deltas_that_omit_a_change_are_refused(self, store: SqliteStore) -> None:
        recorder = improved(store)
        forged = replace(deciding(recorder.ledger), code_deltas=())
        assert_illegal(recorder, forged, Law.MISDECLARED)

    def test_code_that_only_registers_other_names_is_a_change(self, store: SqliteStore) -> None:
        helped = "\n\ndef helper():\n    return 1\n"
        recorder = started(store)
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name) + helped * (name in {S1_1, S2}))
        recorder.assemble()
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.FAILED)
        locate(recorder, AtNodes(nodes=(S1_1, S2)))
        recorder.open_transaction()
        recorder.write_code(S1_1, code(S1_1))
        recorder.write_code(S2, code(S2) + helped)
        assert recorder.ledger.working.owners()["helper"] == S2
        honest = deciding(recorder.ledger)
        changed, renamed = honest.code_deltas
        assert (changed.node, renamed.node) == (S1_1, S2)
        assert renamed.before == renamed.after
        assert_illegal(recorder, replace(honest, code_deltas=(changed,)), Law.MISDECLARED)
        recorder.record(honest)

    def test_an_omitted_regression_is_refused(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 1"))
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.PASSED)
        check_program(recorder, "example-2", Verdict.FAILED)
        check_program(recorder, "loads", Verdict.PASSED)
        honest = deciding(recorder.ledger)
        assert honest.regressions == ("example-2",)
        assert_illegal(recorder, replace(honest, regressions=()), Law.MISDECLARED)

    def test_a_check_that_already_failed_is_no_regression(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 1"))
        recorder.assemble()
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.FAILED)
        check_program(recorder, "loads", Verdict.PASSED)
        honest = deciding(recorder.ledger)
        assert honest.regressions == ("example-2",)
        forged = replace(honest, regressions=(CheckId("example-1"), *honest.regressions))
        assert_illegal(recorder, forged, Law.MISDECLARED)

    def test_code_of_new_and_of_retired_nodes_is_a_change(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        new = NodeId("S1_2")
        delta = GraphDelta(
            added=(node(new, S1),),
            revised=(replace(GRAPH.by_id[S1], dependencies=(new,)),),
            retired=(S1_1,),
            order=(new, S2),
        )
        recorder.record(GraphRevised(delta=delta, reason="another part was needed"))
        recorder.write_code(new, code(new))
        honest = deciding(recorder.ledger)
        assert [(d.node, d.before is None, d.after is None) for d in honest.code_deltas] == [
            (S1_1, False, True),
            (new, True, False),
        ]
        assert_illegal(
            recorder, replace(honest, code_deltas=honest.code_deltas[1:]), Law.MISDECLARED
        )
        recorder.record(honest)

    def test_a_brief_that_did_not_change_is_no_change(self, store: SqliteStore) -> None:
        recorder = failing(store)
        brief = Brief()
        recorder.record(BriefCommitted(brief=brief))
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        honest = deciding(recorder.ledger)
        assert honest.brief is None
        assert_illegal(recorder, replace(honest, brief=brief.digest), Law.MISDECLARED)

    def test_a_brief_with_an_equal_value_in_other_bytes_is_a_change(
        self, store: SqliteStore
    ) -> None:
        def brief(minimum: float) -> Brief:
            return Brief(parsed=Parsed(ranges=(DataRange(variable="x", minimum=minimum),)))

        recorder = failing(store)
        recorder.record(BriefCommitted(brief=brief(0.0)))
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        recorder.record(BriefCommitted(brief=brief(-0.0), reason="another reading"))
        honest = deciding(recorder.ledger)
        assert honest.brief == brief(-0.0).digest
        assert_illegal(recorder, replace(honest, brief=None), Law.MISDECLARED)
        recorder.record(honest)

    def test_a_decision_names_the_candidate_program(self, store: SqliteStore) -> None:
        recorder = improved(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        honest = deciding(recorder.ledger)
        assert honest.program == assembly.program
        assert_illegal(recorder, replace(honest, program=None), Law.MISDECLARED)

    def test_a_candidate_that_was_never_assembled_is_rejected(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 1"))
        assert deciding(recorder.ledger).program is None
        assert recorder.decide() is Decision.REJECTED

    @pytest.mark.parametrize("part", ["description", "code", "evidence", "node"])
    def test_no_decision_follows_if_a_frozen_node_changed_in_any_way(
        self, store: SqliteStore, part: str
    ) -> None:
        """Other laws refuse what leads there, so the ledger is made by hand."""
        ledger = repairing(store).ledger
        working = ledger.working
        redescribed = replace(GRAPH.by_id[S2], hints=("mind the edges",))
        other: dict[str, dict[str, object]] = {
            "description": {"graph": replace(GRAPH, nodes=(*GRAPH.nodes[:-1], redescribed))},
            "code": {
                "code": working.code | {S2: replace(working.code[S2], digest=digest(b"other"))}
            },
            "evidence": {
                "evidence": working.evidence
                | {
                    CheckId("S2.generated"): replace(
                        working.evidence[CheckId("S1_1.generated")], subject=AtNode(node=S2)
                    )
                }
            },
            "node": {"graph": replace(GRAPH, nodes=GRAPH.nodes[:-1], order=(S1_1,))},
        }
        advance(ledger, deciding(ledger), store.blob)
        changed = rework(ledger, **other[part])
        with pytest.raises(IllegalHistory, match="S2 changed although it was frozen") as refused:
            advance(changed, deciding(changed), store.blob)
        assert refused.value.law is Law.FROZEN_CHANGED


class TestRollback:
    @pytest.mark.parametrize(
        "part", ["brief", "graph", "code", "ownership", "assembly", "evidence"]
    )
    def test_a_rollback_must_restore_every_part_of_the_state(
        self, store: SqliteStore, part: str
    ) -> None:
        recorder = rejected(store)
        transaction = recorder.ledger.transaction
        assert transaction is not None
        restored = replace(transaction.snapshot, **{part: digest(b"something else")})
        event = RolledBack(number=1, restored=restored)
        assert_illegal(recorder, event, Law.ROLLBACK_INCOMPLETE)

    def test_a_rejected_candidate_must_be_rolled_back_at_once(self, store: SqliteStore) -> None:
        recorder = rejected(store)
        event = written(recorder, S1_1, code("S1_1", "return 3"))
        assert_illegal(recorder, event, Law.ROLLBACK_INCOMPLETE)

    def test_a_rollback_without_a_rejected_transaction_is_refused(self, store: SqliteStore) -> None:
        recorder = failing(store)
        event = RolledBack(number=1, restored=recorder.ledger.working.digest())
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_a_candidate_is_not_rolled_back_before_it_is_rejected(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        transaction = recorder.ledger.transaction
        assert transaction is not None
        recorder.write_code(S1_1, code("S1_1", "return 3"))
        event = RolledBack(number=transaction.number, restored=transaction.snapshot)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)

    def test_a_rollback_of_another_transaction_is_refused(self, store: SqliteStore) -> None:
        recorder = rejected(store)
        transaction = recorder.ledger.transaction
        assert transaction is not None
        event = RolledBack(number=transaction.number + 1, restored=transaction.snapshot)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)
        recorder.record(replace(event, number=transaction.number))

    def test_the_state_after_a_rollback_equals_the_state_before(self, store: SqliteStore) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        before = recorder.ledger.working
        recorder.record(add_s1_2())
        recorder.write_code(S1_1, code("S1_1", "return 3"))
        check_node(recorder, S1_1, Verdict.PASSED)
        assert recorder.decide() is Decision.REJECTED
        assert recorder.ledger.working == before

    def test_a_rejected_fallback_restores_the_brief_too(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        before = recorder.ledger.working
        recorder.record(BriefCommitted(brief=Brief(), reason="another reading"))
        assert deciding(recorder.ledger).brief == Brief().digest
        assert recorder.decide() is Decision.REJECTED
        assert recorder.ledger.working == before

    def test_a_run_interrupted_before_the_rollback_can_be_resumed(self, store: SqliteStore) -> None:
        rejected(store)
        resumed = Recorder.resume(store, RUN, ticking())
        resumed.record(RunResumed())
        assert resumed.decide() is Decision.REJECTED
        assert resumed.ledger.transaction is None

    def test_a_run_cannot_end_with_a_rejected_program(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 3"))
        candidate = recorder.assemble()
        recorder.decide()
        event = RunFinished(outcome=RunOutcome.FAILED, program=candidate)
        assert_illegal(recorder, event, Law.UNEARNED_OUTCOME)


class TestRegressions:
    """Illegal histories that an earlier version accepted."""

    def test_every_check_runs_on_the_program_before_a_transaction_opens(
        self, store: SqliteStore
    ) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        plan_check(recorder, "new")
        recorder.decide()
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        assert_illegal(recorder, event, Law.WRONG_DECISION)
        check_program(recorder, "new", Verdict.PASSED)
        recorder.open_transaction()

    def test_a_diagnosis_does_not_outlive_its_evidence(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        event = opening(recorder.ledger, TransactionKind.BOUNDED)
        check_node(recorder, S1_1, Verdict.PASSED)
        assert_illegal(recorder, event, Law.UNSUPPORTED_DIAGNOSIS)

    def test_a_fallback_needs_a_failure_that_still_stands(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.FAILED)
        recorder.record(Located(diagnosis=Abstained(reason="no idea", evidence=())))
        event = opening(recorder.ledger, TransactionKind.FALLBACK)
        for check in ("example-1", "example-2"):
            check_program(recorder, check, Verdict.PASSED)
        assert_illegal(recorder, event, Law.UNSUPPORTED_DIAGNOSIS)
        check_program(recorder, "example-2", Verdict.FAILED)
        recorder.open_transaction(TransactionKind.FALLBACK)

    def test_a_diagnosis_cannot_rest_on_a_passed_check(self, store: SqliteStore) -> None:
        recorder = failing(store)
        passed = recorder.ledger.working.evidence[CheckId("example-2")].seq
        assert_illegal(recorder, located_at(recorder, S2, passed), Law.UNSUPPORTED_DIAGNOSIS)


class TestObservations:
    """An observation about a failing program says nothing about the one that replaces it."""

    def observed(self, store: SqliteStore) -> Recorder:
        """A failing run in which something was observed about S1_1 and S2."""
        recorder = failing(store)
        observe_node(recorder, S1_1, Verdict.FAILED)
        observe_node(recorder, S2, Verdict.FAILED)
        return recorder

    def standing(self, recorder: Recorder) -> set[CheckId]:
        return {c for c, s in recorder.ledger.working.evidence.items() if not s.kind.judges}

    def test_no_diagnosis_rests_on_observations_alone(self, store: SqliteStore) -> None:
        recorder = self.observed(store)
        seen = recorder.ledger.working.evidence[CheckId("S2.watched")].seq
        assert_illegal(recorder, located_at(recorder, S2, seen), Law.UNSUPPORTED_DIAGNOSIS)
        recorder.record(located_at(recorder, S2, seen, *standing_failures(recorder)))

    def test_no_diagnosis_rests_on_inconclusive_checks_alone(self, store: SqliteStore) -> None:
        recorder = failing(store)
        unknown = check_node(recorder, S2, Verdict.NOT_RUN)
        assert_illegal(recorder, located_at(recorder, S2, unknown), Law.UNSUPPORTED_DIAGNOSIS)
        recorder.record(located_at(recorder, S2, unknown, *standing_failures(recorder)))

    def test_before_format_3_an_observation_was_a_failure(self, store: SqliteStore) -> None:
        recorder = failing(store)
        observed = observe_node(recorder, S2, Verdict.FAILED)
        raw = take(store, RUN)
        start, *events = raw.events()
        assert isinstance(start, RunStarted)
        diagnosis = located_at(recorder, S2, observed)
        older = forge(raw, [replace(start, format=2), *events, diagnosis])
        assert older.verify().findings == ()

    def test_they_fall_when_a_repair_is_accepted(self, store: SqliteStore) -> None:
        recorder = self.observed(store)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        kept = self.standing(recorder)
        assert accept_repair(recorder) is Decision.ACCEPTED
        assert kept == {"S1_1.watched", "S2.watched"}
        assert self.standing(recorder) == set()
        assert CheckId("example-1") in recorder.ledger.working.evidence

    def test_so_does_an_opinion_about_the_failing_case(self, store: SqliteStore) -> None:
        recorder = failing(store)
        late = ran(S2, recorder.ledger.working.code[S2].digest).evidence
        review = replace(
            late,
            check=CheckId("S2.review"),
            kind=CheckKind.REVIEW,
            verdict=Verdict.FAILED,
            exit_code=None,
        )
        recorder.record(CheckRan(evidence=review))
        assert CheckId("S2.review") in open_doubts(recorder.ledger)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        assert accept_repair(recorder) is Decision.ACCEPTED
        assert open_doubts(recorder.ledger) == ()

    def test_they_stand_again_when_a_repair_is_rolled_back(self, store: SqliteStore) -> None:
        recorder = self.observed(store)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        recorder.write_code(S1_1, code("S1_1", "return 0"))
        assert recorder.decide() is Decision.REJECTED
        assert self.standing(recorder) == {"S1_1.watched", "S2.watched"}

    def test_before_format_3_they_stood_on(self, store: SqliteStore) -> None:
        recorder = self.observed(store)
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        assert accept_repair(recorder) is Decision.ACCEPTED
        raw = take(store, RUN)
        start, *events = raw.events()
        assert isinstance(start, RunStarted)
        older = forge(raw, [replace(start, format=2), *events])
        assert older.verify().findings == ()
        working = fold(older.bodies, older.blob).working
        assert CheckId("S2.watched") in working.evidence
