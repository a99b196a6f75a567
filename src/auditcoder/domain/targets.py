"""The parts of a graph that evidence or a diagnosis can be about."""

from typing import TypeAlias

from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import Value


class AtNode(Value, tag="node"):
    """One node."""

    node: NodeId


class AtNodes(Value, tag="nodes"):
    """Several nodes together."""

    nodes: tuple[NodeId, ...]


class AtBranch(Value, tag="branch"):
    """A node and all its descendants."""

    root: NodeId


class AtInterface(Value, tag="interface"):
    """The interface between two nodes."""

    provider: NodeId
    consumer: NodeId


class AtProgram(Value, tag="program"):
    """The assembled program."""


Subject: TypeAlias = AtNode | AtBranch | AtProgram
"""The subject of a check."""

Target: TypeAlias = AtNode | AtNodes | AtBranch | AtInterface
"""The target of a diagnosis."""
