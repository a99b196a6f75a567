"""The report that compares methods, with tables and charts per suite from judged runs."""

from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from auditcoder.domain.events import Manifest
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.table import Table
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import RunId
from auditcoder.interfaces.reports import cost_charts, repair_charts, summarise_runs, write_report
from auditcoder.lifecycle.ports import JudgedStore
from auditcoder.lifecycle.runs import started
from auditcoder.metrics.statistics import median, wilson
from auditcoder.viewer import charts
from auditcoder_bench.baselines import METHODS
from auditcoder_bench.reports.comparison import (
    REFERENCE,
    Result,
    manifests_table,
    result_of,
    results_tables,
)


def bench_report(ledger: JudgedStore, form: str) -> str:
    """Return a report of all judged runs that compares the methods on each suite."""
    experiments: dict[tuple[str, str], dict[str, list[RunId]]] = {}
    made: dict[RunId, Manifest] = {}
    for run in ledger.runs():
        for judgement in ledger.judgements(run)[:1]:
            manifest = made[run] = started(ledger, run).manifest
            methods = experiments.setdefault((judgement.suite, manifest.model), {})
            methods.setdefault(manifest.method, []).append(run)
    tables: list[Table] = []
    drawn: list[tuple[str, str]] = []
    total = 0
    for (suite, model), methods in sorted(experiments.items()):
        results: list[Result] = []

        def keep(trace: Trace, judgement: Judgement, into: list[Result] = results) -> None:
            into.append(result_of(trace, judgement))

        summaries = {m: summarise_runs(ledger, runs, keep) for m, runs in methods.items()}
        total += sum(summary.runs for summary in summaries.values())
        tables += results_tables(results, METHODS)
        drawn.append((f"Accuracy and tokens, {suite}, {model}", _accuracy_chart(suite, results)))
        if REFERENCE in summaries:
            own = summaries[REFERENCE]
            tables += [
                replace(t, name=f"{t.name}-{suite}", title=f"{t.title}: {REFERENCE} on {suite}")
                for t in own.tables
            ]
            drawn += [*repair_charts(suite, own), *cost_charts(suite, own)]
    tables = [*_with_unique_names(tables), manifests_table(made)]
    return write_report(form, "Methods compared", f"{total} judged runs", tables, drawn)


def _with_unique_names(tables: Iterable[Table]) -> list[Table]:
    """Make table names unique if a suite was run with several models."""
    seen: Counter[str] = Counter()
    unique = []
    for table in tables:
        seen[table.name] += 1
        again = seen[table.name] > 1
        unique.append(replace(table, name=f"{table.name}-{seen[table.name]}") if again else table)
    return unique


def _accuracy_chart(suite: str, results: list[Result]) -> str:
    points = []
    for method in dict.fromkeys((*METHODS, *(r.method for r in results))):
        done = [r for r in results if r.method == method]
        if not done:
            continue
        passed = sum(r.final for r in done)
        interval, tokens = wilson(passed, len(done)), median(r.usage.tokens for r in done)
        assert interval is not None
        assert tokens is not None
        points.append(charts.Point(method, tokens, passed / len(done), interval.low, interval.high))
    return charts.scatter(
        f"Accuracy and tokens, {suite}", "median tokens per task", "resolved", points
    )
