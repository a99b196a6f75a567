"""The repair log of appendix E: one case per diagnosis, and denominators that add up."""

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.repair import TransactionKind
from auditcoder.domain.targets import AtNode
from auditcoder.domain.trace import fold
from auditcoder.domain.values import Digest
from auditcoder.exports.repair_log import repair_log
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import improved
from tests.support.record_builders import (
    RUN,
    S2,
    check_program,
    code,
    locate,
    repairing,
)


@pytest.fixture
def eventful(store: SqliteStore) -> Recorder:
    """Record an accepted and a rejected repair, a fallback, and an abstention at the end."""
    recorder = improved(store)
    recorder.decide("it helps")
    check_program(recorder, "example-1", Verdict.TIMEOUT)
    locate(recorder, AtNode(node=S2))
    recorder.open_transaction()
    recorder.write_code(S2, code("S2", "return 0"))
    recorder.assemble()
    check_program(recorder, "example-1", Verdict.CRASH)
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


def test_the_denominators_count_cases_and_decisions(eventful: Recorder, store: SqliteStore) -> None:
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


def test_a_rolled_back_repair_reports_no_change(eventful: Recorder, store: SqliteStore) -> None:
    log = repair_log(fold(store.read(RUN), store.blob), store.blob)
    accepted, rejected, fallback, _ = log["cases"]
    assert accepted["CCR_LOC"] > 0
    assert rejected["CCR_LOC"] == 0.0
    assert rejected["snapshots"]["final_code"] == rejected["snapshots"]["initial_code"]
    assert rejected["rollback"] == "restored"
    assert fallback["CCR_LOC"] is fallback["RRS_nodes"] is None, "outside the guarantee"


def test_success_is_unknown_without_a_judgement(eventful: Recorder, store: SqliteStore) -> None:
    case = repair_log(fold(store.read(RUN), store.blob), store.blob)["cases"][0]
    assert case["repair_success"] is case["regression_rate"] is None


def test_success_is_known_with_a_judgement(eventful: Recorder, store: SqliteStore) -> None:
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
