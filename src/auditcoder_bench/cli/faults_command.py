"""`faults`: failures with ground truth, made and kept."""

import time
from argparse import ArgumentParser
from collections import Counter
from pathlib import Path

from auditcoder.domain.errors import NotFound
from auditcoder.domain.table import Table
from auditcoder.domain.values import Value, digest
from auditcoder.interfaces.cli.audit_command import deliver
from auditcoder.interfaces.cli.command import (
    Command,
    CommandGroup,
    add_form,
    fraction,
    positive_integer,
)
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import aside, emit_json, say
from auditcoder.interfaces.reports import FORMS
from auditcoder.lifecycle.locating import evidence_model
from auditcoder_bench.cli.bench_command import (
    ExperimentArguments,
    add_data,
    add_experiment,
    add_jobs,
    experiment_of,
)
from auditcoder_bench.faultbench.failure_records import FaultRecord, GroundTruth
from auditcoder_bench.faultbench.injection_targets import of_a_run
from auditcoder_bench.faultbench.locator_study import (
    held_out,
    inject,
    look,
    made_with,
    read_noticed,
    write_weights,
)
from auditcoder_bench.faultbench.observations import LocatorView, Noticed
from auditcoder_bench.faultbench.pins import pinned, pins_of, written
from auditcoder_bench.faultbench.published_dataset import BuildSummary, build, published
from auditcoder_bench.faultbench.published_failures import PASSES, UNUSABLE
from auditcoder_bench.faultbench.repair_runs import SUITE, failures, repair
from auditcoder_bench.faultbench.study_tables import on_what_was_held_out, put_to_the_test, study
from auditcoder_bench.faultbench.weight_fit import fit_both

_EVERY = 10.0
"""Seconds between two words on how far it is."""


class BuildArguments(Value):
    """The arguments of `faults build`."""

    out: str
    data: str | None = None
    models: str | None = None
    jobs: int = 1
    json: bool = False


class InjectArguments(Value):
    """The arguments of `faults inject`."""

    out: str
    classes: bool = False
    runs: str | None = None
    pins: str | None = None
    data: str | None = None
    jobs: int = 1
    json: bool = False


class LookArguments(Value):
    """The arguments of `faults look`."""

    faults: str
    out: str
    view: str = "program"
    spoiled: float = 0.0
    opinions: int | None = None
    runs: str | None = None
    data: str | None = None
    jobs: int = 1
    json: bool = False


class JudgeArguments(Value):
    """The arguments of `faults judge`."""

    noticed: tuple[str, ...]
    form: str = "text"
    out: str | None = None
    json: bool = False


class StudyArguments(JudgeArguments):
    """The arguments of `faults study`."""

    weights: str | None = None
    held_out: tuple[str, ...] = ()


class RepairArguments(ExperimentArguments, kw_only=True):
    """The arguments of `faults repair`."""

    faults: str
    each: int = 1


def _declare_build(parser: ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="the file to write, one failure per line")
    add_data(parser)
    add_jobs(parser)
    parser.add_argument("--models", metavar="A,B", help="only these models, comma-separated")


def _declare_inject(parser: ArgumentParser) -> None:
    parser.add_argument("out", metavar="OUT", help="the file to write, one failure per line")
    parser.add_argument(
        "--classes", action="store_true", help="also inject into published classes that pass"
    )
    parser.add_argument(
        "--runs",
        metavar="STORE",
        help="also inject into the runs of a store that passed with several parts",
    )
    parser.add_argument("--pins", metavar="FILE", help="also write the digests of the failures")
    add_data(parser)
    add_jobs(parser)


def _declare_look(parser: ArgumentParser) -> None:
    parser.add_argument("faults", metavar="FAULTS", help="the output of `build` or `inject`")
    parser.add_argument("out", metavar="OUT", help="the file to write the observations to")
    parser.add_argument(
        "--view",
        choices=["program", "all"],
        default="program",
        help="the visible tests: those of the whole program (default), or all",
    )
    parser.add_argument(
        "--spoiled",
        metavar="SHARE",
        type=fraction,
        default=0.0,
        help="share of second opinions on programs that get a fault, too (default: 0)",
    )
    parser.add_argument(
        "--opinions",
        metavar="N",
        type=positive_integer,
        help="for real failures: number of other models' methods to try, chosen at random"
        " (default: the three that agree most)",
    )
    parser.add_argument("--runs", metavar="STORE", help="the store that `inject --runs` used")
    add_data(parser)
    add_jobs(parser)


def _declare_judge(parser: ArgumentParser) -> None:
    parser.add_argument("noticed", metavar="NOTICED", nargs="+", help="the output of `look`")
    add_form(parser, html=False)


def _declare_study(parser: ArgumentParser) -> None:
    _declare_judge(parser)
    parser.add_argument("--weights", metavar="FILE", help="also fit weights and write them here")
    parser.add_argument(
        "--held-out",
        metavar="FAULTS",
        action="append",
        default=[],
        help="evaluate on these failures, with weights fitted on all others; may be repeated",
    )


def _declare_repair(parser: ArgumentParser) -> None:
    parser.add_argument("faults", metavar="FAULTS", help="the output of `inject`")
    parser.add_argument(
        "--each",
        metavar="N",
        type=positive_integer,
        default=1,
        help="number of faults per program, chosen at random (default: 1)",
    )
    add_experiment(parser)


def _inject(options: InjectArguments) -> int:
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


def _look(options: LookArguments) -> int:
    data = Path(options.data) if options.data else None
    found = look(
        Path(options.faults),
        Path(options.out),
        data,
        options.jobs,
        aside,
        _Progress("failures"),
        view=LocatorView(options.view),
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


def _study(options: StudyArguments) -> int:
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


def _judge(options: JudgeArguments) -> int:
    return _deliver(options, put_to_the_test(_noticed(options), evidence_model.fitted()))


def _noticed(options: JudgeArguments) -> list[Noticed]:
    cases = list(read_noticed(map(Path, options.noticed)))
    if not cases:
        raise NotFound("faults.missing", "there is no failure in these files")
    return cases


def _deliver(options: JudgeArguments, tables: list[Table]) -> int:
    form = "json" if options.json else options.form
    made = made_with([Path(name) for name in options.noticed])
    deliver(FORMS[form]([*tables, made]), options.out)
    return Exit.OK


def _repair(options: RepairArguments) -> int:
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


def _build(options: BuildArguments) -> int:
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


def _report(made: BuildSummary, *, as_json: bool) -> None:
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


COMMAND = CommandGroup(
    {
        "build": Command(
            BuildArguments,
            _declare_build,
            _build,
            "find the methods that make published classes fail; resumable",
        ),
        "inject": Command(
            InjectArguments,
            _declare_inject,
            _inject,
            "inject faults into solved programs and classes, and keep the failures",
        ),
        "look": Command(
            LookArguments,
            _declare_look,
            _look,
            "collect evidence about failures with known causes; resumable",
        ),
        "study": Command(
            StudyArguments,
            _declare_study,
            _study,
            "compare the locators by cross-validation over tasks",
        ),
        "judge": Command(
            JudgeArguments, _declare_judge, _judge, "evaluate the shipped locator; fits nothing"
        ),
        "repair": Command(
            RepairArguments,
            _declare_repair,
            _repair,
            "start runs with injected faults, and let a model repair them; resumable",
        ),
    }
)
