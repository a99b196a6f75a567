"""Responsibility records: twelve fields for each node, all taken from the trace."""

import json

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.targets import AtBranch
from auditcoder.domain.trace import fold
from auditcoder.exports.responsibility_record import (
    FIELDS,
    responsibility_record,
    responsibility_records,
)
from auditcoder.lifecycle.recorder import Recorder
from tests.support.histories import add_s1_2, exception, traced
from tests.support.record_builders import (
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    check_node,
    code,
    failing,
    repairing,
    started,
    ticking,
)


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


def test_a_node_without_code_owns_none(store: SqliteStore) -> None:
    started(store)
    record = responsibility_record(traced(store), S2, store.blob)
    assert record["owned_code"] is None
    assert record["agent_type"] == {"kind": "math", "agent": None}
    assert record["interface"]["function_name"] == "f_S2"


def test_evidence_says_whether_it_still_stands(store: SqliteStore) -> None:
    recorder = failing(store)
    check_node(recorder, S1_1, Verdict.PASSED)
    record = responsibility_record(traced(store), S1_1, store.blob)
    evidence = record["validation"]["evidence"]
    assert [(e["verdict"], e["stands"]) for e in evidence] == [("failed", False), ("passed", True)]


def test_the_records_of_a_run_cover_every_node_and_the_retired_ones(store: SqliteStore) -> None:
    recorder = repairing(store, AtBranch(root=S1))
    recorder.record(add_s1_2())
    recorder.decide()
    records = responsibility_records(traced(store), store.blob)
    assert [n["id"] for n in records["nodes"]] == [ROOT, S1, S1_1, S2]
    assert [n["id"] for n in records["retired"]] == ["S1_2"]
    assert records["execution_order"] == [S1_1, S2]
    assert records["head"] == recorder.head.digest
    assert json.loads(json.dumps(records))["run"] == RUN


def test_a_run_without_a_graph_has_no_records(store: SqliteStore) -> None:
    Recorder.start(store, RUN, TASK, ticking())
    records = responsibility_records(traced(store), store.blob)
    assert (records["nodes"], records["retired"], records["execution_order"]) == ([], [], [])
