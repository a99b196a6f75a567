"""Pages about whole runs on the embedded model: solve, methods, default, examples."""

import statistics
from collections import Counter
from typing import Any

from result_pages.layout import (
    Page,
    Result,
    interval,
    number,
    provenance_of_manifest,
    provenance_of_tables,
    rate,
    ratio,
    record,
    records,
    share,
    table,
)

SUITES = {
    "humaneval+": "HumanEval+",
    "apps": "APPS, introductory",
    "classeval": "ClassEval",
    "aerocomm": "AeroComm-Small8",
}


def solve(result: Result) -> Page:
    """Describe forty problems, each solved with joint and with node building."""
    everything = result["all"]
    rows: list[dict[str, Any]] = result["rows"]
    guarantees = table(
        ["", "measured (95 % Wilson interval)", "the paper, 200 runs"],
        [
            ("records that verify", share(*ratio(everything["verify"])), ""),
            (
                "records that replay byte for byte, with every check repeated",
                share(*ratio(everything["replay"])),
                "",
            ),
            (
                "trace coverage of leaves",
                share(*ratio(everything["trace_coverage_micro"])),
                "0.9725",
            ),
            ("graph integrity", share(*ratio(everything["graph_integrity"])), "0.925"),
            (
                "contract and signature agree",
                share(*ratio(everything["signature_consistency"])),
                "0.973",
            ),
            (
                "frozen code unchanged, per repair",
                share(*ratio(everything["frozen_intact"])),
                "",
            ),
            (
                "runs lost to a malformed reply",
                (
                    f"{everything['without_program']} of {everything['runs']}"
                    f" ({everything['rejected_replies']} replies were unusable and requested again)"
                ),
                "25 of 200 in one ablation",
            ),
            ("tokens per task, median", number(everything["median_tokens"]), "79,900"),
        ],
    )
    quality = []
    for suite, title in (("humaneval", "HumanEval"), ("apps", "APPS, introductory")):
        for build in ("joint", "node"):
            group = [row for row in rows if row["suite"] == suite and row["build"] == build]
            quality.append(
                (
                    f"{title}, `{build}`",
                    share(sum(row["outcome"] == "passed" for row in group), len(group)),
                    share(sum(row["hidden_final"] is True for row in group), len(group)),
                    sum(row["transactions"] for row in group),
                    sum(row["accepted"] for row in group),
                    number(statistics.median(row["tokens"] for row in group)),
                )
            )
    rules: Counter[str] = Counter()
    for row in rows:
        for name, times in row["located"].items():
            rules[name] += times
    gained = sum(row["hidden_final"] is True and row["hidden_first"] is not True for row in rows)
    located = ", ".join(f"{name} {times}" for name, times in sorted(rules.items()))
    return Page(
        "Forty problems solved twice",
        "Do the guarantees of a record hold on real runs, and how good are the programs that a"
        " small model writes?",
        f"""## Method

`benchmarks/solve.py` solved twenty HumanEval problems and twenty introductory APPS problems, each
once with joint and once with node building, with at most one repair located by the paper's rules.
The ids were fixed before the first run. Hidden tests were used only after a run had ended.

{provenance_of_manifest(result["manifest"])}

These are the settings of the runs with joint building; the others used `build node`.

## Guarantees

{guarantees}

Leaves and signatures of one run are not independent, so their pooled intervals are too narrow.

## Programs

{
            table(
                [
                    "suite, building",
                    "passes its examples",
                    "passes hidden tests",
                    "repairs",
                    "accepted",
                    "median tokens",
                ],
                quality,
            )
        }

Diagnoses by rule: {located}. {gained} runs passed their hidden tests only after a repair, although
{everything["accepted"]} of {everything["transactions"]} repairs were accepted.

## Limits

- The model has 1.5 billion parameters. The numbers say little about larger ones.
- {everything["several_nodes"].replace("/", " of ")} plans have more than one part, so most repairs
  had nothing to localise.
- These runs are older than the default locator and two prompt changes; [default](default.md) has
  results with the current settings.
""",
    )


def _results_table(result: Result, suite: str) -> str:
    rows = []
    for row in records(result, f"results-{suite}"):
        pair = row["only it, only auditcoder"]
        same: object = ""
        if pair is not None:
            only_it, only_auditcoder = (int(part) for part in pair.split(","))
            same = row["resolved"] - only_it + only_auditcoder
        rows.append(
            (
                row["method"],
                f"{row['resolved']} of {row['of']}",
                interval(row["resolved"], row["of"]),
                row["first"],
                same,
                rate(row["p"]),
                number(row["tokens"]),
                number(row["calls"], 1),
            )
        )
    columns = [
        "method",
        "resolved",
        "95 % interval",
        "first program",
        "auditcoder on the same tasks",
        "p",
        "tokens",
        "calls",
    ]
    return table(columns, rows)


def _audit_table(result: Result, suites: list[str]) -> str:
    found = {
        suite: {row["metric"]: row for row in records(result, f"audit-{suite}")} for suite in suites
    }
    rows = [
        (metric, *(_audited(found[suite].get(metric)) for suite in suites))
        for metric in found[suites[0]]
    ]
    return table(["metric (n)", *(SUITES[suite] for suite in suites)], rows)


def _audited(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    value = row["mean or rate"]
    return f"{value if isinstance(value, str) else rate(value) or 'n/a'} ({row['n']})"


def _scope_table(result: Result, suites: list[str]) -> str:
    rows = [
        (SUITES[suite], row["scope"], row["calls"], number(row["total"]), number(row["a run"]))
        for suite in suites
        for row in records(result, f"cost-scope-{suite}")
    ]
    return table(["suite", "scope", "calls", "tokens", "tokens per run"], rows)


def _failed_at_first(result: Result, suites: list[str]) -> int:
    return sum(row["runs"] for suite in suites for row in records(result, f"located-{suite}"))


def methods(result: Result) -> Page:
    """Describe ten methods compared on four suites."""
    suites = list(SUITES)
    ours = {suite: record(result, f"results-{suite}", method="auditcoder") for suite in suites}
    direct = {suite: record(result, f"results-{suite}", method="direct") for suite in suites}
    times = sorted(ours[suite]["tokens"] / direct[suite]["tokens"] for suite in suites)
    gained = sum(ours[suite]["resolved"] - ours[suite]["first"] for suite in suites)
    plus = "humaneval+"
    lowest = min(row["p"] for row in records(result, f"results-{plus}") if row["p"] is not None)
    tables = "\n\n".join(
        f"### {SUITES[suite]}\n\n{_results_table(result, suite)}" for suite in suites
    )
    return Page(
        "Ten methods in one harness",
        "Does AuditCoder resolve more tasks than simpler methods with the same model, and what"
        " does it cost?",
        f"""## Method

`auditcoder bench run` ran each method on fixed problem ids with the embedded model, and `auditcoder
bench report` made the tables. The final program of each task is judged by hidden tests.
`auditcoder` planned with a sketch, used the paper's rules as its locator and up to three repairs,
and had no drafts ([later results](drafts.md)). Four methods ran on all
problems; the others ran on every second one of the forty HumanEval+ problems (`--ids @twenty`).

{provenance_of_tables(result)}

## Results

{tables}

- resolved: tasks whose final program passes every hidden test, with Wilson's interval.
- first program: tasks whose program before any repair passes every hidden test.
- auditcoder on the same tasks: tasks of that row that auditcoder resolves.
- p: exact McNemar test, two-sided, against auditcoder on those tasks.
- tokens, calls: medians per task.

## Audit metrics of auditcoder's runs

{_audit_table(result, suites)}

n/a: the denominator is zero. The metrics are defined in [metrics](../reference/metrics.md).

## Tokens of auditcoder's runs

{_scope_table(result, suites)}

## Interpretation

- AuditCoder does not resolve more tasks than one direct call, and its median tokens are
  {times[0]:.0f} to {times[-1]:.0f} times as many.
- The three methods that plan come last on HumanEval+: plans have one part there, so planning only
  makes the prompt longer. AuditCoder's first program passes the hidden tests in
  {ours[plus]["first"]} of {ours[plus]["of"]} tasks, that of `direct` in {direct[plus]["first"]}.
- With so few tasks, no difference is significant; the smallest p on HumanEval+ is {lowest:.2f}.
- {_failed_at_first(result, suites)} first programs failed their own examples and were repaired up
  to three times. {gained} tasks were resolved by a repair.

## Limits

- One small model, one sample per task, four small suites.
- ClassEval tasks have no public examples, so no run fails a check and nothing is repaired.
- Two prompts were changed because of these runs; [default](default.md) has AuditCoder's results
  with them. The other methods were not run again.
""",
    )


def default(result: Result) -> Page:
    """Describe AuditCoder alone with the current default settings."""
    suites = [suite for suite in SUITES if suite != "classeval"]
    levels = "\n".join(
        f"- {SUITES[suite]}: "
        + "; ".join(
            f"{row['runs']} runs located by `{row['rule']}`, {row['high']} with high,"
            f" {row['medium']} with medium and {row['low']} with low confidence"
            for row in records(result, f"located-{suite}")
        )
        for suite in suites
    )
    rows = []
    for suite in suites:
        row = record(result, f"results-{suite}", method="auditcoder")
        rows.append(
            (
                SUITES[suite],
                f"{row['resolved']} of {row['of']}",
                interval(row["resolved"], row["of"]),
                row["first"],
                number(row["tokens"]),
                number(row["calls"], 1),
            )
        )
    gained = sum(
        record(result, f"results-{suite}", method="auditcoder")["resolved"]
        - record(result, f"results-{suite}", method="auditcoder")["first"]
        for suite in suites
    )
    return Page(
        "AuditCoder with a sketch and the default locator",
        "How do the default locator and shorter prompts change the results on the same tasks?",
        f"""## Method

The same problems and model as in [methods](methods.md), AuditCoder only, with the default locator,
a sketch (then the default planner), at most one repair, and two changed prompts: the prompt for a
plan with one function omits the plan
([decision 021](../decisions/021-prompt-for-a-single-node-plan.md)), and repair prompts omit the
planning handbook
([decision 024](../decisions/024-repair-prompts-without-the-planning-handbook.md)).

{provenance_of_tables(result)}

## Results

{
            table(
                ["suite", "resolved", "95 % interval", "first program", "tokens", "calls"],
                rows,
            )
        }

Tokens and calls are medians per task.

{levels}

## Audit metrics

{_audit_table(result, suites)}

## Tokens

{_scope_table(result, suites)}

## Limits

- {gained} tasks were resolved by a repair; the gain over the earlier runs is in the first programs.
- The other methods were not run again, so they cannot be compared.
- The prompts were changed after inspecting the first runs on some of these tasks.
""",
    )


def examples(result: Result) -> Page:
    """Describe the twelve shipped example tasks."""
    rows = result["rows"]
    shown = [
        (
            f"`{row['task']}`",
            row["form"],
            row["outcome"],
            row["nodes"],
            row["calls"],
            number(row["tokens"]),
            row["seconds"],
            f"{row['repairs']} ({row['accepted']})",
            ", ".join(row["located"]) or "nothing failed",
        )
        for row in rows
    ]
    passed = sum(row["outcome"] == "passed" for row in rows)
    return Page(
        "The twelve shipped examples",
        "How many of the tasks in `examples/tasks` does the embedded model solve?",
        f"""## Method

`benchmarks/examples.py` ran each task once, with the paper's rules as the locator, the default at
that time.

{provenance_of_manifest(result["manifest"])}

## Results

{
            table(
                [
                    "task",
                    "form",
                    "outcome",
                    "leaves",
                    "calls",
                    "tokens",
                    "seconds",
                    "repairs (accepted)",
                    "diagnoses",
                ],
                shown,
            )
        }

`passed`: every example given with the task passes. `abstained`: the evidence supported no
boundary, or no longer did. `failed`: the repairs were used up.

- passed: {share(passed, len(rows))}
- records that verify: {sum(row["verifies"] for row in rows)} of {len(rows)}
- records that replay: {sum(row["replays"] for row in rows)} of {len(rows)}
- time spent neither in the model nor in the sandbox: at most
  {max(row["overhead"] for row in rows):.2%} of a run

## Limits

The tasks were written for this project and represent no population. Each was run once.
""",
    )
