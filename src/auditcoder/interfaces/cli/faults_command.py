"""`faults`: failures with ground truth, made and kept."""

import time
from argparse import Namespace
from collections import Counter
from pathlib import Path

from auditcoder.bench.faultbench.building import PASSES, UNUSABLE
from auditcoder.bench.faultbench.fitting import fit_both
from auditcoder.bench.faultbench.gathering import Noticed, View
from auditcoder.bench.faultbench.material import of_a_run
from auditcoder.bench.faultbench.mending import SUITE
from auditcoder.bench.faultbench.pins import pinned, pins_of, written
from auditcoder.bench.faultbench.records import FaultRecord, GroundTruth
from auditcoder.bench.faultbench.studying import (
    on_what_was_held_out,
    put_to_the_test,
    study,
)
from auditcoder.domain.errors import NotFound
from auditcoder.domain.tables import Table
from auditcoder.domain.values import digest
from auditcoder.interfaces.cli.audit_command import deliver
from auditcoder.interfaces.cli.bench_command import experiment_of
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import aside, emit_json, say
from auditcoder.interfaces.faulting import Built, build, published
from auditcoder.interfaces.locating import (
    held_out,
    inject,
    look,
    made_with,
    read_noticed,
    write_weights,
)
from auditcoder.interfaces.mending import failures, repair
from auditcoder.interfaces.reporting import FORMS
from auditcoder.lifecycle.locating import weighed

_EVERY = 10.0
"""Seconds between two words on how far it is."""


def run(options: Namespace) -> int:
    """Do what was asked about failures."""
    actions = {
        "build": _build,
        "inject": _inject,
        "look": _look,
        "study": _study,
        "judge": _judge,
        "repair": _repair,
    }
    return actions[options.action](options)


def _inject(options: Namespace) -> int:
    data = Path(options.data) if options.data else None
    out = Path(options.out)
    made = inject(
        out,
        data,
        options.jobs,
        aside,
        _Progress("programs and classes"),
        classes=options.classes,
        runs=options.runs,
    )
    places = dict(Counter(fault.where for fault in made).most_common())
    kinds = dict(Counter(kind for fault in made for kind in fault.faults).most_common())
    name, known, pins = digest(out.read_bytes()), pinned(), pins_of(made)
    others = [w for w, pin in pins.items() if known.get(w) != pin and not of_a_run(w)]
    if options.pins:
        Path(options.pins).write_bytes(written(pins))
    if options.json:
        told = {"failures": len(made), "digest": name, "where": places, "kinds": kinds}
        emit_json({**told, "not as pinned": others})
        return Exit.OK
    say(f"{len(made)} failures, {name}")
    for counts in (places, kinds):
        say("  " + ", ".join(f"{many} {what}" for what, many in counts.items()))
    if others:
        say(f"  published figures are about other failures of {', '.join(others)}")
    return Exit.OK


def _look(options: Namespace) -> int:
    data = Path(options.data) if options.data else None
    found = look(
        Path(options.faults),
        Path(options.out),
        data,
        options.jobs,
        aside,
        _Progress("failures"),
        view=View(options.view),
        spoiled=options.spoiled,
        opinions=options.opinions,
        runs=options.runs,
    )
    tried = sum(noticed.swaps is not None for noticed in found)
    if options.json:
        emit_json({"failures": len(found), "tried": tried})
    else:
        say(f"{len(found)} failures were watched; something was tried in {tried}")
    return Exit.OK


def _study(options: Namespace) -> int:
    cases = _noticed(options)
    used, unused = held_out(map(Path, options.held_out), cases)  # wrong names are told at once
    tables = study(cases)
    if options.weights or options.held_out:
        fitted = fit_both(used)
        if options.weights:
            write_weights(Path(options.weights), fitted)
            classes, programs = fitted.classes.looked.cases, fitted.programs.looked.cases
            aside(f"weights of {classes} + {programs} failures are in {options.weights}")
        if unused:
            tables.append(on_what_was_held_out(unused, fitted, used))
    return _deliver(options, tables)


def _judge(options: Namespace) -> int:
    return _deliver(options, put_to_the_test(_noticed(options), weighed.fitted()))


def _noticed(options: Namespace) -> list[Noticed]:
    cases = list(read_noticed(map(Path, options.noticed)))
    if not cases:
        raise NotFound("faults.missing", "there is no failure in these files")
    return cases


def _deliver(options: Namespace, tables: list[Table]) -> int:
    form = "json" if options.json else options.form
    made = made_with([Path(name) for name in options.noticed])
    deliver(FORMS[form]([*tables, made]), options.out)
    return Exit.OK


def _repair(options: Namespace) -> int:
    experiment = experiment_of(options, SUITE)
    chosen = failures(Path(options.faults), options.each, aside)
    told = _Progress("failures", every=0)
    outcomes: Counter[str] = Counter()
    for number, found in enumerate(repair(experiment, chosen, aside), start=1):
        outcomes[found.outcome.value] += 1
        told(number, len(chosen), False)
    if options.json:
        emit_json({"failures": len(chosen), "outcomes": outcomes})
    else:
        say(f"{len(chosen)} failures: " + ", ".join(f"{n} {o}" for o, n in outcomes.items()))
    return Exit.OK


def _build(options: Namespace) -> int:
    models = [name.strip() for name in (options.models or "").split(",") if name.strip()]
    data = Path(options.data) if options.data else None
    made = build(
        Path(options.out),
        published(models),
        data,
        options.jobs,
        say=aside,
        tell=_Progress("answers"),
    )
    for task, why in made.left_out.items():
        aside(f"{task} was left out: {why}")
    _report(made, as_json=options.json)
    return Exit.OK


class _Progress:
    """Says how far it is now and then, and how long the rest may take."""

    def __init__(self, what: str, every: float = _EVERY) -> None:
        self._what = what
        self._every = every
        self._began = self._last = time.monotonic()
        self._worked = 0

    def __call__(self, number: int, total: int, before: bool) -> None:
        self._worked += not before
        now = time.monotonic()
        if now - self._last >= self._every or number == total:
            self._last = now
            left = (now - self._began) / max(1, self._worked) * (total - number)
            aside(f"{number}/{total} {self._what}; about {left / 60:.0f} min left")


def _report(made: Built, *, as_json: bool) -> None:
    views = {
        "all tests": _kinds([record.ground_truth for record in made.records]),
        "integration tests": _kinds([record.ground_truth_program for record in made.records]),
    }
    outcomes = Counter(done.outcome for done in made.answers)
    swapped = sum(done.swapped for done in made.answers)
    broken = sum(len(done.broken_by) for done in made.answers)
    flaky = sum(record.flaky for record in made.records)
    if as_json:
        emit_json(
            {
                "outcomes": outcomes,
                "kinds": views,
                "models": _by_model(made.records),
                "flaky": flaky,
                "swapped": swapped,
                "broken_by_swaps": broken,
            }
        )
        return
    say(
        f"{len(made.records)} failures, {outcomes[PASSES]} classes that pass,"
        f" {outcomes[UNUSABLE]} answers of no use; {flaky} failures are flaky"
    )
    for name, kinds in views.items():
        say(f"  {name:18}" + ", ".join(f"{many} {kind}" for kind, many in kinds.items()))
    for model, many in _by_model(made.records).items():
        say(f"  {model:30}{many:5}")
    say(f"{swapped} methods of classes that pass were replaced: {broken} broke one")


def _kinds(truths: list[GroundTruth] | list[GroundTruth | None]) -> dict[str, int]:
    return dict(Counter(truth.kind for truth in truths if truth is not None).most_common())


def _by_model(records: tuple[FaultRecord, ...]) -> dict[str, int]:
    return dict(Counter(record.model for record in records).most_common())
