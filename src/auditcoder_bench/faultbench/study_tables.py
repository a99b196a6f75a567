"""Tables of the locator study: all locators on the same failures, cross-validated over tasks."""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from msgspec.structs import replace

from auditcoder.domain.table import Row, Table
from auditcoder.lifecycle.locating.scoring import CONFIDENT, SETTLED, FittedModels
from auditcoder_bench.faultbench.compared_locators import UNWEIGHTED_LOCATORS
from auditcoder_bench.faultbench.failure_records import SINGLE
from auditcoder_bench.faultbench.goals import against_goals
from auditcoder_bench.faultbench.injected_failures import BETWEEN, CHECK, GRAPH, NODE, TWO
from auditcoder_bench.faultbench.injection_targets import is_run_name
from auditcoder_bench.faultbench.locator_scores import Answer, Probabilities, intervals, score
from auditcoder_bench.faultbench.observations import FailureEvidence, LocatorView
from auditcoder_bench.faultbench.weight_fit import HeldOutFailure, cross_validated, judge

WEIGHED, LOOKED, RULES = "weighed", "weighed, nothing tried", "paper-rules"
_REAL = "real failures"
_LEVELS = {"high": SETTLED, "high or medium": CONFIDENT, "any": 0.0}
_COLUMNS = (
    *("locator", "single", "Top-1", "Top-1, 95 %", "coverage", "precision"),
    *("remote", "Top-1 there"),
    *("several", "inside", "covered", "exact", "beyond", "abstained"),
    *("Brier", "calibration error", "of answers"),
)

_NOTES = (
    "Top-1: over failures with one faulty part; an abstention counts as wrong.",
    "Remote: the fault is not in the function that the failing test called last.",
    "Inside: of the answers to failures with several faulty parts, those that name only these.",
    "Covered: the share of the faulty parts that is named (recall).",
    "Beyond: failures that no set of parts repairs, for example because the check is wrong.",
    "Abstained: the share of those for which nothing is named.",
    "The paper's rules are applied without a model's verdicts on single parts.",
    "The interval is a 95 % bootstrap interval, 1,000 resamples of whole tasks.",
)
_CROSS_VALIDATED = "Weights and limits were fitted on all tasks except the evaluated one."
_GIVEN_WEIGHTS = "Weights and limits were given; nothing was fitted."


def study(cases: Sequence[FailureEvidence], seed: int = 1) -> list[Table]:
    """Return the tables of a study of these failures."""
    judged = cross_validated(cases)
    traced = cross_validated(cases, tried=False)
    return [*_tables(cases, judged, traced, _CROSS_VALIDATED), _controls(cases, seed)]


def evaluate_weights(cases: Sequence[FailureEvidence], fitted: FittedModels) -> list[Table]:
    """Return the same tables for given weights; nothing is fitted on these failures."""
    judged = [judge(case, fitted.of(rooted=case.rooted)) for case in cases]
    traced = [judge(case, fitted.of(rooted=case.rooted), tried=False) for case in cases]
    return _tables(cases, judged, traced, _GIVEN_WEIGHTS)


def _tables(
    cases: Sequence[FailureEvidence],
    judged: Sequence[HeldOutFailure],
    traced: Sequence[HeldOutFailure],
    note: str,
) -> list[Table]:
    """Return the tables of all locators: scores, intervals, goals and cost."""
    parts = {
        name: ([cases[n] for n in numbers], [judged[n] for n in numbers], numbers)
        for name, numbers in _groups(cases).items()
    }
    tables = [
        _compared(name, part, own, [traced[n] for n in numbers], note)
        for name, (part, own, numbers) in parts.items()
    ]
    for name, (part, own, _) in parts.items():
        tables += [_intervals(name, part, own), _by_confidence(name, part, own)]
        if not name.startswith(_REAL):
            tables += _by_kind(name, part, own)
    return [*tables, against_goals(tables), _cost(cases, judged)]


def held_out_table(
    cases: Sequence[FailureEvidence], fitted: FittedModels, used: Iterable[FailureEvidence]
) -> Table:
    """Return the scores of weights that were fitted on `used`, on other failures of any task."""
    known = {case.task for case in used}
    notes = []
    judged = [judge(case, fitted.of(rooted=case.rooted)) for case in cases]
    rows = []
    for name, numbers in _groups(cases).items():
        part, own = [cases[n] for n in numbers], [judged[n] for n in numbers]
        rows.append(_row(name, part, [j.answer for j in own], [j.believed for j in own]))
        tasks = {case.task for case in part}
        notes.append(
            f"{len(tasks & known)} of {len(tasks)} tasks of {name} are also among those fitted on."
        )
    return Table(
        name="held-out",
        title="The fitted weights on held-out failures",
        columns=("failures of", *_COLUMNS[1:]),
        rows=tuple(rows),
        notes=(*_NOTES, *notes),
    )


def _groups(cases: Sequence[FailureEvidence]) -> dict[str, list[int]]:
    """Return the groups of failures, which are never pooled: real and injected ones, by source."""
    parts: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        solved = "classes" if case.task.startswith("ClassEval") else "programs"
        solved = "our own runs" if is_run_name(case.id) else solved
        spoiled = f", {case.spoiled:.0%} of opinions spoiled" if case.spoiled else ""
        asked = f", {case.opinions} drawn at a time" if case.opinions else ""
        seen = ", all tests seen" if case.view == LocatorView.ALL.value else ""
        name = f"faults put into {solved}{spoiled}" if case.fault else f"{_REAL}{seen}{asked}"
        parts.setdefault(name, []).append(number)
    return parts


def _compared(
    name: str,
    cases: Sequence[FailureEvidence],
    judged: Sequence[HeldOutFailure],
    traced: Sequence[HeldOutFailure],
    note: str,
) -> Table:
    """Return the scores of all locators on one group of failures."""
    rows = [
        _row(each, cases, [locate(case) for case in cases])
        for each, locate in UNWEIGHTED_LOCATORS.items()
    ]
    if any(case.rules is not None for case in cases):
        rows.append(_row(RULES, cases, [case.rules or () for case in cases]))
    rows.append(_row(LOOKED, cases, [j.answer for j in traced], [j.believed for j in traced]))
    rows.append(_row(WEIGHED, cases, [j.answer for j in judged], [j.believed for j in judged]))
    return Table(
        name=f"located-{_slug(name)}",
        title=f"Locators on {name}",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(*_NOTES, note),
    )


def _row(
    name: str,
    cases: Sequence[FailureEvidence],
    answers: Sequence[Answer],
    probabilities: Sequence[Probabilities] | None = None,
) -> Row:
    scores = score(cases, answers, probabilities)
    interval = intervals(cases, answers).get("top1")
    return Row(
        cells=(
            *(name, scores.singles, _round(scores.top1)),
            f"{interval[0]:.3f} to {interval[1]:.3f}" if interval else None,
            *map(_round, (scores.coverage, scores.precision)),
            *(scores.remotes, _round(scores.remote), scores.several),
            *map(_round, (scores.inside, scores.covered, scores.exact)),
            *(scores.beyond, _round(scores.abstained)),
            *map(_round, (scores.brier, scores.error, scores.answers_error)),
        )
    )


def _by_confidence(
    name: str, cases: Sequence[FailureEvidence], judged: Sequence[HeldOutFailure]
) -> Table:
    """Return coverage and precision of the answers by their stated probability."""
    rows = []
    for level, least in _LEVELS.items():
        scores = score(cases, [_if_likely(one, least) for one in judged])
        shares = (scores.coverage, scores.precision, scores.named, scores.inside, scores.abstained)
        rows.append(Row(cells=(level, least, *map(_round, shares))))
    return Table(
        name=f"by-confidence-{_slug(name)}",
        title=f"Answers by confidence: {WEIGHED} on {name}",
        columns=(
            *("confidence", "from", "coverage", "precision", "several: coverage", "inside"),
            "beyond: abstained",
        ),
        rows=tuple(rows),
        notes=(
            "Coverage and precision are over failures with one faulty part.",
            "Beyond: share of failures without a faulty part in which none is named at this level.",
        ),
    )


def _if_likely(judged: HeldOutFailure, least: float) -> Answer:
    """Return the answer if it is probable enough, otherwise none; rules state no probability."""
    probabilities = [judged.believed.get(node, 0.0) for node in judged.answer]
    return judged.answer if probabilities and min(probabilities) >= least else ()


_MEASURES = {
    "Top-1": "top1",
    "coverage": "coverage",
    "precision": "precision",
    "Top-1 where remote": "remote",
    "several: inside": "inside",
    "several: covered": "covered",
    "several: exact": "exact",
    "beyond: abstained": "abstained",
    "Brier": "brier",
    "calibration error": "error",
    "calibration error of answers": "answers_error",
}


def _intervals(
    name: str, cases: Sequence[FailureEvidence], judged: Sequence[HeldOutFailure]
) -> Table:
    """Return each measure with its bootstrap interval over tasks."""
    answers, probabilities = [one.answer for one in judged], [one.believed for one in judged]
    values = score(cases, answers, probabilities)._asdict()
    ends = intervals(cases, answers, probabilities)
    return Table(
        name=f"intervals-{_slug(name)}",
        title=f"Confidence intervals: {WEIGHED} on {name}",
        columns=("measure", "value", "from", "to"),
        rows=tuple(
            Row(cells=(measure, *map(_round, (values[key], *ends.get(key, (None, None))))))
            for measure, key in _MEASURES.items()
        ),
        notes=(
            "95 % bootstrap intervals, 1,000 resamples of whole tasks",
            "Those of calibration errors are biased upwards: resampling adds noise to each bin.",
        ),
    )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _round(value: float | None) -> float | None:
    """Round to four decimals, so that a value just below its goal is not shown as reaching it."""
    return None if value is None else round(value, 4)


def _by_kind(
    part: str, cases: Sequence[FailureEvidence], judged: Sequence[HeldOutFailure]
) -> list[Table]:
    """Return how often faults are located, by kind and by place."""
    pairs = list(zip(cases, judged, strict=True))
    kinds = sorted({case.fault for case in cases if case.where in {NODE, GRAPH, BETWEEN}})
    rows = [_located_row(kind, [(c, j) for c, j in pairs if c.fault == kind]) for kind in kinds]
    places = [
        _located_row(where, [(c, j) for c, j in pairs if c.where == where])
        for where in (NODE, GRAPH, TWO, BETWEEN, CHECK)
    ]
    notes = (
        "First: share of failures whose first named part is one whose code was changed.",
        "All: share in which exactly these are named. If a check is wrong, naming none is right.",
        "As an interface: share in which an interface of a changed part is named.",
    )
    columns = ("", "failures", "first", "all", "as an interface", "rules", "traceback")
    return [
        Table(
            name=f"by-kind-{_slug(part)}",
            title=f"Faults in one part, by kind: {part}",
            columns=("kind", *columns[1:]),
            rows=tuple(rows),
            notes=notes,
        ),
        Table(
            name=f"by-place-{_slug(part)}",
            title=f"Faults by place: {part}",
            columns=("where", *columns[1:]),
            rows=tuple(places),
            notes=notes,
        ),
    ]


def _located_row(name: str, pairs: Sequence[tuple[FailureEvidence, HeldOutFailure]]) -> Row:
    def share(right: Callable[[FailureEvidence, HeldOutFailure], bool]) -> float | None:
        return _round(sum(right(c, j) for c, j in pairs) / len(pairs)) if pairs else None

    with_fault = [(c, j) for c, j in pairs if c.truth]
    return Row(
        cells=(
            name,
            len(pairs),
            share(lambda c, j: _first_right(c, j.answer)),
            share(lambda c, j: set(j.answer) == set(c.truth)),
            share(as_interface) if with_fault else None,
            share(lambda c, _: c.rules is not None and _first_right(c, c.rules)),
            share(lambda c, _: _first_right(c, (c.traceback,) if c.traceback else ())),
        )
    )


def _first_right(case: FailureEvidence, answer: Answer) -> bool:
    """Whether the first named part is faulty; if no part is, whether none is named."""
    return answer[0] in case.truth if answer and case.truth else not (answer or case.truth)


def as_interface(case: FailureEvidence, judged: HeldOutFailure) -> bool:
    """Whether the answer is an interface between two parts, one of which was changed."""
    if len(judged.answer) != 1:
        return False
    crossing = next((pair for pair in case.crossings if pair[0] == judged.answer[0]), None)
    return crossing is not None and bool(set(crossing) & set(case.truth))


def _cost(cases: Sequence[FailureEvidence], judged: Sequence[HeldOutFailure]) -> Table:
    """Return the cost of a diagnosis in sandbox runs and time."""
    rows = []
    for name, numbers in _groups(cases).items():
        runs = [judged[n].runs for n in numbers]
        tried = [count for count in runs if count > 1]
        took = sum(cases[n].milliseconds for n in numbers) / sum(cases[n].runs for n in numbers)
        rows.append(
            Row(
                cells=(
                    *(name, len(runs), median(runs), max(runs), _share(len(tried), len(runs))),
                    median(tried) if tried else None,
                    round(took),
                )
            )
        )
    columns = ("failures of", "failures", "runs, median", "most", "something was tried")
    return Table(
        name="cost",
        title="Cost of a diagnosis",
        columns=(*columns, "runs then, median", "ms a run"),
        rows=tuple(rows),
        notes=("Runs: sandbox runs of the diagnosis; nodes are substituted until all are clear.",),
    )


def _controls(cases: Sequence[FailureEvidence], seed: int) -> Table:
    """Return the accuracy with shuffled labels and by chance."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    shuffled = [replace(case, truth=_random_truth(case, chance)) for case in cases]
    judged = cross_validated(shuffled)
    first_named = [
        (case, max(j.believed, key=lambda node: j.believed[node]))
        for case, j in zip(shuffled, judged, strict=True)
        if case.kind == SINGLE and j.believed
    ]
    right = sum(node in case.truth for case, node in first_named)
    expected = sum(1 / len(case.features) for case, _ in first_named)
    shares: Iterable[tuple[str, float | None]] = (
        ("Top-1 with shuffled labels", _share(right, len(first_named))),
        ("Top-1 by chance", _share(expected, len(first_named))),
    )
    return Table(
        name="controls",
        title="Negative controls",
        columns=("control", "failures", "share"),
        rows=tuple(Row(cells=(name, len(first_named), value)) for name, value in shares),
    )


def _random_truth(case: FailureEvidence, chance: random.Random) -> tuple[str, ...]:
    """Draw at random as many parts as are faulty."""
    nodes = sorted(case.features)
    count = min(len(case.truth), len(nodes))
    return tuple(chance.sample(nodes, count))


def _share(right: float, of: int) -> float | None:
    return _round(right / of) if of else None
