"""From stored runs to tables and pages."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from auditcoder.domain.judgement import Judgement
from auditcoder.domain.table import Table
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.values import RunId
from auditcoder.exports import table_formats as written
from auditcoder.exports.audit_tables import audit_tables, cost_tables, with_runs
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import JudgedStore
from auditcoder.metrics.audit_metrics import Audit, Tally, summarise
from auditcoder.metrics.cost_metrics import CostSummary, CostTally, add_up, bill
from auditcoder.metrics.run_facts import collect_facts
from auditcoder.viewer import charts
from auditcoder.viewer.report_page import page


class AuditReport(NamedTuple):
    """What a set of runs shows."""

    runs: int
    audit: Audit
    cost: CostSummary
    tables: list[Table]
    """The audit and the cost, each line with the runs behind it."""


def summarise_runs(
    ledger: JudgedStore,
    runs: Iterable[RunId],
    on_judged: Callable[[Trace, Judgement], None] = lambda _trace, _judgement: None,
) -> AuditReport:
    """Verify each run, count its metrics and add up its cost, in one pass.

    `on_judged` is called with every run that has a judgement.
    """
    tally, spent = Tally(), CostTally()
    alone: list[tuple[RunId, list[Table]]] = []
    for run in runs:
        trace = fold(ledger.read(run), ledger.blob)
        judgement = word_on(ledger, run, trace.head.digest)
        intact = verify_run(ledger, run).holds
        counted = collect_facts(trace, ledger.blob, intact=intact, judgement=judgement)
        billed = bill(trace)
        tally.add(counted)
        spent.add(billed)
        alone.append((run, _tables(summarise([counted]), add_up([billed]), most=None)))
        if judgement is not None:
            on_judged(trace, judgement)
    audit, cost = tally.audit(), spent.cost()
    return AuditReport(len(alone), audit, cost, with_runs(_tables(audit, cost), alone))


def _tables(audit: Audit, cost: CostSummary, most: int | None = 10) -> list[Table]:
    return [*audit_tables(audit), *cost_tables(cost, most)]


def word_on(ledger: JudgedStore, run: RunId, head: str) -> Judgement | None:
    """Return what the judge said of a run as it is now, if there was one."""
    return next((j for j in ledger.judgements(run) if j.head == head), None)


def audit_report(ledger: JudgedStore, runs: Iterable[RunId], form: str) -> str:
    """Write the audit and the cost of some runs."""
    found = summarise_runs(ledger, runs)
    drawn = [*repair_charts("", found), *cost_charts("", found)]
    return write_report(form, "Audit", f"{found.runs} runs", found.tables, drawn)


def repair_charts(suite: str, found: AuditReport) -> list[tuple[str, str]]:
    audit = found.audit
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


def cost_charts(suite: str, found: AuditReport) -> list[tuple[str, str]]:
    lines = [
        charts.Bar(scope, tuple((name, float(u.tokens)) for name, u in phases.items()))
        for scope, phases in found.cost.phases.items()
    ]
    return [(_titled("Tokens by phase", suite), charts.bars("Tokens by phase", lines))]


def _titled(title: str, suite: str) -> str:
    return f"{title}, {suite}" if suite else title


def write_report(
    form: str, title: str, about: str, tables: list[Table], drawn: list[tuple[str, str]]
) -> str:
    if form == "html":
        return page(title, about, tables, drawn)
    return FORMS[form](tables)


FORMS: dict[str, Callable[[Iterable[Table]], str]] = {
    "text": written.as_text,
    "markdown": written.as_markdown,
    "csv": written.as_csv,
    "json": written.as_json,
}
"""How tables can be written, beside a page."""
