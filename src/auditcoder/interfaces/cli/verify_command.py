"""`verify`: check the hash chain, the blobs, the laws and the head of a record."""

from argparse import ArgumentParser

from auditcoder.domain.values import Digest, Value
from auditcoder.domain.verification import Aspect, Report
from auditcoder.interfaces.cli.command import Command, add_run, add_store, head_digest
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.terminal import count, emit_json, paint, say
from auditcoder.interfaces.record_sources import opened_run
from auditcoder.lifecycle.export_import import verify_run

_MEANINGS = {
    Aspect.CHAIN: "every entry follows the one before it",
    Aspect.BLOBS: "every blob matches its digest",
    Aspect.LAWS: "every event obeys the laws",
    Aspect.HEAD: "the record ends at the stated head",
}


class VerifyArguments(Value):
    """The arguments of `verify`."""

    run: str
    head: str | None = None
    store: str | None = None
    json: bool = False


def declare(parser: ArgumentParser) -> None:
    """Add the arguments of `verify` to its parser."""
    add_run(parser)
    parser.add_argument(
        "--head",
        metavar="DIGEST",
        type=head_digest,
        help="a head digest that was kept earlier; the chain must contain it",
    )
    add_store(parser)


def run(options: VerifyArguments) -> int:
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
    state = {True: "finished", False: "not finished", None: "end unknown"}[report.finished]
    say(
        f"{report.run or 'unknown run'}: {count(report.entries, 'entry', 'entries')},"
        f" {count(report.blobs, 'reference')} to blobs, {state}"
    )
    for aspect, meaning in _MEANINGS.items():
        findings = [f for f in report.findings if f.aspect is aspect]
        mark = paint("fails", "red") if findings else paint("holds", "green")
        if aspect is Aspect.LAWS and not findings and report.judged < report.entries:
            mark, meaning = paint("open ", "yellow"), f"not checked from event {report.judged} on"
        say(f"  {aspect.value:<6} {mark}  {meaning}")
        for finding in findings:
            where = f"event {finding.seq}: " if finding.seq is not None else ""
            say(f"           {finding.code}: {where}{finding.message}")
    if report.truncated:
        say("  more findings are not shown")
    say(f"  head digest: {report.head}")
    if expected is not None and report.known_head is not None:
        later = report.entries - 1 - report.known_head
        say(
            f"  the given head is event {report.known_head}"
            + (f"; {count(later, 'event')} came later" if later else ", the last one")
        )
    if report.holds:
        say(paint("verified", "green"))
        if expected is None:
            say("  against itself only; to detect a rewrite, give a head kept elsewhere (--head)")
    else:
        say(paint("does not verify", "red"))


COMMAND = Command(VerifyArguments, declare, run)
