"""`import`: take a run that somebody handed over, if it proves itself."""

from argparse import Namespace
from contextlib import closing
from pathlib import Path

from auditcoder.adapters.stores.bundle import Bundle
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import emit_json, say
from auditcoder.interfaces.sources import open_store
from auditcoder.lifecycle.transfer import copy_run


def run(options: Namespace) -> int:
    """Import a bundle."""
    with closing(Bundle(Path(options.bundle))) as bundle:
        name = bundle.manifest.run
        with closing(open_store(options.store, create=True)) as store:
            done = copy_run(bundle, name, store)
            head = store.head(name)
    if options.json:
        emit_json({"run": name, "result": done.value, "head": head})
    else:
        say(f"{name}: {done.value}, {head.entries} entries, head {head.digest}")
    return Exit.OK
