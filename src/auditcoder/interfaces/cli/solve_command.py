"""`solve`: from a task to a program and its record."""

from argparse import Namespace
from pathlib import Path

from auditcoder.interfaces.api import run_id, tools
from auditcoder.interfaces.cli.outcome import shown
from auditcoder.interfaces.cli.text import aside
from auditcoder.interfaces.tasks import read_task_source
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.intake import TaskOptions
from auditcoder.lifecycle.workshop import Build, Options, Planner, WhichLocator
from auditcoder.methods.solving import start


def run(options: Namespace) -> int:
    """Solve a task."""
    asked = TaskOptions(
        form=options.form,
        entry=options.entry,
        signature=options.signature,
        title=options.title,
        seconds=options.seconds,
        memory_mb=options.memory_mb,
        artefacts=tuple(options.artefact or ()),
    )
    task = read_task_source(options.task, asked, Path(options.tests) if options.tests else None)
    how = Options(
        planner=Planner(options.planner),
        build=Build(options.build),
        max_repairs=options.max_repairs,
        fallback=options.fallback,
        differential=options.differential,
        review=options.review,
        locator=WhichLocator(options.locator),
        second_opinions=options.second_opinions,
        budget=Budget(tokens=options.budget_tokens, usd=options.budget_usd),
        seed=options.seed,
    )
    name = run_id(options.run_id, task)
    with tools(options.model, options.store, aside, options.second_opinions_by) as opened:
        return shown(options, name, lambda watch: start(opened, task, how, name, watch))
