"""`replay`: repeat a run without a model, and compare every event with the record."""

from argparse import ArgumentParser
from contextlib import ExitStack, closing

from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command, add_run, add_store
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import count, emit_json, notice, paint, say
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.installed_methods import methods_for
from auditcoder.interfaces.record_sources import opened_run
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.runs import replay


class ReplayArguments(Value):
    """The arguments of `replay`."""

    run: str
    trust_evidence: bool = False
    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `replay` to its parser."""
    add_run(parser)
    parser.add_argument(
        "--trust-evidence",
        action="store_true",
        help="take the results of checks from the record instead of running the checks again",
    )
    add_store(parser)


def run(options: ReplayArguments) -> int:
    """Replay a run and report differences."""
    with ExitStack() as stack:
        reader, name = stack.enter_context(opened_run(options.run, options.store))
        sandbox = None
        if not options.trust_evidence:
            sandbox = stack.enter_context(closing(open_sandbox(read_settings(), notice)))
        result = replay(reader, name, sandbox, methods_for(reader, name))
    if options.json:
        emit_json({"replay": result, "same": result.same})
        return Exit.OK if result.same else Exit.DOES_NOT_HOLD
    unfinished = "" if result.finished else "; the run is not finished"
    events = count(result.events, "event")
    say(f"run {result.run}: {events} reproduced byte for byte{unfinished}")
    say(f"head sha256 {result.head.digest}")
    for difference in result.differences:
        say(f"{paint('different', 'red')}  {difference}")
    if sandbox is not None and result.same:
        say("every check gave the recorded result")
    return Exit.OK if result.same else Exit.DOES_NOT_HOLD


COMMAND = Command(ReplayArguments, declare, run)
