"""Trace metrics, computed by hand: completeness of the record, localisation and cost."""

from itertools import takewhile

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule, run_state_machine_as_test
from msgspec.json import decode
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EntryReader
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.events import (
    CheckDropped,
    GraphRevised,
    Located,
    ReplyRecorded,
    TransactionOpened,
)
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.graph import FromSelf, FromTask, GraphDelta, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.repair import CodeDelta, Decision, TransactionKind
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.domain.trace import fold
from auditcoder.domain.usage import Phase, Scope, Usage, total
from auditcoder.domain.values import CheckId, digest, encode
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.trace_metrics import (
    Localisation,
    Ratio,
    TokenUse,
    frozen_intact,
    functionless_roots,
    graph_integrity,
    initial_trace_coverage,
    localisation,
    signature_consistency,
    token_use,
    trace_coverage,
)
from tests.support.histories import accept_repair, traced
from tests.support.random_runs import RandomRun, conclusive, free, may_write, when
from tests.support.record_builders import (
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
    observe_node,
    repairing,
    standing_failures,
    started,
    ticking,
)


def coverage(store: SqliteStore) -> Ratio:
    return trace_coverage(traced(store), store.blob)


def signatures(store: SqliteStore) -> Ratio:
    return signature_consistency(traced(store), store.blob)


def planned_with(store: SqliteStore, **fields: object) -> Recorder:
    """Record a run with code and checked leaves whose node S2 has these fields."""
    nodes = tuple(replace(n, **fields) if n.id == S2 else n for n in GRAPH.nodes)
    recorder = started(store, replace(GRAPH, nodes=nodes))
    for name in (S1_1, S2, S1, ROOT):
        recorder.write_code(name, code(name))
    check_node(recorder, S1_1, Verdict.PASSED)
    check_node(recorder, S2, Verdict.PASSED)
    return recorder


def test_a_run_stopped_before_planning_has_nothing_to_count(store: SqliteStore) -> None:
    Recorder.start(store, RUN, TASK, ticking())
    trace = traced(store)
    assert trace_coverage(trace, store.blob) == Ratio()
    assert initial_trace_coverage(trace, store.blob) == Ratio()
    assert signature_consistency(trace, store.blob) == Ratio()
    assert frozen_intact(trace) == Ratio()
    assert not graph_integrity(trace)
    assert localisation(trace) == Localisation(localised={}, abstained=0)
    assert token_use(trace).total == Usage()


class TestRatios:
    def test_an_empty_ratio_has_no_rate(self) -> None:
        assert Ratio().rate is None
        assert Ratio(part=0, whole=2).rate == 0.0
        assert Ratio(part=1, whole=2).rate == 0.5

    @given(st.lists(st.integers(1, 50).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))))
    def test_pooling_weights_each_rate_by_its_denominator(
        self, counts: list[tuple[int, int]]
    ) -> None:
        shares = [Ratio(part=part, whole=whole) for part, whole in counts]
        micro = sum(shares, Ratio())
        assert micro == sum(reversed(shares), Ratio())
        assert micro + Ratio() == micro
        rates = [share.rate for share in shares if share.rate is not None]
        if micro.rate is None:
            assert not rates
            return
        assert min(rates) <= micro.rate <= max(rates)
        weighted = sum(rate * share.whole for rate, share in zip(rates, shares, strict=True))
        assert micro.rate == pytest.approx(weighted / micro.whole)
        if len({share.whole for share in shares}) == 1:
            macro = sum(rates) / len(rates)
            assert micro.rate == pytest.approx(macro), "equal weights: the averages agree"


class TestTraceCoverage:
    def test_only_leaves_are_counted(self, store: SqliteStore) -> None:
        recorder = built(store)
        for name in (S1_1, S2):
            check_node(recorder, name, Verdict.PASSED)
        assert coverage(store) == Ratio(part=2, whole=2)

    def test_a_leaf_without_code_is_not_covered(self, store: SqliteStore) -> None:
        started(store)
        assert coverage(store) == Ratio(part=0, whole=2)

    def test_blank_code_does_not_count_as_code(self, store: SqliteStore) -> None:
        check_node(built(store), S2, Verdict.PASSED)
        assert trace_coverage(traced(store), lambda _: b" \n") == Ratio(part=0, whole=2)

    def test_an_unchecked_leaf_is_not_covered(self, store: SqliteStore) -> None:
        recorder = built(store)
        check_node(recorder, S1_1, Verdict.PASSED)
        assert coverage(store) == Ratio(part=1, whole=2)

    def test_checks_of_the_program_or_a_branch_do_not_cover_a_leaf(
        self, store: SqliteStore
    ) -> None:
        recorder = built(store)
        check_branch(recorder, S1, Verdict.PASSED)
        recorder.assemble()
        check_program(recorder, "example-1", Verdict.PASSED)
        assert coverage(store) == Ratio(part=0, whole=2)

    @pytest.mark.parametrize("verdict", Verdict)
    def test_a_check_counts_if_it_passed_or_failed(
        self, store: SqliteStore, verdict: Verdict
    ) -> None:
        check_node(built(store), S2, verdict)
        assert coverage(store) == Ratio(part=int(verdict.conclusive), whole=2)

    def test_an_observation_is_no_check(self, store: SqliteStore) -> None:
        observe_node(built(store), S2, Verdict.FAILED)
        assert coverage(store) == Ratio(part=0, whole=2)

    def test_a_verdict_on_earlier_code_does_not_count(self, store: SqliteStore) -> None:
        recorder = built(store)
        check_node(recorder, S2, Verdict.PASSED)
        recorder.write_code(S2, code(S2, "return 0"))
        assert coverage(store) == Ratio(part=0, whole=2)
        recorder.write_code(S2, code(S2))
        assert coverage(store) == Ratio(part=1, whole=2), "it is about this very code again"

    def test_a_verdict_counts_even_if_its_check_was_dropped(self, store: SqliteStore) -> None:
        recorder = built(store)
        check_node(recorder, S2, Verdict.FAILED)
        recorder.record(CheckDropped(check=CheckId("S2.generated"), reason="it was wrong"))
        assert coverage(store) == Ratio(part=1, whole=2)

    @pytest.mark.parametrize("contract", [None, Contract(name="")])
    def test_a_leaf_without_a_named_contract_is_not_covered(
        self, store: SqliteStore, contract: Contract | None
    ) -> None:
        planned_with(store, contract=contract)
        assert coverage(store) == Ratio(part=1, whole=2)

    def test_every_input_needs_a_source(self, store: SqliteStore) -> None:
        planned_with(store, inputs=(Slot(name="x", source=FromSelf()), Slot(name="y")))
        assert coverage(store) == Ratio(part=1, whole=2)

    @pytest.mark.parametrize("inputs", [(), (Slot(name="total", source=FromSelf()),)])
    def test_a_leaf_without_inputs_or_with_object_state_is_covered(
        self, store: SqliteStore, inputs: tuple[Slot, ...]
    ) -> None:
        planned_with(store, inputs=inputs)
        assert coverage(store) == Ratio(part=2, whole=2)

    def test_initial_and_final_coverage_are_equal_before_any_repair(
        self, store: SqliteStore
    ) -> None:
        failing(store)
        trace = traced(store)
        assert initial_trace_coverage(trace, store.blob) == Ratio(part=1, whole=2)
        assert trace_coverage(trace, store.blob) == Ratio(part=1, whole=2)

    def test_an_accepted_repair_without_new_node_checks_loses_coverage(
        self, store: SqliteStore
    ) -> None:
        assert accept_repair(repairing(store)) is Decision.ACCEPTED
        trace = traced(store)
        assert initial_trace_coverage(trace, store.blob) == Ratio(part=1, whole=2)
        assert trace_coverage(trace, store.blob) == Ratio(part=0, whole=2)

    def test_checks_during_a_repair_do_not_count_as_initial_coverage(
        self, store: SqliteStore
    ) -> None:
        check_node(repairing(store, AtNode(node=S2)), S2, Verdict.PASSED)
        trace = traced(store)
        assert initial_trace_coverage(trace, store.blob) == Ratio(part=1, whole=2)
        assert trace_coverage(trace, store.blob) == Ratio(part=2, whole=2)

    def test_leaves_added_by_a_repair_do_not_count_in_initial_coverage(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store, AtBranch(root=S1))
        new = NodeId("S1_2")
        delta = GraphDelta(added=(node(new, S1),), order=(S1_1, new, S2))
        recorder.record(GraphRevised(delta=delta, reason="one part was missing"))
        trace = traced(store)
        assert initial_trace_coverage(trace, store.blob) == Ratio(part=1, whole=2)
        assert trace_coverage(trace, store.blob) == Ratio(part=1, whole=3)

    def test_a_rollback_restores_coverage(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code(S1_1, "return 3"))
        assert recorder.decide() is Decision.REJECTED
        assert coverage(store) == Ratio(part=1, whole=2)


def whole_program(
    store: SqliteStore, inputs: tuple[Slot, ...] = (), outputs: tuple[Slot, ...] = ()
) -> Recorder:
    """Record a run whose only leaf is a whole program, without a function, and checked."""
    only = replace(node(S1), contract=None, inputs=inputs, outputs=outputs)
    top = replace(ROOT_NODE, contract=None, dependencies=(S1,))
    recorder = started(store, TaskGraph(nodes=(top, only), order=(S1,)))
    recorder.write_code(S1, "print(sum(map(int, input().split())))\n")
    check_node(recorder, S1, Verdict.PASSED)
    return recorder


class TestWholePrograms:
    STDIN = (Slot(name="stdin", source=FromTask()),)
    STDOUT = (Slot(name="stdout"),)

    @pytest.mark.parametrize("inputs", [(), STDIN])
    def test_sources_and_outputs_describe_a_program_as_a_contract_does(
        self, store: SqliteStore, inputs: tuple[Slot, ...]
    ) -> None:
        whole_program(store, inputs, self.STDOUT)
        assert coverage(store) == Ratio(part=1, whole=1)
        assert initial_trace_coverage(traced(store), store.blob) == Ratio(part=1, whole=1)

    @pytest.mark.parametrize(
        ("inputs", "outputs"),
        [((), ()), (STDIN, ()), ((Slot(name="stdin"),), STDOUT)],
        ids=["nothing", "no outputs", "no source"],
    )
    def test_a_program_without_them_is_not_covered(
        self, store: SqliteStore, inputs: tuple[Slot, ...], outputs: tuple[Slot, ...]
    ) -> None:
        whole_program(store, inputs, outputs)
        assert coverage(store) == Ratio(part=0, whole=1)
        assert signatures(store) == Ratio(part=0, whole=1)

    def test_it_promises_no_function(self, store: SqliteStore) -> None:
        whole_program(store, self.STDIN, self.STDOUT)
        assert signatures(store) == Ratio()
        assert functionless_roots(traced(store)) == 1

    def test_it_needs_a_verdict_on_its_code_like_any_leaf(self, store: SqliteStore) -> None:
        recorder = whole_program(store, self.STDIN, self.STDOUT)
        recorder.write_code(S1, "print(0)\n")
        assert coverage(store) == Ratio(part=0, whole=1)

    def test_a_leaf_below_a_root_with_a_contract_is_no_whole_program(
        self, store: SqliteStore
    ) -> None:
        only = replace(node(S1), contract=None, inputs=(), outputs=self.STDOUT)
        top = replace(ROOT_NODE, dependencies=(S1,), contract=Contract(name="solve"))
        recorder = started(store, TaskGraph(nodes=(top, only), order=(S1,)))
        recorder.write_code(S1, "def f():\n    return 1\n")
        check_node(recorder, S1, Verdict.PASSED)
        assert coverage(store) == Ratio(part=0, whole=1)


class TestGraphIntegrity:
    def test_a_committed_graph_is_valid(self, store: SqliteStore) -> None:
        started(store)
        assert graph_integrity(traced(store))

    def test_a_faulty_graph_is_not_valid(self, store: SqliteStore) -> None:
        started(store)
        trace = traced(store)
        faulty = replace(trace.working, graph=TaskGraph(nodes=GRAPH.nodes, order=(S2,)))
        assert not graph_integrity(replace(trace, working=faulty))


class TestSignatureConsistency:
    def test_leaves_and_nodes_with_code_are_counted(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert signatures(store) == Ratio(part=0, whole=2)
        recorder.write_code(S2, code(S2))
        assert signatures(store) == Ratio(part=1, whole=2)
        recorder.write_code(S1, code(S1))
        assert signatures(store) == Ratio(part=2, whole=3)

    @pytest.mark.parametrize(
        "source",
        [
            "def f_S2(:\n",
            "def other(x):\n    return x\n",
            "def f_S2(y):\n    return y\n",
            "def f_S2(x, y):\n    return x\n",
        ],
    )
    def test_code_with_another_signature_is_inconsistent(
        self, store: SqliteStore, source: str
    ) -> None:
        recorder = built(store)
        recorder.write_code(S2, source)
        assert signatures(store) == Ratio(part=3, whole=4)

    def test_a_root_without_a_contract_is_not_counted(self, store: SqliteStore) -> None:
        root = replace(ROOT_NODE, contract=None)
        recorder = started(store, replace(GRAPH, nodes=(root, *GRAPH.nodes[1:])))
        recorder.write_code(ROOT, "print(f_S1(int(input())))\n")
        recorder.write_code(S2, code(S2))
        assert signatures(store) == Ratio(part=1, whole=2)

    def test_any_other_node_without_a_contract_is_counted(self, store: SqliteStore) -> None:
        planned_with(store, contract=None)
        assert signatures(store) == Ratio(part=3, whole=4)

    def test_the_contract_of_a_method_may_omit_self(self, store: SqliteStore) -> None:
        promised = Contract(name="add", params=(Param(name="self"), Param(name="x")))
        root = replace(ROOT_NODE, contract=None, dependencies=())
        leaves = (
            replace(node("S1"), contract=promised),
            replace(node("S2"), contract=Contract(name="clear")),
        )
        recorder = started(store, TaskGraph(nodes=(root, *leaves), order=(S1, S2)))
        recorder.write_code(ROOT, "class C:\n    pass\n")
        recorder.write_code(S1, "def add(self, x):\n    self.total = x\n", scope="C")
        recorder.write_code(S2, "def clear(self):\n    self.total = 0\n", scope="C")
        assert signatures(store) == Ratio(part=2, whole=2)


class TestFrozenComplement:
    def test_a_repair_within_its_region_leaves_the_complement_intact(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        assert frozen_intact(traced(store)) == Ratio(), "it is not decided yet"
        accept_repair(recorder)
        assert frozen_intact(traced(store)) == Ratio(part=1, whole=1)

    def test_a_rejected_candidate_is_counted_too(self, store: SqliteStore) -> None:
        repairing(store).decide()
        assert frozen_intact(traced(store)) == Ratio(part=1, whole=1)

    def test_a_fallback_freezes_nothing_and_is_not_counted(self, store: SqliteStore) -> None:
        recorder = failing(store)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        recorder.decide()
        assert frozen_intact(traced(store)) == Ratio()

    def test_a_change_outside_the_region_is_found(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        check_node(recorder, S1_1, Verdict.PASSED)
        accept_repair(recorder)
        trace = traced(store)
        (repair,) = trace.history
        (seen,) = repair.local_evidence
        for changed in (
            {"code_deltas": (CodeDelta(node=S2, before=None, after=digest(b"other")),)},
            {"graph_delta": GraphDelta(revised=(GRAPH.by_id[S1],), order=GRAPH.order)},
            {"graph_delta": GraphDelta(retired=(S2,), order=(S1_1,))},
            {"local_evidence": (replace(seen, subject=AtNode(node=S2)),)},
        ):
            forged = replace(trace, history=(replace(repair, **changed),))
            assert frozen_intact(forged) == Ratio(part=0, whole=1)
            widened = replace(repair, region=tuple(sorted(GRAPH.ids)), **changed)
            assert frozen_intact(replace(trace, history=(widened,))) == Ratio(part=1, whole=1)


def test_diagnoses_are_counted_by_rule_and_level(store: SqliteStore) -> None:
    recorder = failing(store)
    low = Localised(
        target=AtNode(node=S1_1),
        agents=("",),
        rule="R3",
        level=Level.LOW,
        evidence=standing_failures(recorder),
    )
    for diagnosis in (low, replace(low, rule="R1", level=Level.HIGH), low):
        recorder.record(Located(diagnosis=diagnosis))
    locate(recorder, None)
    found = localisation(traced(store))
    assert found.localised == {"R1": {"high": 1}, "R3": {"low": 2}}
    assert found.abstained == 1
    assert found.coverage == Ratio(part=3, whole=4)


calls = st.builds(
    Usage,
    calls=st.integers(0, 3),
    prompt_tokens=st.integers(0, 10**6),
    completion_tokens=st.integers(0, 10**6),
    cached_tokens=st.integers(0, 10**6),
    usd=st.floats(0, 10),
    unpriced=st.integers(0, 3),
    unmeasured=st.integers(0, 3),
)
bills = st.tuples(
    st.sampled_from(["planner", "math", "general"]),
    st.sampled_from(Scope),
    st.sampled_from(Phase),
    calls,
)


class TestTokenUse:
    def test_an_unused_scope_or_phase_has_zero_usage(self, store: SqliteStore) -> None:
        bill(started(store), "math", Scope.INITIAL, Phase.GENERATION, Usage(calls=1))
        assert token_use(traced(store)) == TokenUse(
            total=Usage(calls=1),
            by_scope={"initial": Usage(calls=1), "repair": Usage()},
            by_phase={"planning": Usage(), "generation": Usage(calls=1), "verification": Usage()},
            by_role={"math": Usage(calls=1)},
        )

    def test_a_refused_reply_is_billed_too(self, store: SqliteStore) -> None:
        used = Usage(calls=1, completion_tokens=7, unpriced=1)
        bill(started(store), "math", Scope.INITIAL, Phase.GENERATION, used, rejected="no code")
        assert token_use(traced(store)).total == used

    def test_the_usage_of_a_rolled_back_repair_is_still_counted(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        bill(recorder, "math", Scope.REPAIR, Phase.GENERATION, Usage(calls=1, prompt_tokens=5))
        assert recorder.decide() is Decision.REJECTED
        assert token_use(traced(store)).by_scope["repair"].tokens == 5

    @settings(max_examples=40, deadline=None)
    @given(st.lists(bills, max_size=12))
    def test_every_breakdown_adds_up_to_the_total(
        self, billed: list[tuple[str, Scope, Phase, Usage]]
    ) -> None:
        store = SqliteStore(":memory:")
        recorder = built(store)
        for role, scope, phase, used in sorted(billed, key=lambda b: b[1] is Scope.REPAIR):
            if scope is Scope.REPAIR and not recorder.ledger.assembled:
                recorder.assemble()
            bill(recorder, role, scope, phase, used)
        cost = token_use(traced(store))
        store.close()
        assert counted(cost.total) == counted(total(used for *_, used in billed))
        for breakdown in (cost.by_scope, cost.by_phase, cost.by_role):
            parts = total(breakdown.values())
            assert counted(parts) == counted(cost.total)
            assert parts.usd == pytest.approx(cost.total.usd)
        assert list(cost.by_role) == sorted({role for role, *_ in billed})


def bill(
    recorder: Recorder, role: str, scope: Scope, phase: Phase, used: Usage, rejected: str = ""
) -> None:
    recorder.record(
        ReplyRecorded(
            role=role,
            scope=scope,
            phase=phase,
            request=recorder.put("please"),
            reply=recorder.put("here"),
            usage=used,
            rejected=rejected,
        )
    )


def counted(used: Usage) -> Usage:
    """Return the usage without its amount in dollars, which is a float."""
    return replace(used, usd=0.0)


def test_the_metrics_of_random_runs_agree_with_their_records() -> None:
    met: set[str] = set()

    class Measured(RandomRun):
        @when(may_write)
        @rule(verdict=conclusive)
        def build_and_check(self, verdict: Verdict) -> None:
            """Build and check leaves, since random steps alone rarely cover one."""
            for leaf in sorted(self.writable() & set(self.ledger.graph.leaves)):
                if leaf not in self.ledger.working.code:
                    self.recorder.write_code(leaf, code(leaf))
                check_node(self.recorder, leaf, verdict, Trust.DERIVED)
            self.build_what_is_missing(0)
            if free(self.ledger):
                self.fail(Verdict.CRASH)

        def teardown(self) -> None:
            trace, read = traced(self.store), self.store.blob
            reader = EntryReader()
            first = list(
                takewhile(
                    lambda body: not isinstance(reader.read(body).event, TransactionOpened),
                    self.store.read(RUN),
                )
            )
            before = trace_coverage(fold(first, read), read)
            assert initial_trace_coverage(trace, read) == before
            met.add("repaired" if trace.history else "not repaired")
            met.update({"covered before a repair"} if trace.history and before.part else ())
            met.update({"changed by it"} if trace_coverage(trace, read) != before else ())
            assert graph_integrity(trace)
            intact = frozen_intact(trace)
            assert intact.part == intact.whole, "the laws guarantee it"
            found = signature_consistency(trace, read)
            assert found.part == len(trace.working.code), "all code here keeps its promise"
            assert localisation(trace).coverage.whole == len(trace.diagnoses)
            assert token_use(trace).total.calls == len(trace.replies)
            for value in (before, localisation(trace), token_use(trace)):
                assert decode(encode(value), type=type(value)) == value
            super().teardown()

    run_state_machine_as_test(
        Measured,
        settings=settings(
            max_examples=120,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert met >= {"repaired", "not repaired", "covered before a repair", "changed by it"}
