"""`export`: write a run as a bundle, or parts of its content as documents."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.adapters.stores.bundle import SUFFIX, write_bundle
from auditcoder.domain.values import Value
from auditcoder.exports.repair_log import repair_log
from auditcoder.exports.responsibility_record import responsibility_records
from auditcoder.interfaces.cli.command import Command, add_run, add_store
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit, emit_json, encode_json, say
from auditcoder.interfaces.record_sources import opened_run
from auditcoder.lifecycle.export_import import verified_head, verified_trace


class ExportArguments(Value):
    """The arguments of `export`."""

    run: str
    form: str = "bundle"
    out: str | None = None
    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `export` to its parser."""
    add_run(parser)
    parser.add_argument(
        "--as",
        dest="form",
        choices=["bundle", "record", "repairs", "head"],
        default="bundle",
        help="bundle: the whole run in one file (default); record: the responsibility records;"
        " repairs: the repair log; head: the digest of the last entry",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="where to write (default: RUN.acb for a bundle, else standard output)",
    )
    add_store(parser)


def run(options: ExportArguments) -> int:
    """Export a run, provided that it verifies."""
    with opened_run(options.run, options.store) as (source, name):
        match options.form:
            case "bundle":
                path = Path(options.out or f"{name}{SUFFIX}")
                verified_head(source, name)
                head = write_bundle(source, name, path)  # an active run may have grown since
                if options.json:
                    emit_json({"bundle": str(path), "run": name, "head": head})
                else:
                    say(f"wrote {path}: {head.entries} entries, head {head.digest}")
                return Exit.OK
            case "head":
                head = verified_head(source, name)
                document: Any = {"run": name, "entries": head.entries, "head": head.digest}
                text = encode_json(document) if options.json else f"{head.digest}\n"
            case "record":
                trace = verified_trace(source, name)
                text = encode_json(responsibility_records(trace, source.blob))
            case _:
                trace = verified_trace(source, name)
                text = encode_json(repair_log(trace, source.blob))
    if options.out is None:
        emit(text)
    else:
        with atomic_file(Path(options.out)) as file:
            file.write(text.encode())
    return Exit.OK


COMMAND = Command(ExportArguments, declare, run)
