"""The audit metrics: constructed records of each kind, the paper's counts, and invariants."""

from itertools import repeat

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import run_state_machine_as_test
from msgspec.json import decode
from msgspec.structs import fields, replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import GraphCommitted, Manifest, RunFinished, RunOutcome
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.domain.task import StdioExample
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.values import NO_DIGEST, Digest, RunId, encode
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.audit_metrics import (
    Audit,
    Average,
    Exclusion,
    Rate,
    Tally,
    summarise,
)
from auditcoder.metrics.cost_metrics import add_up, bill
from auditcoder.metrics.run_facts import RepairFacts, RunFacts, collect_facts
from auditcoder.metrics.trace_metrics import (
    Boundary,
    Localisation,
    Ratio,
    RepairPath,
    failed_at_first,
    recorded_boundary,
    token_use,
)
from tests.support.histories import accept_repair, traced
from tests.support.random_runs import RandomRun
from tests.support.record_builders import (
    GRAPH,
    ROOT_NODE,
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
    locate,
    plan_check,
    repairing,
    started,
    ticking,
)


def counted(store: SqliteStore, judgement: Judgement | None = None) -> RunFacts:
    return collect_facts(traced(store), store.blob, intact=True, judgement=judgement)


def audited(*every: RunFacts) -> Audit:
    return summarise(every)


def left_out(measured: Rate | Average) -> dict[Exclusion, int]:
    return {Exclusion(reason): number for reason, number in measured.excluded.items()}


def share(part: int, whole: int) -> Ratio:
    return Ratio(part=part, whole=whole)


def judged(trace: Trace, **programs: dict[str, bool]) -> Judgement:
    """Return a judgement of the last repair, with hidden-test results `before` and `after` it."""
    repair = trace.history[-1]
    named = {"before": repair.program_before, "after": repair.program_after}
    results = {name: programs[when] for when, name in named.items() if name and when in programs}
    return Judgement(run=trace.run, head=trace.head.digest, suite="hidden", results=results)


class TestOneRun:
    def test_a_run_stopped_before_planning_is_excluded_from_graph_metrics(
        self, store: SqliteStore
    ) -> None:
        Recorder.start(store, RUN, TASK, ticking())
        found = counted(store)
        assert (found.nodes, found.graph_valid, found.outcome) == (0, None, None)
        audit = audited(found)
        assert audit.outcomes == {"unfinished": 1}
        for measured in (
            *(audit.trace_coverage_first, audit.trace_coverage, audit.leaves_first, audit.leaves),
            *(audit.graph_integrity, audit.signature_consistency),
        ):
            assert left_out(measured) == {Exclusion.NO_GRAPH: 1}
        assert left_out(audit.localisation_coverage) == {Exclusion.NO_PROGRAM: 1}

    def test_a_metric_without_data_has_no_value(self, store: SqliteStore) -> None:
        Recorder.start(store, RUN, TASK, ticking())
        for audit in (audited(), audited(counted(store))):
            for field in fields(Audit):
                measured = getattr(audit, field.name)
                if isinstance(measured, Average):
                    assert (measured.number, measured.mean, measured.median) == (0, None, None)
                elif isinstance(measured, Rate) and field.name != "chain_integrity":
                    assert (measured.counted, measured.rate) == (Ratio(), None)

    def test_a_graph_without_leaves_has_no_coverage(self, store: SqliteStore) -> None:
        """The laws forbid this state, so the trace is altered directly."""
        started(store)
        trace = traced(store)
        alone = TaskGraph(nodes=(replace(ROOT_NODE, dependencies=()),), order=())
        bare = replace(trace, working=replace(trace.working, graph=alone), committed={}, nodes={})
        found = collect_facts(bare, store.blob, intact=True)
        assert (found.nodes, found.coverage) == (1, Ratio())
        audit = audited(found)
        assert left_out(audit.trace_coverage) == {Exclusion.NO_LEAVES: 1}
        assert left_out(audit.leaves) == {Exclusion.NO_LEAVES: 1}
        assert audit.graph_integrity.counted == share(1, 1), "it is valid all the same"

    def test_runs_are_counted_by_suite_method_and_outcome(self, store: SqliteStore) -> None:
        task = replace(TASK, source="apps/3103")
        recorder = Recorder.start(store, RUN, task, ticking(), Manifest(method="direct"))
        recorder.record(RunFinished(outcome=RunOutcome.STOPPED, program=None))
        found = counted(store)
        assert (found.suite, found.task, found.method) == ("apps", "apps/3103", "direct")
        audit = audited(found, replace(found, suite="", outcome=None))
        assert audit.suites == {"": 1, "apps": 1}
        assert audit.outcomes == {"stopped": 1, "unfinished": 1}
        assert audit.methods == {"direct": 2}

    def test_a_root_without_a_contract_is_excluded_with_its_reason(
        self, store: SqliteStore
    ) -> None:
        root = replace(ROOT_NODE, contract=None)
        recorder = started(store, replace(GRAPH, nodes=(root, *GRAPH.nodes[1:])))
        assert counted(store).functionless_roots == 0, "without code it implements nothing"
        recorder.write_code(ROOT, "print(f_S1(int(input())))\n")
        recorder.write_code(S2, code(S2))
        audit = audited(counted(store))
        assert audit.signature_consistency.counted == share(1, 2)
        assert left_out(audit.signature_consistency) == {Exclusion.FUNCTIONLESS_ROOT: 1}

    def test_drafts_are_averaged_over_the_runs_that_planned_any(self, store: SqliteStore) -> None:
        started(store)
        found = counted(store)
        runs = [replace(found, drafts=n, variants=n + 2) for n in (0, 1, 8)]
        audit = audited(found, *runs)
        assert (audit.drafts.number, audit.drafts.mean, audit.drafts.median) == (3, 3.0, 1.0)
        assert (audit.variants.mean, audit.variants.median) == (5.0, 3.0)
        assert left_out(audit.drafts) == left_out(audit.variants) == {Exclusion.NO_DRAFTS: 1}

    def test_a_run_that_passes_at_first_is_excluded_from_localisation_coverage(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        recorder.assemble()
        assert counted(store).failed_at_first is None, "nothing was run yet"
        check_program(recorder, "example-1", Verdict.PASSED)
        check_program(recorder, "example-2", Verdict.PASSED)
        plan_check(recorder, "generated-1")
        check_program(recorder, "generated-1", Verdict.FAILED)
        found = counted(store)
        assert found.failed_at_first is False
        assert left_out(audited(found).localisation_coverage) == {Exclusion.PASSED_AT_FIRST: 1}

    def test_a_failure_without_a_diagnosis_is_excluded_from_localisation_coverage(
        self, store: SqliteStore
    ) -> None:
        failing(store)
        found = counted(store)
        assert found.failed_at_first is True
        assert left_out(audited(found).localisation_coverage) == {Exclusion.NOT_DIAGNOSED: 1}

    def test_an_accepted_repair_has_all_its_metrics(self, store: SqliteStore) -> None:
        assert accept_repair(repairing(store)) is Decision.ACCEPTED
        found = counted(store)
        boundary = Boundary(rule="R3", level=Level.LOW, target="node")
        assert found.repairs == (
            RepairFacts(
                number=1,
                kind=TransactionKind.BOUNDED,
                boundary=boundary,
                selected=share(1, 4),
                region=share(1, 4),
                changed=share(1, 8),
                decision=Decision.ACCEPTED,
                expected=Decision.ACCEPTED,
                frozen_intact=True,
            ),
        )
        assert found.boundary == boundary
        audit = audited(found)
        assert audit.localisation_coverage.counted == share(1, 1)
        assert audit.localised == {"R3": {"low": 1}}
        assert audit.answers.targets == {"node": 1}
        assert (audit.region_size.mean, audit.changed_code.mean) == (1 / 4, 1 / 8)
        assert audit.decision_compliance.counted == share(1, 1)
        assert audit.rollback_integrity == Rate(), "nothing was rejected"
        assert audit.frozen_intact.counted == share(1, 1)
        assert (audit.leaves_first.counted, audit.leaves.counted) == (share(1, 2), share(0, 2))

    def test_a_rolled_back_repair_persists_no_change(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code(S1_1, "return 3"))
        recorder.assemble()
        assert recorder.decide() is Decision.REJECTED
        (repair,) = counted(store).repairs
        assert (repair.decision, repair.expected) == (Decision.REJECTED, Decision.REJECTED)
        assert repair.changed == share(0, 8)
        assert repair.restored is True
        audit = audited(counted(store))
        assert audit.changed_code.mean == 0.0
        assert audit.rollback_integrity.counted == share(1, 1)

    def test_an_undecided_repair_counts_only_in_coverage_and_region_size(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        recorder.write_code(S1_1, code(S1_1, "return 3"))
        recorder.assemble()
        trace = traced(store)
        found = counted(store, judged(trace, before={"a": True}, after={"a": False}))
        audit = audited(found)
        assert audit.localisation_coverage.counted == share(1, 1)
        assert audit.region_size.mean == 2 / 4, "its region is on record"
        for measured in (
            *(audit.localised_repair_success, audit.changed_code, audit.regression),
            *(audit.decision_compliance, audit.frozen_intact),
        ):
            assert left_out(measured) == {Exclusion.UNDECIDED: 1}
        assert audit.rollback_integrity == Rate()

    def test_a_rejection_without_a_rollback_is_excluded_from_rollback_integrity(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code(S1_1, "return 3"))
        recorder.decide()
        whole = list(store.read(RUN))
        cut = fold(whole[:-1], store.blob)
        audit = audited(collect_facts(cut, store.blob, intact=True))
        assert audit.decision_compliance.counted == share(1, 1)
        assert audit.rollback_integrity.rate is None
        assert left_out(audit.rollback_integrity) == {Exclusion.NOT_ROLLED_BACK: 1}

    def test_an_abstention_does_not_count_as_localised(self, store: SqliteStore) -> None:
        locate(failing(store), None)
        audit = audited(counted(store))
        assert audit.localisation_coverage.counted == share(0, 1)
        assert audit.answers == Localisation(localised={}, abstained=1)
        assert audit.transactions == {"bounded": 0, "fallback": 0}
        assert audit.localised_repair_success == Rate(), "it is no localised run"

    def test_a_fallback_counts_in_decision_and_rollback_metrics_only(
        self, store: SqliteStore
    ) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        recorder.decide()
        audit = audited(counted(store))
        assert audit.transactions == {"bounded": 0, "fallback": 1}
        assert audit.localisation_coverage.counted == share(0, 1)
        assert audit.decision_compliance.counted == share(1, 1)
        assert audit.rollback_integrity.counted == share(1, 1)
        for measured in (
            *(audit.region_size, audit.selected_size, audit.changed_code),
            *(audit.regression, audit.frozen_intact),
        ):
            assert left_out(measured) == {Exclusion.FALLBACK: 1}

    def test_a_withdrawn_diagnosis_does_not_count_as_localised(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        assert audited(counted(store)).localisation_coverage.counted == share(1, 1)
        assert left_out(audited(counted(store)).localised_repair_success) == {
            Exclusion.NO_REPAIR: 1
        }
        locate(recorder, None)
        audit = audited(counted(store))
        assert audit.localisation_coverage.counted == share(0, 1)
        assert audit.answers.localised == {"R3": {"low": 1}}, "it is an answer nevertheless"

    def test_a_widened_target_counts_as_its_final_kind(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        found = counted(store).boundary
        assert found is not None
        assert found.target == "branch"

    def test_a_repaired_diagnosis_counts_even_if_the_locator_abstained_later(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        recorder.decide()
        locate(recorder, None)
        audit = audited(counted(store))
        assert audit.localisation_coverage.counted == share(1, 1)
        assert audit.answers.abstained == 1

    def test_a_diagnosis_of_a_passing_program_is_not_a_repair_case(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        check_node(recorder, S1_1, Verdict.FAILED)
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.PASSED)
        check_program(recorder, "example-2", Verdict.PASSED)
        locate(recorder, AtNode(node=S1_1))
        audit = audited(counted(store))
        assert left_out(audit.localisation_coverage) == {Exclusion.PASSED_AT_FIRST: 1}

    def test_examples_that_did_not_run_do_not_count_as_passed(self, store: SqliteStore) -> None:
        task = replace(TASK, examples=(StdioExample(input="1", output="2"),))
        recorder = Recorder.start(store, RUN, task, ticking())
        recorder.record(GraphCommitted(graph=GRAPH))
        for name in (S1_1, S2, S1, ROOT):
            recorder.write_code(name, code(name))
        recorder.assemble()
        check_program(recorder, "loads", Verdict.PASSED)
        assert failed_at_first(traced(store)) is None, "the deciding example did not run"
        check_program(recorder, "loads", Verdict.FAILED)
        locate(recorder, None)
        assert failed_at_first(traced(store)) is True


class TestJudgedRuns:
    def test_without_a_judgement_success_and_regression_are_unknown(
        self, store: SqliteStore
    ) -> None:
        accept_repair(repairing(store))
        audit = audited(counted(store))
        assert audit.judged == 0
        for measured in (audit.localised_repair_success, audit.regression):
            assert measured.rate is None
            assert left_out(measured) == {Exclusion.NOT_JUDGED: 1}

    def test_a_repair_that_passes_every_hidden_test_succeeds(self, store: SqliteStore) -> None:
        accept_repair(repairing(store))
        judgement = judged(
            traced(store), before={"a": True, "b": False}, after={"a": True, "b": True}
        )
        audit = audited(counted(store, judgement))
        assert audit.judged == 1
        assert audit.localised_repair_success.counted == share(1, 1)
        assert audit.regression.counted == share(0, 1), "one test passed before, and still does"

    def test_a_repair_that_breaks_a_hidden_test_counts_as_a_regression(
        self, store: SqliteStore
    ) -> None:
        accept_repair(repairing(store))
        before = {"a": True, "b": True, "c": False}
        judgement = judged(traced(store), before=before, after={"a": False, "b": True, "c": True})
        audit = audited(counted(store, judgement))
        assert audit.localised_repair_success.counted == share(0, 1)
        assert audit.regression.counted == share(1, 2)

    def test_regression_is_unknown_without_a_judgement_of_the_earlier_program(
        self, store: SqliteStore
    ) -> None:
        accept_repair(repairing(store))
        audit = audited(counted(store, judged(traced(store), after={"a": True})))
        assert audit.localised_repair_success.counted == share(1, 1)
        assert left_out(audit.regression) == {Exclusion.NOT_JUDGED: 1}

    def test_a_rolled_back_repair_is_judged_by_the_restored_program(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code(S1_1, "return 3"))
        recorder.assemble()
        recorder.decide()
        judgement = judged(
            traced(store), before={"a": True, "b": False}, after={"a": False, "b": True}
        )
        audit = audited(counted(store, judgement))
        assert audit.localised_repair_success.counted == share(0, 1)
        assert audit.regression.counted == share(0, 1)

    def test_a_run_counts_by_its_last_localised_repair(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.decide()
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        assert accept_repair(recorder) is Decision.ACCEPTED
        check_program(recorder, "example-1", Verdict.CRASH)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        recorder.decide()
        trace = traced(store)
        second = trace.history[1]
        assert second.program_after is not None
        results = {second.program_before: {"a": False}, second.program_after: {"a": True}}
        judgement = Judgement(run=RUN, head=trace.head.digest, suite="hidden", results=results)
        audit = audited(counted(store, judgement))
        assert audit.localised_repair_success.counted == share(1, 1), "the first one failed"
        assert audit.region_size.number == 2, "each transaction counts"
        assert audit.changed_code.median == (0 / 8 + 1 / 8) / 2
        assert audit.decision_compliance.counted == share(3, 3)
        assert audit.transactions == {"bounded": 2, "fallback": 1}

    @pytest.mark.parametrize("other", [{"run": RunId("another")}, {"head": NO_DIGEST}])
    def test_a_judgement_of_another_record_is_refused(
        self, store: SqliteStore, other: dict[str, Digest | RunId]
    ) -> None:
        accept_repair(repairing(store))
        judgement = replace(judged(traced(store), after={"a": True}), **other)
        with pytest.raises(RecordUnreadable) as refused:
            counted(store, judgement)
        assert refused.value.code == "judgement.mismatch"


def test_verification_and_replay_results_are_counted(store: SqliteStore) -> None:
    started(store)
    trace = traced(store)
    good = collect_facts(trace, store.blob, intact=True, replays=True)
    bad = collect_facts(trace, store.blob, intact=False, replays=False)
    audit = audited(good, bad, replace(good, replays=None))
    assert audit.chain_integrity.counted == share(2, 3)
    assert audit.replay_fidelity.counted == share(1, 2)
    assert left_out(audit.replay_fidelity) == {Exclusion.NOT_REPLAYED: 1}


BARE = RunFacts(run=RUN, head=NO_DIGEST, intact=True)
HIGH = Boundary(rule="R1", level=Level.HIGH, target="node")
LOW = Boundary(rule="R3", level=Level.LOW, target="branch")


def test_the_papers_counts_give_its_published_ratios() -> None:
    """Table 2. Where only a mean is published, fractions are chosen that give it."""
    regions = [*repeat(share(1, 2), 21), *repeat(share(1, 3), 5)]
    deltas = [*repeat(share(0, 31), 7), *repeat(share(21, 31), 14), *repeat(share(83, 99), 5)]
    decisions: list[Decision | None] = [
        *repeat(Decision.REJECTED, 7),
        *repeat(Decision.ACCEPTED, 14),
        *repeat(None, 5),
    ]
    observed = [share(2, 4), share(0, 27), *repeat(share(0, 1), 24)]
    localised = [
        RepairFacts(
            number=1,
            kind=TransactionKind.BOUNDED,
            boundary=HIGH if n < 6 else LOW,
            selected=regions[n],
            region=regions[n],
            changed=deltas[n],
            decision=decisions[n],
            expected=decisions[n],
            restored=True if decisions[n] is Decision.REJECTED else None,
            frozen_intact=None if decisions[n] is None else True,
            regressed=observed[n],
            passes=n >= 9,
        )
        for n in range(26)
    ]
    fallbacks = [
        RepairFacts(
            number=1,
            kind=TransactionKind.FALLBACK,
            selected=share(4, 4),
            region=share(4, 4),
            decision=Decision.ACCEPTED if n < 20 else Decision.REJECTED,
            expected=Decision.ACCEPTED if n < 20 else Decision.REJECTED,
            restored=None if n < 20 else True,
        )
        for n in range(34)
    ]

    def record(n: int) -> RunFacts:
        """Return run `n`: 26 are localised, the next 34 fall back, the rest pass at first."""
        repaired = localised[n] if n < 26 else fallbacks[n - 26] if n < 60 else None
        boundary = repaired.boundary if repaired else None
        found = {boundary.rule: {boundary.level.value: 1}} if boundary else {}
        nodes = 2 if n < 132 else 1
        return replace(
            BARE,
            suite="apps",
            nodes=3,
            first_coverage=share(1 if n < 15 else 2, 2),
            coverage=share(1 if n < 11 else 2, 2),
            graph_valid=n < 185,
            signatures=share(nodes - (n < 9), nodes),
            failed_at_first=n < 60,
            boundary=boundary,
            answers=Localisation(localised=found, abstained=int(26 <= n < 60)),
            repairs=(repaired,) if repaired else (),
            judged=True,
        )

    audit = summarise(map(record, range(200)))
    assert (audit.trace_coverage_first.mean, audit.trace_coverage.mean) == (0.9625, 0.9725)
    assert (audit.trace_coverage_first.median, audit.trace_coverage.median) == (1.0, 1.0)
    assert audit.trace_coverage.number == 200
    assert ratio(audit.graph_integrity) == (185, 200, 0.925)
    assert ratio(audit.signature_consistency) == (323, 332, 0.973)
    assert ratio(audit.localisation_coverage) == (26, 60, 0.433)
    assert left_out(audit.localisation_coverage) == {Exclusion.PASSED_AT_FIRST: 140}
    assert audit.localised == {"R1": {"high": 6}, "R3": {"low": 20}}
    assert audit.answers.abstained == 34
    assert ratio(audit.localised_repair_success) == (17, 26, 0.654)
    assert audit.region_size.number == audit.changed_code.number == 26
    assert audit.region_size.mean == pytest.approx(0.4679, abs=5e-5)
    assert audit.region_size.median == 0.5
    assert audit.changed_code.mean == pytest.approx(0.5260, abs=5e-5)
    assert audit.changed_code.median == pytest.approx(0.677, abs=5e-4)
    assert ratio(audit.regression) == (2, 55, 0.036)
    assert ratio(audit.decision_compliance) == (55, 55, 1.0)
    assert left_out(audit.decision_compliance) == {Exclusion.UNDECIDED: 5}
    assert ratio(audit.rollback_integrity) == (21, 21, 1.0)
    assert audit.transactions == {"bounded": 26, "fallback": 34}


def ratio(measured: Rate) -> tuple[int, int, float]:
    assert measured.rate is not None
    return measured.counted.part, measured.counted.whole, round(measured.rate, 3)


shares = st.integers(0, 6).flatmap(
    lambda whole: st.builds(Ratio, part=st.integers(0, whole), whole=st.just(whole))
)
maybe = st.none() | st.booleans()
boundaries = st.builds(
    Boundary,
    rule=st.sampled_from(["R1", "R2", "R3"]),
    level=st.sampled_from(Level),
    target=st.sampled_from(["node", "branch"]),
)
repairs = st.builds(
    RepairFacts,
    number=st.integers(1, 3),
    kind=st.sampled_from(TransactionKind),
    boundary=st.none() | boundaries,
    selected=shares,
    region=shares,
    changed=st.none() | shares,
    decision=st.none() | st.sampled_from(Decision),
    expected=st.none() | st.sampled_from(Decision),
    restored=maybe,
    frozen_intact=maybe,
    regressed=st.none() | shares,
    passes=maybe,
)
answers = st.builds(
    Localisation,
    localised=st.dictionaries(
        st.sampled_from(["R1", "R3"]),
        st.dictionaries(st.sampled_from(["high", "low"]), st.integers(1, 3), min_size=1),
    ),
    abstained=st.integers(0, 2),
)
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
some_facts = st.lists(
    st.builds(
        RunFacts,
        run=st.just(RUN),
        head=st.just(NO_DIGEST),
        method=st.sampled_from(["direct", "auditcoder"]),
        suite=st.sampled_from(["", "apps"]),
        outcome=st.none() | st.sampled_from(RunOutcome),
        nodes=st.integers(0, 4),
        first_coverage=shares,
        coverage=shares,
        graph_valid=maybe,
        signatures=shares,
        functionless_roots=st.integers(0, 1),
        failed_at_first=maybe,
        boundary=st.none() | boundaries,
        answers=answers,
        repairs=st.lists(repairs, max_size=2).map(tuple),
        judged=st.booleans(),
        intact=st.booleans(),
        replays=maybe,
    ),
    max_size=5,
)


def rates(audit: Audit) -> dict[str, Rate]:
    every = {field.name: getattr(audit, field.name) for field in fields(Audit)}
    return {name: measured for name, measured in every.items() if isinstance(measured, Rate)}


def averages(audit: Audit) -> dict[str, Average]:
    every = {field.name: getattr(audit, field.name) for field in fields(Audit)}
    return {name: measured for name, measured in every.items() if isinstance(measured, Average)}


def counted_and_excluded(measured: Rate | Average) -> int:
    number = measured.counted.whole if isinstance(measured, Rate) else measured.number
    return number + sum(measured.excluded.values())


@few
@given(some_facts, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(some: list[RunFacts], random: object) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    audit = summarise(iter(some))
    assert summarise(shuffled) == audit
    assert decode(encode(audit), type=Audit) == audit
    assert [decode(encode(one), type=RunFacts) for one in some] == some


@few
@given(some_facts, some_facts)
def test_pooled_counts_are_the_sums_of_their_parts(
    some: list[RunFacts], more: list[RunFacts]
) -> None:
    one, other, both = summarise(some), summarise(more), summarise([*some, *more])
    for name, measured in rates(both).items():
        parts = rates(one)[name], rates(other)[name]
        assert measured.counted == parts[0].counted + parts[1].counted
        assert counted_and_excluded(measured) == sum(map(counted_and_excluded, parts))
    for name, average in averages(both).items():
        assert average.number == averages(one)[name].number + averages(other)[name].number


@few
@given(some_facts)
def test_every_excluded_case_is_reported(some: list[RunFacts]) -> None:
    audit = summarise(some)
    transactions = [repair for one in some for repair in one.repairs]
    assert audit.runs == len(some) == sum(audit.outcomes.values())
    for measured in (
        *(audit.trace_coverage_first, audit.trace_coverage, audit.graph_integrity),
        *(audit.localisation_coverage, audit.chain_integrity, audit.replay_fidelity),
    ):
        assert counted_and_excluded(measured) == len(some)
    for measured in (
        *(audit.region_size, audit.selected_size, audit.changed_code),
        *(audit.decision_compliance, audit.frozen_intact),
    ):
        assert (
            counted_and_excluded(measured) == len(transactions) == sum(audit.transactions.values())
        )
    rejected = [repair for repair in transactions if repair.decision is Decision.REJECTED]
    assert counted_and_excluded(audit.rollback_integrity) == len(rejected)
    assert (
        counted_and_excluded(audit.localised_repair_success)
        == audit.localisation_coverage.counted.part
    )
    by_rule = sum(sum(levels.values()) for levels in audit.localised.values())
    assert by_rule == audit.localisation_coverage.counted.part
    for rate in rates(audit).values():
        assert (rate.rate is None) == (rate.counted.whole == 0)
    for average in averages(audit).values():
        assert (average.mean is None) == (average.median is None) == (average.number == 0)


def test_a_tally_can_be_read_at_any_time() -> None:
    tally = Tally()
    assert tally.audit().runs == 0
    tally.add(BARE)
    assert tally.audit() == summarise([BARE])


def test_the_audit_of_random_runs_agrees_with_their_records() -> None:
    every: list[RunFacts] = []

    class Audited(RandomRun):
        def teardown(self) -> None:
            trace, read = traced(self.store), self.store.blob
            found = collect_facts(trace, read, intact=True)
            assert decode(encode(found), type=RunFacts) == found
            one = audited(found)
            assert one.answers == found.answers
            assert one.region_size.number == one.transactions["bounded"]
            if any(isinstance(t.diagnosis, Localised) for t in trace.history):
                assert recorded_boundary(trace) is not None
            cost = add_up([bill(trace)])
            assert cost.total == token_use(trace).total
            tried = sum(course.attempts for course in cost.paths.values())
            ended_without = bool(tried - len(trace.history))
            assert tried in {len(trace.history), len(trace.history) + 1}
            lost = cost.paths[RepairPath.ABSTAINED.value], cost.paths[RepairPath.UNDIAGNOSED.value]
            assert sum(course.attempts for course in lost) <= ended_without
            every.append(found)
            super().teardown()

    run_state_machine_as_test(
        Audited,
        settings=settings(
            max_examples=50,
            stateful_step_count=40,
            deadline=None,
            derandomize=True,  # the assertions below need every kind of run
            suppress_health_check=list(HealthCheck),
        ),
    )
    audit = summarise(every)
    for held in ("decision_compliance", "rollback_integrity", "frozen_intact", "graph_integrity"):
        found = rates(audit)[held]
        assert found.counted.part == found.counted.whole, "the laws guarantee it"
    assert audit.transactions["fallback"]
    assert 0 < len(audit.localised) <= 1


def test_a_state_that_was_not_restored_is_found(store: SqliteStore) -> None:
    """The laws forbid this state, so the trace is altered directly."""
    recorder = repairing(store)
    recorder.decide()
    trace = traced(store)

    def integrity(altered: Trace) -> Ratio:
        return audited(collect_facts(altered, store.blob, intact=True)).rollback_integrity.counted

    assert integrity(trace) == share(1, 1)
    working = trace.working
    lost_code = {n: c for n, c in working.code.items() if n != ROOT}
    assert integrity(replace(trace, working=replace(working, code=lost_code))) == share(0, 1)
    assert integrity(replace(trace, working=replace(working, assembly=None))) == share(0, 1)
    turned = {c: replace(s, verdict=Verdict.CRASH) for c, s in working.evidence.items()}
    assert integrity(replace(trace, working=replace(working, evidence=turned))) == share(0, 1)
    assert integrity(replace(trace, working=replace(working, evidence={}))) == share(1, 1)


def test_a_check_rerun_after_a_rollback_does_not_affect_rollback_integrity(
    store: SqliteStore,
) -> None:
    recorder = repairing(store)
    recorder.decide()
    check_program(recorder, "example-2", Verdict.TIMEOUT)
    assert audited(counted(store)).rollback_integrity.counted == share(1, 1)
    locate(recorder, AtNode(node=S2))
    recorder.open_transaction()
    assert audited(counted(store)).rollback_integrity.counted == share(1, 1)


def test_a_decision_against_the_ranks_is_found(store: SqliteStore) -> None:
    accept_repair(repairing(store))
    (repair,) = counted(store).repairs
    wrong = replace(repair, decision=Decision.REJECTED, restored=False)
    audit = audited(replace(counted(store), repairs=(wrong,)))
    assert audit.decision_compliance.counted == share(0, 1)
    assert audit.rollback_integrity.counted == share(0, 1)


def test_a_program_without_lines_has_no_changed_code_ratio() -> None:
    empty = RepairFacts(
        number=1,
        kind=TransactionKind.BOUNDED,
        selected=share(1, 2),
        region=share(1, 2),
        changed=share(3, 0),
        decision=Decision.ACCEPTED,
        expected=Decision.ACCEPTED,
    )
    audit = audited(replace(BARE, repairs=(empty,)))
    assert left_out(audit.changed_code) == {Exclusion.NO_LINES: 1}
    assert audit.changed_code.mean is None


def test_a_tally_keeps_counts_instead_of_records() -> None:
    tally = Tally()
    for n in range(2000):
        tally.add(replace(BARE, nodes=3, coverage=share(n % 4, 3 + n % 2), graph_valid=True))
    assert len(tally._macro.values) <= 7, "as many as there are fractions"
    assert tally.audit().trace_coverage.number == 2000
