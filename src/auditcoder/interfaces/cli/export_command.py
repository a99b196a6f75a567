"""`export`: a run, or what it says, for somebody else."""

from argparse import Namespace
from pathlib import Path
from typing import Any

from auditcoder.adapters.files import whole_file
from auditcoder.adapters.stores.bundle import SUFFIX, write_bundle
from auditcoder.domain.trace import fold
from auditcoder.exports.record import responsibility_records
from auditcoder.exports.repairs import repair_log
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import emit, emit_json, encode_json, say
from auditcoder.interfaces.sources import opened_run
from auditcoder.lifecycle.transfer import verified_head


def run(options: Namespace) -> int:
    """Export a run in the form asked for, provided that it verifies."""
    with opened_run(options.run, options.store) as (source, name):
        head = verified_head(source, name)
        match options.form:
            case "bundle":
                path = Path(options.out or f"{name}{SUFFIX}")
                head = write_bundle(source, name, path)  # a live run may have grown since
                if options.json:
                    emit_json({"bundle": str(path), "run": name, "head": head})
                else:
                    say(f"wrote {path}: {head.entries} entries, head {head.digest}")
                return Exit.OK
            case "head":
                document: Any = {"run": name, "entries": head.entries, "head": head.digest}
                text = encode_json(document) if options.json else f"{head.digest}\n"
            case "record":
                trace = fold(source.read(name), source.blob)
                text = encode_json(responsibility_records(trace, source.blob))
            case _:
                trace = fold(source.read(name), source.blob)
                text = encode_json(repair_log(trace, source.blob))
    if options.out is None:
        emit(text)
    else:
        with whole_file(Path(options.out)) as file:
            file.write(text.encode())
    return Exit.OK
