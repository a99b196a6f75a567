"""Where in the graph evidence or a diagnosis points."""

from typing import TypeAlias

from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import Value


class AtNode(Value, tag="node"):
    """One responsibility."""

    node: NodeId


class AtNodes(Value, tag="nodes"):
    """Several responsibilities together."""

    nodes: tuple[NodeId, ...]


class AtBranch(Value, tag="branch"):
    """A responsibility and everything below it."""

    root: NodeId


class AtInterface(Value, tag="interface"):
    """What one responsibility hands to another."""

    provider: NodeId
    consumer: NodeId


class AtProgram(Value, tag="program"):
    """The assembled program."""


Subject: TypeAlias = AtNode | AtBranch | AtProgram
"""What a check can be about."""

Target: TypeAlias = AtNode | AtNodes | AtBranch | AtInterface
"""What a diagnosis can name."""
