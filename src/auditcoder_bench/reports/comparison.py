"""Tables that compare methods over judged runs, in the form of the paper's tables.

Suites are never pooled, and two methods are compared only on problems that both have run.
"""

from collections.abc import Iterable, Mapping
from itertools import groupby

from auditcoder.domain.events import Manifest
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.table import Cell, Row, Table
from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import RunId, Value, digest_of
from auditcoder.metrics.statistics import discordant, mcnemar, median, wilson
from auditcoder.metrics.trace_metrics import token_use
from auditcoder_bench.judge import resolved

REFERENCE = "auditcoder"
"""The method that the others are compared with."""


class Result(Value):
    """The judged result of one method on one problem."""

    run: RunId
    suite: str
    model: str
    method: str
    problem: str
    outcome: str
    first: bool | None
    """Whether the first program passes every hidden test; None if there was no program."""
    final: bool
    usage: Usage


def result_of(trace: Trace, judgement: Judgement) -> Result:
    """Return the result of a judged run."""
    final = trace.working.assembly
    first = trace.programs[0].program if trace.programs else None
    return Result(
        run=trace.run,
        suite=judgement.suite,
        model=trace.manifest.model,
        method=trace.manifest.method,
        problem=trace.task.source or trace.task.title,
        outcome=trace.finish.outcome.value if trace.finish else "unfinished",
        first=resolved(judgement.of(first)) if first else None,
        final=final is not None and resolved(judgement.of(final.program)),
        usage=token_use(trace).total,
    )


def results_tables(results: Iterable[Result], order: Iterable[str]) -> list[Table]:
    """Return one table per suite and model with the rate, interval and cost of every method."""
    rank = {name: number for number, name in enumerate(order)}
    ordered = sorted(
        results, key=lambda r: (r.suite, r.model, rank.get(r.method, len(rank)), r.problem)
    )
    return [
        _results_table(suite, model, list(group))
        for (suite, model), group in groupby(ordered, key=lambda r: (r.suite, r.model))
    ]


def _results_table(suite: str, model: str, results: list[Result]) -> Table:
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
        rows=tuple(_result_row(name, done, own) for name, done in by_method.items()),
        notes=(
            "resolved: the final program passes every hidden test",
            "first: the program before any repair passes every hidden test",
            "95 % interval: Wilson; p: exact McNemar, two-sided, on problems that both have run",
            "tokens and calls are medians per task",
        ),
    )


def _result_row(name: str, done: list[Result], own: Mapping[str, bool]) -> Row:
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
            _median_cell(r.usage.tokens for r in done),
            _median_cell(r.usage.prompt_tokens for r in done),
            _median_cell(r.usage.completion_tokens for r in done),
            _median_cell(r.usage.calls for r in done),
            f"{this}, {that}" if compared else None,
            mcnemar(this, that) if compared else None,
        ),
        runs=tuple(r.run for r in done),
    )


def manifests_table(made: Mapping[RunId, Manifest]) -> Table:
    """Return the manifests of the runs: one row per distinct value, with its runs."""
    seen: dict[tuple[str, str], list[RunId]] = {}
    for run, manifest in made.items():
        for what, value in _manifest_values(manifest).items():
            seen.setdefault((what, value), []).append(run)
    return Table(
        name="manifests",
        title="Manifests of the runs",
        columns=("what", "runs", "is"),
        rows=tuple(
            Row(cells=(what, len(runs), value), runs=tuple(runs))
            for (what, value), runs in sorted(seen.items())
        ),
        notes=("prompts: one digest over the digests of all prompts that a run may use",),
    )


def _manifest_values(manifest: Manifest) -> dict[str, str]:
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


def _median_cell(counts: Iterable[int]) -> Cell:
    """Return the median, as an integer if it is one."""
    value = median(counts)
    return int(value) if value is not None and value.is_integer() else value
