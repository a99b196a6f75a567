"""How a run is shown while it lives and when it has ended."""

from collections.abc import Callable
from pathlib import Path

import msgspec

from auditcoder.adapters.atomic_files import whole_file
from auditcoder.domain.errors import AuditCoderError, RecordRefused
from auditcoder.domain.events import Event, RunOutcome
from auditcoder.domain.usage import total
from auditcoder.domain.values import RunId, encode
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.live_view import LiveView
from auditcoder.interfaces.cli.terminal import aside, count, emit, paint, say
from auditcoder.lifecycle.recorder import Watch
from auditcoder.lifecycle.runs import Solution

_STYLES = {RunOutcome.PASSED: "green", RunOutcome.FAILED: "red"}
STDOUT = "-"


def shown(
    as_json: bool,
    out: str | None,
    run: RunId,
    solve: Callable[[Watch], Solution],
    *,
    quiet: bool = False,
) -> int:
    """Show a run from its beginning to its end, and hand its program over."""
    if as_json:
        found = _kept(run, lambda: solve(_emit_event))
        _emit_result(found)
    else:
        with LiveView(quiet=quiet) as watching:
            found = _kept(run, lambda: solve(watching))
        if out != STDOUT:
            _say_result(found)
    _hand_over(found, out, as_json=as_json)
    return _exit(found.outcome)


def _kept(run: RunId, solve: Callable[[], Solution]) -> Solution:
    """Say, whatever goes wrong, that the run is kept and how to go on with it."""
    try:
        return solve()
    except (AuditCoderError, KeyboardInterrupt) as ended:
        if not isinstance(ended, RecordRefused):
            aside(f"what was done so far is kept: `auditcoder resume {run}` goes on from there")
        raise


def _emit_event(seq: int, event: Event) -> None:
    emit(f'{{"seq":{seq},"event":{encode(event).decode()}}}\n')


def _emit_result(found: Solution) -> None:
    used = total(billed.reply.usage for billed in found.trace.replies)
    result = {
        "run": found.run,
        "outcome": found.outcome.value,
        "program": found.program,
        "usage": used,
        "head": found.trace.head.digest,
    }
    emit(f'{{"result":{msgspec.json.encode(result).decode()}}}\n')


def _say_result(found: Solution) -> None:
    trace = found.trace
    used = total(billed.reply.usage for billed in trace.replies)
    accepted = sum(t.decision is not None and t.decision.value == "accepted" for t in trace.history)
    reason = trace.finish.reason if trace.finish else ""
    style = _STYLES.get(found.outcome, "yellow")
    why = f": {reason}" if reason else ""
    say(f"{paint(found.outcome.value, style)}{why}")
    atleast = "at least " if used.unmeasured else ""
    say(
        f"{count(used.calls, 'call')}, {atleast}{used.tokens} tokens,"
        f" {(trace.last.at - trace.started.at).total_seconds():.0f} s,"
        f" {count(len(trace.history), 'repair')} ({accepted} accepted)"
    )
    say(f"record: `auditcoder show {found.run}`, head sha256 {trace.head.digest}")


def _hand_over(found: Solution, out: str | None, *, as_json: bool) -> None:
    """Write the program where it was asked for; show it if that was not said."""
    if found.program is None:
        return
    if out == STDOUT and not as_json:
        emit(found.program)
    elif out and out != STDOUT:
        with whole_file(Path(out)) as file:
            file.write(found.program.encode())
        aside(f"the program is in {out}")
    elif not as_json:
        say()
        for line in found.program.rstrip("\n").split("\n"):
            say(line)


def _exit(outcome: RunOutcome) -> int:
    match outcome:
        case RunOutcome.PASSED:
            return Exit.OK
        case RunOutcome.STOPPED:
            return Exit.BUDGET
        case _:
            return Exit.UNSOLVED
