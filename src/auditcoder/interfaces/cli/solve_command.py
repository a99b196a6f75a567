"""`solve`: turn a task into a program and its record."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from auditcoder.domain.values import Value
from auditcoder.interfaces.api import open_resources, run_id
from auditcoder.interfaces.cli.command import (
    Command,
    add_fail_on_doubts,
    add_model,
    add_options,
    add_program_out,
    add_store,
)
from auditcoder.interfaces.cli.run_output import execute_and_show
from auditcoder.interfaces.cli.terminal import notice
from auditcoder.interfaces.settings import configured_options, read_settings
from auditcoder.interfaces.task_sources import read_task_source
from auditcoder.lifecycle.intake import NO_TASK_OPTIONS, TaskOptions
from auditcoder.lifecycle.intake.visible_tests import MOST_CHARACTERS, is_cut
from auditcoder.lifecycle.runs import start


class SolveArguments(Value):
    """The arguments of `solve`."""

    task: str
    about: TaskOptions = NO_TASK_OPTIONS
    tests: str | None = None
    model: str | None = None
    given: dict[str, Any] = {}
    """The options that flags set."""
    run_id: str | None = None
    out: str | None = None
    store: str | None = None
    fail_on_doubts: bool = False
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `solve` to its parser."""
    parser.add_argument(
        "task",
        metavar="TASK",
        help="a Markdown or text file, the text itself, or - for standard input",
    )
    about = parser.add_argument_group("task", "these options override the task's front matter")
    add_options(about, TaskOptions, "about")
    about.add_argument(
        "--tests",
        metavar="PATH",
        help="more examples: a Python, JSON, JSONL or TOML file, or a folder of .in and .out files",
    )
    how = parser.add_argument_group("run")
    add_model(how)
    add_options(how)
    how.add_argument("--run-id", metavar="ID", help="the run's id (default: made from the title)")
    add_program_out(parser)
    add_fail_on_doubts(parser)
    add_store(parser)


def run(arguments: SolveArguments) -> int:
    """Solve a task."""
    tests = Path(arguments.tests) if arguments.tests else None
    task = read_task_source(arguments.task, arguments.about, tests)
    if is_cut(task.visible_tests):
        notice(
            f"prompts show the first {MOST_CHARACTERS:,} characters of the tests; all of them count"
        )
    options = configured_options(arguments.given, read_settings())
    name = run_id(arguments.run_id, task)
    with open_resources(
        arguments.model, arguments.store, notice, options.second_opinions_by
    ) as opened:
        return execute_and_show(
            arguments.json,
            arguments.out,
            name,
            lambda watch: start(opened, task, options, name, watch),
            fail_on_doubts=arguments.fail_on_doubts,
        )


COMMAND = Command(SolveArguments, declare, run)
