"""`import`: copy the run of a bundle into the store, if it verifies."""

from argparse import ArgumentParser
from contextlib import closing
from pathlib import Path

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.domain.values import Value
from auditcoder.interfaces.cli.command import Command, add_store
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import emit_json, say
from auditcoder.interfaces.record_sources import open_store
from auditcoder.lifecycle.export_import import copy_run


class ImportArguments(Value):
    """The arguments of `import`."""

    bundle: str
    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `import` to its parser."""
    parser.add_argument("bundle", metavar="BUNDLE", help="the bundle file")
    add_store(parser)


def run(options: ImportArguments) -> int:
    """Import a bundle."""
    with closing(BundleFile(Path(options.bundle))) as bundle:
        name = bundle.manifest.run
        with closing(open_store(options.store, create=True)) as store:
            done = copy_run(bundle, name, store)
            head = store.head(name)
    if options.json:
        emit_json({"run": name, "result": done.value, "head": head})
    else:
        say(f"{name}: {done.value}, {head.entries} entries, head {head.digest}")
    return Exit.OK


COMMAND = Command(ImportArguments, declare, run)
