"""The page about planted bugs and wrong cases."""

from typing import Any

from result_pages.layout import Page, Result, interval, number, table, text_table

_DEFAULT = "the default"
_GIVEN = "a given example shows the bug"
_GENERATED = "only a generated case shows the bug"
_WRONG_CASE = "the program is right and a generated case is wrong"


def planted(result: Result) -> Page:
    """Describe what becomes of planted bugs, and of right programs with wrong cases."""
    rows = result["rows"]
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["setting"], row["options"]), []).append(row)
    lines = [
        (
            setting,
            options,
            len(own),
            sum(r["exact"] for r in own),
            sum(r["right"] and r["accepted"] == 1 for r in own),
            sum(r["right"] for r in own),
            sum(r["named"] for r in own),
            sum(r["silent"] for r in own),
            sum(r["changed"] for r in own),
            number(sum(r["calls"] for r in own) / len(own), 1),
            number(sum(r["words"] for r in own) / len(own)),
        )
        for (setting, options), own in groups.items()
    ]
    columns = [
        *("setting", "options", "runs", "located exactly", "repaired in one transaction"),
        *("right at the end", "case named as a doubt", "silently wrong", "changed"),
        *("calls a run", "words a run"),
    ]
    given, generated, wrong = (
        groups[setting, _DEFAULT] for setting in (_GIVEN, _GENERATED, _WRONG_CASE)
    )
    goals = result["goals"]
    met = [
        ("located exactly, shown by a given example", sum(r["exact"] for r in given), "at least"),
        (
            "repaired in one transaction, shown by a given example",
            sum(r["right"] and r["accepted"] == 1 for r in given),
            "at least",
        ),
        (
            "not silently wrong, shown by a generated case only",
            sum(not r["silent"] for r in generated),
            "at least",
        ),
        ("changed, right with a wrong case", sum(r["changed"] for r in wrong), "at most"),
    ]
    sound = sum(row["replays"] for row in rows)
    return Page(
        "Planted bugs",
        "Are the bugs that strong models make repaired or named, and do right programs stay?",
        f"""## Method

`benchmarks/planted.py` takes twenty solved programs of several parts, each with one bug of the kind
that strong models make, and an input that shows it. A scripted model answers honestly: it plans the
program and writes it with the bug; asked to repair a function, it gives the right code of that
function, which is the present code unless the function has the bug; second opinions, the
independent implementation and the adjudicator's answer come from a second solution.

Four settings: the input is a given example; it is only a generated case (an
[edge case](../guides/solving.md#doubts)), and the examples that show the bug are removed; the
program is right and the case expects what the bug would return; program and case are right.
Every record is verified and replayed.

{
            text_table(
                ["", "value"],
                [
                    ("version", f"`{result['version']}`"),
                    ("Python", result["python"]),
                    ("sandbox", f"`{result['sandbox']}`"),
                    (
                        "records that verify and replay",
                        f"{sound} of {len(rows)}",
                    ),
                ],
            )
        }

## Results

{table(columns, lines)}

| goal | of 20 | 95 % | goal |
|---|---:|---:|---:|
{
            chr(10).join(
                f"| {what} | {count} | {interval(count, len(given))} | {kind} {goal} |"
                for (what, count, kind), goal in zip(met, goals.values(), strict=True)
            )
        }

The bugs, with what happened in the setting in which only the generated case shows them:

{
            text_table(
                ["program", "kind of bug", "located", "rulings", "end"],
                [
                    (
                        f"`{r['program']}`",
                        r["kind"],
                        ", ".join(f"`{name}`" for name in r["located"] or ()) or "not located",
                        ", ".join(each.replace("_", " ") for each in r["rulings"]),
                        _end(r),
                    )
                    for r in generated
                ],
            )
        }

Rulings that a check is wrong are about promises of the sketch that hold in the example runs and
fail only for generated inputs unlike those.

## Limits

The replies are scripted and honest, so this measures the procedure, not a model: a real model can
repeat its own misreading in the case, in the independent implementation and as adjudicator. The
edge case is supplied; whether a model would name it is not measured. Words are counted because a
scripted model has no tokens.
""",
    )


def _end(row: dict[str, Any]) -> str:
    if row["silent"]:
        return "silently wrong"
    return "repaired" if row["right"] else "open doubt"
