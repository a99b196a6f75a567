"""Considering: what was wrong is asked before anything is written again."""

from enum import Enum

import msgspec

from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import named_in
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import Target
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import Value
from auditcoder.lifecycle.failures import failure_text
from auditcoder.lifecycle.planning.rendering import described
from auditcoder.lifecycle.shapes import Structured
from auditcoder.lifecycle.workshop import Workshop

_MAX_TOKENS = 250


class Cause(Enum):
    """What was wrong."""

    IMPLEMENTATION = "implementation"
    ALGORITHM = "algorithm"
    INTERFACE = "interface"
    DECOMPOSITION = "decomposition"
    GLOBAL = "global"


class Finding(Value):
    """What a role that looked at the failure says before anything is written again."""

    cause: Cause
    explanation: str
    hints: tuple[str, ...]
    cost: str
    """The cost that the node should have; empty to leave it."""
    signature: str
    """The header that the function should have; empty to leave it."""


NOTHING_SAID = Finding(
    cause=Cause.IMPLEMENTATION, explanation="nobody could say", hints=(), cost="", signature=""
)
HEALED = msgspec.structs.replace(
    NOTHING_SAID, explanation="with another implementation in its place, every check passed"
)


def consider(workshop: Workshop, target: Target, failing: Evidence) -> Finding:
    """Ask what was wrong with the part that the evidence points to."""
    node = top_of(target)
    ledger = workshop.recorder.ledger
    code = ledger.working.code.get(node)
    try:
        return workshop.ask(
            "replan_node",
            Structured(Finding),
            Phase.PLANNING,
            _MAX_TOKENS,
            role="task replanner",
            node=node,
            statement=workshop.statement,
            about=described(ledger.graph.by_id[node]),
            code=workshop.recorder.text(code.digest).strip() if code else "",
            failure=failure_text(workshop, failing),
        ).value
    except ReplyUnusable:
        return NOTHING_SAID


def top_of(target: Target) -> NodeId:
    """Return the node that a target is about first."""
    return named_in(target)[0]
