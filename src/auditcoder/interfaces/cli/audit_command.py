"""`audit`: the audit metrics and the cost of runs, from their records alone."""

from argparse import Namespace
from contextlib import closing
from pathlib import Path

from auditcoder.adapters.files import whole_file
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import emit
from auditcoder.interfaces.reporting import audit_report
from auditcoder.interfaces.sources import open_store, resolve


def run(options: Namespace) -> int:
    """Audit the runs that are named, or all."""
    with closing(open_store(options.store)) as store:
        chosen = [resolve(name, store) for name in options.runs] or store.runs()
        form = "json" if options.json else options.form
        deliver(audit_report(store, chosen, form), options.out)
    return Exit.OK


def deliver(text: str, out: str | None) -> None:
    """Write a report where it was asked for."""
    if out is None or out == "-":
        emit(text)
    else:
        with whole_file(Path(out)) as file:
            file.write(text.encode())
