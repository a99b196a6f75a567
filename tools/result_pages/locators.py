"""Pages about fault localisation: locators, judged, locate."""

from collections.abc import Sequence

from result_pages.layout import (
    Page,
    Result,
    between,
    number,
    provenance_of_benchmark,
    rate,
    record,
    records,
    table,
    text_table,
)

REAL = "real-failures"
INJECTED = "faults-put-into-programs"
SPOILED = "faults-put-into-programs-40-of-opinions-spoiled"
DATASETS = {
    REAL: "Real failures (classes that models wrote)",
    INJECTED: "Injected faults (programs with several parts)",
    SPOILED: "Injected faults, 40 % of the second opinions corrupted",
}
NAMES = {
    "traceback": "traceback",
    "ochiai": "Ochiai",
    "tarantula": "Tarantula",
    "dstar": "DStar",
    "slice": "slice of the failing step, fixed rules",
    "paper-rules": "the paper's rules R1 to R4, without a model's verdicts",
    "weighed, nothing tried": "`weighed`, no second opinions",
    "weighed": "**`weighed`, the default**",
}
PLACES = {
    "node": "one node",
    "graph": "the plan is incomplete or wrong",
    "two nodes": "two nodes",
    "interface": "an interface",
    "check": "the check is wrong (naming nothing is right)",
}
DEFINITIONS = """\
- single: failures with exactly one faulty part. Top-1: the share whose faulty part is named first;
  an abstention counts as wrong. Coverage: the share with an answer. Precision: Top-1 among the
  answers.
- remote: the fault is not in the function that the failing test called last.
- several: failures with more than one faulty part. Inside: the share of answers that name only
  faulty parts. Covered: the share of the faulty parts that is named (recall). Exact: exactly the
  faulty parts are named.
- not repairable: failures that no set of parts repairs, for example because the check is wrong.
  Abstained: the share for which nothing is named.
- The Brier score and the calibration error are over the probabilities of all parts; the calibration
  error of answers is over the stated probability of the named parts.
- Intervals are 95 % percentile intervals of 1,000 bootstrap resamples of whole tasks."""


def _located(result: Result, dataset: str) -> str:
    rows = [
        (
            NAMES[row["locator"]],
            rate(row["Top-1"]),
            row["Top-1, 95 %"],
            rate(row["coverage"]),
            rate(row["precision"]),
            rate(row["Top-1 there"]),
            rate(row["inside"]),
            rate(row["covered"]),
            rate(row["exact"]),
            rate(row["abstained"]),
            rate(row["Brier"]),
            rate(row["calibration error"]),
            rate(row["of answers"]),
        )
        for row in records(result, f"located-{dataset}")
    ]
    columns = [
        "locator",
        "Top-1",
        "95 %",
        "coverage",
        "precision",
        "remote: Top-1",
        "several: inside",
        "covered",
        "exact",
        "abstained",
        "Brier",
        "calibration error",
        "of answers",
    ]
    sizes = record(result, f"located-{dataset}", locator="weighed")
    sentence = (
        f"{number(sizes['single'])} failures with one faulty part ({sizes['remote']} of them"
        f" remote), {number(sizes['several'])} with several, {sizes['beyond']} not repairable."
    )
    if dataset != REAL:
        interfaces = record(result, f"by-place-{dataset}", where="interface")["failures"]
        sentence += f" {interfaces} more faults are on interfaces; see the table by place."
    return f"{sentence}\n\n{table(columns, rows)}"


def _intervals(result: Result, datasets: Sequence[str]) -> str:
    found = {name: records(result, f"intervals-{name}") for name in datasets}
    rows = []
    for position, row in enumerate(found[datasets[0]]):
        cells = [_plain(row["measure"])]
        for name in datasets:
            other = found[name][position]
            cells.append(
                ""
                if other["value"] is None
                else f"{rate(other['value'])} ({between(other['from'], other['to'])})"
            )
        rows.append(cells)
    return table(["`weighed`", *(DATASETS[name] for name in datasets)], rows)


def _by_confidence(result: Result) -> str:
    rows = [
        (
            DATASETS[name],
            row["confidence"],
            rate(row["coverage"]),
            rate(row["precision"]),
            rate(row["several: coverage"]),
            rate(row["inside"]),
            rate(row["beyond: abstained"]),
        )
        for name in DATASETS
        for row in records(result, f"by-confidence-{name}")
    ]
    columns = [
        "failures",
        "confidence",
        "coverage",
        "precision",
        "several: coverage",
        "inside",
        "not repairable: abstained",
    ]
    return table(columns, rows)


def _by_place(result: Result, dataset: str) -> str:
    rows = [
        (
            PLACES[row["where"]],
            number(row["failures"]),
            rate(row["first"]),
            rate(row["all"]),
            rate(row["as an interface"]),
            rate(row["rules"]),
            rate(row["traceback"]),
        )
        for row in records(result, f"by-place-{dataset}")
    ]
    columns = [
        "where the fault is",
        "failures",
        "`weighed`: first right",
        "all right",
        "named as an interface",
        "the paper's rules: first right",
        "traceback: first right",
    ]
    return table(columns, rows)


def _by_kind(result: Result, dataset: str) -> str:
    rows = [
        (
            row["kind"],
            row["failures"],
            rate(row["first"]),
            rate(row["as an interface"]),
            rate(row["rules"]),
            rate(row["traceback"]),
        )
        for row in records(result, f"by-kind-{dataset}")
    ]
    columns = [
        "kind of fault",
        "failures",
        "`weighed`: Top-1",
        "named as an interface",
        "the paper's rules",
        "traceback",
    ]
    return table(columns, rows)


def _goals(result: Result) -> str:
    names = {"real failures": "real", "faults put into programs": "injected"}
    rows = [
        (
            f"{names[row['failures']]}: {_plain(row['measure'])}",
            rate(row["goal"]),
            rate(row["found"]),
            f"{row['beyond the goal']:+.4f}",
            "**missed**" if row["beyond the goal"] < 0 else "reached",
            between(row["from"], row["to"]),
        )
        for row in records(result, "goals")
    ]
    return table(["measure", "goal", "found", "margin", "", "95 %"], rows)


def _plain(measure: str) -> str:
    """Rename a measure of the result file."""
    replacements = {
        "several: nothing else is named": "several: inside",
        "several: how much is named": "several: covered",
        "nothing named beyond repair": "not repairable: abstained",
        "beyond: abstained": "not repairable: abstained",
    }
    return replacements.get(measure, measure)


def _cost(result: Result) -> str:
    names = dict(
        zip((row["failures of"] for row in records(result, "cost")), DATASETS, strict=True)
    )
    rows = [
        (
            DATASETS[names[row["failures of"]]],
            number(row["failures"]),
            number(row["runs, median"]),
            row["most"],
            rate(row["something was tried"]),
            number(row["runs then, median"]),
            number(row["ms a run"]),
        )
        for row in records(result, "cost")
    ]
    columns = [
        "failures",
        "number",
        "sandbox runs, median",
        "maximum",
        "share with substitutions",
        "runs with substitutions, median",
        "ms per run",
    ]
    return table(columns, rows)


def _made_with(result: Result) -> str:
    rows = [
        (
            row["what"].replace("weights in the package", "packaged locator weights"),
            f"`{row['which']}`",
        )
        for row in records(result, "made-with")
    ]
    return text_table(["", "version or SHA-256"], rows)


def locators(result: Result) -> Page:
    """Describe the cross-validated study of locators."""
    real = record(result, f"located-{REAL}", locator="weighed")
    wrong = round(real["single"] * (1 - real["Top-1"]))
    check = record(result, f"by-place-{INJECTED}", where="check")
    two = record(result, f"by-place-{INJECTED}", where="two nodes")
    controls = table(
        ["negative control", "failures", "Top-1"],
        [
            (row["control"].replace("Top-1 ", ""), number(row["failures"]), rate(row["share"]))
            for row in records(result, "controls")
        ],
    )
    sections = "\n\n".join(
        f"### {title}\n\n{_located(result, name)}" for name, title in DATASETS.items()
    )
    return Page(
        "Which part is at fault: a study of locators",
        "How often does a locator name the part whose code is wrong, and how reliable is the"
        " probability that it states?",
        f"""## Method

The study can be repeated (classes need `pip install 'auditcoder-bench[classeval]'`):

    auditcoder faults build real.jsonl            # classes that models wrote and that fail
    auditcoder faults inject programs.jsonl       # faults injected into solved programs
    awk 'NR % 4 == 0' programs.jsonl > fourth.jsonl
    auditcoder faults observe real.jsonl real-seen.jsonl
    auditcoder faults observe programs.jsonl programs-seen.jsonl
    auditcoder faults observe fourth.jsonl spoiled-seen.jsonl --spoiled 0.4
    auditcoder faults study real-seen.jsonl programs-seen.jsonl spoiled-seen.jsonl

Real failures are published answers to ClassEval that fail their integration tests; locators see
only these tests. Faults are injected into one node, into two, on an interface, or into the plan
(the contract omits the violated obligation, or promises the wrong result). Kinds: off by one, a
wrong operator or initial value, a missing edge case, swapped arguments or results, another type
across an interface, lost state, a slow loop, a wrong orchestration. Some cases have a wrong check
and no fault, so that abstaining is right. Each failure is diagnosed with weights fitted on all
other tasks. Second opinions are answers of other models (real failures, at most three per method)
or were written from the contracts alone (injected faults). The package pins the injected faults by
digest, except slow loops.

{_made_with(result)}

## Results

{sections}

{DEFINITIONS}

The fair comparison with the paper's rules is "no second opinions": neither uses another
implementation.

## Intervals

{_intervals(result, list(DATASETS))}

Intervals of calibration errors are biased upwards, since resampling adds noise to each bin.

## By confidence

{_by_confidence(result)}

High means a probability of 0.9 or more, medium 0.7 or more.

## By place of the fault

{_by_place(result, INJECTED)}

With 40 % of the second opinions corrupted:

{_by_place(result, SPOILED)}

## By kind of fault, in one part

{_by_kind(result, INJECTED)}

With 40 % of the second opinions corrupted:

{_by_kind(result, SPOILED)}

## Goals

{_goals(result)}

For the calibration error, lower is better. If the goal lies inside the interval, the margin is not
significant.

## Cost

{_cost(result)}

## Negative controls

{controls}

## Misses and limits

- {wrong} real failures with one faulty method have a wrong answer. By inspection of the observation
  files (not in the result file): in 10 the substitutions of the faulty method did not help, in 8
  none was tried because another method was already above 0.9, and in 3 a substitution repaired the
  program but other features outweighed it.
- Both real failures that no set of methods repairs lack an import; the methods that use it are
  named.
- If a check is wrong, nothing is named in {rate(check["first"])} of the cases; the paper's rules,
  which name less in general, reach {rate(check["rules"])}. Second opinions clear every part but the
  root, for which none is requested; the root keeps a probability of about 0.2, the threshold for
  naming. These answers always have low confidence.
- Two faults in one program are both named in {rate(two["all"])} of the cases. A run repairs one and
  then locates the next.
- Chosen by hand after seeing the results: the thresholds 0.2, 0.7 and 0.9, the penalty of the fit,
  the precision required for naming several nodes (0.965), the maxima of five nodes and three
  implementations each. Precision at high confidence was added after precision over all answers had
  missed its goal.
- The study has another implementation of nearly every method. In a run a model is asked for one,
  and that of a small model is often wrong. The data set with corrupted opinions approximates this.
- Faults that no test reveals are not part of the study.
- It was made before all second opinions were substituted at once and a lone failure became a
  feature; see [judged-opinions](judged-opinions.md).

[judged](judged.md) evaluates the weights in the package on held-out failures.
""",
    )


def judged(result: Result) -> Page:
    """Describe the packaged weights on held-out failures."""
    sections = "\n\n".join(
        f"### {title}\n\n{_located(result, name)}" for name, title in DATASETS.items()
    )
    return Page(
        "The packaged locator weights on held-out failures",
        "Do the shipped weights work as well on failures that they were not fitted on?",
        f"""## Method

`auditcoder faults judge` applies the weights in the package to failures that were held out when
they were fitted; it fits nothing. The weights were fitted on an earlier observation of the same
data, without the real failures and the second half of the programs that are evaluated here.

{_made_with(result)}

## Results

{_intervals(result, list(DATASETS))}

{sections}

{DEFINITIONS}

## By confidence

{_by_confidence(result)}

## By place of the fault

{_by_place(result, INJECTED)}

## By kind of fault, in one part

{_by_kind(result, INJECTED)}

## Goals

{_goals(result)}

## Cost

{_cost(result)}

## Limits

Most tasks of the real failures also have other answers that were used for fitting. None of these
programs was used for fitting. The limits of [locators](locators.md) apply. The packaged weights for
programs have been extended since; see [judged-opinions](judged-opinions.md).
""",
    )


def judged_opinions(result: Result) -> Page:
    """Describe the packaged weights on the held-out failures, with all opinions tried at once."""
    datasets = (REAL, INJECTED)
    sections = "\n\n".join(f"### {DATASETS[n]}\n\n{_located(result, n)}" for n in datasets)
    return Page(
        "The packaged locator weights, with all second opinions tried at once",
        "Does the locator that substitutes all second opinions at once, and counts a lone failure"
        " against every part, name the right part, and none if only the check is wrong?",
        f"""## Method

`auditcoder faults judge` applies the weights in the package to failures that were held out when
they were fitted; it fits nothing. Real failures are those of the development set of FaultBench, as
in [judged](judged.md); injected faults are those of the second half of the programs. Weights
for classes are those of [judged](judged.md). Weights for programs are extended by the features of a
lone failure, with base rates adjusted, on a sample of the first half of the programs:

    auditcoder faults study train-seen.jsonl --weights fitted.json --extend

A diagnosis makes up to two requests for second opinions, of five nodes each, the second only if
doubt remains. [judged](judged.md) and [locators](locators.md) were measured before: there second
opinions were substituted one after another, for five nodes at most.

{_made_with(result)}

## Results

{_intervals(result, datasets)}

{sections}

{DEFINITIONS}

## By place of the fault

{_by_place(result, INJECTED)}

## Limits

The features of a lone failure were chosen
after errors on a part of the programs had been inspected, among them some that are evaluated here;
the weights were not fitted on them. In the benchmark a wrong check is always the only wrong one of
several, so that its failure is always alone. Where several checks are wrong, or the only one, the
locator has no such evidence. No second opinions
were corrupted. On the same real failures, substituting second opinions one after
another names equally many first (by inspection of the observation files, not in the result file).
""",
    )


def locate(result: Result) -> Page:
    """Describe the cost of one diagnosis."""
    whole = result["all diagnoses"]
    ratios = [row["ratio"] for row in result["milliseconds"]]

    def diagnoses(key: str, column: str) -> str:
        rows = [
            (
                row[column],
                row["failures"],
                number(row["runs"]),
                number(row["questions"]),
                number(row["milliseconds"]),
                number(row["validating"]),
                rate(row["right"]),
            )
            for row in result[key]
        ]
        columns = [
            column,
            "failures",
            "sandbox runs",
            "model requests",
            "diagnosis, ms",
            "validation, ms",
            "correct",
        ]
        return table(columns, rows)

    traced = table(
        ["parts", "cases", "check, ms", "traced, ms", "substituted, ms", "traced / check"],
        [
            (
                row["parts"],
                row["cases"],
                number(row["checked"], 1),
                number(row["watched"], 1),
                number(row["tried"], 1),
                number(row["ratio"], 2),
            )
            for row in result["milliseconds"]
        ],
    )
    return Page(
        "Cost of a diagnosis",
        "How much time does locating a fault take, and how does it grow?",
        f"""## Method

`benchmarks/locate.py` runs a chain of functions, of which the last is wrong, on failing cases:
checked, traced, and with one function substituted. The three alternate in {result["rounds"]}
rounds. Then it makes whole diagnoses of programs with injected faults that the weights were not
fitted on. Model time is not included: second opinions are stored implementations.

{provenance_of_benchmark(result)}

## Results

The median diagnosis takes {number(whole["runs"])} sandbox runs, {number(whole["questions"])} model
request and {number(whole["milliseconds"])} ms; validation takes {number(whole["validating"])} ms.
The share of correctly named parts is {rate(whole["right"])} over {whole["failures"]} failures.

{diagnoses("diagnoses", "parts")}

{diagnoses("diagnoses by cases", "cases")}

Tracing takes {min(ratios):.1f} to {max(ratios):.1f} times as long as checking:

{traced}

## Limits

Times are medians on one machine. The group with the most cases has only
{result["diagnoses by cases"][-1]["failures"]} failures. The file has no times of single runs, so
there are no intervals.
""",
    )
