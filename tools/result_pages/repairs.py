"""Pages about repairs: repair-yardstick, repair-several, repair-faults."""

from result_pages.layout import (
    Page,
    Result,
    interval,
    number,
    provenance_of_tables,
    rate,
    record,
    records,
    table,
)

COMMANDS = """    auditcoder bench run --locator paper-rules --fallback --store rules.db SUITE
    auditcoder bench run --locator weighed --fallback --recall rules.db --store weighed.db SUITE
    python benchmarks/repair.py rules.db weighed.db"""


def _comparison(result: Result) -> str:
    groups = {"planned anew, too": "also replanned"}
    names = {"none: planned anew": "none: whole program replanned"}
    rows = [
        (
            groups.get(row["runs of"], row["runs of"]),
            names.get(row["locator"], f"`{row['locator']}`"),
            row["runs"],
            rate(row["located"]),
            rate(row["rightly"]),
            row["pass their checks"],
            interval(row["pass their checks"], row["runs"]),
            "" if row["resolved"] is None else row["resolved"],
            rate(row["region"]),
            rate(row["changed code"]),
            number(row["tokens a run for repair"]),
        )
        for row in records(result, "repair-by-locator")
    ]
    columns = [
        "runs",
        "locator",
        "number",
        "located",
        "boundary contains a fault",
        "pass their checks",
        "95 %",
        "pass hidden tests",
        "region (RRS)",
        "changed code (CCR)",
        "repair tokens per run",
    ]
    return table(columns, rows)


def _pairs(result: Result) -> str:
    (row,) = records(result, "repair-pairs")
    return (
        f"Pairs: {row['pairs']}."
        f" Only the run with the paper's rules passes: {row['only paper-rules']}."
        f" Only the run with `{row['locator']}` passes: {row['only it']}."
        f" Exact McNemar test, two-sided: p = {row['p']:.3f}."
    )


def _goals(result: Result) -> str:
    rows = []
    for row in records(result, "repair-goals"):
        digits = 0 if "tokens" in row["measure"] else 3
        margin = row["beyond the goal"]
        rows.append(
            (
                row["measure"]
                .replace("beside planning it anew", "against replanning")
                .replace("beside", "against")
                .replace("pass then where located", "located runs that pass in the end"),
                number(row["goal"], digits),
                number(row["found"], digits),
                f"{margin:+,.{digits}f}",
                "**missed**" if margin < 0 else "reached",
            )
        )
    return table(["measure", "goal", "found", "margin", ""], rows) + "\n\nFewer tokens are better."


def _row(result: Result, group: str, locator: str) -> dict[str, float]:
    return record(result, "repair-by-locator", runs_of=group, locator=locator)


def yardstick(result: Result) -> Page:
    """Describe repairs of natural failures by two locators."""
    everything = _row(result, "all", "weighed")
    several = _row(result, "several parts", "weighed")
    rules = _row(result, "several parts", "paper-rules")
    anew = _row(result, "planned anew, too", "none: planned anew")
    located = _row(result, "planned anew, too", "weighed")
    return Page(
        "Repairs of natural failures",
        "Do better boundaries improve repairs of programs that a small model wrote?",
        f"""## Method

Of 40 HumanEval+, 20 introductory APPS and 8 AeroComm tasks, those whose first program fails its
examples were repaired twice: once with the paper's rules and once with the default locator. Both
repairs start from the same recorded program:

{COMMANDS}

ClassEval is not included: its tasks have no public examples, so no run fails a check.

{provenance_of_tables(result)}

## Results

{_comparison(result)}

{_pairs(result)}

## Goals

{_goals(result)}

## Interpretation and limits

- {everything["runs"] - several["runs"]} of {everything["runs"]} plans have one part: there is
  nothing to locate, both locators give the same answer, and the model receives the same request.
- In the {several["runs"]} plans with several parts, the default locator selects a smaller region
  ({rate(several["region"])} of the plan against {rate(rules["region"])}), but the second opinions
  cost more tokens than that saves.
- Replanning {anew["runs"]} of these programs, all with one part, took
  {number(anew["tokens a run for repair"])} tokens per run against
  {number(located["tokens a run for repair"])} for a located repair, and {anew["resolved"]} programs
  pass hidden tests against {located["resolved"]}. So the token goal is reached only nominally:
  this model does better when it starts again than with its own code in the prompt.
- The paper reports a localisation coverage of 0.433.
- [repair-several](repair-several.md) repeats the comparison with replanning for plans of several
  parts, where the goal is missed.
""",
    )


def several(result: Result) -> Page:
    """Describe the cost of replanning if a plan has several parts."""
    anew = _row(result, "planned anew, too", "none: planned anew")
    located = _row(result, "planned anew, too", "weighed")
    return Page(
        "Located repair against replanning, several parts",
        "Does a located repair take fewer tokens than replanning the whole program if the plan has"
        " several parts?",
        f"""## Method

The runs are those of [repair-yardstick](repair-yardstick.md). Plans with several parts for which
`--locator ochiai` names nothing were also replanned (`--fallback`).

{COMMANDS} --anew anew.db

{provenance_of_tables(result)}

## Results

{_comparison(result)}

{_pairs(result)}

## Goals

{_goals(result)}

## Interpretation and limits

- Replanning took {number(anew["tokens a run for repair"])} tokens per run, a located repair
  {number(located["tokens a run for repair"])}: the goal is **missed** by about the cost of the
  second opinions.
- Only {anew["runs"]} runs could be compared. {anew["pass their checks"]} of them pass when
  replanned, {located["pass their checks"]} after a located repair.
""",
    )


def faults(result: Result) -> Page:
    """Describe repairs of injected faults by two locators."""
    rules = _row(result, "all", "paper-rules")
    weighed = _row(result, "all", "weighed")

    located = round(rules["located"] * rules["runs"])
    fallbacks = rules["runs"] - located
    fallback_passes = rules["pass their checks"] - round(rules["then pass"] * located)

    def tokens_per_pass(row: dict[str, float]) -> str:
        return number(row["tokens a run for repair"] * row["runs"] / row["pass their checks"])

    return Page(
        "Repairs of injected faults",
        "If the cause is known and the program has several parts, does the locator affect the"
        " success of repairs?",
        f"""## Method

One fault, chosen at random, was injected into each of the first 18 FaultBench programs in
alphabetical order (`auditcoder faults repair`). {weighed["runs"]} of the programs failed; one slow
loop was not slow enough. The embedded model repaired each program once per locator.

{provenance_of_tables(result)}

## Results

{_comparison(result)}

Repair tokens per program that passes in the end: {tokens_per_pass(rules)} with the paper's rules,
{tokens_per_pass(weighed)} with `weighed`.

{_pairs(result)}

## Limits

- The difference is not significant.
- The locator weights of that time had been fitted on faults in these programs, among others.
- The runs of the second locator had newer prompts for second opinions (two prompt digests above).
- The request for second opinions was changed after inspecting these programs
  ([decision 023](../decisions/023-second-opinions-in-one-request.md)), so expect less elsewhere.
- If the paper's rules named nothing, the program was replanned. That took
  {number(rules["a fallback attempt"])} tokens per attempt; {fallback_passes} of {fallbacks} such
  programs passed.
- Since then repair prompts are shorter
  ([decision 024](../decisions/024-repair-prompts-without-the-planning-handbook.md)), and the
  packaged weights were fitted on half of the programs only.
""",
    )
