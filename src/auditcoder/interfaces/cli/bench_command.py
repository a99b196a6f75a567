"""`bench`: suites, methods, and runs of one on the other."""

import sys
import time
from argparse import Namespace
from collections.abc import Iterable
from contextlib import closing

import msgspec
from msgspec.structs import replace

from auditcoder.bench.engine import Engine
from auditcoder.bench.runner import Done, Job, jobs
from auditcoder.bench.suites import SUITES
from auditcoder.interfaces.benching import Experiment, Worker, chosen_ids
from auditcoder.interfaces.cli.audit_command import deliver
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import aside, emit, emit_json, paint, say
from auditcoder.interfaces.settings import read_settings
from auditcoder.interfaces.sources import open_store
from auditcoder.lifecycle.workshop import WhichLocator
from auditcoder.methods import METHODS, method


def run(options: Namespace) -> int:
    """Do what was asked about benchmarks."""
    if options.action == "run":
        return _run(options)
    if options.action == "report":
        return _report(options)
    return _list(options)


def _list(options: Namespace) -> int:
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


def _report(options: Namespace) -> int:
    from auditcoder.interfaces.reporting import bench_report

    with closing(open_store(options.store)) as store:
        form = "json" if options.json else options.form
        deliver(bench_report(store, form), options.out)
    return Exit.OK


def experiment_of(options: Namespace, suite: str) -> Experiment:
    """Read which model is asked in many runs, how they go on, and where they are kept."""
    return Experiment(
        suite=suite,
        store=options.store,
        model=options.model,
        max_repairs=options.max_repairs,
        locator=WhichLocator(options.locator),
        second_opinions=options.second_opinions,
        second_opinions_by=options.second_opinions_by,
        fallback=options.fallback,
        seed=options.seed,
        recall=options.recall,
        at_once=options.jobs,
    )


def _run(options: Namespace) -> int:
    experiment = replace(
        experiment_of(options, options.suite),
        data=options.data,
        budget_tokens=options.budget_tokens,
        at_once=options.jobs if options.engine == "local" else 1,
    )
    methods = _split(options.methods) or ("auditcoder",)
    for name in methods:
        method(name)
    model = options.model or read_settings().model
    todo = jobs(options.suite, methods, chosen_ids(experiment, _split(options.ids)), model)
    if options.first is not None:
        todo = todo[: options.first * len(methods)]
    worker = Worker(experiment, aside)
    engine = _engine(options)
    try:
        done = list(_told(engine.each(worker, todo), todo, as_json=options.json))
    finally:
        engine.close()
        worker.close()
    for name in methods:
        own = [d for d in done if d.job.method == name]
        if not options.json:
            passed = sum(d.resolved for d in own)
            tokens = sum(d.tokens for d in own) // max(1, len(own))
            say(f"{name:18}{passed:4} of {len(own)} resolved, {tokens:,} tokens each")
    return Exit.OK


def _split(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _engine(options: Namespace) -> Engine:
    if options.engine == "dask":
        from auditcoder.adapters.engines.dask import DaskEngine

        return DaskEngine(options.address)
    from auditcoder.adapters.engines.local import LocalEngine

    return LocalEngine(options.jobs)


def _told(done: Iterable[Done], todo: list[Job], *, as_json: bool) -> Iterable[Done]:
    """Say how far it is, and how long the rest may take, as each job is done."""
    began = time.monotonic()
    worked = 0
    for number, each in enumerate(done, start=1):
        worked += not each.before
        left = (time.monotonic() - began) / max(1, worked) * (len(todo) - number)
        if as_json:
            line = {**each._asdict(), "job": each.job._asdict(), "run": each.job.run}
            emit(msgspec.json.encode(line).decode() + "\n")
        else:
            verdict = "resolved" if each.resolved else "not resolved"
            aside(
                f"{number}/{len(todo)} {each.job.run}: {each.outcome}, {verdict},"
                f" {each.tokens:,} tokens; about {_minutes(left)} left"
            )
        sys.stdout.flush()
        yield each


def _minutes(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 60 else f"{seconds:.0f} s"
