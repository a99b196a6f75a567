"""Prints all versions of a node's code, each with the difference to the one before it."""

from auditcoder.domain.ids import NodeId
from auditcoder.exports.code_history import RecordedVersion
from auditcoder.interfaces.cli.repair_view import diff_line
from auditcoder.interfaces.cli.terminal import clock, count, one_line, paint, say


def show_history(title: str, node: NodeId, versions: tuple[RecordedVersion, ...]) -> None:
    """Print the first code whole, and every later version as a diff."""
    say(f"{paint(node, 'bold')}  {one_line(title)}: {count(len(versions), 'version')} of its code")
    for version in versions:
        _show_version(version)


def _show_version(version: RecordedVersion) -> None:
    by = f" by {version.agent}" if version.agent else ""
    reply = f", from the reply in event {version.reply}" if version.reply is not None else ""
    cause = f", for {version.cause}" if version.cause else ""
    say()
    say(
        f"{paint(f'Version {version.number}', 'bold')}  event {version.event},"
        f" {clock(version.at)}{by}{reply}{cause}"
    )
    say(f"  {version.fate}; {one_line(version.why)}")
    if version.replaced is None:
        for number, line in enumerate(version.source.splitlines(), 1):
            say(f"  {number:>4}  {line}")
        return
    say(f"  difference to version {version.replaced}")
    if not version.diff:
        say("    none: the code is the same")
        return
    for line in version.diff.split("\n")[2:]:
        say(f"    {diff_line(line)}")
