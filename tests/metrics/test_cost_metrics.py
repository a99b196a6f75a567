"""Cost metrics: the paper's tables from their counts, constructed bills, and totals."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.json import decode
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import ReplyRecorded, RunFinished, RunOutcome
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.targets import AtNode
from auditcoder.domain.trace import fold
from auditcoder.domain.usage import Phase, Scope, Usage, total
from auditcoder.domain.values import NO_DIGEST, RunId, encode
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.cost_metrics import Bill, CostSummary, PathCost, add_up, bill
from auditcoder.metrics.trace_metrics import CostLine, RepairPath
from tests.support.record_builders import RUN, S1_1, S2, failing, locate, repairing, started


def used(calls: int, prompt: int, completion: int) -> Usage:
    return Usage(calls=calls, prompt_tokens=prompt, completion_tokens=completion)


def line(
    usage: Usage,
    phase: Phase = Phase.PLANNING,
    scope: Scope = Scope.INITIAL,
    role: str = "planner",
    path: RepairPath | None = None,
) -> CostLine:
    return CostLine(scope=scope, phase=phase, role=role, path=path, usage=usage)


def billed(*lines: CostLine, **fields: object) -> Bill:
    known = {"run": RUN, "head": NO_DIGEST, "finished": True, "repaired": False, "lines": lines}
    return Bill(**(known | fields))  # type: ignore[arg-type]


def percent(share: float | None) -> float:
    assert share is not None
    return round(100 * share, 2)


class TestPaperTables:
    """The paper's counts, spread over 200 runs of which 60 were repaired."""

    PHASES = {
        (Scope.INITIAL, Phase.PLANNING): used(1_400, 2_488_671, 4_842_413),
        (Scope.INITIAL, Phase.GENERATION): used(840, 916_352, 2_117_049),
        (Scope.INITIAL, Phase.VERIFICATION): used(640, 488_254, 344_020),
        (Scope.REPAIR, Phase.PLANNING): used(412, 824_866, 2_141_889),
        (Scope.REPAIR, Phase.GENERATION): used(284, 355_502, 1_126_699),
        (Scope.REPAIR, Phase.VERIFICATION): used(224, 198_210, 131_810),
    }

    @pytest.fixture
    def cost(self) -> CostSummary:
        lines = [
            line(usage, phase, scope, path=RepairPath.LOCALISED if scope is Scope.REPAIR else None)
            for (scope, phase), usage in self.PHASES.items()
        ]
        some = [billed(repaired=True, attempts={RepairPath.LOCALISED.value: 1}) for _ in range(59)]
        rest = [billed() for _ in range(140)]
        return add_up(
            [*rest, billed(*lines, repaired=True, attempts={RepairPath.LOCALISED.value: 1}), *some]
        )

    def test_scopes_add_up_to_the_total(self, cost: CostSummary) -> None:
        assert cost.total == used(3_800, 5_271_855, 10_703_880)
        assert cost.scopes == {
            "initial": used(2_880, 3_893_277, 7_303_482),
            "repair": used(920, 1_378_578, 3_400_398),
        }
        initial, repair = (cost.scopes[scope.value].tokens for scope in Scope)
        assert (initial, repair) == (11_196_759, 4_778_976)
        assert initial + repair == cost.total.tokens == 15_975_735
        assert [percent(cost.share(cost.scopes[scope.value])) for scope in Scope] == [70.09, 29.91]
        assert percent(cost.total.prompt_tokens / cost.total.tokens) == 33.00

    def test_averages_match_the_paper(self, cost: CostSummary) -> None:
        assert (cost.runs, cost.repaired, cost.unfinished) == (200, 60, 0)
        assert cost.per_task(cost.total) == pytest.approx(79_878.68, abs=0.005)
        assert cost.per_task(cost.scopes[Scope.INITIAL.value]) == pytest.approx(
            55_983.80, abs=0.0051
        )
        assert cost.per_task(cost.scopes[Scope.REPAIR.value]) == pytest.approx(23_894.88, abs=0.005)
        assert cost.per_repair == pytest.approx(79_649.60, abs=0.005)

    def test_phases_match_the_paper(self, cost: CostSummary) -> None:
        assert {
            (Scope(scope), Phase(phase)): usage
            for scope, row in cost.phases.items()
            for phase, usage in row.items()
        } == self.PHASES
        tokens = [usage.tokens for row in cost.phases.values() for usage in row.values()]
        assert tokens == [7_331_084, 3_033_401, 832_274, 2_966_755, 1_482_201, 330_020]
        initial = cost.phases[Scope.INITIAL.value]
        assert cost.per_task(initial["verification"]) == pytest.approx(4_161.37, abs=0.005)

    def test_phase_families_match_the_paper(self, cost: CostSummary) -> None:
        assert {phase: usage.tokens for phase, usage in cost.families.items()} == {
            "planning": 10_297_839,
            "generation": 4_515_602,
            "verification": 1_162_294,
        }
        shares = [percent(cost.share(cost.families[phase.value])) for phase in Phase]
        assert shares == [64.46, 28.27, 7.28]

    def test_repair_paths_match_the_paper(self) -> None:
        parts = {
            RepairPath.LOCALISED: (26, used(394, 613_553, 1_399_556)),
            RepairPath.FALLBACK: (34, used(526, 765_025, 2_000_842)),
        }
        cost = add_up(
            billed(
                *([line(usage, scope=Scope.REPAIR, path=path)] if first else []),
                repaired=True,
                attempts={path.value: 1},
            )
            for path, (runs, usage) in parts.items()
            for first in [True] + [False] * (runs - 1)
        )
        localised, fallback = (
            cost.paths[RepairPath.LOCALISED.value],
            cost.paths[RepairPath.FALLBACK.value],
        )
        assert (localised.runs, localised.attempts) == (26, 26)
        assert localised.usage.tokens == 2_013_109
        assert localised.per_attempt == pytest.approx(77_427.27, abs=0.005)
        assert (fallback.runs, fallback.attempts, fallback.usage.tokens) == (34, 34, 2_765_867)
        assert fallback.per_attempt == pytest.approx(81_349.03, abs=0.005)
        repair = cost.scopes[Scope.REPAIR.value]
        assert repair == localised.usage + fallback.usage == used(920, 1_378_578, 3_400_398)
        assert percent(fallback.usage.tokens / repair.tokens) == 57.88
        assert cost.per_repair == pytest.approx(79_649.60, abs=0.005)
        assert (
            cost.paths[RepairPath.ABSTAINED.value]
            == cost.paths[RepairPath.UNDIAGNOSED.value]
            == PathCost()
        )

    def test_the_ten_largest_modules_match_the_paper(self) -> None:
        largest = {
            "deep thinker": used(260, 315_971, 2_761_498),
            "task decomposer": used(260, 671_837, 1_142_370),
            "algorithm selector": used(260, 561_631, 891_422),
            "weak-signal evaluator": used(864, 686_464, 475_830),
            "test-case analyzer": used(260, 367_128, 712_948),
            "math code generator": used(306, 290_800, 726_496),
            "interface designer": used(260, 657_730, 309_716),
            "code assembler": used(260, 427_476, 519_138),
            "problem parser": used(226, 321_388, 550_118),
            "constraint analyzer": used(260, 385_891, 473_042),
        }
        everything = used(3_800, 5_271_855, 10_703_880)
        ten = total(largest.values())
        # The paper does not name the others; none of them is larger than the tenth.
        left = everything.tokens - ten.tokens
        others = {f"other {n}": used(1, left // 4 + (n < left % 4), 0) for n in range(4)}
        cost = add_up(
            billed(line(usage, role=role)) for role, usage in sorted((largest | others).items())
        )
        assert cost.total.tokens == everything.tokens
        found = cost.modules(10)
        assert [module.role for module in found] == list(largest)
        assert [percent(module.share) for module in found] == [
            *(19.26, 11.36, 9.10, 7.28, 6.76, 6.37, 6.06, 5.93, 5.46, 5.38)
        ]
        assert [round(module.per_call or 0, 2) for module in found] == [
            *(11_836.42, 6_977.72, 5_588.67, 1_345.25, 4_154.14),
            *(3_324.50, 3_720.95, 3_640.82, 3_856.22, 3_303.59),
        ]
        assert ten.tokens == 13_248_894
        assert percent(cost.share(ten)) == 82.93
        assert len(cost.modules()) == len(largest) + len(others)


def record_reply(
    recorder: Recorder, tokens: int, scope: Scope = Scope.REPAIR, phase: Phase = Phase.PLANNING
) -> None:
    recorder.record(
        ReplyRecorded(
            role="someone",
            scope=scope,
            phase=phase,
            request=recorder.put("please"),
            reply=recorder.put("here"),
            usage=used(1, tokens, 0),
        )
    )


def bill_of(store: SqliteStore) -> Bill:
    return bill(fold(store.read(RUN), store.blob))


def tokens_by_path(found: Bill) -> dict[RepairPath | None, int]:
    sums: Counter[RepairPath | None] = Counter()
    for one in found.lines:
        sums[one.path] += one.usage.tokens
    return dict(sums)


class TestBills:
    def test_a_run_without_model_calls_has_an_empty_bill(self, store: SqliteStore) -> None:
        started(store)
        found = bill_of(store)
        assert (found.lines, found.attempts, found.repaired) == ((), {}, False)
        assert not found.finished

    def test_costs_of_the_first_program_have_no_repair_path(self, store: SqliteStore) -> None:
        record_reply(started(store), 5, Scope.INITIAL)
        assert tokens_by_path(bill_of(store)) == {None: 5}

    def test_costs_of_a_diagnosis_belong_to_its_repair(self, store: SqliteStore) -> None:
        recorder = failing(store)
        record_reply(recorder, 1, phase=Phase.VERIFICATION)
        locate(recorder, AtNode(node=S1_1))
        record_reply(recorder, 2)
        recorder.open_transaction()
        record_reply(recorder, 4, phase=Phase.GENERATION)
        assert tokens_by_path(bill_of(store)) == {RepairPath.LOCALISED: 7}
        recorder.decide()
        found = bill_of(store)
        assert tokens_by_path(found) == {RepairPath.LOCALISED: 7}
        assert found.attempts == {"localised": 1}
        assert found.repaired

    def test_costs_of_an_abandoned_diagnosis_belong_to_the_fallback(
        self, store: SqliteStore
    ) -> None:
        recorder = failing(store)
        locate(recorder, AtNode(node=S1_1))
        record_reply(recorder, 1)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        record_reply(recorder, 2)
        recorder.decide()
        found = bill_of(store)
        assert tokens_by_path(found) == {RepairPath.FALLBACK: 3}
        assert found.attempts == {"fallback": 1}

    def test_a_repair_attempt_begins_where_the_previous_one_ended(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        record_reply(recorder, 1)
        assert recorder.decide() is Decision.REJECTED
        record_reply(recorder, 2)
        locate(recorder, AtNode(node=S2))
        recorder.open_transaction()
        recorder.decide()
        record_reply(recorder, 4)
        locate(recorder, None)
        recorder.open_transaction(TransactionKind.FALLBACK)
        recorder.decide()
        found = bill_of(store)
        assert tokens_by_path(found) == {RepairPath.LOCALISED: 3, RepairPath.FALLBACK: 4}
        assert found.attempts == {"localised": 2, "fallback": 1}

    def test_costs_before_an_abstention_without_a_fallback_have_their_own_path(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        recorder.decide()
        record_reply(recorder, 3)
        locate(recorder, None)
        found = bill_of(store)
        assert tokens_by_path(found) == {RepairPath.ABSTAINED: 3}
        assert found.attempts == {"localised": 1, "abstained": 1}

    def test_costs_before_any_diagnosis_are_undiagnosed(self, store: SqliteStore) -> None:
        recorder = failing(store)
        record_reply(recorder, 3)
        found = bill_of(store)
        assert tokens_by_path(found) == {RepairPath.UNDIAGNOSED: 3}
        assert not found.repaired
        locate(recorder, AtNode(node=S1_1))
        assert tokens_by_path(bill_of(store)) == {RepairPath.LOCALISED: 3}

    def test_the_bill_of_a_finished_run_is_marked_as_finished(self, store: SqliteStore) -> None:
        recorder = failing(store)
        assembly = recorder.ledger.working.assembly
        assert assembly is not None
        recorder.record(RunFinished(outcome=RunOutcome.FAILED, program=assembly.program))
        assert bill_of(store).finished


class TestUnknownUsage:
    def test_unknown_usage_is_carried_along_and_not_counted_as_zero(self) -> None:
        known = used(1, 10, 20)
        lost = Usage(calls=1, unmeasured=1, unpriced=1)
        cost = add_up([billed(line(known), line(lost, role="other")), billed(line(lost))])
        assert cost.total == known + lost + lost
        assert not cost.exact
        assert not cost.priced
        planner, other = cost.modules()
        assert planner.usage.calls == 2
        assert planner.per_call == 30, "an unmeasured call does not count as zero tokens"
        assert other.per_call is None

    def test_a_summary_of_no_runs_has_no_averages(self) -> None:
        cost = add_up([])
        assert cost.exact
        assert cost.priced
        assert cost.share(cost.total) is None
        assert cost.per_task(cost.total) is None
        assert cost.per_repair is None
        assert cost.paths[RepairPath.LOCALISED.value].per_attempt is None
        assert cost.modules() == ()

    def test_unfinished_runs_are_counted_and_reported(self) -> None:
        cost = add_up([billed(line(used(1, 4, 2)), finished=False), billed()])
        assert (cost.runs, cost.unfinished) == (2, 1)
        assert cost.per_task(cost.total) == 3


usages = st.builds(
    Usage,
    calls=st.integers(0, 3),
    prompt_tokens=st.integers(0, 10**6),
    completion_tokens=st.integers(0, 10**6),
    cached_tokens=st.integers(0, 10**6),
    usd=st.floats(0, 10),
    unpriced=st.integers(0, 3),
    unmeasured=st.integers(0, 3),
)
few = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
phases = st.sampled_from(Phase)
roles = st.sampled_from(["planner", "math", "general"])
lines = st.one_of(
    st.builds(CostLine, scope=st.just(Scope.INITIAL), phase=phases, role=roles, usage=usages),
    st.builds(
        CostLine,
        scope=st.just(Scope.REPAIR),
        phase=phases,
        role=roles,
        path=st.sampled_from(RepairPath),
        usage=usages,
    ),
)
bills = st.lists(
    st.builds(
        Bill,
        run=st.just(RunId("a-run")),
        head=st.just(NO_DIGEST),
        finished=st.booleans(),
        repaired=st.booleans(),
        attempts=st.dictionaries(
            st.sampled_from([path.value for path in RepairPath]), st.integers(1, 3)
        ),
        lines=st.lists(lines, max_size=4).map(tuple),
    ),
    max_size=8,
)


def counted(usage: Usage) -> Usage:
    """Return the usage without its amount in dollars, which is a float."""
    return replace(usage, usd=0.0)


@few
@given(bills)
def test_every_breakdown_adds_up_to_the_total(some: list[Bill]) -> None:
    cost = add_up(some)
    everything = total(one.usage for b in some for one in b.lines)
    assert counted(cost.total) == counted(everything)
    rows = [usage for row in cost.phases.values() for usage in row.values()]
    for parts in (cost.scopes.values(), rows, cost.families.values(), cost.roles.values()):
        assert counted(total(parts)) == counted(cost.total)
        assert total(parts).usd == pytest.approx(cost.total.usd)
    by_path = total(course.usage for course in cost.paths.values())
    assert counted(by_path) == counted(cost.scopes[Scope.REPAIR.value])
    for scope in Scope:
        assert counted(total(cost.phases[scope.value].values())) == counted(
            cost.scopes[scope.value]
        )


@few
@given(bills, st.randoms(use_true_random=False))
def test_the_order_of_records_does_not_matter(some: list[Bill], random: object) -> None:
    shuffled = list(some)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    cost = add_up(some)
    assert add_up(shuffled) == cost
    assert decode(encode(cost), type=CostSummary) == cost
    assert [decode(encode(b), type=Bill) for b in some] == some


@few
@given(bills, bills)
def test_pooled_costs_are_the_sums_of_their_parts(some: list[Bill], more: list[Bill]) -> None:
    one, other, both = add_up(some), add_up(more), add_up([*some, *more])
    assert both.runs == one.runs + other.runs
    assert counted(both.total) == counted(one.total + other.total)
    for path in RepairPath:
        assert (
            both.paths[path.value].attempts
            == one.paths[path.value].attempts + other.paths[path.value].attempts
        )
