"""Responsibility ids: allocated by us, before any code, and never twice."""

import re
from collections.abc import Container
from itertools import count
from typing import NewType

NodeId = NewType("NodeId", str)
"""A responsibility's address: `S0`, `S1`, `S1_1`, …"""

ROOT = NodeId("S0")
"""The root. It exists from the first event of a run and owns the orchestration."""

_SHAPE = re.compile(r"S(0|[1-9]\d*(_[1-9]\d*)*)", re.ASCII)


def is_node_id(text: str) -> bool:
    """Whether `text` reads as an id that `child_of` could have made."""
    return _SHAPE.fullmatch(text) is not None


def child_of(parent: NodeId, allocated: Container[NodeId]) -> NodeId:
    """Return the first id under `parent` that was never allocated, retired ones included."""
    stem = "S" if parent == ROOT else f"{parent}_"
    return next(i for n in count(1) if (i := NodeId(f"{stem}{n}")) not in allocated)


def allocated_under(node: NodeId) -> NodeId:
    """Return the parent under which `node` was allocated: its id says so."""
    stem, _, _ = node.rpartition("_")
    return NodeId(stem) if stem else ROOT
