"""The page about the number of drafts and the rule that chooses among them."""

from collections.abc import Iterable, Mapping
from statistics import mean, median
from typing import Any

from result_pages.layout import Page, Result, number, provenance_of_benchmark, table

_TITLES = {"humaneval+": "HumanEval+", "mbpp+": "MBPP+"}


def drafts(result: Result) -> Page:
    """Describe what each rule for drafts resolves, and its tokens."""
    suites = "\n\n".join(
        f"### {_TITLES.get(name, name)}\n\n{table(_COLUMNS, map(_row, _shown(rows)))}"
        for name, rows in result["suites"].items()
    )
    return Page(
        "Drafts and the choice among them",
        "How many drafts pay for the embedded model, and which rule should choose among them?",
        f"""## Method

`auditcoder bench run --methods consensus --drafts 10` requested ten drafts of every task: six with
the prompt of a direct request (*plain*, the first at temperature 0, the others at
{result["decoding"]["draft_temperature"]}) and four with a prompt that asks for the rule behind the
examples first (*reasoned*). `benchmarks/drafts.py` judged every draft by the hidden tests and
computed what each rule would have chosen and paid. *First that passes* stops at the first draft
that passes the given examples; *consensus* requests all and prefers outputs on which drafts agree;
*examples only* requests all and takes the first of those that pass most.

{provenance_of_benchmark(result)}

## Results

{suites}

{_whole_runs(result["runs"])}

- resolved: tasks whose chosen draft passes every hidden test, with Wilson's interval.
- any right: tasks of which some draft that the rule may request is right.
- tokens: of all requests for drafts, with the whole prompt counted for each.

## Limits

The rule was chosen on these tasks, so its figures here are optimistic. One set of drafts per task.
""",
    )


def _whole_runs(rows: list[Mapping[str, Any]]) -> str:
    """Describe whole runs of AuditCoder on the same drafts, repairs included."""
    tokens = [row["tokens"] for row in rows]
    passed = sum(row["outcome"] == "passed" for row in rows)
    right = sum(row["resolved"] for row in rows)
    accepted, repairs = (sum(row[name] for row in rows) for name in ("accepted", "repairs"))
    return (
        "Whole runs of `auditcoder` with its default options on the same HumanEval+ drafts (six,"
        f" then up to three repairs) resolve **{right} of {len(rows)}**; {passed} pass their"
        f" examples. They take {number(round(mean(tokens)))} tokens on average, and"
        f" {number(round(median(tokens)))} in the median. {accepted} of {repairs} repairs were"
        " accepted."
    )


_COLUMNS = (
    *("rule", "resolved", "95 % interval", "any right"),
    *("mean tokens", "median tokens", "mean drafts"),
)


def _shown(rows: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list(rows)


def _row(row: Mapping[str, Any]) -> tuple[object, ...]:
    low, high = row["interval"]
    return (
        row["rule"],
        f"{row['resolved']} of {row['of']}",
        f"{low:.3f} to {high:.3f}",
        row["any right"],
        number(row["mean tokens"]),
        number(round(row["median tokens"])),
        f"{row['mean drafts']:.2f}",
    )
