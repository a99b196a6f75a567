"""Traces: what folding a record's events yields."""

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.repair import Decision, RollbackStatus
from auditcoder.domain.targets import AtBranch
from auditcoder.domain.trace import fold
from tests.support.histories import (
    accept_repair,
    add_s1_2,
    exception,
    improved,
    rejected,
    retire_s1_1,
    traced,
)
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    check_branch,
    check_node,
    check_program,
    code,
    failing,
    locate,
    repairing,
    started,
)
from tests.support.records import forge, take


def test_a_trace_says_what_the_record_began_with(store: SqliteStore) -> None:
    recorder = started(store)
    trace = traced(store)
    assert (trace.run, trace.task, trace.head) == (RUN, TASK, recorder.head)
    assert trace.nodes == GRAPH.by_id
    assert trace.committed[ROOT].seq == 0
    assert trace.committed[S1].seq == 1
    assert (trace.history, trace.finish) == ((), None)


def test_every_version_of_a_nodes_code_is_kept(store: SqliteStore) -> None:
    recorder = repairing(store)
    accept_repair(recorder)
    trace = traced(store)
    assert [v.transaction for v in trace.versions_of(S1_1)] == [None, 1]
    assert len(trace.versions_of(S2)) == 1
    assert [p.transaction for p in trace.programs] == [None, 1]


def test_evidence_is_filed_under_its_node_or_the_root_of_its_branch(store: SqliteStore) -> None:
    recorder = failing(store)
    check_branch(recorder, S1, Verdict.PASSED)
    trace = traced(store)
    assert [w.evidence.check for w in trace.evidence_of(S1_1)] == ["S1_1.generated"]
    assert [w.evidence.check for w in trace.evidence_of(S1)] == ["S1.branch"]
    assert trace.evidence_of(S2) == ()


def test_evidence_stands_until_it_is_replaced(store: SqliteStore) -> None:
    recorder = failing(store)
    check_node(recorder, S1_1, Verdict.PASSED)
    first, second = traced(store).evidence_of(S1_1)
    trace = traced(store)
    assert (trace.stands(first), trace.stands(second)) == (False, True)
    assert (trace.judges(first), trace.judges(second)) == (False, True)


def test_an_accepted_repair_is_a_closed_transaction(store: SqliteStore) -> None:
    improved(store).decide("it helps")
    (repair,) = traced(store).history
    assert (repair.decision, repair.reason) == (Decision.ACCEPTED, "it helps")
    assert repair.region == repair.selected == (S1_1,)
    assert repair.rollback is RollbackStatus.NOT_APPLICABLE
    assert repair.program_after not in {None, repair.program_before}
    assert [e.check for e in repair.global_evidence] == ["example-1", "example-2", "loads"]
    assert traced(store).history_of(S2) == ()


def test_a_rollback_is_open_until_it_is_recorded(store: SqliteStore) -> None:
    recorder = rejected(store)
    assert traced(store).history[0].rollback is RollbackStatus.NOT_APPLICABLE
    recorder.decide()
    (repair,) = traced(store).history
    assert (repair.decision, repair.rollback) == (Decision.REJECTED, RollbackStatus.RESTORED)


def test_an_exception_widens_the_region_of_its_transaction(store: SqliteStore) -> None:
    recorder = repairing(store)
    recorder.record(exception(S1_1, S2))
    trace = traced(store)
    (repair,) = trace.history
    assert (repair.selected, repair.region) == ((S1_1,), (S1_1, S2))
    assert repair.exceptions == (trace.exceptions[0].exception,)


def test_rolled_back_nodes_are_retired_and_retired_ones_come_back(store: SqliteStore) -> None:
    recorder = repairing(store, AtBranch(root=S1))
    recorder.record(add_s1_2())
    recorder.decide()
    locate(recorder, AtBranch(root=S1))
    recorder.open_transaction()
    recorder.record(retire_s1_1())
    recorder.decide()
    trace = traced(store)
    assert set(trace.retired) == {"S1_2"}
    assert trace.nodes[S1].dependencies == (S1_1,)


def test_a_diagnosis_names_the_most_trusted_failure_and_its_transaction(store: SqliteStore) -> None:
    recorder = failing(store)
    check_program(recorder, "loads", Verdict.CRASH)
    locate(recorder, None)
    (diagnosis,) = traced(store).diagnoses
    assert diagnosis.symptom is Verdict.FAILED, "a given check outweighs a derived one"
    assert diagnosis.transaction is None
    locate(recorder, AtBranch(root=S1))
    recorder.open_transaction()
    assert [d.transaction for d in traced(store).diagnoses] == [None, 1]


def test_a_record_without_entries_has_no_trace() -> None:
    with pytest.raises(RecordUnreadable) as refused:
        fold([], lambda _: b"")
    assert refused.value.code == "record.empty"


def test_a_broken_chain_has_no_trace(store: SqliteStore) -> None:
    failing(store)
    raw = take(store, RUN)
    with pytest.raises(RecordUnreadable) as refused:
        fold([*raw.bodies[:2], *raw.bodies[3:]], raw.blob)
    assert refused.value.code == "record.broken"


def test_an_illegal_history_has_no_trace(store: SqliteStore) -> None:
    recorder = failing(store)
    recorder.put(code(S2))
    raw = take(store, RUN)
    events = raw.events()
    forged = forge(raw, [events[0], events[2]])
    with pytest.raises(RecordUnreadable) as refused:
        fold(forged.bodies, forged.blob)
    assert refused.value.code == "record.illegal"
    assert "event 1" in str(refused.value)
