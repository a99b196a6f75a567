"""The facts of one run that the audit metrics count, in a compact serialisable form."""

from auditcoder.domain.diagnosis import Localised
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Decision, Transaction, TransactionKind, decide
from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Count
from auditcoder.domain.values import Digest, RunId, Value
from auditcoder.metrics.repair_metrics import (
    changed_lines,
    kept_program,
    region,
    regressed,
    restored,
    selection,
)
from auditcoder.metrics.trace_metrics import (
    Boundary,
    Localisation,
    Ratio,
    boundary_of,
    diagnosis_cost,
    failed_at_first,
    functionless_roots,
    graph_integrity,
    initial_trace_coverage,
    keeps_frozen,
    localisation,
    recorded_boundary,
    signature_consistency,
    trace_coverage,
)


class RepairFacts(Value):
    """The facts about one transaction."""

    number: Count
    kind: TransactionKind
    selected: Ratio
    """Nodes that the diagnosis selected, of the nodes before the repair."""
    region: Ratio
    """Nodes of the region as widened, of the nodes before the repair."""
    boundary: Boundary | None = None
    """None for a fallback, which has none."""
    changed: Ratio | None = None
    """Changed lines, of the lines of the program after the decision; None without a decision."""
    decision: Decision | None = None
    """None if the record ends before the decision."""
    expected: Decision | None = None
    """The decision that the ranks require."""
    restored: bool | None = None
    """Whether a rollback restored the earlier state; None if there was none, or not yet."""
    frozen_intact: bool | None = None
    """Whether the frozen complement is unchanged; None for a fallback, or without a decision."""
    regressed: Ratio | None = None
    """Hidden tests that fail on the program after the decision, of those that passed before."""
    passes: bool | None = None
    """Whether the program after the decision passes all hidden tests; None if not judged."""


class RunFacts(Value):
    """The facts about one run."""

    run: RunId
    head: Digest
    """Head digest of the record that the facts were counted in."""
    intact: bool
    """Whether the record verifies; the caller of `collect_facts` checks that."""
    method: str = ""
    task: str = ""
    suite: str = ""
    """The part of a benchmark task's source before the slash; empty for a user's own task."""
    outcome: RunOutcome | None = None
    """None if the run has not finished."""
    nodes: Count = 0
    """Zero if there is no graph."""
    first_coverage: Ratio = Ratio()
    """Fully recorded leaves, of all leaves, before the first repair."""
    coverage: Ratio = Ratio()
    """Fully recorded leaves, of all leaves, at the end of the run."""
    graph_valid: bool | None = None
    """None if there is no graph."""
    signatures: Ratio = Ratio()
    functionless_roots: Count = 0
    """Nodes left out of `signatures`."""
    losses: Count = 0
    """What replies said and neither graph nor code holds."""
    drafts: Count | None = None
    """The number of drafts that were requested; None if none were planned."""
    variants: Count | None = None
    """The number of variants that ran; None if no drafts were planned."""
    failed_at_first: bool | None = None
    boundary: Boundary | None = None
    """The boundary that the run was localised to; None if it was not localised."""
    answers: Localisation = Localisation(localised={}, abstained=0)
    """All diagnoses, including those that a later one replaced."""
    diagnosis_runs: Count = 0
    """Sandbox executions that diagnoses needed in addition to the failed checks."""
    repairs: tuple[RepairFacts, ...] = ()
    judged: bool = False
    """Whether a judge ran hidden tests on any program of the run."""
    replays: bool | None = None
    """Whether the record replays to the same head; None if it was not replayed."""

    @property
    def diagnosed(self) -> bool:
        """Whether the run contains a diagnosis."""
        return bool(self.answers.coverage.whole)


def collect_facts(
    trace: Trace,
    read: ReadBlob,
    *,
    intact: bool,
    judgement: Judgement | None = None,
    replays: bool | None = None,
) -> RunFacts:
    """Collect the facts about one run.

    The caller verifies and replays the record and passes the results. Raise RecordUnreadable if
    the judgement is about another record, head or program.
    """
    if judgement is not None:
        judgement.require_about(trace)
    graph = trace.working.graph
    suite, slash, _ = trace.task.source.partition("/")
    return RunFacts(
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
        losses=len(trace.losses),
        drafts=len(trace.drafting.requested) if trace.drafting else None,
        variants=len(trace.drafting.variants) if trace.drafting else None,
        failed_at_first=failed_at_first(trace),
        boundary=recorded_boundary(trace),
        answers=localisation(trace),
        diagnosis_runs=diagnosis_cost(trace, read).runs,
        repairs=tuple(_repair_facts(trace, t, read, judgement) for t in trace.history),
        judged=judgement is not None,
        intact=intact,
        replays=replays,
    )


def _repair_facts(
    trace: Trace, transaction: Transaction, read: ReadBlob, judgement: Judgement | None
) -> RepairFacts:
    t = transaction
    results = judgement.results if judgement else {}
    kept = kept_program(t)
    before, after = results.get(t.program_before), results.get(kept) if kept else None
    lost, passed = regressed(before, after) if before and after else (0, 0)
    return RepairFacts(
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
        regressed=Ratio(part=lost, whole=passed) if before and after else None,
        passes=all(after.values()) if after else None,
    )


def _changed(read: ReadBlob, before: Digest, after: Digest) -> Ratio:
    new = read(after).decode("utf-8", "replace")
    old = new if before == after else read(before).decode("utf-8", "replace")
    return changed_lines(old, new)
