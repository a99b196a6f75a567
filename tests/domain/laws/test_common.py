"""Shared helpers of the laws: what a check covers, and which evidence still stands."""

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.common import (
    IllegalHistory,
    Law,
    committed_graph,
    covered,
    digest_in,
    listed,
    open_doubts,
    open_transaction,
    present,
    refuse,
    still_standing,
)
from auditcoder.domain.ledger import Ledger, WorkingState
from auditcoder.domain.targets import AtBranch, AtNode, AtProgram
from auditcoder.domain.values import CheckId
from tests.support.record_builders import (
    GRAPH,
    S1,
    S1_1,
    S2,
    built,
    check_branch,
    check_node,
    failing,
    observe_node,
    repairing,
)


def test_a_refusal_names_the_law_and_the_event() -> None:
    with pytest.raises(IllegalHistory, match="too late") as refused:
        refuse(Law.OUT_OF_PLACE, Ledger(seq=7), "too late")
    assert (refused.value.law, refused.value.seq) == (Law.OUT_OF_PLACE, 7)


def test_a_missing_graph_or_transaction_is_out_of_place() -> None:
    for required in (committed_graph, open_transaction):
        with pytest.raises(IllegalHistory) as refused:
            required(Ledger())
        assert refused.value.law is Law.OUT_OF_PLACE


def test_a_committed_graph_and_an_open_transaction_are_returned(store: SqliteStore) -> None:
    ledger = repairing(store).ledger
    assert committed_graph(ledger) == GRAPH
    assert open_transaction(ledger).number == 1


def test_a_check_covers_its_node_or_its_branch(store: SqliteStore) -> None:
    working = built(store).ledger.working
    assert covered(working, AtNode(node=S2)) == {S2}
    assert covered(working, AtBranch(root=S1)) == {S1, S1_1}
    assert covered(working, AtBranch(root=NodeId("S9"))) == set()
    assert covered(working, AtProgram()) == set()
    assert covered(WorkingState(), AtBranch(root=S1)) == set()


def test_present_code_is_identified_by_its_digest(store: SqliteStore) -> None:
    working = failing(store).ledger.working
    assert working.assembly is not None
    assert present(working, AtNode(node=S2)) == working.code[S2].digest == digest_in(working, S2)
    assert present(working, AtBranch(root=S1)) == working.codes_of([S1, S1_1])
    assert present(working, AtProgram()) == working.assembly.program


@pytest.mark.parametrize("subject", [AtNode(node=S2), AtBranch(root=S1), AtProgram()])
def test_before_any_code_nothing_is_present(subject: AtNode | AtBranch | AtProgram) -> None:
    assert present(WorkingState(graph=GRAPH), subject) is None


def test_evidence_about_doubtful_nodes_no_longer_stands(store: SqliteStore) -> None:
    recorder = built(store)
    check_node(recorder, S2, Verdict.PASSED)
    check_node(recorder, S1_1, Verdict.PASSED)
    check_branch(recorder, S1, Verdict.PASSED)
    working = recorder.ledger.working
    assert still_standing(working) == working.evidence
    assert set(still_standing(working, frozenset({S1_1}))) == {CheckId("S2.generated")}


def test_open_doubts_are_the_failing_checks_that_were_not_given(store: SqliteStore) -> None:
    recorder = failing(store)
    check_node(recorder, S2, Verdict.CRASH, Trust.DERIVED)
    check_node(recorder, S2, Verdict.PASSED)
    check_branch(recorder, S1, Verdict.TIMEOUT)
    observe_node(recorder, S2, Verdict.FAILED)
    for inconclusive in Verdict:
        if not inconclusive.conclusive:
            check_node(recorder, S1, inconclusive, Trust.GENERATED)
    names = ("S1.branch", "S1_1.generated", "S2.derived")
    assert open_doubts(recorder.ledger) == tuple(map(CheckId, names))


def test_a_list_is_sorted() -> None:
    assert listed([NodeId("S2"), NodeId("S1")]) == "S1, S2"
