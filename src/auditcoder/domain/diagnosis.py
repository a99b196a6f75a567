"""The locator's answer: a boundary that the evidence supports, or none."""

from enum import Enum
from typing import TypeAlias

from auditcoder.domain.targets import Target
from auditcoder.domain.values import Value


class Level(Enum):
    """The discrete confidence scale."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Localised(Value, tag="localised"):
    """The evidence supports a boundary."""

    target: Target
    agents: tuple[str, ...]
    """The routed agents of the target, one a node."""
    rule: str
    """Which rule or locator answered: `R1` traceback, `R2` resource, `R3` local rejection, …"""
    level: Level
    evidence: tuple[int, ...]
    """Sequence numbers of the standing evidence that supports it."""
    probability: float | None = None
    explanation: str = ""


class Abstained(Value, tag="abstained"):
    """The evidence supports no boundary (R4)."""

    reason: str
    evidence: tuple[int, ...] = ()
    """What was looked at."""
    flaky: bool = False
    """Whether what failed passes when it is run again: then there is nothing to plan anew."""


Diagnosis: TypeAlias = Localised | Abstained
