"""Makes tables and HTML pages about stored runs."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from auditcoder.domain.judgement import Judgement
from auditcoder.domain.table import Table
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import RunId
from auditcoder.exports import table_formats as written
from auditcoder.exports.audit_tables import audit_tables, cost_tables, with_runs
from auditcoder.exports.replay_table import ReplayedRun, replay_table, replayed_run
from auditcoder.lifecycle.export_import import verified_trace
from auditcoder.lifecycle.ports import JudgedStore
from auditcoder.metrics.audit_metrics import Audit, Tally, summarise
from auditcoder.metrics.cost_metrics import CostSummary, CostTally, add_up, bill
from auditcoder.metrics.run_facts import collect_facts
from auditcoder.viewer import charts
from auditcoder.viewer.report_page import page


class AuditReport(NamedTuple):
    """The audit metrics and the cost of a set of runs."""

    runs: int
    audit: Audit
    cost: CostSummary
    tables: list[Table]
    """Audit and cost tables; each row names the runs that count in it."""
    replays: Table
    """Which of the runs were replayed, when, and with what result."""


def summarise_runs(
    store: JudgedStore,
    runs: Iterable[RunId],
    on_judged: Callable[[Trace, Judgement], None] = lambda _trace, _judgement: None,
) -> AuditReport:
    """Verify each run, count its metrics and add up its cost, in one pass.

    A run that does not verify is refused: nothing can be counted in it.
    `on_judged` is called with every run that has a judgement.
    """
    tally, spent = Tally(), CostTally()
    per_run: list[tuple[RunId, list[Table]]] = []
    replayed: list[ReplayedRun] = []
    for run in runs:
        trace = verified_trace(store, run)
        judgement = judgement_at(store, run, trace.head.digest)
        known = replayed_run(run, trace.head.digest, store.replays(run))
        replayed.append(known)
        facts = collect_facts(
            trace,
            store.blob,
            intact=True,
            judgement=judgement,
            replays=known.last.same if known.last else None,
        )
        billed = bill(trace)
        tally.add(facts)
        spent.add(billed)
        per_run.append((run, _tables(summarise([facts]), add_up([billed]), most=None)))
        if judgement is not None:
            on_judged(trace, judgement)
    audit, cost = tally.audit(), spent.cost()
    tables = with_runs(_tables(audit, cost), per_run)
    return AuditReport(len(per_run), audit, cost, tables, replay_table(replayed))


def _tables(audit: Audit, cost: CostSummary, most: int | None = 10) -> list[Table]:
    return [*audit_tables(audit), *cost_tables(cost, most)]


def judgement_at(store: JudgedStore, run: RunId, head: str) -> Judgement | None:
    """Return the judgement of a run whose record ends at `head`, None if there is none."""
    return next((j for j in store.judgements(run) if j.head == head), None)


def audit_report(store: JudgedStore, runs: Iterable[RunId], form: str) -> str:
    """Return a report of the audit metrics and the cost of some runs."""
    report = summarise_runs(store, runs)
    drawn = [*repair_charts("", report), *cost_charts("", report)]
    first, *others = report.tables
    tables = [first, report.replays, *others]
    return write_report(form, "Audit", f"{report.runs} runs", tables, drawn)


def repair_charts(suite: str, report: AuditReport) -> list[tuple[str, str]]:
    """Return the chart of located and repaired failures, with its title."""
    audit = report.audit
    failed = audit.localisation_coverage.counted
    repaired = audit.localised_repair_success.counted
    lines = [
        charts.Bar(
            "located",
            (("a boundary", float(failed.part)), ("abstained", float(failed.whole - failed.part))),
        ),
        charts.Bar(
            "repaired",
            (
                ("passes hidden tests", float(repaired.part)),
                ("does not", float(repaired.whole - repaired.part)),
            ),
        ),
    ]
    return [(_titled("Locating and repair", suite), charts.bars("Locating and repair", lines))]


def cost_charts(suite: str, report: AuditReport) -> list[tuple[str, str]]:
    """Return the chart of tokens by phase, with its title."""
    lines = [
        charts.Bar(scope, tuple((name, float(u.tokens)) for name, u in phases.items()))
        for scope, phases in report.cost.phases.items()
    ]
    return [(_titled("Tokens by phase", suite), charts.bars("Tokens by phase", lines))]


def _titled(title: str, suite: str) -> str:
    return f"{title}, {suite}" if suite else title


def write_report(
    form: str, title: str, about: str, tables: list[Table], drawn: list[tuple[str, str]]
) -> str:
    """Return tables in a format; the charts `drawn` are part of an HTML page only."""
    if form == "html":
        return page(title, about, tables, drawn)
    return FORMS[form](tables)


FORMS: dict[str, Callable[[Iterable[Table]], str]] = {
    "text": written.as_text,
    "markdown": written.as_markdown,
    "csv": written.as_csv,
    "json": written.as_json,
}
"""The text formats of tables; `html` is a page instead."""
