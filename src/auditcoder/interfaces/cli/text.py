"""How things look on a terminal. Colour only where somebody sees it."""

import contextlib
import io
import os
import re
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from auditcoder.domain.errors import StoreError
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.graph import Node
from auditcoder.domain.places import (
    AtBranch,
    AtInterface,
    AtNode,
    AtNodes,
    AtProgram,
)
from auditcoder.domain.repair import Rank

_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34}
_MARKS = {style: chr(0xFDD0 + n) for n, style in enumerate((*_STYLES, "end"))}
"""Stand for colours until a line is written: characters that mean nothing anywhere else."""


def paint(text: str, style: str) -> str:
    """Give `text` a colour, to be shown where somebody sees it."""
    return f"{_MARKS[style]}{text}{_MARKS['end']}"


def plain(text: str) -> str:
    """Make whatever a terminal could act on visible. A record's texts are data."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\t" else f"\\u{ord(c):04x}" for c in text)


def say(line: str = "") -> None:
    """Write one line."""
    coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    codes = {**_STYLES, "end": 0}
    pieces = re.split(f"([{''.join(_MARKS.values())}])", line)
    by_mark = {mark: f"\033[{codes[style]}m" if coloured else "" for style, mark in _MARKS.items()}
    emit("".join(by_mark.get(piece, plain(piece)) for piece in pieces) + "\n")


def aside(line: str) -> None:
    """Say something that is not the answer: progress, notices."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):  # nobody listens; the answer is elsewhere
            sys.stderr.write(f"auditcoder: {plain(line)}\n")
            sys.stderr.flush()


def without_password(address: str) -> str:
    """Return an address as it can be shown."""
    return re.sub(r"(?<=://)[^/@\s]*@", "***@", address)


def emit(text: str) -> None:
    """Write text as it is. If the reader has seen enough, the rest goes nowhere."""
    try:
        sys.stdout.write(text)
    except BrokenPipeError:
        _go_on_unheard()
    except OSError as error:
        raise _cannot_speak(error) from error


def prepare_output() -> None:
    """Make sure that anything can be said, whatever the locale and whoever listens."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def finish_output() -> None:
    """Hand over what is still held back."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _go_on_unheard()
    except OSError as error:
        raise _cannot_speak(error) from error


def _go_on_unheard() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _cannot_speak(error: OSError) -> StoreError:
    _go_on_unheard()
    return StoreError(
        "output.unwritable", f"the output cannot be written: {error.strerror}", "free some space"
    )


def one_line(text: str) -> str:
    """Fold a text onto one line."""
    return " ".join(text.split())


def encode_json(value: Any) -> str:
    """Write a value as JSON that a person can read, too."""
    return msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n"


def emit_json(value: Any) -> None:
    """Write one JSON document."""
    emit(encode_json(value))


def clock(moment: datetime) -> str:
    """Write a time so that a person can compare it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def count(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def verdict(value: Verdict) -> str:
    """Write a verdict in its colour."""
    return paint(value.value, "green" if value is Verdict.PASSED else "red")


def place(where: AtNode | AtNodes | AtBranch | AtInterface | AtProgram) -> str:
    """Write where something points."""
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
    """Write a rank as the tuple that is compared."""
    if value is None:
        return "unknown"
    return (
        f"({int(value.full)}, {value.external_passes}, {value.internal_passes},"
        f" {value.external_clean}, {value.internal_clean})"
    )


def header(node: Node) -> str:
    """Write a node's interface, if it has one."""
    return node.contract.header() if node.contract else "no function of its own"
