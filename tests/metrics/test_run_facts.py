"""Run facts: what is counted in one record, and what stays unknown."""

from collections.abc import Iterator

import pytest
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import Manifest
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.values import NO_DIGEST, RunId
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.cost_metrics import add_up, bill
from auditcoder.metrics.run_facts import RunFacts, collect_facts
from auditcoder.metrics.trace_metrics import Ratio
from tests.support.draft_runs import (
    PROGRAM,
    READS_ALL,
    SUMS,
    class_run,
    function_run,
    program_run,
)
from tests.support.histories import improved, rejected, traced
from tests.support.record_builders import RUN, TASK, failing, locate, repairing, ticking
from tests.support.scripted_runs import FinishedRun, python, run, sandboxed


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def facts(store: SqliteStore, judgement: Judgement | None = None) -> RunFacts:
    """Return the facts about the run in `store`."""
    return collect_facts(traced(store), store.blob, intact=True, judgement=judgement)


def test_a_run_that_only_started_has_no_counts(store: SqliteStore) -> None:
    Recorder.start(store, RUN, TASK, ticking())
    found = facts(store)
    assert (found.nodes, found.graph_valid, found.outcome, found.repairs) == (0, None, None, ())
    assert not found.diagnosed


@pytest.mark.parametrize(
    ("source", "task", "suite"),
    [("apps/3103", "apps/3103", "apps"), ("loose", "loose", ""), ("", TASK.title, "")],
)
def test_the_source_of_a_task_names_its_suite(
    store: SqliteStore, source: str, task: str, suite: str
) -> None:
    given = replace(TASK, source=source)
    Recorder.start(store, RUN, given, ticking(), Manifest(method="auditcoder"))
    found = facts(store)
    assert (found.method, found.task, found.suite) == ("auditcoder", task, suite)


def test_an_accepted_repair_has_all_its_facts(store: SqliteStore) -> None:
    improved(store).decide()
    (repair,) = facts(store).repairs
    assert (repair.number, repair.kind) == (1, TransactionKind.BOUNDED)
    assert repair.selected == repair.region == Ratio(part=1, whole=4)
    assert repair.decision is repair.expected is Decision.ACCEPTED
    assert (repair.restored, repair.frozen_intact) == (None, True)
    assert repair.changed is not None
    assert repair.changed.part > 0


def test_a_rollback_keeps_the_program_before(store: SqliteStore) -> None:
    rejected(store).decide()
    (repair,) = facts(store).repairs
    assert (repair.decision, repair.restored) == (Decision.REJECTED, True)
    assert repair.changed is not None
    assert repair.changed.part == 0


def test_an_open_transaction_is_undecided(store: SqliteStore) -> None:
    repairing(store)
    (repair,) = facts(store).repairs
    assert (repair.decision, repair.expected, repair.changed, repair.frozen_intact) == (None,) * 4


def test_a_fallback_has_no_boundary(store: SqliteStore) -> None:
    recorder = failing(store)
    locate(recorder, None)
    recorder.open_transaction(TransactionKind.FALLBACK)
    recorder.decide()
    found = facts(store)
    (repair,) = found.repairs
    assert (repair.kind, repair.boundary, repair.frozen_intact) == (
        TransactionKind.FALLBACK,
        None,
        None,
    )
    assert found.diagnosed


def test_a_judgement_tells_success_and_regressions(store: SqliteStore) -> None:
    improved(store).decide()
    trace = traced(store)
    (transaction,) = trace.history
    assert transaction.program_after is not None
    results = {
        transaction.program_before: {"1": True, "2": False},
        transaction.program_after: {"1": False, "2": True},
    }
    judgement = Judgement(run=RUN, head=trace.head.digest, suite="hidden", results=results)
    found = facts(store, judgement)
    (repair,) = found.repairs
    assert found.judged
    assert (repair.passes, repair.regressed) == (False, Ratio(part=1, whole=1))


def test_without_a_judgement_success_is_unknown(store: SqliteStore) -> None:
    improved(store).decide()
    found = facts(store)
    (repair,) = found.repairs
    assert (found.judged, repair.passes, repair.regressed) == (False, None, None)


@pytest.mark.parametrize("wrong", ["run", "head"])
def test_a_judgement_of_another_record_is_refused(store: SqliteStore, wrong: str) -> None:
    failing(store)
    head = traced(store).head.digest
    judgement = Judgement(
        run=RunId("another") if wrong == "run" else RUN,
        head=NO_DIGEST if wrong == "head" else head,
        suite="hidden",
        results={},
    )
    with pytest.raises(RecordUnreadable, match="the judgement is about"):
        facts(store, judgement)


@pytest.mark.parametrize("replays", [True, False, None])
def test_verification_and_replay_are_reported_by_the_caller(
    store: SqliteStore, replays: bool | None
) -> None:
    failing(store)
    found = collect_facts(traced(store), store.blob, intact=False, replays=replays)
    assert (found.intact, found.replays) == (False, replays)


class TestDrafts:
    def facts(self, finished: FinishedRun) -> RunFacts:
        return collect_facts(finished.solution.trace, finished.raw.blob, intact=True)

    def test_requested_drafts_and_variants_are_counted(self, sandbox: Sandbox) -> None:
        counted = [self.facts(make(sandbox)) for make in (function_run, class_run, program_run)]
        assert [(found.drafts, found.variants) for found in counted] == [(4, 3), (2, 4), (2, 2)]
        assert [found.coverage.rate for found in counted] == [1.0, 1.0, 1.0]
        assert [found.signatures.whole for found in counted] == [1, 3, 0]
        assert counted[2].functionless_roots == 1

    def test_without_planned_drafts_their_number_is_unknown(self, store: SqliteStore) -> None:
        failing(store)
        found = facts(store)
        assert (found.drafts, found.variants) == (None, None)

    def test_a_method_that_plans_nothing_is_not_covered(self, sandbox: Sandbox) -> None:
        said = {"draft": python(SUMS), "methods/again": python(READS_ALL)}
        found = self.facts(run(sandbox, PROGRAM, said, method="direct-retry"))
        assert (found.coverage, found.first_coverage) == (Ratio(part=0, whole=1),) * 2
        assert found.signatures == Ratio(part=0, whole=1)

    def test_drafts_are_billed_as_generation(self, sandbox: Sandbox) -> None:
        cost = add_up([bill(function_run(sandbox).solution.trace)])
        assert cost.families["generation"] == cost.total == cost.roles["drafter"]
        assert cost.total.calls == 5
