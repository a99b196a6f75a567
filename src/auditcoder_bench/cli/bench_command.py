"""The command `bench`: runs methods on benchmark suites and compares them."""

import sys
import time
from argparse import ArgumentParser
from collections.abc import Collection, Iterable
from contextlib import closing
from typing import Any

import msgspec
from msgspec.structs import replace

from auditcoder.domain.values import Value, printable_json
from auditcoder.interfaces.cli.audit_command import deliver
from auditcoder.interfaces.cli.command import (
    Command,
    CommandGroup,
    add_form,
    add_model,
    add_options,
    add_store,
    default_of,
    positive_integer,
)
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit, emit_json, notice, paint, say
from auditcoder.interfaces.record_sources import open_store
from auditcoder.interfaces.settings import configured_options, read_settings
from auditcoder_bench.baselines import METHODS, method
from auditcoder_bench.engines import Engine
from auditcoder_bench.experiments import Experiment, Worker, chosen_ids
from auditcoder_bench.runner import Job, JobResult, jobs
from auditcoder_bench.suites import SUITES


class ListArguments(Value):
    """The arguments of `bench list`."""

    json: bool = False


class ReportArguments(Value):
    """The arguments of `bench report`."""

    form: str = "text"
    out: str | None = None
    store: str | None = None
    json: bool = False


class JobArguments(Value):
    """The arguments of every command that runs jobs."""

    jobs: int = 1
    json: bool = False


class ExperimentArguments(JobArguments):
    """The arguments that `bench run` and `faults repair` share."""

    model: str | None = None
    given: dict[str, Any] = {}
    """The options set by flags."""
    recall: str | None = None
    store: str | None = None


class BenchRunArguments(ExperimentArguments, kw_only=True):
    """The arguments of `bench run`."""

    suite: str
    methods: str | None = None
    ids: str | None = None
    first: int | None = None
    data: str | None = None
    engine: str = "local"
    address: str | None = None


def _declare_list(parser: ArgumentParser) -> None:
    """Add no arguments: `bench list` has only the flags of every command."""


def _declare_report(parser: ArgumentParser) -> None:
    add_form(parser)
    add_store(parser)


def _declare_run(parser: ArgumentParser) -> None:
    parser.add_argument("suite", metavar="SUITE", help="a suite; `bench list` lists them")
    parser.add_argument(
        "--methods", metavar="A,B", help="the methods, comma-separated (default: auditcoder)"
    )
    parser.add_argument(
        "--ids", metavar="A,B", help="problems, or @SAMPLE (default: the suite's selection)"
    )
    parser.add_argument(
        "--first", metavar="N", type=positive_integer, help="only the first N problems"
    )
    add_experiment(parser)
    add_data(parser)
    parser.add_argument(
        "--engine",
        choices=["local", "dask"],
        help=f"where jobs run (default: {default_of(BenchRunArguments, 'engine')})",
    )
    parser.add_argument("--address", metavar="ADDRESS", help="the address of the Dask scheduler")


def add_data(parser: ArgumentParser) -> None:
    """Add the argument for a local copy of the data."""
    parser.add_argument(
        "--data", metavar="FOLDER", help="a local copy of the data (default: download it)"
    )


def add_jobs(parser: ArgumentParser) -> None:
    """Add the argument for the number of concurrent jobs."""
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=positive_integer,
        help=f"number of concurrent jobs (default: {default_of(JobArguments, 'jobs')})",
    )


def add_experiment(parser: ArgumentParser, fixed: Collection[str] = ()) -> None:
    """Add the arguments that `bench run` and `faults repair` share, without `fixed` options."""
    how = parser.add_argument_group(
        "options of each run", "a method ignores those that it sets itself"
    )
    add_model(how)
    add_options(how, fixed=fixed)
    parser.add_argument(
        "--recall", metavar="STORE", help="reuse recorded replies from the runs of this store"
    )
    add_store(parser)
    add_jobs(parser)


def _list(options: ListArguments) -> int:
    if options.json:
        suites = [
            {
                "name": s.name,
                "title": s.title,
                "licence": s.licence,
                "packages": s.packages,
                "samples": list(s.samples),
            }
            for s in SUITES.values()
        ]
        emit_json({"suites": suites, "methods": list(METHODS)})
        return Exit.OK
    say(paint("Suites", "bold"))
    for suite in SUITES.values():
        say(f"  {suite.name:12}{suite.title}  ({suite.licence})")
        for sample in suite.samples:
            say(f"  {'':12}--ids @{sample}")
    say(paint("Methods", "bold"))
    for name in METHODS:
        say(f"  {name}")
    return Exit.OK


def _report(options: ReportArguments) -> int:
    from auditcoder_bench.reports.comparison_report import bench_report

    with closing(open_store(options.store)) as store:
        form = "json" if options.json else options.form
        deliver(bench_report(store, form), options.out)
    return Exit.OK


def experiment_of(arguments: ExperimentArguments, suite: str) -> Experiment:
    """Return the experiment that the arguments describe."""
    return Experiment(
        suite=suite,
        store=arguments.store,
        model=arguments.model,
        options=configured_options(arguments.given, read_settings()),
        recall=arguments.recall,
        at_once=arguments.jobs,
    )


def _run(options: BenchRunArguments) -> int:
    experiment = replace(
        experiment_of(options, options.suite),
        data=options.data,
        at_once=options.jobs if options.engine == "local" else 1,
    )
    methods = _split(options.methods) or ("auditcoder",)
    for name in methods:
        method(name)
    model = options.model or read_settings().model
    todo = jobs(options.suite, methods, chosen_ids(experiment, _split(options.ids)), model)
    if options.first is not None:
        todo = todo[: options.first * len(methods)]
    worker = Worker(experiment, notice)
    engine = _engine(options)
    try:
        done = list(_with_progress(engine.each(worker, todo), todo, as_json=options.json))
    finally:
        engine.close()
        worker.close()
    for name in methods:
        own = [d for d in done if d.job.method == name]
        if not options.json:
            passed = sum(d.resolved for d in own)
            tokens = sum(d.tokens for d in own) // max(1, len(own))
            say(f"{name:18}{passed:4} of {len(own)} resolved, {tokens:,} tokens per run")
    return Exit.OK


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _engine(options: BenchRunArguments) -> Engine:
    if options.engine == "dask":
        from auditcoder_bench.engines.dask_cluster import DaskEngine

        return DaskEngine(options.address)
    from auditcoder_bench.engines.threads import LocalEngine

    return LocalEngine(options.jobs)


def _with_progress(
    done: Iterable[JobResult], todo: list[Job], *, as_json: bool
) -> Iterable[JobResult]:
    """Yield each result, after printing the progress and the estimated remaining time."""
    began = time.monotonic()
    performed = 0
    for number, each in enumerate(done, start=1):
        performed += not each.before
        left = (time.monotonic() - began) / max(1, performed) * (len(todo) - number)
        if as_json:
            line = {**each._asdict(), "job": each.job._asdict(), "run": each.job.run}
            emit(printable_json(msgspec.json.encode(line).decode()) + "\n")
        else:
            verdict = "resolved" if each.resolved else "not resolved"
            notice(
                f"{number}/{len(todo)} {each.job.run}: {each.outcome}, {verdict},"
                f" {each.tokens:,} tokens; about {_duration(left)} left"
            )
        sys.stdout.flush()
        yield each


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"


COMMAND = CommandGroup(
    {
        "list": Command(ListArguments, _declare_list, _list, "list suites and methods (default)"),
        "run": Command(
            BenchRunArguments,
            _declare_run,
            _run,
            "run methods on a suite; finished runs are not repeated",
        ),
        "report": Command(ReportArguments, _declare_report, _report, "compare all judged runs"),
    },
    default="list",
)
