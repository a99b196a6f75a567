"""Node ids: allocated by the system before any code exists, and never reused."""

import re
from collections.abc import Container
from itertools import count
from typing import NewType

NodeId = NewType("NodeId", str)
"""The id of a node: `S0`, `S1`, `S1_1`, …"""

ROOT = NodeId("S0")
"""The root node. It exists from the first event of a run and owns the orchestration."""

_SHAPE = re.compile(r"S(0|[1-9]\d*(_[1-9]\d*)*)", re.ASCII)


def is_node_id(text: str) -> bool:
    """Whether `text` has the format of a node id."""
    return _SHAPE.fullmatch(text) is not None


def child_of(parent: NodeId, allocated: Container[NodeId]) -> NodeId:
    """Return the first id under `parent` that was never allocated, not even to a retired node."""
    stem = "S" if parent == ROOT else f"{parent}_"
    return next(i for n in count(1) if (i := NodeId(f"{stem}{n}")) not in allocated)


def allocated_under(node: NodeId) -> NodeId:
    """Return the parent under which `node` was allocated, which its id encodes."""
    stem, _, _ = node.rpartition("_")
    return NodeId(stem) if stem else ROOT
