"""`replay`: go through a run again without a model, and see that it comes out the same."""

from argparse import Namespace
from contextlib import ExitStack, closing

from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import aside, count, emit_json, paint, say
from auditcoder.interfaces.opening import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.interfaces.sources import opened_run
from auditcoder.methods.solving import replay


def run(options: Namespace) -> int:
    """Replay a run and compare."""
    with ExitStack() as stack:
        reader, name = stack.enter_context(opened_run(options.run, options.store))
        sandbox = None
        if not options.trust_evidence:
            sandbox = stack.enter_context(closing(open_sandbox(read_settings(), aside)))
        found = replay(reader, name, sandbox)
    if options.json:
        emit_json({"replay": found, "same": found.same})
        return Exit.OK if found.same else Exit.DOES_NOT_HOLD
    ended = "" if found.finished else "; the run has not ended"
    say(f"run {found.run}: {count(found.events, 'event')} came out again, byte for byte{ended}")
    say(f"head sha256 {found.head.digest}")
    for difference in found.differences:
        say(f"{paint('another outcome', 'red')}  {difference}")
    if sandbox is not None and found.same:
        say("every check saw what it had seen")
    return Exit.OK if found.same else Exit.DOES_NOT_HOLD
