"""From beliefs to an answer: a node, several, or nothing, in words that a reviewer can check."""

from collections.abc import Sequence

from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtNode, AtNodes, Target
from auditcoder.lifecycle.locating.believing import Belief
from auditcoder.lifecycle.locating.case import Case, localised
from auditcoder.lifecycle.locating.signs import Kind

LEAST = 0.5
"""The likeliest is not named if it is less likely than that."""
EACH = 0.8
"""Others are named beside it if they are this likely themselves."""
_LEVELS = ((0.9, Level.HIGH), (0.7, Level.MEDIUM), (0.0, Level.LOW))
_RULE = "weighed"


def answer(case: Case, beliefs: Sequence[Belief], seqs: tuple[int, ...]) -> Diagnosis:
    """Name what is likely at fault, or say why nothing is; `beliefs` come the likeliest first."""
    if not beliefs or beliefs[0].probability < LEAST:
        return Abstained(reason=_undecided(beliefs), evidence=seqs)
    first, *others = beliefs
    chosen = [first, *(belief for belief in others if belief.probability >= EACH)]
    nodes = tuple(NodeId(belief.node) for belief in chosen)
    target: Target = AtNode(node=nodes[0]) if len(nodes) == 1 else AtNodes(nodes=nodes)
    level = next(level for least, level in _LEVELS if first.probability >= least)
    why = "; ".join([*map(_told, chosen), *map(_beside, others[:1])])
    found = localised(case, target, _RULE, level, seqs, why)
    return replace(found, probability=min(belief.probability for belief in chosen))


def _told(belief: Belief) -> str:
    points = ", ".join(belief.points) or "nothing in particular"
    against = f"; against it: {', '.join(belief.speaks_against)}" if belief.speaks_against else ""
    return f"{belief.node} ({belief.probability:.2f}): {points}{against}"


def _beside(belief: Belief) -> str:
    return f"next is {belief.node} ({belief.probability:.2f})"


def _undecided(beliefs: Sequence[Belief]) -> str:
    if not beliefs:
        return "nothing was noticed about any part of the program"
    likeliest = " and ".join(f"{b.node} ({b.probability:.2f})" for b in beliefs[:2])
    untried = [b.node for b in beliefs[:2] if Kind.UNTRIED.value in (*b.points, *b.speaks_against)]
    settle = f"; another implementation of {' or of '.join(untried)} would tell" if untried else ""
    return f"nothing is likely enough: {likeliest} come first{settle}"
