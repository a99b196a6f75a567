"""Shows a run while it is in progress, and its result."""

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.domain.doubts import OpenDoubt
from auditcoder.domain.errors import AuditCoderError, RecordRefused
from auditcoder.domain.events import Event, RunOutcome
from auditcoder.domain.usage import total
from auditcoder.domain.values import RunId, encode, printable_json
from auditcoder.exports.draft_report import draft_summary
from auditcoder.interfaces.cli.draft_view import say_drafts
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.live_view import LiveView
from auditcoder.interfaces.cli.terminal import count, emit, notice, one_line, paint, say
from auditcoder.lifecycle.recorder import Watch
from auditcoder.lifecycle.runs import Solution

_STYLES = {RunOutcome.PASSED: "green", RunOutcome.FAILED: "red"}
STDOUT = "-"


def execute_and_show(
    as_json: bool,
    out: str | None,
    run: RunId,
    solve: Callable[[Watch], Solution],
    *,
    quiet: bool = False,
    fail_on_doubts: bool = False,
) -> int:
    """Execute a run, show it, and write its program; return the exit code."""
    if as_json:
        solution = _with_resume_hint(run, lambda: solve(_emit_event))
        _emit_result(solution)
    else:
        with LiveView(quiet=quiet) as view:
            solution = _with_resume_hint(run, lambda: solve(view))
        if out != STDOUT:
            _say_result(solution)
    _write_program(solution, out, as_json=as_json)
    if fail_on_doubts and solution.doubts:
        return Exit.UNSOLVED
    return _exit(solution.outcome)


def _with_resume_hint(run: RunId, solve: Callable[[], Solution]) -> Solution:
    """Call `solve`; if it raises, say how to resume the run."""
    try:
        return solve()
    except (AuditCoderError, KeyboardInterrupt) as error:
        if not isinstance(error, RecordRefused):
            notice(f"the record is kept; `auditcoder resume {run}` continues the run")
        raise


def _emit_event(seq: int, event: Event) -> None:
    emit(f'{{"seq":{seq},"event":{printable_json(encode(event).decode())}}}\n')


def _emit_result(solution: Solution) -> None:
    used = total(billed.reply.usage for billed in solution.trace.replies)
    result = {
        "run": solution.run,
        "outcome": solution.outcome.value,
        "doubts": solution.doubts,
        "program": solution.program,
        "usage": used,
        "drafting": draft_summary(solution.trace),
        "head": solution.trace.head.digest,
    }
    emit(f'{{"result":{printable_json(msgspec.json.encode(result).decode())}}}\n')


def _say_result(solution: Solution) -> None:
    trace = solution.trace
    used = total(billed.reply.usage for billed in trace.replies)
    accepted = sum(t.decision is not None and t.decision.value == "accepted" for t in trace.history)
    reason = trace.finish.reason if trace.finish else ""
    style = _STYLES.get(solution.outcome, "yellow")
    why = f": {reason}" if reason else ""
    doubts = f", {count(len(solution.doubts), 'open doubt')}" if solution.doubts else ""
    say(f"{paint(solution.outcome.value, style)}{paint(doubts, 'yellow')}{why}")
    say_doubts(solution.doubts)
    say_drafts(draft_summary(trace))
    at_least = "at least " if used.unmeasured else ""
    say(
        f"{count(used.calls, 'call')}, {at_least}{used.tokens} tokens,"
        f" {(trace.last.at - trace.started.at).total_seconds():.0f} s,"
        f" {count(len(trace.history), 'repair')} ({accepted} accepted)"
    )
    say(f"record: `auditcoder show {solution.run}`, head sha256 {trace.head.digest}")


def say_doubts(doubts: Iterable[OpenDoubt]) -> None:
    """Print each open doubt, and why it is open."""
    for doubt in doubts:
        say(f"  doubt: {one_line(doubt.line)}")
        if doubt.reason:
            say(f"    {one_line(doubt.reason)}")


def _write_program(solution: Solution, out: str | None, *, as_json: bool) -> None:
    """Write the program to `out`; print it if there is none."""
    if solution.program is None:
        return
    if out == STDOUT and not as_json:
        emit(solution.program)
    elif out and out != STDOUT:
        with atomic_file(Path(out)) as file:
            file.write(solution.program.encode())
        notice(f"wrote the program to {out}")
    elif not as_json:
        say()
        for line in solution.program.rstrip("\n").split("\n"):
            say(line)


def _exit(outcome: RunOutcome) -> int:
    match outcome:
        case RunOutcome.PASSED:
            return Exit.OK
        case RunOutcome.STOPPED:
            return Exit.BUDGET
        case _:
            return Exit.UNSOLVED
