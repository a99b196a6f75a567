"""Prints what each repair was about: the failure, its cause, the change and the result."""

import re
import textwrap
from collections.abc import Sequence

from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.repair import Decision
from auditcoder.domain.values import RunId
from auditcoder.exports.repair_report import CodeChange, FailedCheck, RepairReport
from auditcoder.interfaces.cli.terminal import count, one_line, paint, say, verdict

_MOST_LINES = 12
"""Maximum number of lines of an input or a result."""
_MOST_CHARACTERS = 1_000
_MOST_DIFF_LINES = 60
_MOST_NAMED = 5
"""Maximum number of further failed checks that are named."""


def show_repair(run: RunId, report: RepairReport) -> None:
    """Print the report of one repair; long texts are cut, with the command that prints all."""
    show_failures(run, report.failures)
    if not report.failures:
        say("  failed        no check of the program failed before it")
    say(f"  cause         {one_line(report.cause)}")
    for change in report.changes:
        _change(run, change)
    _decision(report)


def show_failures(run: RunId, failures: Sequence[FailedCheck]) -> None:
    """Print the first of some failed checks with its content, and name the others."""
    for failed in failures[:1]:
        _failure(run, failed)
    if others := failures[1:]:
        named = ", ".join(f"{w.check} (event {w.event})" for w in others[:_MOST_NAMED])
        rest = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        say(f"  failed too    {named}{rest}")


def _failure(run: RunId, failed: FailedCheck) -> None:
    requirement = f": {one_line(failed.requirement)}" if failed.requirement else ""
    say(
        f"  failed        {verdict(failed.verdict)}  {failed.check}"
        f"  ({failed.trust.value}, event {failed.event}){requirement}"
    )
    show_values(run, failed)
    if _is_informative(failed):
        _labelled("message", failed.message, _command(run, failed))


def show_values(run: RunId, failed: FailedCheck) -> None:
    """Print the input of a failed check, the expected and the actual result, as recorded."""
    is_test = failed.kind is CheckKind.TEST
    given = own_text(failed) if is_test else failed.input
    label = "test" if is_test else "input"
    for name, text in ((label, given), ("expected", failed.expected), ("got", failed.got)):
        if text is not None:
            _labelled(name, text, _command(run, failed))


def _command(run: RunId, failed: FailedCheck) -> str:
    return f"auditcoder show {run} --event {failed.event}"


def own_text(failed: FailedCheck) -> str | None:
    """Return the text of a failed test from its `def` on; all test code if it is not found."""
    name = failed.requirement.partition(":")[0].rpartition(".")[2]
    code = failed.input or ""
    found = re.search(rf"^[ \t]*(?:async )?def {re.escape(name)}\b", code, re.MULTILINE)
    return textwrap.dedent(code[found.start() :]) if found and name else failed.input


def _is_informative(failed: FailedCheck) -> bool:
    """Whether the message says more than that the result differs from the expected one."""
    return bool(failed.message) and (failed.got is None or failed.verdict is not Verdict.FAILED)


def _labelled(label: str, text: str, whole: str) -> None:
    """Print a text beside its label; the further lines are indented below it."""
    shown, left_out = cut(text.rstrip("\n"), _MOST_LINES, _MOST_CHARACTERS)
    for number, line in enumerate(shown.split("\n")):
        say(f"    {label if number == 0 else '':<10}  {line}".rstrip())
    if left_out:
        say(f"    {'':<10}  {paint(f'… {left_out}: `{whole}` shows all', 'dim')}")


def cut(text: str, lines: int, characters: int) -> tuple[str, str]:
    """Return the beginning of a text and how much was left out; the latter is empty for all."""
    kept = text.split("\n")
    shown = "\n".join(kept[:lines])[:characters]
    if len(shown) == len(text):
        return text, ""
    return shown, count(len(text) - len(shown), "more character")


def _change(run: RunId, change: CodeChange) -> None:
    name = f" {change.name}" if change.name else ""
    if not change.diff:
        say(f"  diff          {change.node}{name}: only the registered names changed")
        return
    sizes = f"{count(change.removed, 'line')} removed, {change.added} added"
    say(f"  diff          {change.node}{name}: {sizes}")
    lines = change.diff.split("\n")[2:]
    for line in lines[:_MOST_DIFF_LINES]:
        say(f"    {diff_line(line)}")
    if len(lines) > _MOST_DIFF_LINES:
        left = count(len(lines) - _MOST_DIFF_LINES, "more line")
        whole = f"auditcoder show {run} {change.node} --history"
        say(f"    {paint(f'… {left}: `{whole}` shows all', 'dim')}")


def diff_line(line: str) -> str:
    """Format a line of a unified diff in its colour."""
    style = {"+": "green", "-": "red", "@": "dim"}.get(line[:1])
    return paint(line, style) if style else line


def _decision(report: RepairReport) -> None:
    style = {Decision.ACCEPTED: "green", Decision.REJECTED: "red"}
    if report.decision is None:
        return
    back = ", rolled back" if report.rolled_back else ""
    say(f"  decision      {paint(report.decision.value, style[report.decision])}{back}")
    for change in report.verdicts:
        say(f"    {change.check}  {verdict(change.before)} -> {verdict(change.after)}")
    if not report.checked:
        say("    no check ran")
    elif not report.verdicts:
        say("    no check changed its verdict")
