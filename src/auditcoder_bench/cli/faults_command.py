"""The command `faults`: builds failures with known causes and evaluates locators on them."""

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
    default_of,
    fraction,
    positive_integer,
)
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit_json, notice, say
from auditcoder.interfaces.reports import FORMS
from auditcoder.lifecycle.locating import evidence_model
from auditcoder_bench.cli.bench_command import (
    ExperimentArguments,
    JobArguments,
    add_data,
    add_experiment,
    add_jobs,
    experiment_of,
)
from auditcoder_bench.faultbench.failure_records import FaultRecord, GroundTruth
from auditcoder_bench.faultbench.injection_targets import is_run_name
from auditcoder_bench.faultbench.locator_study import (
    held_out,
    inject,
    made_with,
    observe,
    read_observations,
    write_weights,
)
from auditcoder_bench.faultbench.observations import FailureEvidence, LocatorView
from auditcoder_bench.faultbench.pins import pinned, pins_of, written
from auditcoder_bench.faultbench.published_dataset import BuildSummary, build, published
from auditcoder_bench.faultbench.published_failures import PASSES, UNUSABLE
from auditcoder_bench.faultbench.repair_runs import FIXED, SUITE, failures, repair
from auditcoder_bench.faultbench.study_tables import evaluate_weights, held_out_table, study
from auditcoder_bench.faultbench.weight_fit import extend_both, fit_both

_PROGRESS_SECONDS = 10.0
"""Seconds between two progress messages."""


class BuildArguments(JobArguments, kw_only=True):
    """The arguments of `faults build`."""

    out: str
    data: str | None = None
    models: str | None = None


class InjectArguments(JobArguments, kw_only=True):
    """The arguments of `faults inject`."""

    out: str
    classes: bool = False
    runs: str | None = None
    pins: str | None = None
    data: str | None = None


class ObserveArguments(JobArguments, kw_only=True):
    """The arguments of `faults observe`."""

    faults: str
    out: str
    view: LocatorView = LocatorView.PROGRAM
    spoiled: float = 0.0
    opinions: int | None = None
    runs: str | None = None
    data: str | None = None


class JudgeArguments(Value):
    """The arguments of `faults judge`."""

    observations: tuple[str, ...]
    form: str = "text"
    out: str | None = None
    json: bool = False


class StudyArguments(JudgeArguments):
    """The arguments of `faults study`."""

    weights: str | None = None
    extend: bool = False
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
        help="also inject into the runs of a store that passed and have several nodes",
    )
    parser.add_argument(
        "--pins", metavar="FILE", help="also write a digest per program of its failures"
    )
    add_data(parser)
    add_jobs(parser)


def _declare_look(parser: ArgumentParser) -> None:
    parser.add_argument("faults", metavar="FAULTS", help="the output of `build` or `inject`")
    parser.add_argument("out", metavar="OUT", help="the file to write the observations to")
    parser.add_argument(
        "--view",
        choices=[view.value for view in LocatorView],
        help="the tests that locators see: those of the whole program, or all"
        f" (default: {default_of(ObserveArguments, 'view')})",
    )
    parser.add_argument(
        "--spoiled",
        metavar="SHARE",
        type=fraction,
        help="share of second opinions on programs that get a fault injected, too"
        f" (default: {default_of(ObserveArguments, 'spoiled')})",
    )
    parser.add_argument(
        "--opinions",
        metavar="N",
        type=positive_integer,
        help="for real failures: number of randomly chosen answers of other models to try per"
        " method (default: the three most common implementations)",
    )
    parser.add_argument("--runs", metavar="STORE", help="the store that `inject --runs` used")
    add_data(parser)
    add_jobs(parser)


def _declare_judge(parser: ArgumentParser) -> None:
    parser.add_argument(
        "observations", metavar="OBSERVATIONS", nargs="+", help="the output of `observe`"
    )
    add_form(parser, html=False)


def _declare_study(parser: ArgumentParser) -> None:
    _declare_judge(parser)
    parser.add_argument("--weights", metavar="FILE", help="also fit weights and write them here")
    parser.add_argument(
        "--extend",
        action="store_true",
        help="fit only features that the shipped weights lack, and base rates; keep the others",
    )
    parser.add_argument(
        "--held-out",
        metavar="FAULTS",
        action="append",
        help="evaluate on these failures, with weights fitted on all others; may be repeated",
    )


def _declare_repair(parser: ArgumentParser) -> None:
    parser.add_argument("faults", metavar="FAULTS", help="the output of `inject`")
    parser.add_argument(
        "--each",
        metavar="N",
        type=positive_integer,
        help="number of faults per program, chosen at random"
        f" (default: {default_of(RepairArguments, 'each')})",
    )
    add_experiment(parser, FIXED)


def _inject(options: InjectArguments) -> int:
    data = Path(options.data) if options.data else None
    out = Path(options.out)
    made = inject(
        out,
        data,
        options.jobs,
        notice,
        _Progress("programs and classes"),
        classes=options.classes,
        runs=options.runs,
    )
    places = dict(Counter(fault.where for fault in made).most_common())
    kinds = dict(Counter(kind for fault in made for kind in fault.faults).most_common())
    content, known, pins = digest(out.read_bytes()), pinned(), pins_of(made)
    changed = [
        work for work, pin in pins.items() if known.get(work) != pin and not is_run_name(work)
    ]
    if options.pins:
        Path(options.pins).write_bytes(written(pins))
    if options.json:
        summary = {"failures": len(made), "digest": content, "where": places, "kinds": kinds}
        emit_json({**summary, "not as pinned": changed})
        return Exit.OK
    say(f"{len(made)} failures, sha256 {content}")
    for counts in (places, kinds):
        say("  " + ", ".join(f"{count} {name}" for name, count in counts.items()))
    if changed:
        say(f"  these differ from the published failures: {', '.join(changed)}")
    return Exit.OK


def _observe(options: ObserveArguments) -> int:
    data = Path(options.data) if options.data else None
    observed = observe(
        Path(options.faults),
        Path(options.out),
        data,
        options.jobs,
        notice,
        _Progress("failures"),
        view=options.view,
        spoiled=options.spoiled,
        opinions=options.opinions,
        runs=options.runs,
    )
    tried = sum(case.swaps is not None for case in observed)
    if options.json:
        emit_json({"failures": len(observed), "tried": tried})
    else:
        say(f"{len(observed)} failures were traced; substitutions were tried in {tried}")
    return Exit.OK


def _study(options: StudyArguments) -> int:
    cases = _read_observations(options)
    # Before the study, which takes long, so that a wrong file name is reported at once.
    used, unused = held_out(map(Path, options.held_out), cases)
    tables = study(cases)
    if options.weights or options.held_out:
        shipped = evidence_model.fitted()
        fitted = extend_both(used, shipped) if options.extend else fit_both(used)
        if options.weights:
            write_weights(Path(options.weights), fitted)
            classes, programs = fitted.classes.traced.cases, fitted.programs.traced.cases
            notice(
                f"{options.weights} has weights fitted on {classes} failures of classes"
                f" and {programs} of programs"
            )
        if unused:
            tables.append(held_out_table(unused, fitted, used))
    return _deliver(options, tables)


def _judge(options: JudgeArguments) -> int:
    return _deliver(options, evaluate_weights(_read_observations(options), evidence_model.fitted()))


def _read_observations(options: JudgeArguments) -> list[FailureEvidence]:
    cases = list(read_observations(map(Path, options.observations)))
    if not cases:
        raise NotFound("faults.missing", "these files contain no failure")
    return cases


def _deliver(options: JudgeArguments, tables: list[Table]) -> int:
    form = "json" if options.json else options.form
    made = made_with([Path(name) for name in options.observations])
    deliver(FORMS[form]([*tables, made]), options.out)
    return Exit.OK


def _repair(options: RepairArguments) -> int:
    experiment = experiment_of(options, SUITE)
    chosen = failures(Path(options.faults), options.each, notice)
    report_progress = _Progress("failures", every=0)
    outcomes: Counter[str] = Counter()
    for number, finished in enumerate(repair(experiment, chosen, notice), start=1):
        outcomes[finished.outcome.value] += 1
        report_progress(number, len(chosen), False)
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
        say=notice,
        tell=_Progress("answers"),
    )
    for task, reason in made.left_out.items():
        notice(f"task {task} was left out: {reason}")
    _report(made, as_json=options.json)
    return Exit.OK


class _Progress:
    """Prints progress and the estimated remaining time, at most every `every` seconds."""

    def __init__(self, unit: str, every: float = _PROGRESS_SECONDS) -> None:
        self._unit = unit
        self._every = every
        self._began = self._last = time.monotonic()
        self._performed = 0

    def __call__(self, number: int, total: int, before: bool) -> None:
        self._performed += not before
        now = time.monotonic()
        if now - self._last >= self._every or number == total:
            self._last = now
            left = (now - self._began) / max(1, self._performed) * (total - number)
            notice(f"{number}/{total} {self._unit}; about {left / 60:.0f} min left")


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
        f" {outcomes[UNUSABLE]} unusable answers; {flaky} failures are flaky"
    )
    for name, kinds in views.items():
        say(f"  {name:18}" + ", ".join(f"{count} {kind}" for kind, count in kinds.items()))
    for model, count in _by_model(made.records).items():
        say(f"  {model:30}{count:5}")
    say(
        f"{swapped} methods of passing classes were replaced; {broken} replacements broke the class"
    )


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
            "find the faulty methods of published classes that fail their tests; resumable",
        ),
        "inject": Command(
            InjectArguments,
            _declare_inject,
            _inject,
            "inject faults into solved programs and classes, and keep those that fail",
        ),
        "observe": Command(
            ObserveArguments,
            _declare_look,
            _observe,
            "collect evidence about failures with known causes; resumable",
        ),
        "study": Command(
            StudyArguments,
            _declare_study,
            _study,
            "compare the locators by cross-validation over tasks",
        ),
        "judge": Command(
            JudgeArguments,
            _declare_judge,
            _judge,
            "evaluate the shipped weights of the locator; fits nothing",
        ),
        "repair": Command(
            RepairArguments,
            _declare_repair,
            _repair,
            "start runs with injected faults, and let a model repair them; resumable",
        ),
    }
)
