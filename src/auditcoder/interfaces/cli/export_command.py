"""`export`: a run, or what it says, for somebody else."""

import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import msgspec

from auditcoder.adapters.stores.bundle import SUFFIX, write_bundle
from auditcoder.domain.errors import StoreError
from auditcoder.domain.trace import fold
from auditcoder.exports.record import responsibility_records
from auditcoder.exports.repairs import repair_log
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.sources import opened_run
from auditcoder.interfaces.cli.text import emit_json, say


def run(options: Namespace) -> int:
    """Export a run in the form asked for."""
    with opened_run(options.run, options.store) as (source, name):
        if options.form == "bundle":
            path = Path(options.out or f"{name}{SUFFIX}")
            head = write_bundle(source, name, path)
            if options.json:
                emit_json({"bundle": str(path), "run": name, "head": head})
            else:
                say(f"wrote {path}: {head.entries} entries, head {head.digest}")
            return Exit.OK
        if options.form == "head":
            head = source.head(name)
            text = f"{head.digest}\n"
            document: Any = {"run": name, "entries": head.entries, "head": head.digest}
            _write(options, document if options.json else None, text)
            return Exit.OK
        trace = fold(source.read(name), source.blob)
        export = responsibility_records if options.form == "record" else repair_log
        _write(options, export(trace, source.blob), "")
    return Exit.OK


def _write(options: Namespace, document: Any, text: str) -> None:
    if document is not None:
        text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode() + "\n"
    if options.out is None:
        sys.stdout.write(text)
        return
    try:
        Path(options.out).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(
            "export.unwritable", f"{options.out} cannot be written: {error.strerror}"
        ) from error
