"""How things look on a terminal. Colour only where somebody sees it."""

import os
import re
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

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

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "34"}


def paint(text: str, style: str) -> str:
    """Colour `text` if standard output is a terminal and nobody objects."""
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{_CODES[style]}m{text}\033[0m"


def say(line: str = "") -> None:
    """Write one line. A record's texts are data: no control character of theirs gets through."""
    sys.stdout.write(_UNSAFE.sub(_visible, line) + "\n")


_UNSAFE = re.compile(
    r"(\033\[\d*m)|[^\S \t]|[\x00-\x08\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def _visible(match: re.Match[str]) -> str:
    # Colours are ours, and harmless where they are not.
    return match[1] or f"\\u{ord(match[0]):04x}"


def one_line(text: str) -> str:
    """Fold a text onto one line."""
    return " ".join(text.split())


def emit_json(value: Any) -> None:
    """Write one JSON document."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(value), indent=2).decode() + "\n")


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
