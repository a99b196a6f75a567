"""Audit metrics of a set of runs: structure, localisation, repair and governance.

`summarise` makes one pass over the facts of any number of runs and keeps only counts. The
definitions are those of the paper's appendix D, with the choices in docs/reference/metrics.md.
A metric with nothing to count is None, and everything left out of a denominator is counted by
its reason.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from fractions import Fraction

from auditcoder.domain.diagnosis import Level
from auditcoder.domain.repair import Decision, TransactionKind
from auditcoder.domain.usage import Count
from auditcoder.domain.values import Value
from auditcoder.metrics.run_facts import RepairFacts, RunFacts
from auditcoder.metrics.statistics import mean_of_counts, median_of_counts
from auditcoder.metrics.trace_metrics import Localisation, Ratio, by_rule_and_level


class Exclusion(Enum):
    """Why a run or transaction is left out of a denominator."""

    NO_GRAPH = "the run has no graph"
    NO_LEAVES = "the graph has no leaves"
    FUNCTIONLESS_ROOT = "the root, the definitions or the whole program promise no function"
    NO_DRAFTS = "no drafts were planned"
    NO_PROGRAM = "the result of the first program is unknown: none was made, or checks did not run"
    PASSED_AT_FIRST = "the first program passes"
    NOT_DIAGNOSED = "the first program fails, and the record has no diagnosis"
    NO_REPAIR = "localised, but the record ends before a repair"
    NOT_JUDGED = "no hidden tests were run on it"
    UNDECIDED = "the record ends before a decision"
    NOT_ROLLED_BACK = "the record ends between the decision and its rollback"
    NO_LINES = "the program after the repair has no lines of code"
    FALLBACK = "a fallback is graph-wide: it has no boundary and freezes nothing"
    NOT_REPLAYED = "it was not replayed"


class Rate(Value):
    """Numerator and denominator of a rate, and the number of exclusions."""

    counted: Ratio = Ratio()
    excluded: dict[str, int] = {}
    """Number of exclusions, by the text of the reason."""

    @property
    def rate(self) -> float | None:
        """The rate; None if there was nothing to count."""
        return self.counted.rate


class Average(Value):
    """Mean and median (None if there was nothing to count), and the number of exclusions."""

    number: Count = 0
    mean: float | None = None
    median: float | None = None
    excluded: dict[str, int] = {}


class Audit(Value):
    """The audit metrics of a set of runs. Task-level metrics count runs, one record each."""

    runs: Count
    judged: Count
    """Runs with a judgement."""
    outcomes: dict[str, int]
    """Runs by outcome; `unfinished` where a record ends without one."""
    methods: dict[str, int]
    suites: dict[str, int]
    transactions: dict[str, int]
    """Number of bounded transactions and of fallbacks."""

    trace_coverage_first: Average
    """DCTC-leaf, task macro, before any repair."""
    trace_coverage: Average
    """DCTC-leaf, task macro, at the end of the run."""
    leaves_first: Rate
    """DCTC-leaf, micro, before any repair."""
    leaves: Rate
    """DCTC-leaf, micro, at the end of the run."""
    graph_integrity: Rate
    """GIR."""
    signature_consistency: Rate
    """CSCR, over the nodes of all runs."""
    losses: Count
    """What replies said and neither graph nor code holds, of all runs; the goal is zero."""
    drafts: Average
    """Drafts that were requested, over runs that planned any."""
    variants: Average
    """Variants that ran: whole drafts and combinations, over runs that planned drafts."""

    localisation_coverage: Rate
    """LocCov, over runs whose first program failed and that were diagnosed."""
    localised_repair_success: Rate
    """LRS, over runs, each by its last localised transaction."""
    localised: dict[str, dict[str, int]]
    """The localised runs of LocCov, by rule and level."""
    answers: Localisation
    """Every diagnosis of every run."""
    diagnosis_runs: Average
    """Sandbox executions used by diagnosis, over the runs of LocCov."""

    region_size: Average
    """RRS over localised transactions, the region as widened."""
    selected_size: Average
    """RRS over localised transactions, the region as selected."""
    changed_code: Average
    """CCR over localised transactions."""
    regression: Rate
    """Over hidden tests that passed before a localised transaction; the exclusions count
    transactions."""
    decision_compliance: Rate
    """SIDC, over all decided transactions."""
    rollback_integrity: Rate
    """RIR, over all rejected transactions."""

    frozen_intact: Rate
    """Localised transactions that left their frozen nodes unchanged."""
    chain_integrity: Rate
    """Runs whose record verifies."""
    replay_fidelity: Rate
    """Runs whose record replays to the same head."""


def summarise(every: Iterable[RunFacts]) -> Audit:
    """Return the metrics of many runs, in one pass that keeps only counts."""
    tally = Tally()
    for one in every:
        tally.add(one)
    return tally.audit()


class _RateCounter:
    """Accumulates a rate."""

    def __init__(self) -> None:
        self.part = self.whole = 0
        self.excluded: Counter[Exclusion] = Counter()

    def add(self, share: Ratio) -> None:
        self.part += share.part
        self.whole += share.whole

    def count(self, holds: bool) -> None:
        self.part += holds
        self.whole += 1

    def count_known(self, holds: bool | None, otherwise: Exclusion) -> None:
        """Count one item, or the reason to leave it out where `holds` is unknown."""
        if holds is None:
            self.leave_out(otherwise)
        else:
            self.count(holds)

    def leave_out(self, reason: Exclusion, number: int = 1) -> None:
        self.excluded[reason] += number

    def rate(self) -> Rate:
        return Rate(
            counted=Ratio(part=self.part, whole=self.whole),
            excluded=_count_by_reason(self.excluded),
        )


class _AverageCounter:
    """Accumulates an average, as the number of times that each fraction occurred."""

    def __init__(self) -> None:
        self.values: Counter[Fraction] = Counter()
        self.excluded: Counter[Exclusion] = Counter()

    def add(self, share: Ratio | None, otherwise: Exclusion) -> None:
        if share is None or not share.whole:
            self.leave_out(otherwise)
        else:
            self.values[Fraction(share.part, share.whole)] += 1

    def leave_out(self, reason: Exclusion) -> None:
        self.excluded[reason] += 1

    def average(self) -> Average:
        return Average(
            number=self.values.total(),
            mean=mean_of_counts(self.values),
            median=median_of_counts(self.values),
            excluded=_count_by_reason(self.excluded),
        )


def _count_by_reason(excluded: Counter[Exclusion]) -> dict[str, int]:
    return {reason.value: excluded[reason] for reason in Exclusion if excluded[reason]}


class Tally:
    """Accumulates an audit. Its size depends on the number of distinct values, not of runs.

    For several groups in one pass, keep one tally per group.
    """

    def __init__(self) -> None:
        self._runs = self._judged = 0
        self._outcomes: Counter[str] = Counter()
        self._methods: Counter[str] = Counter()
        self._suites: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._macro_first, self._macro = _AverageCounter(), _AverageCounter()
        self._leaves_first, self._leaves = _RateCounter(), _RateCounter()
        self._graphs, self._signatures = _RateCounter(), _RateCounter()
        self._lost = 0
        self._drafts, self._variants = _AverageCounter(), _AverageCounter()
        self._located, self._succeeded = _RateCounter(), _RateCounter()
        self._boundaries: Counter[tuple[str, Level]] = Counter()
        self._answers: Counter[tuple[str, Level]] = Counter()
        self._targets: Counter[str] = Counter()
        self._abstained = 0
        self._diagnosis_runs = _AverageCounter()
        self._region, self._selected, self._changed = (
            _AverageCounter(),
            _AverageCounter(),
            _AverageCounter(),
        )
        self._regression, self._frozen = _RateCounter(), _RateCounter()
        self._decisions, self._rollbacks = _RateCounter(), _RateCounter()
        self._chains, self._replays = _RateCounter(), _RateCounter()

    def add(self, one: RunFacts) -> None:
        """Count one run."""
        self._runs += 1
        self._judged += one.judged
        self._outcomes[one.outcome.value if one.outcome else "unfinished"] += 1
        self._methods[one.method] += 1
        self._suites[one.suite] += 1
        self._chains.count(one.intact)
        self._replays.count_known(one.replays, Exclusion.NOT_REPLAYED)
        self._add_structure(one)
        self._add_answers(one.answers)
        self._add_localisation(one)
        for repair in one.repairs:
            self._add_transaction(repair)

    def _add_structure(self, one: RunFacts) -> None:
        missing = Exclusion.NO_LEAVES if one.nodes else Exclusion.NO_GRAPH
        for macro, micro, share in (
            (self._macro_first, self._leaves_first, one.first_coverage),
            (self._macro, self._leaves, one.coverage),
        ):
            macro.add(share, missing)
            micro.add(share)
            if not share.whole:
                micro.leave_out(missing)
        self._graphs.count_known(one.graph_valid, Exclusion.NO_GRAPH)
        self._lost += one.losses
        self._signatures.add(one.signatures)
        self._signatures.leave_out(Exclusion.FUNCTIONLESS_ROOT, one.functionless_roots)
        self._signatures.leave_out(Exclusion.NO_GRAPH, not one.nodes)
        for average, number in ((self._drafts, one.drafts), (self._variants, one.variants)):
            each = None if number is None else Ratio(part=number, whole=1)
            average.add(each, Exclusion.NO_DRAFTS)

    def _add_answers(self, answers: Localisation) -> None:
        for rule, levels in answers.localised.items():
            for level, times in levels.items():
                self._answers[rule, Level(level)] += times
        self._targets.update(answers.targets)
        self._abstained += answers.abstained

    def _add_localisation(self, one: RunFacts) -> None:
        """Count LocCov and LRS: a run counts once, however often it was diagnosed and repaired."""
        if one.failed_at_first is None:
            self._located.leave_out(Exclusion.NO_PROGRAM)
        elif not one.failed_at_first:
            self._located.leave_out(Exclusion.PASSED_AT_FIRST)
        elif not one.diagnosed:
            self._located.leave_out(Exclusion.NOT_DIAGNOSED)
        else:
            boundary = one.boundary
            self._located.count(boundary is not None)
            self._diagnosis_runs.add(
                Ratio(part=one.diagnosis_runs, whole=1), Exclusion.NOT_DIAGNOSED
            )
            if boundary is not None:
                self._boundaries[boundary.rule, boundary.level] += 1
                self._add_success([r for r in one.repairs if r.kind is TransactionKind.BOUNDED])

    def _add_success(self, localised: list[RepairFacts]) -> None:
        if not localised:
            self._succeeded.leave_out(Exclusion.NO_REPAIR)
        else:
            last = localised[-1]
            self._succeeded.count_known(last.passes, _reason_unjudged(last))

    def _add_transaction(self, repair: RepairFacts) -> None:
        self._kinds[repair.kind.value] += 1
        if repair.decision is None or repair.expected is None:
            self._decisions.leave_out(Exclusion.UNDECIDED)
        else:
            self._decisions.count(repair.decision is repair.expected)
        if repair.decision is Decision.REJECTED:
            self._rollbacks.count_known(repair.restored, Exclusion.NOT_ROLLED_BACK)
        if repair.kind is TransactionKind.FALLBACK:
            self._leave_out_fallback()
            return
        self._region.add(repair.region, Exclusion.NO_GRAPH)
        self._selected.add(repair.selected, Exclusion.NO_GRAPH)
        self._changed.add(
            repair.changed,
            Exclusion.UNDECIDED if repair.changed is None else Exclusion.NO_LINES,
        )
        self._frozen.count_known(repair.frozen_intact, Exclusion.UNDECIDED)
        if repair.regressed is None:
            self._regression.leave_out(_reason_unjudged(repair))
        else:
            self._regression.add(repair.regressed)

    def _leave_out_fallback(self) -> None:
        for average in (self._region, self._selected, self._changed):
            average.leave_out(Exclusion.FALLBACK)
        for rate in (self._regression, self._frozen):
            rate.leave_out(Exclusion.FALLBACK)

    def audit(self) -> Audit:
        """Return the metrics of the runs added so far."""
        return Audit(
            runs=self._runs,
            judged=self._judged,
            outcomes=_sorted_counts(self._outcomes),
            methods=_sorted_counts(self._methods),
            suites=_sorted_counts(self._suites),
            transactions={kind.value: self._kinds[kind.value] for kind in TransactionKind},
            trace_coverage_first=self._macro_first.average(),
            trace_coverage=self._macro.average(),
            leaves_first=self._leaves_first.rate(),
            leaves=self._leaves.rate(),
            graph_integrity=self._graphs.rate(),
            signature_consistency=self._signatures.rate(),
            losses=self._lost,
            drafts=self._drafts.average(),
            variants=self._variants.average(),
            localisation_coverage=self._located.rate(),
            localised_repair_success=self._succeeded.rate(),
            localised=by_rule_and_level(self._boundaries),
            answers=Localisation(
                localised=by_rule_and_level(self._answers),
                abstained=self._abstained,
                targets=_sorted_counts(self._targets),
            ),
            diagnosis_runs=self._diagnosis_runs.average(),
            region_size=self._region.average(),
            selected_size=self._selected.average(),
            changed_code=self._changed.average(),
            regression=self._regression.rate(),
            decision_compliance=self._decisions.rate(),
            rollback_integrity=self._rollbacks.rate(),
            frozen_intact=self._frozen.rate(),
            chain_integrity=self._chains.rate(),
            replay_fidelity=self._replays.rate(),
        )


def _reason_unjudged(repair: RepairFacts) -> Exclusion:
    return Exclusion.UNDECIDED if repair.decision is None else Exclusion.NOT_JUDGED


def _sorted_counts(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))
