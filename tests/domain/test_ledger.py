"""The ledger: ownership, digests and frozen nodes of the state that the laws judge."""

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.ledger import Ledger, WorkingState, change, rework
from auditcoder.domain.values import CheckId
from tests.support.record_builders import S1, S1_1, S2, built, check_node, code, failing, repairing


def test_every_unit_has_one_owner(store: SqliteStore) -> None:
    owners = built(store).ledger.working.owners()
    assert owners == {"f_S1_1": S1_1, "f_S2": S2, "f_S1": S1, "solve": ROOT}


def test_the_digest_of_several_codes_does_not_depend_on_their_order(store: SqliteStore) -> None:
    working = built(store).ledger.working
    assert working.codes_of([S1, S2]) == working.codes_of([S2, S1])
    assert working.codes_of([S1, S2]) != working.codes_of([S1])


def test_new_code_changes_the_parts_of_the_state_that_hold_it(store: SqliteStore) -> None:
    recorder = built(store)
    before = recorder.ledger.working.digest()
    recorder.write_code(S2, code(S2, "return 0"))
    after = recorder.ledger.working.digest()
    assert after.code != before.code
    assert (after.graph, after.brief, after.ownership) == (
        before.graph,
        before.brief,
        before.ownership,
    )


def test_equal_states_have_equal_digests(store: SqliteStore) -> None:
    recorder = built(store)
    before = recorder.ledger.working.digest()
    recorder.write_code(S2, code(S2, "return 0"))
    recorder.write_code(S2, code(S2))
    assert recorder.ledger.working.digest().ownership == before.ownership
    assert WorkingState().digest() == WorkingState().digest()


def test_every_node_outside_the_region_is_frozen(store: SqliteStore) -> None:
    working = built(store).ledger.working
    assert [f.node for f in working.freeze(frozenset({S1, S1_1}))] == [ROOT, S2]
    assert working.freeze(working.graph.ids if working.graph else frozenset()) == ()


def test_a_frozen_node_binds_its_own_evidence_only(store: SqliteStore) -> None:
    recorder = built(store)
    region = frozenset({ROOT, S1})
    before = {f.node: f for f in recorder.ledger.working.freeze(region)}
    check_node(recorder, S2, Verdict.PASSED)
    after = {f.node: f for f in recorder.ledger.working.freeze(region)}
    assert after[S1_1] == before[S1_1]
    assert after[S2].evidence != before[S2].evidence
    assert after[S2].code == before[S2].code


def test_the_rank_counts_checks_of_the_program_only(store: SqliteStore) -> None:
    ledger = failing(store).ledger
    rank = ledger.working.rank(ledger.program_checks())
    assert not rank.full
    assert (rank.external_passes, rank.internal_passes) == (1, 1)


def test_the_program_checks_leave_out_those_of_nodes(store: SqliteStore) -> None:
    assert failing(store).ledger.program_checks() == {
        CheckId("example-1"): Trust.GIVEN,
        CheckId("example-2"): Trust.GIVEN,
        CheckId("loads"): Trust.DERIVED,
    }


def test_a_rollback_restores_the_snapshot(store: SqliteStore) -> None:
    recorder = repairing(store)
    transaction = recorder.ledger.transaction
    assert transaction is not None
    recorder.write_code(S1_1, code(S1_1, "return 3"))
    assert recorder.ledger.working.digest() != transaction.snapshot
    recorder.decide()
    assert recorder.ledger.working.digest() == transaction.snapshot
    assert recorder.ledger.transaction is None


def test_a_change_leaves_the_ledger_before_it_alone() -> None:
    ledger = Ledger()
    changed = rework(change(ledger, seq=3), assembly=None)
    assert (ledger.seq, changed.seq) == (0, 3)
    assert changed.working == ledger.working


def test_a_graph_that_was_not_committed_cannot_be_read() -> None:
    with pytest.raises(AssertionError):
        _ = Ledger().graph
