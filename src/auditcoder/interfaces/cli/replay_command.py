"""`replay`: repeat a run without a model, and compare every event with the record."""

import platform
from argparse import ArgumentParser
from contextlib import ExitStack, closing
from datetime import UTC, datetime

from auditcoder import __version__
from auditcoder.adapters.stores.sql import SqlStore
from auditcoder.domain.errors import ReplayDiverged, StoreError
from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.values import RunId, Value
from auditcoder.interfaces.cli.command import Command, add_run, add_store
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import count, emit_json, notice, paint, say
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.installed_methods import methods_for
from auditcoder.interfaces.record_sources import opened_run
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.ports import Sandbox, TraceReader
from auditcoder.lifecycle.runs import OTHER_PROMPTS, ReplayReport, replay


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
        try:
            result = replay(reader, name, sandbox, methods_for(reader, name))
        except ReplayDiverged as diverged:
            if diverged.code != OTHER_PROMPTS:
                _keep(reader, _divergence(reader, name, sandbox, diverged))
            raise
        kept = _keep(reader, _result_of(result, sandbox))
    if options.json:
        emit_json({"replay": result, "same": result.same, "kept": kept})
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


def _result_of(report: ReplayReport, sandbox: Sandbox | None) -> ReplayResult:
    """Return a replay that came to its end as the store keeps it."""
    return ReplayResult(
        run=report.run,
        head=report.head.digest,
        at=datetime.now(UTC),
        same=report.same,
        repeated=sandbox is not None,
        events=report.events,
        finished=report.finished,
        versions=_versions(),
        sandbox=sandbox.kind if sandbox else "",
        differences=report.differences,
    )


def _divergence(
    reader: TraceReader, run: RunId, sandbox: Sandbox | None, diverged: ReplayDiverged
) -> ReplayResult:
    """Return a replay that did not reproduce an event as the store keeps it."""
    return ReplayResult(
        run=run,
        head=reader.head(run).digest,
        at=datetime.now(UTC),
        same=False,
        repeated=sandbox is not None,
        versions=_versions(),
        sandbox=sandbox.kind if sandbox else "",
        differences=(f"{diverged.code}: {diverged}",),
    )


def _versions() -> dict[str, str]:
    return {"auditcoder": __version__, "python": platform.python_version()}


def _keep(reader: TraceReader, result: ReplayResult) -> bool:
    """Store the result of a replay for `audit`, and return whether it is stored.

    A bundle cannot hold it, and a store that cannot be written keeps nobody from replaying.
    """
    if not isinstance(reader, SqlStore):
        return False
    try:
        reader.keep_replay(result)
    except StoreError as error:
        notice(f"the result of the replay is not kept: {error}")
        return False
    return True


COMMAND = Command(ReplayArguments, declare, run)
