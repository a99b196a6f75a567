"""`runs`: list the runs of a store."""

from argparse import ArgumentParser
from contextlib import closing
from datetime import datetime

from auditcoder.domain.chain import EntryReader, Head, starts
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import RunFinished
from auditcoder.domain.values import RunId, Value, digest
from auditcoder.interfaces.cli.command import Command, add_store
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import (
    clock,
    count,
    emit_json,
    one_line,
    paint,
    say,
    say_table,
)
from auditcoder.interfaces.record_sources import open_store
from auditcoder.lifecycle.ports import TraceReader


class RunLine(Value):
    """One run in the list."""

    run: RunId
    task: str
    started: datetime | None
    outcome: str
    """How it ended; `open` if it has not, `unreadable` if its record cannot be read.

    Only the first and the last entry are read; `verify` checks the others."""
    head: Head


class RunsArguments(Value):
    """The arguments of `runs`."""

    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `runs` to its parser."""
    add_store(parser)


def run(options: RunsArguments) -> int:
    """List the runs."""
    with closing(open_store(options.store)) as store:
        lines = [_line(store, name) for name in store.runs()]
    if options.json:
        emit_json({"runs": lines})
        return Exit.OK
    if not lines:
        say("the store has no runs")
        return Exit.OK
    say_table(
        (
            paint(line.run, "bold"),
            line.outcome,
            clock(line.started) if line.started else "unknown",
            count(line.head.entries, "event"),
            one_line(line.task),
        )
        for line in lines
    )
    return Exit.OK


def _line(store: TraceReader, name: RunId) -> RunLine:
    head = store.head(name)
    try:
        reader = EntryReader()
        first = reader.read(next(store.read(name)))
        last_body = next(store.read(name, head.entries - 1))
        last, start = reader.read(last_body), starts(first)
    except (RecordUnreadable, StopIteration):
        return RunLine(run=name, task="", started=None, outcome="unreadable", head=head)
    if start.run != name or digest(last_body) != head.digest:
        return RunLine(run=name, task="", started=None, outcome="unreadable", head=head)
    task = start.task
    ended = last.event.outcome.value if isinstance(last.event, RunFinished) else "open"
    return RunLine(
        run=name, task=task.title or task.source, started=first.at, outcome=ended, head=head
    )


COMMAND = Command(RunsArguments, declare, run)
