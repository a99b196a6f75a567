"""Appendix E's log: one case a diagnosis, and denominators that add up."""

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.repair import TransactionKind
from auditcoder.domain.trace import fold
from auditcoder.domain.values import Digest
from auditcoder.exports.record import FIELDS, responsibility_record
from auditcoder.exports.repairs import repair_log
from auditcoder.lifecycle.recorder import Recorder
from tests.domain.test_law import add_s1_2, exception, improved, retire_s1_1
from tests.support.worlds import (
    RUN,
    S1_1,
    S2,
    check_program,
    code,
    failing,
    locate,
    repairing,
)


@pytest.fixture
def eventful(store: SqliteStore) -> Recorder:
    """Accepted, rejected, a fallback, and an abstention that nothing followed."""
    from auditcoder.domain.places import AtNode

    recorder = improved(store)
    recorder.decide("it helps")
    check_program(recorder, "given-1", Verdict.TIMEOUT)
    locate(recorder, AtNode(node=S2))
    recorder.open_transaction()
    recorder.write_code(S2, code("S2", "return 0"))
    recorder.assemble()
    check_program(recorder, "given-1", Verdict.CRASH)
    recorder.decide("it does not help")
    locate(recorder, None)
    recorder.open_transaction(TransactionKind.FALLBACK)
    recorder.decide("nothing was tried")
    locate(recorder, None)
    return recorder


def judged(store: SqliteStore) -> Judgement:
    trace = fold(store.read(RUN), store.blob)
    first, second = trace.history[0].program_before, trace.history[0].program_after
    assert second is not None
    results: dict[Digest, dict[str, bool]] = {
        first: {"h1": True, "h2": True, "h3": False},
        second: {"h1": True, "h2": False, "h3": True},
    }
    return Judgement(run=RUN, head=trace.head.digest, suite="hidden", results=results)


def test_every_diagnosis_is_a_case(eventful: Recorder, store: SqliteStore) -> None:
    log = repair_log(fold(store.read(RUN), store.blob), store.blob)
    assert [c["path"] for c in log["cases"]] == ["localised", "localised", "fallback", "abstained"]
    assert [c["failure_type"] for c in log["cases"]] == ["wrong_answer", "timeout"] + [
        "timeout"
    ] * 2
    assert [c["evidence_type"]["rule"] for c in log["cases"]] == ["R3", "R3", "R4", "R4"]
    assert "repair_region" not in log["cases"][3]


def test_the_denominators(eventful: Recorder, store: SqliteStore) -> None:
    found = repair_log(fold(store.read(RUN), store.blob), store.blob)["denominators"]
    assert found == {
        "repair_cases": 4,
        "localised": 2,
        "abstained": 2,
        "fallbacks": 1,
        "localised_repairs": 2,
        "localised_repairs_judged": 0,
        "localised_repairs_passing": 0,
        "acceptance_decisions": 3,
        "accepted": 1,
        "rolled_back": 2,
        "without_decision": 0,
        "regression_observations": 0,
        "regressions": 0,
        "comparable_rollbacks": 2,
    }


def test_a_rollback_changes_nothing_that_is_kept(eventful: Recorder, store: SqliteStore) -> None:
    log = repair_log(fold(store.read(RUN), store.blob), store.blob)
    accepted, rejected, fallback, _ = log["cases"]
    assert accepted["CCR_LOC"] > 0
    assert rejected["CCR_LOC"] == 0.0
    assert rejected["snapshots"]["final_code"] == rejected["snapshots"]["initial_code"]
    assert rejected["rollback"] == "restored"
    assert fallback["CCR_LOC"] is fallback["RRS_nodes"] is None, "outside the guarantee"


def test_without_a_judge_success_is_unknown(eventful: Recorder, store: SqliteStore) -> None:
    case = repair_log(fold(store.read(RUN), store.blob), store.blob)["cases"][0]
    assert case["repair_success"] is case["regression_rate"] is None


def test_with_a_judge_it_is_known(eventful: Recorder, store: SqliteStore) -> None:
    log = repair_log(fold(store.read(RUN), store.blob), store.blob, judged(store))
    assert log["judged_by"] == "hidden"
    case = log["cases"][0]
    assert case["repair_success"] is False
    assert case["regression_rate"] == 1 / 2
    found = log["denominators"]
    assert found["localised_repairs_judged"] == 2
    # the second repair was rolled back, so its final program is the first one's
    assert (found["regressions"], found["regression_observations"]) == (1, 4)


def test_an_open_transaction_has_no_decision(store: SqliteStore) -> None:
    repairing(store)
    log = repair_log(fold(store.read(RUN), store.blob), store.blob)
    assert log["cases"][0]["acceptance"]["decision"] is None
    assert log["denominators"]["without_decision"] == 1


def test_the_record_keeps_exceptions_history_and_versions(store: SqliteStore) -> None:
    recorder = repairing(store)
    recorder.record(exception(S1_1, S2))
    recorder.write_code(S2, code("S2", "return 0"), cause=S1_1)
    recorder.decide()
    trace = fold(store.read(RUN), store.blob)
    record = responsibility_record(trace, S2, store.blob)
    assert tuple(record) == FIELDS
    assert record["integration_exceptions"][0]["rationale"] == "the shape must change"
    assert record["repair_history"][0]["rollback"] == "restored"
    assert [v["transaction"] for v in record["owned_code"]["versions"]] == [None, 1]
    assert record["owned_code"]["source"] == code("S2")


def test_a_node_without_inputs_records_that_none_were_declared(store: SqliteStore) -> None:
    failing(store)
    trace = fold(store.read(RUN), store.blob)
    root = responsibility_record(trace, trace.working.graph.root, store.blob)  # type: ignore[union-attr]
    assert root["provenance"] == "none declared"


def test_rolled_back_nodes_are_retired_and_retired_ones_come_back(store: SqliteStore) -> None:
    from auditcoder.domain.places import AtBranch
    from tests.support.worlds import S1

    recorder = repairing(store, AtBranch(root=S1))
    recorder.record(add_s1_2())
    recorder.decide()
    locate(recorder, AtBranch(root=S1))
    recorder.open_transaction()
    recorder.record(retire_s1_1())
    recorder.decide()
    trace = fold(store.read(RUN), store.blob)
    assert set(trace.retired) == {"S1_2"}
    assert trace.nodes[S1].dependencies == (S1_1,)
