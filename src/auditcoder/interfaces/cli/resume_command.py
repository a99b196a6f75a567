"""`resume`: go on with a run that was cut off."""

from argparse import Namespace
from contextlib import closing

from auditcoder.interfaces.api import tools
from auditcoder.interfaces.cli.outcome import shown
from auditcoder.interfaces.cli.text import aside
from auditcoder.interfaces.sources import open_store, resolve
from auditcoder.methods.solving import CONSULTED, finished, resume, solution, started


def run(options: Namespace) -> int:
    """Go on where the record ends."""
    with closing(open_store(options.store)) as store:
        name = resolve(options.run, store)
        if finished(store, name):
            aside(f"run {name} has ended; nothing is left to do")
            return shown(options, name, lambda _: solution(store, name), quiet=True)
        manifest = started(store, name).manifest
        model = options.model or manifest.model
        other = manifest.settings.get(CONSULTED)
    with tools(model, options.store, aside, other) as opened:
        return shown(options, name, lambda watch: resume(opened, name, watch))
