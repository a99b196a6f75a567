"""`audit`: report the audit metrics and the cost of runs from their records."""

from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command, add_form, add_store
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit
from auditcoder.interfaces.record_sources import open_store, resolve
from auditcoder.interfaces.reports import audit_report


class AuditArguments(Value):
    """The arguments of `audit`."""

    runs: tuple[str, ...] = ()
    store: str | None = None
    form: str = "text"
    out: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `audit` to its parser."""
    parser.add_argument(
        "runs",
        metavar="RUN",
        nargs="*",
        help="a run's id or a unique prefix of it (default: all runs in the store)",
    )
    add_store(parser)
    add_form(parser)


def run(options: AuditArguments) -> int:
    """Audit the named runs; all runs of the store if none is named."""
    with closing(open_store(options.store)) as store:
        chosen = [resolve(name, store) for name in options.runs] or store.runs()
        form = "json" if options.json else options.form
        deliver(audit_report(store, chosen, form), options.out)
    return Exit.OK


def deliver(text: str, out: str | None) -> None:
    """Write a report to the file `out`, or to standard output."""
    if out is None or out == "-":
        emit(text)
    else:
        with atomic_file(Path(out)) as file:
            file.write(text.encode())


COMMAND = Command(AuditArguments, declare, run)
