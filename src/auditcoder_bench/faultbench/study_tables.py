"""The study: every locator on the same failures, judged by weights that never saw their task."""

import random
import re
from collections.abc import Callable, Iterable, Sequence
from statistics import median

from msgspec.structs import replace

from auditcoder.domain.table import Row, Table
from auditcoder.lifecycle.locating.scoring import CONFIDENT, SURE, FittedModels
from auditcoder_bench.faultbench.compared_locators import PLAIN
from auditcoder_bench.faultbench.failure_records import SINGLE
from auditcoder_bench.faultbench.goals import against_goals
from auditcoder_bench.faultbench.injected_failures import BETWEEN, CHECK, GRAPH, NODE, TWO
from auditcoder_bench.faultbench.injection_targets import of_a_run
from auditcoder_bench.faultbench.locator_scores import Answer, Beliefs, intervals, score
from auditcoder_bench.faultbench.observations import LocatorView, Noticed
from auditcoder_bench.faultbench.weight_fit import HeldOutFailure, cross_validated, judge

WEIGHED, LOOKED, RULES = "weighed", "weighed, nothing tried", "paper-rules"
_REAL = "real failures"
_LEVELS = {"high": SURE, "high or medium": CONFIDENT, "any": 0.0}
_COLUMNS = (
    *("locator", "single", "Top-1", "Top-1, 95 %", "coverage", "precision"),
    *("remote", "Top-1 there"),
    *("several", "inside", "covered", "exact", "beyond", "abstained"),
    *("Brier", "calibration error", "of answers"),
)

_NOTES = (
    "Top-1: of failures of one part; an abstention is wrong.",
    "Remote: the fault is not in what the failing test called last.",
    "Inside: of answers to failures of several parts, those that name nothing but faulty parts.",
    "Covered: how much of what is at fault is named.",
    "Beyond: failures that no set of parts repairs: the check is wrong, for one.",
    "Abstained: how often nothing is named for those.",
    "The paper's rules are asked without a model's verdicts on single parts.",
    "The interval is of 1,000 draws of whole tasks.",
)
_LEFT_OUT = "Weights and limits are those of all tasks but the one that they are judged on."
_AS_THEY_ARE = "Weights and limits are those that were given: nothing was fitted."


def study(cases: Sequence[Noticed], seed: int = 1) -> list[Table]:
    """Return the tables of a study of these failures."""
    judged = cross_validated(cases)
    looked = cross_validated(cases, tried=False)
    return [*_told(cases, judged, looked, _LEFT_OUT), _controls(cases, seed)]


def put_to_the_test(cases: Sequence[Noticed], fitted: FittedModels) -> list[Table]:
    """Return the same tables for weights as they are: nothing is learnt from these failures."""
    judged = [judge(case, fitted.of(rooted=case.rooted)) for case in cases]
    looked = [judge(case, fitted.of(rooted=case.rooted), tried=False) for case in cases]
    return _told(cases, judged, looked, _AS_THEY_ARE)


def _told(
    cases: Sequence[Noticed],
    judged: Sequence[HeldOutFailure],
    looked: Sequence[HeldOutFailure],
    whose: str,
) -> list[Table]:
    """Say how all locators did, how sure that is, and what it cost."""
    parts = {
        name: ([cases[n] for n in numbers], [judged[n] for n in numbers], numbers)
        for name, numbers in _parts(cases).items()
    }
    tables = [
        _compared(name, part, own, [looked[n] for n in numbers], whose)
        for name, (part, own, numbers) in parts.items()
    ]
    for name, (part, own, _) in parts.items():
        tables += [_intervals(name, part, own), _by_confidence(name, part, own)]
        if not name.startswith(_REAL):
            tables += _by_kind(name, part, own)
    return [*tables, against_goals(tables), _cost(cases, judged)]


def on_what_was_held_out(
    cases: Sequence[Noticed], fitted: FittedModels, used: Iterable[Noticed]
) -> Table:
    """Say how weights that were fitted on those `used` do on other failures, of whatever task."""
    known = {case.task for case in used}
    told = []
    judged = [judge(case, fitted.of(rooted=case.rooted)) for case in cases]
    rows = []
    for name, numbers in _parts(cases).items():
        part, own = [cases[n] for n in numbers], [judged[n] for n in numbers]
        rows.append(_row(name, part, [j.answer for j in own], [j.believed for j in own]))
        tasks = {case.task for case in part}
        told.append(f"Of {len(tasks)} tasks of {name}, {len(tasks & known)} were fitted on, too.")
    return Table(
        name="held-out",
        title="The weights that are kept, on failures that they were not fitted on",
        columns=("failures of", *_COLUMNS[1:]),
        rows=tuple(rows),
        notes=(*_NOTES, *told),
    )


def _parts(cases: Sequence[Noticed]) -> dict[str, list[int]]:
    """Return the failures that are never pooled: real ones, and those of programs and classes."""
    parts: dict[str, list[int]] = {}
    for number, case in enumerate(cases):
        solved = "classes" if case.task.startswith("ClassEval") else "programs"
        solved = "our own runs" if of_a_run(case.id) else solved
        spoiled = f", {case.spoiled:.0%} of opinions spoiled" if case.spoiled else ""
        asked = f", {case.opinions} drawn at a time" if case.opinions else ""
        seen = ", all tests seen" if case.view == LocatorView.ALL.value else ""
        name = f"faults put into {solved}{spoiled}" if case.fault else f"{_REAL}{seen}{asked}"
        parts.setdefault(name, []).append(number)
    return parts


def _compared(
    name: str,
    cases: Sequence[Noticed],
    judged: Sequence[HeldOutFailure],
    looked: Sequence[HeldOutFailure],
    whose: str,
) -> Table:
    """Compare all locators on one part."""
    rows = [_row(each, cases, [locate(case) for case in cases]) for each, locate in PLAIN.items()]
    if any(case.rules is not None for case in cases):
        rows.append(_row(RULES, cases, [case.rules or () for case in cases]))
    rows.append(_row(LOOKED, cases, [j.answer for j in looked], [j.believed for j in looked]))
    rows.append(_row(WEIGHED, cases, [j.answer for j in judged], [j.believed for j in judged]))
    return Table(
        name=f"located-{_slug(name)}",
        title=f"Locators on {name}",
        columns=_COLUMNS,
        rows=tuple(rows),
        notes=(*_NOTES, whose),
    )


def _row(
    name: str,
    cases: Sequence[Noticed],
    answers: Sequence[Answer],
    beliefs: Sequence[Beliefs] | None = None,
) -> Row:
    found = score(cases, answers, beliefs)
    apart = intervals(cases, answers).get("top1")
    return Row(
        cells=(
            *(name, found.singles, _round(found.top1)),
            f"{apart[0]:.3f} to {apart[1]:.3f}" if apart else None,
            *map(_round, (found.coverage, found.precision)),
            *(found.remotes, _round(found.remote), found.several),
            *map(_round, (found.inside, found.covered, found.exact)),
            *(found.beyond, _round(found.abstained)),
            *map(_round, (found.brier, found.error, found.answers_error)),
        )
    )


def _by_confidence(name: str, cases: Sequence[Noticed], judged: Sequence[HeldOutFailure]) -> Table:
    """Say how far an answer can be relied on, by how likely it says itself to be right."""
    rows = []
    for level, least in _LEVELS.items():
        found = score(cases, [_if_likely(one, least) for one in judged])
        shares = (found.coverage, found.precision, found.named, found.inside, found.abstained)
        rows.append(Row(cells=(level, least, *map(_round, shares))))
    return Table(
        name=f"by-confidence-{_slug(name)}",
        title=f"Answers by their confidence: {WEIGHED} on {name}",
        columns=(
            *("confidence", "from", "coverage", "precision", "several: coverage", "inside"),
            "beyond: abstained",
        ),
        rows=tuple(rows),
        notes=(
            "Coverage and precision are of failures of one part.",
            "Beyond: where no part is to blame, how often none is named so confidently.",
        ),
    )


def _if_likely(judged: HeldOutFailure, least: float) -> Answer:
    """Return an answer that is so likely; what rules answer has no probability."""
    beliefs = [judged.believed.get(node, 0.0) for node in judged.answer]
    return judged.answer if beliefs and min(beliefs) >= least else ()


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


def _intervals(name: str, cases: Sequence[Noticed], judged: Sequence[HeldOutFailure]) -> Table:
    """Say how much each measure would be another on other tasks."""
    answers, beliefs = [one.answer for one in judged], [one.believed for one in judged]
    found = score(cases, answers, beliefs)._asdict()
    apart = intervals(cases, answers, beliefs)
    return Table(
        name=f"intervals-{_slug(name)}",
        title=f"How sure the measures are: {WEIGHED} on {name}",
        columns=("measure", "value", "from", "to"),
        rows=tuple(
            Row(cells=(measure, *map(_round, (found[key], *apart.get(key, (None, None))))))
            for measure, key in _MEASURES.items()
        ),
        notes=(
            "95 % of 1,000 draws of whole tasks",
            "Those of calibration errors lie too high: every draw adds chance to each bin.",
        ),
    )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def _round(value: float | None) -> float | None:
    """Write so much of a value that one just below its goal is not taken to reach it."""
    return None if value is None else round(value, 4)


def _by_kind(part: str, cases: Sequence[Noticed], judged: Sequence[HeldOutFailure]) -> list[Table]:
    """Say for each kind of fault, and where it is, how often it is found."""
    pairs = list(zip(cases, judged, strict=True))
    kinds = sorted({case.fault for case in cases if case.where in {NODE, GRAPH, BETWEEN}})
    rows = [_found(kind, [(c, j) for c, j in pairs if c.fault == kind]) for kind in kinds]
    places = [
        _found(where, [(c, j) for c, j in pairs if c.where == where])
        for where in (NODE, GRAPH, TWO, BETWEEN, CHECK)
    ]
    notes = (
        "First: how often the first part that is named is one whose code was changed.",
        "All: how often exactly those are named. Where a check is wrong, naming none is right.",
        "As an interface: how often a value between two parts is named, one of them changed.",
    )
    columns = ("", "failures", "first", "all", "as an interface", "rules", "traceback")
    return [
        Table(
            name=f"by-kind-{_slug(part)}",
            title=f"In one part, by kind: {part}",
            columns=("kind", *columns[1:]),
            rows=tuple(rows),
            notes=notes,
        ),
        Table(
            name=f"by-place-{_slug(part)}",
            title=f"By where they are: {part}",
            columns=("where", *columns[1:]),
            rows=tuple(places),
            notes=notes,
        ),
    ]


def _found(name: str, pairs: Sequence[tuple[Noticed, HeldOutFailure]]) -> Row:
    def share(right: Callable[[Noticed, HeldOutFailure], bool]) -> float | None:
        return _round(sum(right(c, j) for c, j in pairs) / len(pairs)) if pairs else None

    blamed = [(c, j) for c, j in pairs if c.truth]
    return Row(
        cells=(
            name,
            len(pairs),
            share(lambda c, j: _first_right(c, j.answer)),
            share(lambda c, j: set(j.answer) == set(c.truth)),
            share(as_interface) if blamed else None,
            share(lambda c, _: c.rules is not None and _first_right(c, c.rules)),
            share(lambda c, _: _first_right(c, (c.traceback,) if c.traceback else ())),
        )
    )


def _first_right(case: Noticed, answer: Answer) -> bool:
    """Whether what is named first is at fault; where nothing is, whether nothing is named."""
    return answer[0] in case.truth if answer and case.truth else not (answer or case.truth)


def as_interface(case: Noticed, judged: HeldOutFailure) -> bool:
    """Whether the answer is a value that one part hands to another, one of them the changed one."""
    if len(judged.answer) != 1:
        return False
    crossing = next((pair for pair in case.crossings if pair[0] == judged.answer[0]), None)
    return crossing is not None and bool(set(crossing) & set(case.truth))


def _cost(cases: Sequence[Noticed], judged: Sequence[HeldOutFailure]) -> Table:
    """Say what a diagnosis costs."""
    rows = []
    for name, numbers in _parts(cases).items():
        runs = [judged[n].runs for n in numbers]
        tried = [many for many in runs if many > 1]
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
        title="What a diagnosis costs",
        columns=(*columns, "runs then, median", "ms a run"),
        rows=tuple(rows),
        notes=("Runs of the sandbox beyond those that failed, tried one by one while it is open.",),
    )


def _controls(cases: Sequence[Noticed], seed: int) -> Table:
    """Say what comes of labels that mean nothing."""
    chance = random.Random(seed)  # noqa: S311 - a control, not a secret
    shuffled = [replace(case, truth=_drawn(case, chance)) for case in cases]
    judged = cross_validated(shuffled)
    found = [
        (case, max(j.believed, key=lambda node: j.believed[node]))
        for case, j in zip(shuffled, judged, strict=True)
        if case.kind == SINGLE and j.believed
    ]
    right = sum(node in case.truth for case, node in found)
    expected = sum(1 / len(case.signs) for case, _ in found)
    told: Iterable[tuple[str, float | None]] = (
        ("Top-1 with shuffled labels", _share(right, len(found))),
        ("Top-1 by chance", _share(expected, len(found))),
    )
    return Table(
        name="controls",
        title="Negative controls",
        columns=("control", "failures", "share"),
        rows=tuple(Row(cells=(name, len(found), value)) for name, value in told),
    )


def _drawn(case: Noticed, chance: random.Random) -> tuple[str, ...]:
    """Draw as many parts at random as are at fault."""
    nodes = sorted(case.signs)
    many = min(len(case.truth), len(nodes))
    return tuple(chance.sample(nodes, many))


def _share(right: float, of: int) -> float | None:
    return _round(right / of) if of else None
