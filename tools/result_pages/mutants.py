"""The page about mutation of the laws: how many removed conditions a test notices."""

from result_pages.layout import Page, Result, interval, provenance_of_benchmark, table, text_table


def law_mutants(result: Result) -> Page:
    """Describe how many mutants of the laws the tests kill, and which ones they do not."""
    outcomes = ("killed", "timed out", "survived", "equivalent")
    rows = [
        (f"`{row['module']}`", *(row[outcome] for outcome in outcomes)) for row in result["rows"]
    ]
    sums = [sum(row[outcome] for row in result["rows"]) for outcome in outcomes]
    killed, counted = sum(sums[:2]), sum(sums[:3])
    survived = [mutant for mutant in result["undetected"] if mutant["equivalent"] is None]
    equivalent = [mutant for mutant in result["undetected"] if mutant["equivalent"] is not None]
    return Page(
        "Mutation of the laws",
        "If one condition is removed from the laws, does a test fail?",
        f"""## Method

`tools/law_mutants.py` makes one mutant for every condition in the laws: a condition is made false,
or an operand of `and` or `or`, a filter, a subtrahend, a bound of a chain, a member of a set, a
compared pair or a call of a refusal is removed. A mutant is killed if a test fails, and times out
if the tests do not end. Mutants that behave like the original are listed in
`tools/equivalent_mutants.toml`, each with its reason; they are tried, but not counted.

The tests are {result["tests"]["modules"]} modules in `tests/domain`, without sandbox or model.
Hypothesis generates the same examples for every mutant.

{provenance_of_benchmark(result)}

## Results

{table(["module", *outcomes], [*rows, ("all", *sums)])}

Killed or timed out: {killed} of {counted} ({killed / counted:.1%}; 95 % interval
{interval(killed, counted)}). The goal is {result["goal"]:.0%}; it is
{"reached" if result["share"] >= result["goal"] else "missed"}.

### Mutants that survived

{_listed(survived, "change")}

### Equivalent mutants

{_listed(equivalent, "equivalent")}

## Limits

Only removed conditions are tried, not other mistakes, and only the tests named above: tests of
whole runs may notice more. A killed mutant shows that a test depends on
the condition, not that the condition is right. The digests of the modules and tests are in the
result file; the page holds for those.
""",
    )


def _listed(mutants: list[Result], last: str) -> str:
    if not mutants:
        return "None."
    rows = [
        (f"`{mutant['function']}`", f"`{_cell(mutant['condition'])}`", mutant[last])
        for mutant in mutants
    ]
    return text_table(["function", "removed", "reason" if last == "equivalent" else last], rows)


def _cell(text: str) -> str:
    """Escape what would end a cell of a table."""
    return text.replace("|", "\\|")
