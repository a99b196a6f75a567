"""The audit: what many records, taken together, show of structure, repair and governance.

`facts` says of one record what there is to count, small enough to keep and to send. `summarise`
goes through any number of them once and keeps nothing but counts. The definitions are those of
the paper's appendix D, with what docs/reference/metrics.md settles. A number without anything to
count is None, and whatever is left out of a denominator is counted with the reason.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum
from fractions import Fraction

from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.events import Outcome
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.law import ReadBlob
from auditcoder.domain.repair import Decision, Transaction, TransactionKind, decide
from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Count
from auditcoder.domain.values import Digest, RunId, Value
from auditcoder.metrics.records import (
    Boundary,
    Localisation,
    Share,
    boundary_of,
    by_rule_and_level,
    failed_at_first,
    functionless_roots,
    graph_integrity,
    initial_trace_coverage,
    keeps_frozen,
    localisation,
    looks,
    recorded_boundary,
    signature_consistency,
    trace_coverage,
)
from auditcoder.metrics.repair import (
    changed_lines,
    kept_program,
    region,
    regressed,
    restored,
    selection,
)
from auditcoder.metrics.statistics import mean_of_counts, median_of_counts


class Repaired(Value):
    """What there is to count about one transaction."""

    number: Count
    kind: TransactionKind
    selected: Share
    """Nodes that the diagnosis gave, of nodes before."""
    region: Share
    """Nodes that could change in the end, of nodes before."""
    boundary: Boundary | None = None
    """None for a fallback, which has none."""
    changed: Share | None = None
    """Changed lines, for lines of the program that was kept; None without a decision."""
    decision: Decision | None = None
    """None if the record ends first."""
    expected: Decision | None = None
    """What the ranks ask for."""
    restored: bool | None = None
    """Whether a rollback left nothing behind; None if there was none, or not yet."""
    frozen_intact: bool | None = None
    """Whether the frozen complement is as it was; None for a fallback, or without a decision."""
    regressed: Share | None = None
    """Hidden tests that fail on the program that was kept, of those that passed before."""
    passes: bool | None = None
    """Whether the program that was kept passes every hidden test; None if nobody judged it."""


class Facts(Value):
    """What there is to count about one run."""

    run: RunId
    head: Digest
    """Names the record that it was counted in."""
    intact: bool
    """Whether the record verifies; whoever made these facts looked."""
    method: str = ""
    task: str = ""
    suite: str = ""
    """What stands before the slash of a benchmark's task; empty for a user's own."""
    outcome: Outcome | None = None
    """None if the record ends first."""
    nodes: Count = 0
    """Zero if there is no graph."""
    first_coverage: Share = Share()
    """Leaves fully on record, of all, as the first repair found them."""
    coverage: Share = Share()
    """The same as the run left them."""
    graph_valid: bool | None = None
    """None if there is no graph."""
    signatures: Share = Share()
    functionless_roots: Count = 0
    """Nodes left out of `signatures`."""
    failed_at_first: bool | None = None
    boundary: Boundary | None = None
    """What the run was localised to, if it was."""
    answers: Localisation = Localisation(localised={}, abstained=0)
    """Every diagnosis, replaced ones too."""
    looks: Count = 0
    """Runs of the sandbox that diagnoses took beyond the checks that had failed."""
    repairs: tuple[Repaired, ...] = ()
    judged: bool = False
    """Whether a judge ran hidden tests, on any program of the run."""
    replays: bool | None = None
    """Whether it replays to the same head; None if nobody tried."""

    @property
    def diagnosed(self) -> bool:
        """Whether a locator was ever asked."""
        return bool(self.answers.coverage.whole)


def facts(
    trace: Trace,
    read: ReadBlob,
    *,
    intact: bool,
    judgement: Judgement | None = None,
    replays: bool | None = None,
) -> Facts:
    """Count what there is to count about one run.

    Verification and replay happen elsewhere, and say here how they ended. A judgement must be
    about this very record.
    """
    if judgement and (judgement.run, judgement.head) != (trace.run, trace.head.digest):
        raise ValueError(
            f"the judgement is about {judgement.run} at {judgement.head[:16]},"
            f" not about {trace.run} at {trace.head.digest[:16]}: judge the record as it is now"
        )
    graph = trace.working.graph
    suite, slash, _ = trace.task.source.partition("/")
    return Facts(
        run=trace.run,
        head=trace.head.digest,
        method=trace.manifest.method,
        task=trace.task.source or trace.task.title,
        suite=suite if slash else "",
        outcome=trace.finish.outcome if trace.finish else None,
        nodes=len(graph.nodes) if graph else 0,
        first_coverage=initial_trace_coverage(trace, read),
        coverage=trace_coverage(trace, read),
        graph_valid=graph_integrity(trace) if graph else None,
        signatures=signature_consistency(trace, read),
        functionless_roots=functionless_roots(trace),
        failed_at_first=failed_at_first(trace),
        boundary=recorded_boundary(trace),
        answers=localisation(trace),
        looks=looks(trace, read).runs,
        repairs=tuple(_repaired(trace, t, read, judgement) for t in trace.history),
        judged=judgement is not None,
        intact=intact,
        replays=replays,
    )


def _repaired(
    trace: Trace, transaction: Transaction, read: ReadBlob, judgement: Judgement | None
) -> Repaired:
    t = transaction
    results = judgement.results if judgement else {}
    kept = kept_program(t)
    before, after = results.get(t.program_before), results.get(kept) if kept else None
    lost, passed = regressed(before, after) if before and after else (0, 0)
    return Repaired(
        number=t.number,
        kind=t.kind,
        boundary=boundary_of(t.diagnosis) if isinstance(t.diagnosis, Localised) else None,
        selected=selection(t),
        region=region(t),
        changed=_changed(read, t.program_before, kept) if kept else None,
        decision=t.decision,
        expected=decide(t.before, t.after) if t.after is not None else None,
        restored=restored(trace, t),
        frozen_intact=keeps_frozen(t),
        regressed=Share(part=lost, whole=passed) if before and after else None,
        passes=all(after.values()) if after else None,
    )


def _changed(read: ReadBlob, before: Digest, after: Digest) -> Share:
    new = read(after).decode("utf-8", "replace")
    old = new if before == after else read(before).decode("utf-8", "replace")
    return changed_lines(old, new)


class Reason(Enum):
    """Why something is in no denominator."""

    NO_GRAPH = "the run has no graph"
    NO_LEAVES = "the graph has no leaves"
    FUNCTIONLESS_ROOT = "the root promises no function"
    NO_PROGRAM = "whether the first program passes is unknown: there is none, or not all was run"
    PASSED_AT_FIRST = "the first program passes"
    NOT_DIAGNOSED = "the first program fails, and no locator was asked"
    NO_REPAIR = "localised, and the record ends before a repair"
    NOT_JUDGED = "no judge ran hidden tests on it"
    UNDECIDED = "the record ends before a decision"
    NOT_ROLLED_BACK = "the record ends between the decision and its rollback"
    NO_LINES = "the program that was kept has no lines of code"
    FALLBACK = "a fallback is graph-wide: it has no boundary and freezes nothing"
    NOT_REPLAYED = "nobody replayed it"


class Rate(Value):
    """So many of so many, and what was not counted."""

    counted: Share = Share()
    excluded: dict[str, int] = {}
    """How many were left out, by the reason's words."""

    @property
    def rate(self) -> float | None:
        """The rate; None if there was nothing to count."""
        return self.counted.rate


class Average(Value):
    """Mean and median, each None if there was nothing to count, and what was not counted."""

    number: Count = 0
    mean: float | None = None
    median: float | None = None
    excluded: dict[str, int] = {}


class Audit(Value):
    """The audit metrics of a set of runs. A task's numbers count runs: each is a record."""

    runs: Count
    judged: Count
    """Runs with a judge's word."""
    outcomes: dict[str, int]
    """`unfinished` where a record ends without one."""
    methods: dict[str, int]
    suites: dict[str, int]
    transactions: dict[str, int]
    """How many were bounded, and how many fallbacks."""

    trace_coverage_first: Average
    """DCTC-leaf, task macro, before any repair."""
    trace_coverage: Average
    """DCTC-leaf, task macro, in the end."""
    leaves_first: Rate
    """DCTC-leaf, micro, before any repair."""
    leaves: Rate
    """DCTC-leaf, micro, in the end."""
    graph_integrity: Rate
    """GIR."""
    signature_consistency: Rate
    """CSCR, over the nodes of all runs."""

    localisation_coverage: Rate
    """LocCov, over runs that failed at first and whose locator was asked."""
    localised_repair_success: Rate
    """LRS, over runs, each by its last localised transaction."""
    localised: dict[str, dict[str, int]]
    """What LocCov found: runs by rule and level."""
    answers: Localisation
    """Every diagnosis of every run."""
    looks: Average
    """Runs of the sandbox that diagnosing took, over the runs of LocCov."""

    region_size: Average
    """RRS over localised transactions, the region as widened."""
    selected_size: Average
    """RRS over localised transactions, the region as selected."""
    changed_code: Average
    """CCR over localised transactions."""
    regression: Rate
    """Over hidden tests that passed before a localised transaction; what is left out are
    transactions."""
    decision_compliance: Rate
    """SIDC, over all decided transactions."""
    rollback_integrity: Rate
    """RIR, over all rejected transactions."""

    frozen_intact: Rate
    """Localised transactions that left what they froze as it was."""
    chain_integrity: Rate
    """Runs whose record verifies."""
    replay_fidelity: Rate
    """Runs whose record replays to the same head."""


def summarise(every: Iterable[Facts]) -> Audit:
    """Go through the facts once, keeping counts alone, and return the metrics."""
    tally = Tally()
    for one in every:
        tally.add(one)
    return tally.audit()


class _Counting:
    """A rate while it is being counted."""

    def __init__(self) -> None:
        self.part = self.whole = 0
        self.excluded: Counter[Reason] = Counter()

    def add(self, share: Share) -> None:
        self.part += share.part
        self.whole += share.whole

    def count(self, holds: bool) -> None:
        self.part += holds
        self.whole += 1

    def count_known(self, holds: bool | None, otherwise: Reason) -> None:
        """Count one; or, if nobody knows, why not."""
        if holds is None:
            self.leave_out(otherwise)
        else:
            self.count(holds)

    def leave_out(self, reason: Reason, number: int = 1) -> None:
        self.excluded[reason] += number

    def rate(self) -> Rate:
        return Rate(
            counted=Share(part=self.part, whole=self.whole), excluded=_listed(self.excluded)
        )


class _Averaging:
    """An average while it is being taken: how often each fraction occurred, and no record."""

    def __init__(self) -> None:
        self.seen: Counter[Fraction] = Counter()
        self.excluded: Counter[Reason] = Counter()

    def add(self, share: Share | None, otherwise: Reason) -> None:
        if share is None or not share.whole:
            self.leave_out(otherwise)
        else:
            self.seen[Fraction(share.part, share.whole)] += 1

    def leave_out(self, reason: Reason) -> None:
        self.excluded[reason] += 1

    def average(self) -> Average:
        return Average(
            number=self.seen.total(),
            mean=mean_of_counts(self.seen),
            median=median_of_counts(self.seen),
            excluded=_listed(self.excluded),
        )


def _listed(excluded: Counter[Reason]) -> dict[str, int]:
    return {reason.value: excluded[reason] for reason in Reason if excluded[reason]}


class Tally:
    """An audit under way. Its size depends on how many different things were seen, not how often.

    For several groups in one pass, keep one for each.
    """

    def __init__(self) -> None:
        self._runs = self._judged = 0
        self._outcomes: Counter[str] = Counter()
        self._methods: Counter[str] = Counter()
        self._suites: Counter[str] = Counter()
        self._kinds: Counter[str] = Counter()
        self._macro_first, self._macro = _Averaging(), _Averaging()
        self._leaves_first, self._leaves = _Counting(), _Counting()
        self._graphs, self._signatures = _Counting(), _Counting()
        self._located, self._succeeded = _Counting(), _Counting()
        self._boundaries: Counter[tuple[str, Level]] = Counter()
        self._answers: Counter[tuple[str, Level]] = Counter()
        self._targets: Counter[str] = Counter()
        self._abstained = 0
        self._looks = _Averaging()
        self._region, self._selected, self._changed = _Averaging(), _Averaging(), _Averaging()
        self._regression, self._frozen = _Counting(), _Counting()
        self._decisions, self._rollbacks = _Counting(), _Counting()
        self._chains, self._replays = _Counting(), _Counting()

    def add(self, one: Facts) -> None:
        """Count one run."""
        self._runs += 1
        self._judged += one.judged
        self._outcomes[one.outcome.value if one.outcome else "unfinished"] += 1
        self._methods[one.method] += 1
        self._suites[one.suite] += 1
        self._chains.count(one.intact)
        self._replays.count_known(one.replays, Reason.NOT_REPLAYED)
        self._add_structure(one)
        self._add_answers(one.answers)
        self._add_localisation(one)
        for repair in one.repairs:
            self._add_transaction(repair)

    def _add_structure(self, one: Facts) -> None:
        missing = Reason.NO_LEAVES if one.nodes else Reason.NO_GRAPH
        for macro, micro, share in (
            (self._macro_first, self._leaves_first, one.first_coverage),
            (self._macro, self._leaves, one.coverage),
        ):
            macro.add(share, missing)
            micro.add(share)
            if not share.whole:
                micro.leave_out(missing)
        self._graphs.count_known(one.graph_valid, Reason.NO_GRAPH)
        self._signatures.add(one.signatures)
        self._signatures.leave_out(Reason.FUNCTIONLESS_ROOT, one.functionless_roots)
        self._signatures.leave_out(Reason.NO_GRAPH, not one.nodes)

    def _add_answers(self, answers: Localisation) -> None:
        for rule, levels in answers.localised.items():
            for level, times in levels.items():
                self._answers[rule, Level(level)] += times
        self._targets.update(answers.targets)
        self._abstained += answers.abstained

    def _add_localisation(self, one: Facts) -> None:
        """LocCov and LRS: a run counts once, however often it was diagnosed and repaired."""
        if one.failed_at_first is None:
            self._located.leave_out(Reason.NO_PROGRAM)
        elif not one.failed_at_first:
            self._located.leave_out(Reason.PASSED_AT_FIRST)
        elif not one.diagnosed:
            self._located.leave_out(Reason.NOT_DIAGNOSED)
        else:
            found = one.boundary
            self._located.count(found is not None)
            self._looks.add(Share(part=one.looks, whole=1), Reason.NOT_DIAGNOSED)
            if found is not None:
                self._boundaries[found.rule, found.level] += 1
                self._add_success([r for r in one.repairs if r.kind is TransactionKind.BOUNDED])

    def _add_success(self, localised: list[Repaired]) -> None:
        if not localised:
            self._succeeded.leave_out(Reason.NO_REPAIR)
        else:
            last = localised[-1]
            self._succeeded.count_known(last.passes, _unjudged(last))

    def _add_transaction(self, repair: Repaired) -> None:
        self._kinds[repair.kind.value] += 1
        if repair.decision is None or repair.expected is None:
            self._decisions.leave_out(Reason.UNDECIDED)
        else:
            self._decisions.count(repair.decision is repair.expected)
        if repair.decision is Decision.REJECTED:
            self._rollbacks.count_known(repair.restored, Reason.NOT_ROLLED_BACK)
        if repair.kind is TransactionKind.FALLBACK:
            self._leave_out_fallback()
            return
        self._region.add(repair.region, Reason.NO_GRAPH)
        self._selected.add(repair.selected, Reason.NO_GRAPH)
        self._changed.add(
            repair.changed, Reason.UNDECIDED if repair.changed is None else Reason.NO_LINES
        )
        self._frozen.count_known(repair.frozen_intact, Reason.UNDECIDED)
        if repair.regressed is None:
            self._regression.leave_out(_unjudged(repair))
        else:
            self._regression.add(repair.regressed)

    def _leave_out_fallback(self) -> None:
        for average in (self._region, self._selected, self._changed):
            average.leave_out(Reason.FALLBACK)
        for rate in (self._regression, self._frozen):
            rate.leave_out(Reason.FALLBACK)

    def audit(self) -> Audit:
        """Return the metrics of what was counted so far."""
        return Audit(
            runs=self._runs,
            judged=self._judged,
            outcomes=_named(self._outcomes),
            methods=_named(self._methods),
            suites=_named(self._suites),
            transactions={kind.value: self._kinds[kind.value] for kind in TransactionKind},
            trace_coverage_first=self._macro_first.average(),
            trace_coverage=self._macro.average(),
            leaves_first=self._leaves_first.rate(),
            leaves=self._leaves.rate(),
            graph_integrity=self._graphs.rate(),
            signature_consistency=self._signatures.rate(),
            localisation_coverage=self._located.rate(),
            localised_repair_success=self._succeeded.rate(),
            localised=by_rule_and_level(self._boundaries),
            answers=Localisation(
                localised=by_rule_and_level(self._answers),
                abstained=self._abstained,
                targets=_named(self._targets),
            ),
            looks=self._looks.average(),
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


def _unjudged(repair: Repaired) -> Reason:
    return Reason.UNDECIDED if repair.decision is None else Reason.NOT_JUDGED


def _named(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items()))
