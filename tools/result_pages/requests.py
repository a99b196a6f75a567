"""Pages about the sizes of requests and the tokens of tasks."""

from collections.abc import Iterable, Mapping
from typing import Any

from result_pages.layout import Page, Result, number, provenance_of_benchmark, table


def prompt_sizes(result: Result) -> Page:
    """Describe the sizes of requests before and after a revision of the prompts."""
    return Page(
        "Sizes of requests",
        "How many tokens does a request of each role have, before and after the last revision?",
        f"""## Method

`benchmarks/prompt_sizes.py` solves small tasks with prepared replies, in the version of commit
`{result["before"][:12]}` and in the present one, and counts the tokens of every request (system and
user message) with the embedded model's tokenizer. The replies are the same, and wrong where needed,
so that every role is asked. The token limits are those of the embedded model.

{provenance_of_benchmark(result)}

## Results

Mean tokens of a request, by prompt:

{table(["prompt", *_COLUMNS], map(_role_row, result["roles"]))}

All requests of a run:

{table(["scenario", *_COLUMNS], map(_scenario_row, result["scenarios"]))}

On the same task and with right code, the two planners compare as follows, without replies:

{table(["planner", "requests", "tokens"], _planners(result["scenarios"]))}

The planning handbook (`handbook.md`) is part of `sketch`, `redo` and `replan_branch` alone. A
request to another model than the embedded one can be longer: it quotes up to 6,000 characters of
each input, output and test instead of 600.

## Limits

Three small tasks. Replies are not measured, and neither is whether a prompt works well.
""",
    )


_COLUMNS = ("requests before", "requests after", "tokens before", "tokens after", "change")


def _role_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (f"`{row['prompt']}`", *_sizes(row))


def _scenario_row(row: Mapping[str, Any]) -> tuple[object, ...]:
    return (row["scenario"], *_sizes(row))


def _planners(scenarios: Iterable[Mapping[str, Any]]) -> list[tuple[object, ...]]:
    """Return requests and tokens of each planner on the task that both plan."""
    after = {row["scenario"]: row["after"] for row in scenarios}
    return [
        (planner, size["requests"], number(size["tokens"]))
        for planner in ("sketch", "staged")
        if (size := after[f"{planner}, joint, right"])
    ]


def _sizes(row: Mapping[str, Any]) -> tuple[object, ...]:
    """Return requests and tokens, both before and after, and the change; a dash where unknown."""
    before, after = row["before"], row["after"]
    tokens = [number(side["tokens"]) if side else "-" for side in (before, after)]
    change = f"{after['tokens'] / before['tokens'] - 1:+.1%}" if before and after else "-"
    asked = [str(side["requests"]) if side else "-" for side in (before, after)]
    return (*asked, *tokens, change)


def task_tokens(result: Result) -> Page:
    """Describe the tokens of the same tasks in two versions."""
    rows = result["rows"]
    sums = [
        (version, *_costs([row[version] for row in rows]), _mean([row[version] for row in rows]))
        for version in ("before", "after")
    ]
    each = [
        (row["run"].split(".")[1], row["after"]["outcome"], _sum(row["before"]), _sum(row["after"]))
        for row in rows
    ]
    return Page(
        "Tokens of the same tasks, before and after",
        "What does a task cost the embedded model, now that nothing is planned?",
        f"""## Method

`auditcoder bench run humaneval+` with the default options and at most one repair solved the same
tasks in the version of commit `6c3905c9bd53`, which planned with a sketch, and in the present one,
which plans nothing and chooses among drafts; `benchmarks/task_tokens.py` counts the tokens on
record.

{provenance_of_benchmark(result)}

## Results

{table(["version", "calls", "prompt tokens", "reply tokens", "mean tokens of a task"], sums)}

{table(["problem", "outcome", "tokens before", "tokens after"], each)}

## Limits

{len(rows)} tasks, each one function; a single run of each, its first draft at temperature 0.
""",
    )


def planners(result: Result) -> Page:
    """Describe what the sketch planner and the staged planner cost on the same tasks."""
    rows = result["rows"]
    names = {"before": "sketch", "after": "staged"}
    sums = [
        (
            name,
            *_costs([row[side] for row in rows]),
            number(sum(row[side]["planning"] for row in rows)),
            _mean([row[side] for row in rows]),
        )
        for side, name in names.items()
    ]
    each = [
        (
            row["run"].split(".")[1],
            *(row[side]["nodes"] - 1 for side in names),
            *(_sum(row[side]) for side in names),
            *(row[side]["outcome"] for side in names),
        )
        for row in rows
    ]
    columns = ("calls", "prompt tokens", "reply tokens", "of them planning", "mean of a task")
    return Page(
        "The sketch planner and the staged planner",
        "What do the eight roles of the staged planner cost the embedded model?",
        f"""## Method

`auditcoder bench run aerocomm --max-repairs 0` with `--planner sketch` and with `--planner staged`
solved the same tasks; `benchmarks/task_tokens.py` counts the tokens on record.

{provenance_of_benchmark(result)}

## Results

{table(["planner", *columns], sums)}

{
            table(
                [
                    "task",
                    *(f"parts, {name}" for name in names.values()),
                    *(f"tokens, {name}" for name in names.values()),
                    *(f"outcome, {name}" for name in names.values()),
                ],
                each,
            )
        }

No program passes its examples with either planner. The default planner asks for no plan.

## Limits

Tasks of AeroComm-Small8: {len(rows)}, with one run each. The model has 1.5 billion parameters; a
stronger one may gain from the roles.
""",
    )


def _sum(cost: Mapping[str, Any]) -> str:
    return number(cost["prompt"] + cost["reply"])


def _mean(costs: list[Mapping[str, Any]]) -> str:
    return number(round(sum(cost["prompt"] + cost["reply"] for cost in costs) / len(costs)))


def _costs(counts: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the sums of calls, prompt tokens and reply tokens."""
    known = list(counts)
    return tuple(number(sum(each[name] for each in known)) for name in ("calls", "prompt", "reply"))
