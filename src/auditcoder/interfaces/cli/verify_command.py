"""`verify`: does the record prove itself?"""

from argparse import Namespace

from auditcoder.domain.values import Digest
from auditcoder.domain.verify import Aspect, Report
from auditcoder.interfaces.cli.exits import Exit
from auditcoder.interfaces.cli.text import count, emit_json, paint, say
from auditcoder.interfaces.sources import opened_run
from auditcoder.lifecycle.transfer import verify_run

_WHAT = {
    Aspect.CHAIN: "every entry follows the one before it",
    Aspect.BLOBS: "every blob is what its digest says",
    Aspect.LAWS: "every event may follow what came before it",
    Aspect.HEAD: "the record ends where it is said to end",
}


def run(options: Namespace) -> int:
    """Verify a run or a bundle."""
    expected = Digest(options.head) if options.head else None
    with opened_run(options.run, options.store) as (source, name):
        report = verify_run(source, name, expected)
    if options.json:
        emit_json({"verified": report.holds, "report": report})
    else:
        _print(report, expected)
    return Exit.OK if report.holds else Exit.DOES_NOT_HOLD


def _print(report: Report, expected: Digest | None) -> None:
    state = {True: "finished", False: "still open", None: "its end unknown"}[report.finished]
    say(
        f"{report.run or 'unknown run'}: {count(report.entries, 'entry', 'entries')},"
        f" {count(report.blobs, 'reference')} to blobs, {state}"
    )
    for aspect, holds in _WHAT.items():
        wrong = [f for f in report.findings if f.aspect is aspect]
        mark = paint("fails", "red") if wrong else paint("holds", "green")
        if aspect is Aspect.LAWS and not wrong and report.judged < report.entries:
            mark, holds = paint("open ", "yellow"), f"not judged from event {report.judged} on"
        say(f"  {aspect.value:<6} {mark}  {holds}")
        for finding in wrong:
            where = f"event {finding.seq}: " if finding.seq is not None else ""
            say(f"           {finding.code}: {where}{finding.message}")
    if report.truncated:
        say("  and more of the same")
    say(f"  digest of the head: {report.head}")
    if expected is not None and report.known_head is not None:
        later = report.entries - 1 - report.known_head
        say(
            f"  the head you knew is event {report.known_head}"
            + (f"; {count(later, 'event')} came later" if later else ", the last")
        )
    if report.holds:
        say(paint("verified", "green"))
        if expected is None:
            say("  against itself only: compare the head with one kept elsewhere (--head)")
    else:
        say(paint("does not verify", "red"))
