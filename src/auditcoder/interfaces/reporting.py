"""From stored runs to tables and pages."""

from collections import Counter
from collections.abc import Callable, Iterable
from typing import NamedTuple

from msgspec.structs import replace

from auditcoder.bench.report import (
    REFERENCE,
    Result,
    audit_tables,
    cost_tables,
    manifests_table,
    result_of,
    results_tables,
    with_runs,
)
from auditcoder.bench.runner import Ledger
from auditcoder.domain.events import Manifest
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.tables import Table
from auditcoder.domain.trace import fold
from auditcoder.domain.values import RunId
from auditcoder.exports import tables as written
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.methods import METHODS
from auditcoder.methods.solving import started
from auditcoder.metrics.audit import Audit, Tally, facts, summarise
from auditcoder.metrics.cost import Cost, CostTally, add_up, bill
from auditcoder.metrics.statistics import median, wilson
from auditcoder.viewer import charts
from auditcoder.viewer.report import page


class Found(NamedTuple):
    """What a set of runs shows."""

    runs: int
    results: list[Result]
    audit: Audit
    cost: Cost
    tables: list[Table]
    """The audit and the cost, each line with the runs behind it."""


def look_at(ledger: Ledger, runs: Iterable[RunId]) -> Found:
    """Go through runs once: verify, count, add up, and take in what the judge said."""
    tally, spent = Tally(), CostTally()
    results: list[Result] = []
    alone: list[tuple[RunId, list[Table]]] = []
    for run in runs:
        trace = fold(ledger.read(run), ledger.blob)
        judgement = word_on(ledger, run, trace.head.digest)
        intact = verify_run(ledger, run).holds
        counted = facts(trace, ledger.blob, intact=intact, judgement=judgement)
        billed = bill(trace)
        tally.add(counted)
        spent.add(billed)
        alone.append((run, _tables(summarise([counted]), add_up([billed]), most=None)))
        if judgement is not None:
            results.append(result_of(trace, judgement))
    audit, cost = tally.audit(), spent.cost()
    return Found(len(alone), results, audit, cost, with_runs(_tables(audit, cost), alone))


def _tables(audit: Audit, cost: Cost, most: int | None = 10) -> list[Table]:
    return [*audit_tables(audit), *cost_tables(cost, most)]


def word_on(ledger: Ledger, run: RunId, head: str) -> Judgement | None:
    """Return what the judge said of a run as it is now, if there was one."""
    return next((j for j in ledger.judgements(run) if j.head == head), None)


def audit_report(ledger: Ledger, runs: Iterable[RunId], form: str) -> str:
    """Write the audit and the cost of some runs."""
    found = look_at(ledger, runs)
    drawn = [*_flow("", found), *_costs("", found)]
    return _write(form, "Audit", f"{found.runs} runs", found.tables, drawn)


def bench_report(ledger: Ledger, form: str) -> str:
    """Write what all judged runs show: every suite apart, every method beside the others."""
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
        found = {method: look_at(ledger, runs) for method, runs in methods.items()}
        total += sum(f.runs for f in found.values())
        results = [r for f in found.values() for r in f.results]
        tables += results_tables(results, METHODS)
        drawn.append((f"Accuracy and tokens, {suite}, {model}", _accuracy(suite, results)))
        if REFERENCE in found:
            own = found[REFERENCE]
            tables += [
                replace(t, name=f"{t.name}-{suite}", title=f"{t.title}: {REFERENCE} on {suite}")
                for t in own.tables
            ]
            drawn += [*_flow(suite, own), *_costs(suite, own)]
    tables = [*_named_apart(tables), manifests_table(made)]
    return _write(form, "Methods compared", f"{total} judged runs", tables, drawn)


def _named_apart(tables: Iterable[Table]) -> list[Table]:
    """Give each table a name of its own, where a suite was run with several models."""
    seen: Counter[str] = Counter()
    apart = []
    for table in tables:
        seen[table.name] += 1
        again = seen[table.name] > 1
        apart.append(replace(table, name=f"{table.name}-{seen[table.name]}") if again else table)
    return apart


def _accuracy(suite: str, results: list[Result]) -> str:
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
        f"Accuracy and tokens, {suite}", "median tokens a task", "resolved", points
    )


def _flow(suite: str, found: Found) -> list[tuple[str, str]]:
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


def _costs(suite: str, found: Found) -> list[tuple[str, str]]:
    lines = [
        charts.Bar(scope, tuple((name, float(u.tokens)) for name, u in phases.items()))
        for scope, phases in found.cost.phases.items()
    ]
    return [(_titled("Tokens by phase", suite), charts.bars("Tokens by phase", lines))]


def _titled(title: str, suite: str) -> str:
    return f"{title}, {suite}" if suite else title


def _write(
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
