"""Reports: what many judged runs say, as the tables of the paper have it.

Suites are never pooled, and a method is compared with another only on problems that both did.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

from msgspec.structs import replace

from auditcoder.bench.judging import resolved
from auditcoder.domain.events import Manifest
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.tables import Cell, Row, Table
from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import RunId, Value, digest_of
from auditcoder.metrics.audit import Audit, Average, Rate
from auditcoder.metrics.cost import Cost
from auditcoder.metrics.records import spent
from auditcoder.metrics.statistics import discordant, mcnemar, median, wilson

REFERENCE = "auditcoder"
"""The method that the others are compared with."""


class Result(Value):
    """One method on one problem, judged."""

    run: RunId
    suite: str
    model: str
    method: str
    problem: str
    outcome: str
    first: bool | None
    """Whether the first program passes every hidden test; None if there was none."""
    final: bool
    usage: Usage


def result_of(trace: Trace, judgement: Judgement) -> Result:
    """Say how a judged run did."""
    final = trace.working.assembly
    first = trace.programs[0].program if trace.programs else None
    return Result(
        run=trace.run,
        suite=judgement.suite,
        model=trace.manifest.model,
        method=trace.manifest.method,
        problem=trace.task.source or trace.task.title,
        outcome=trace.finish.outcome.value if trace.finish else "unfinished",
        first=resolved(judgement.results[first]) if first else None,
        final=final is not None and resolved(judgement.results[final.program]),
        usage=spent(trace).total,
    )


def results_tables(results: Iterable[Result], order: Iterable[str]) -> list[Table]:
    """Return a table for each suite and model: every method, its interval and what it cost."""
    rank = {name: number for number, name in enumerate(order)}
    ordered = sorted(
        results, key=lambda r: (r.suite, r.model, rank.get(r.method, len(rank)), r.problem)
    )
    return [
        _results(suite, model, list(group))
        for (suite, model), group in groupby(ordered, key=lambda r: (r.suite, r.model))
    ]


def _results(suite: str, model: str, results: list[Result]) -> Table:
    by_method: dict[str, list[Result]] = {}
    for result in results:
        by_method.setdefault(result.method, []).append(result)
    own = {r.problem: r.final for r in by_method.get(REFERENCE, ())}
    columns = (
        *("method", "resolved", "of", "rate", "95 % interval", "first", "tokens", "prompt"),
        *("completion", "calls", f"only it, only {REFERENCE}", "p"),
    )
    return Table(
        name=f"results-{suite}",
        title=f"Resolved@1, {suite}, {model}",
        columns=columns,
        rows=tuple(_result(name, done, own) for name, done in by_method.items()),
        notes=(
            "resolved: the one program that was kept passes every hidden test",
            "first: the program before any repair does",
            "95 % interval: Wilson; p: exact McNemar, two-sided, on the problems that both did",
            "tokens and calls are medians of a task",
        ),
    )


def _result(name: str, done: list[Result], own: Mapping[str, bool]) -> Row:
    passed = sum(r.final for r in done)
    interval = wilson(passed, len(done))
    pairs = [(r.final, own[r.problem]) for r in done if r.problem in own]
    this, that = discordant(pairs)
    compared = name != REFERENCE and bool(pairs)
    return Row(
        cells=(
            name,
            passed,
            len(done),
            passed / len(done),
            f"{interval.low:.2f} to {interval.high:.2f}" if interval else None,
            sum(bool(r.first) for r in done),
            _middle(r.usage.tokens for r in done),
            _middle(r.usage.prompt_tokens for r in done),
            _middle(r.usage.completion_tokens for r in done),
            _middle(r.usage.calls for r in done),
            f"{this}, {that}" if compared else None,
            mcnemar(this, that) if compared else None,
        ),
        runs=tuple(r.run for r in done),
    )


def manifests_table(made: Mapping[RunId, Manifest]) -> Table:
    """Return what the runs were made with: a line for each different thing, and its runs."""
    seen: dict[tuple[str, str], list[RunId]] = {}
    for run, manifest in made.items():
        for what, value in _parts(manifest).items():
            seen.setdefault((what, value), []).append(run)
    return Table(
        name="manifests",
        title="What the runs were made with",
        columns=("what", "runs", "is"),
        rows=tuple(
            Row(cells=(what, len(runs), value), runs=tuple(runs))
            for (what, value), runs in sorted(seen.items())
        ),
        notes=("prompts: the digest of all prompts that a run may use, by their digests",),
    )


def _parts(manifest: Manifest) -> dict[str, str]:
    return {
        "model": manifest.model,
        "weights": manifest.weights or "unknown",
        "decoding": _pairs(manifest.decoding),
        "settings": _pairs(manifest.settings),
        "prompts": digest_of(manifest.prompts),
        "sandbox": manifest.sandbox,
        "versions": _pairs(manifest.versions),
        "seed": str(manifest.seed),
    }


def _pairs(named: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in sorted(named.items())) or "none"


def _middle(counts: Iterable[int]) -> Cell:
    """Return the median, as a count where it is one."""
    found = median(counts)
    return int(found) if found is not None and found.is_integer() else found


def with_runs(
    tables: Iterable[Table], alone: Iterable[tuple[RunId, Iterable[Table]]]
) -> list[Table]:
    """Name behind every line the runs that count in it: those in whose own table it counts."""
    behind: dict[tuple[Cell, ...], list[RunId]] = {}
    for run, own in alone:
        for table in own:
            for row in table.rows:
                if row.cells[table.labels] not in _NOTHING:
                    behind.setdefault(_line(table, row), []).append(run)
    return [
        replace(
            table,
            rows=tuple(
                replace(row, runs=tuple(behind.get(_line(table, row), ()))) for row in table.rows
            ),
        )
        for table in tables
    ]


_NOTHING = (0, "0/0")


def _line(table: Table, row: Row) -> tuple[Cell, ...]:
    return (table.name, *row.cells[: table.labels])


def audit_tables(audit: Audit) -> list[Table]:
    """Return the audit of a set of runs: structure, locating, repair, governance."""
    return [_structure(audit), _located(audit)]


def _structure(audit: Audit) -> Table:
    first, final = audit.trace_coverage_first, audit.trace_coverage
    rows = [
        Row(cells=("trace coverage, macro, first", first.number, first.mean, first.median)),
        Row(cells=("trace coverage, macro, final", final.number, final.mean, final.median)),
        *(
            Row(cells=(name, _fraction(rate), rate.rate, None))
            for name, rate in (
                ("trace coverage, leaves, first", audit.leaves_first),
                ("trace coverage, leaves, final", audit.leaves),
                ("graph integrity", audit.graph_integrity),
                ("contract and signature agree", audit.signature_consistency),
                ("localisation coverage", audit.localisation_coverage),
                ("localised repair success", audit.localised_repair_success),
            )
        ),
        *(
            Row(cells=(name, average.number, average.mean, average.median))
            for name, average in (
                ("sandbox runs of diagnosing", audit.looks),
                ("repair region, nodes", audit.region_size),
                ("repair region as selected", audit.selected_size),
                ("changed code, lines", audit.changed_code),
            )
        ),
        *(
            Row(cells=(name, _fraction(rate), rate.rate, None))
            for name, rate in (
                ("test regression", audit.regression),
                ("decision compliance", audit.decision_compliance),
                ("rollback integrity", audit.rollback_integrity),
                ("frozen complement intact", audit.frozen_intact),
                ("chain integrity", audit.chain_integrity),
                ("replay fidelity", audit.replay_fidelity),
            )
        ),
    ]
    return Table(
        name="audit",
        title=f"Audit of {audit.runs} runs, {audit.judged} of them judged",
        columns=("metric", "n", "mean or rate", "median"),
        rows=tuple(rows),
        notes=tuple(_left_out(audit)),
    )


def _fraction(rate: Rate) -> str:
    return f"{rate.counted.part}/{rate.counted.whole}"


def _left_out(audit: Audit) -> Iterable[str]:
    for name in audit.__struct_fields__:
        value = getattr(audit, name)
        if isinstance(value, Rate | Average) and value.excluded:
            reasons = "; ".join(f"{number} ({why})" for why, number in value.excluded.items())
            yield f"{name.replace('_', ' ')}: left out {reasons}"


def _located(audit: Audit) -> Table:
    levels = ("high", "medium", "low")
    rows = [
        Row(cells=(rule, sum(found.values()), *(found.get(level, 0) for level in levels)))
        for rule, found in sorted(audit.localised.items())
    ]
    return Table(
        name="located",
        title="What the evidence supported, by rule and level",
        columns=("rule", "runs", *levels),
        rows=tuple(rows),
        notes=(f"abstentions among all diagnoses: {audit.answers.abstained}",),
    )


def cost_tables(cost: Cost, most: int | None = 10) -> list[Table]:
    """Return what a set of runs cost: by scope, path, phase, family and role."""
    return [_scopes(cost), _paths(cost), _phases(cost), _families(cost), _roles(cost, most)]


_TOKENS = ("calls", "prompt", "completion", "total")


def _tokens(usage: Usage) -> tuple[Cell, ...]:
    return (usage.calls, usage.prompt_tokens, usage.completion_tokens, usage.tokens)


def _scopes(cost: Cost) -> Table:
    rows = [Row(cells=("total", *_tokens(cost.total), cost.per_task(cost.total), None))]
    for scope, usage in cost.scopes.items():
        repair = cost.per_repair if scope == "repair" else None
        rows.append(Row(cells=(scope, *_tokens(usage), cost.per_task(usage), repair)))
    notes = [f"{cost.runs} runs, {cost.repaired} of which came to repair"]
    if not cost.exact:
        notes.append(f"{cost.total.unmeasured} calls were not measured: tokens are at least these")
    return Table(
        name="cost-scope",
        title="Tokens by scope",
        columns=("scope", *_TOKENS, "a run", "a repaired run"),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _paths(cost: Cost) -> Table:
    return Table(
        name="cost-path",
        title="Tokens of repair by path",
        columns=("path", "runs", "attempts", *_TOKENS, "an attempt"),
        rows=tuple(
            Row(cells=(name, c.runs, c.attempts, *_tokens(c.usage), c.per_attempt))
            for name, c in cost.paths.items()
        ),
    )


def _phases(cost: Cost) -> Table:
    return Table(
        name="cost-phase",
        title="Tokens by phase",
        columns=("scope", "phase", *_TOKENS, "a run"),
        rows=tuple(
            Row(cells=(scope, phase, *_tokens(usage), cost.per_task(usage)))
            for scope, phases in cost.phases.items()
            for phase, usage in phases.items()
        ),
        labels=2,
    )


def _families(cost: Cost) -> Table:
    return Table(
        name="cost-family",
        title="Tokens by phase, both scopes together",
        columns=("phase", "total", "share"),
        rows=tuple(
            Row(cells=(name, usage.tokens, cost.share(usage)))
            for name, usage in cost.families.items()
        ),
    )


def _roles(cost: Cost, most: int | None) -> Table:
    return Table(
        name="cost-role",
        title="The roles that cost most",
        columns=("role", *_TOKENS, "a call", "share"),
        rows=tuple(
            Row(cells=(m.role, *_tokens(m.usage), m.per_call, m.share)) for m in cost.modules(most)
        ),
    )
