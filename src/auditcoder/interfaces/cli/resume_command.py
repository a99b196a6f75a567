"""`resume`: continue an interrupted run where its record ends."""

from argparse import ArgumentParser
from contextlib import closing

from auditcoder.domain.values import Value
from auditcoder.interfaces.api import open_resources
from auditcoder.interfaces.cli.command import (
    Command,
    add_fail_on_doubts,
    add_program_out,
    add_run,
    add_store,
)
from auditcoder.interfaces.cli.run_output import execute_and_show
from auditcoder.interfaces.cli.terminal import notice
from auditcoder.interfaces.installed_methods import methods_for
from auditcoder.interfaces.record_sources import open_store, resolve
from auditcoder.lifecycle.export_import import verified_head
from auditcoder.lifecycle.runs import finished, options_of, resume, solution, started


class ResumeArguments(Value):
    """The arguments of `resume`."""

    run: str
    model: str | None = None
    out: str | None = None
    store: str | None = None
    fail_on_doubts: bool = False
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `resume` to its parser."""
    add_run(parser, bundle=False)
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="use this model instead of the one that the run started with",
    )
    add_program_out(parser)
    add_fail_on_doubts(parser)
    add_store(parser)


def run(options: ResumeArguments) -> int:
    """Resume a run; if it has ended, show its result."""
    with closing(open_store(options.store)) as store:
        name = resolve(options.run, store)
        verified_head(store, name)  # before a model that the record names is opened
        if finished(store, name):
            notice(f"run {name} has already ended; this is its result")
            return execute_and_show(
                options.json,
                options.out,
                name,
                lambda _: solution(store, name),
                quiet=True,
                fail_on_doubts=options.fail_on_doubts,
            )
        manifest = started(store, name).manifest
        model = options.model or manifest.model
        methods = methods_for(store, name)
        other = options_of(manifest).second_opinions_by
    with open_resources(model, options.store, notice, other) as opened:
        return execute_and_show(
            options.json,
            options.out,
            name,
            lambda watch: resume(opened, name, watch, methods),
            fail_on_doubts=options.fail_on_doubts,
        )


COMMAND = Command(ResumeArguments, declare, run)
