"""The result of a locator: a target that the evidence supports, or an abstention."""

from enum import Enum
from typing import TypeAlias

from auditcoder.domain.targets import Target
from auditcoder.domain.values import Value


class Level(Enum):
    """The confidence of a diagnosis."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Localised(Value, tag="localised"):
    """The evidence supports a target."""

    target: Target
    agents: tuple[str, ...]
    """The agents that wrote the target's code, one for each node."""
    rule: str
    """The rule or locator that applied: `R1` traceback, `R2` resource, `R3` local rejection, …"""
    level: Level
    evidence: tuple[int, ...]
    """Sequence numbers of the standing evidence that supports it."""
    probability: float | None = None
    explanation: str = ""


class Abstained(Value, tag="abstained"):
    """The evidence supports no target (R4)."""

    reason: str
    evidence: tuple[int, ...] = ()
    """Sequence numbers of the evidence that was considered."""
    flaky: bool = False
    """Whether the failed checks pass when they are repeated; then there is nothing to replan."""


Diagnosis: TypeAlias = Localised | Abstained
