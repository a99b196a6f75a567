"""`runs`: what is kept here."""

from argparse import Namespace
from contextlib import closing
from datetime import datetime

from auditcoder.domain.chain import Head, Reader, starts
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import RunFinished
from auditcoder.domain.values import RunId, Value
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import clock, count, emit_json, one_line, paint, say
from auditcoder.interfaces.sources import open_store
from auditcoder.lifecycle.ports import TraceReader


class Line(Value):
    """One run in the list."""

    run: RunId
    task: str
    started: datetime | None
    outcome: str
    """How it ended; `open` if it has not, `unreadable` if its record cannot be read."""
    head: Head


def run(options: Namespace) -> int:
    """List the runs."""
    with closing(open_store(options.store)) as store:
        lines = [_line(store, name) for name in store.runs()]
    if options.json:
        emit_json({"runs": lines})
        return Exit.OK
    if not lines:
        say("no runs are kept here yet")
    width = max((len(line.run) for line in lines), default=0)
    for line in lines:
        when = clock(line.started) if line.started else "unknown"
        say(
            f"{paint(line.run.ljust(width), 'bold')}  {line.outcome:<10}  {when}"
            f"  {count(line.head.entries, 'event'):>12}  {one_line(line.task)}"
        )
    return Exit.OK


def _line(store: TraceReader, name: RunId) -> Line:
    head = store.head(name)
    try:
        reader = Reader()
        first = reader.read(next(store.read(name)))
        last = reader.read(next(store.read(name, head.entries - 1)))
        task = starts(first).task
    except (RecordUnreadable, StopIteration):
        return Line(run=name, task="", started=None, outcome="unreadable", head=head)
    ended = last.event.outcome.value if isinstance(last.event, RunFinished) else "open"
    return Line(
        run=name, task=task.title or task.source, started=first.at, outcome=ended, head=head
    )
