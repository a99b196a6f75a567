"""Writes lines, tables and JSON; colours them if the stream is a terminal."""

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import msgspec

from auditcoder.domain.errors import StoreError
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.graph import Node
from auditcoder.domain.repair import Rank
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, AtProgram
from auditcoder.domain.values import printable, printable_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34}
_TOKEN = os.urandom(8).hex()
_MARKS = {style: f"\ufdd0{_TOKEN}{n}\ufdd0" for n, style in enumerate((*_STYLES, "end"))}
"""Markers for styles inside a line, replaced when it is written. A record's text cannot guess
them, so it cannot colour itself.
"""
_UNLIMITED = 10_000
"""Width in columns of an output that is not a terminal, so that nothing wraps."""


def paint(text: str, style: str) -> str:
    """Give `text` a style, which is written only to a terminal."""
    return f"{_MARKS[style]}{text}{_MARKS['end']}"


def say(line: str = "") -> None:
    """Write one line."""
    coloured = wants_colour(sys.stdout)
    codes = {**_STYLES, "end": 0}
    by_mark = {mark: f"\033[{codes[style]}m" if coloured else "" for style, mark in _MARKS.items()}
    emit("".join(by_mark.get(piece, printable(piece)) for piece in _pieces(line)) + "\n")


def say_table(rows: Iterable[Sequence[str]]) -> None:
    """Write rows in aligned columns; on a terminal, long cells wrap."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for row in rows:
        grid.add_row(*map(rich_text, row))
    written = io.StringIO()
    console_for(sys.stdout, written).print(grid)
    emit("".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines()))


def rich_text(line: str) -> "Text":
    """Return a painted line for `rich`: control characters escaped, markup not interpreted."""
    from rich.text import Text

    text, style = Text(), ""
    styles = {mark: style for style, mark in _MARKS.items()}
    for piece in _pieces(line):
        if piece in styles:
            style = styles[piece].replace("end", "")
        else:
            text.append(printable(piece), style)
    return text


def console_for(stream: Any, file: Any = None) -> "Console":
    """Return a console with a stream's width and colours; it writes to `file`, if given."""
    from rich.console import Console

    coloured = wants_colour(stream)
    return Console(
        file=file or stream,
        force_terminal=stream.isatty() if file is None else coloured,
        color_system="standard" if coloured else None,
        width=None if stream.isatty() else _UNLIMITED,
        no_color=not coloured,
        markup=False,
        emoji=False,
        highlight=False,
    )


def _pieces(line: str) -> list[str]:
    return re.split(f"({'|'.join(_MARKS.values())})", line)


_quiet = False


def set_quiet(quiet: bool) -> None:
    """Set whether progress and notices are suppressed."""
    global _quiet
    _quiet = quiet


def is_quiet() -> bool:
    """Whether progress and notices are suppressed."""
    return _quiet


def wants_colour(stream: Any) -> bool:
    """Whether to colour output to a stream; an empty NO_COLOR or FORCE_COLOR counts as unset."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or bool(stream is not None and stream.isatty())


def notice(line: str) -> None:
    """Write progress or a notice to standard error, unless --quiet was given."""
    if sys.stderr is not None and not _quiet:
        with contextlib.suppress(OSError):  # standard error is closed
            sys.stderr.write(f"auditcoder: {printable(line)}\n")
            sys.stderr.flush()


def emit(text: str) -> None:
    """Write text as it is. If the reader has closed the pipe, the rest is discarded."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        raise _unwritable(error) from error


def prepare_output() -> None:
    """Make any text writable, whatever the locale is and even if standard output is closed."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def finish_output() -> None:
    """Flush standard output."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        raise _unwritable(error) from error


def _discard_output() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unwritable(error: OSError) -> StoreError:
    _discard_output()
    return StoreError(
        "output.unwritable", f"the output cannot be written: {error.strerror}", "free some space"
    )


def one_line(text: str) -> str:
    """Collapse white space, so that a text is a single line."""
    return " ".join(text.split())


def encode_json(value: Any) -> str:
    """Encode a value as indented JSON that cannot act on a terminal."""
    try:
        text = msgspec.json.format(msgspec.json.encode(value), indent=2).decode()
    except UnicodeEncodeError:  # arguments and file names that are not UTF-8 have lone surrogates
        text = json.dumps(msgspec.to_builtins(value), ensure_ascii=False, indent=2)
    return printable_json(text) + "\n"


def emit_json(value: Any) -> None:
    """Write one JSON document."""
    emit(encode_json(value))


def clock(moment: datetime) -> str:
    """Format a time in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def count(number: int, noun: str, plural: str = "") -> str:
    """Format a number with its noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def verdict(value: Verdict) -> str:
    """Format a verdict in its colour; an inconclusive one has none."""
    style = "green" if value is Verdict.PASSED else "red" if value.failing else "dim"
    return paint(verdict_words(value), style)


def verdict_words(value: Verdict) -> str:
    """Return a verdict in words."""
    return _INCONCLUSIVE.get(value, value.value)


_INCONCLUSIVE = {
    Verdict.NOT_RUN: "not run",
    Verdict.UNTRIED: "not tried",
    Verdict.UNMEASURABLE: "not measured",
}


def place(where: AtNode | AtNodes | AtBranch | AtInterface | AtProgram) -> str:
    """Format the target of evidence or of a diagnosis."""
    match where:
        case AtNode(node=node):
            return node
        case AtNodes(nodes=nodes):
            return ", ".join(nodes)
        case AtBranch(root=root):
            return f"branch {root}"
        case AtInterface(provider=provider, consumer=consumer):
            return f"interface {provider} to {consumer}"
        case AtProgram():
            return "program"


def rank(value: Rank | None) -> str:
    """Format a rank as the tuple that is compared."""
    if value is None:
        return "unknown"
    return (
        f"({int(value.full)}, {value.external_passes}, {value.internal_passes},"
        f" {value.external_clean}, {value.internal_clean})"
    )


def header(node: Node) -> str:
    """Format a node's interface, if it has one."""
    return node.contract.header() if node.contract else "no function of its own"
