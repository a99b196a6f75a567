"""From beliefs to an answer that a reviewer can check.

It is a node, several, a branch, an interface between two, or nothing.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level
from auditcoder.domain.graph import region_of
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.places import AtBranch, AtInterface, AtNode, AtNodes, Target
from auditcoder.lifecycle.locating.believing import CONFIDENT, SURE, Belief
from auditcoder.lifecycle.locating.case import Case, localised
from auditcoder.lifecycle.locating.signs import Kind

_LEVELS = ((SURE, Level.HIGH), (CONFIDENT, Level.MEDIUM), (0.0, Level.LOW))
RULE = "weighed"
_DOUBTFUL = 2
"""So many are named of those that more evidence would tell about."""


def answer(
    case: Case, beliefs: Sequence[Belief], chosen: Sequence[Belief], seqs: tuple[int, ...]
) -> Diagnosis:
    """Say what was chosen of all beliefs and why, or why nothing was; the likeliest first."""
    if not chosen:
        return Abstained(reason=_undecided(case, beliefs), evidence=seqs)
    first, others = chosen[0], [belief for belief in beliefs if belief not in chosen]
    target = untried(case, [NodeId(belief.node) for belief in chosen])
    if target is None:
        named = " and ".join(belief.node for belief in chosen)
        return Abstained(reason=f"what points to {named} was repaired in vain", evidence=seqs)
    # Of several that are named all must be at fault, which is as likely as the least of them.
    several = isinstance(target, AtNodes)
    likely = min(b.probability for b in chosen) if several else first.probability
    level = next(level for least, level in _LEVELS if likely >= least)
    why = "; ".join([*map(_told, chosen), *map(_beside, others[:1]), *_settling(case, beliefs)])
    nodes = [NodeId(belief.node) for belief in chosen]
    clues = [known[n][0] for n in nodes for known in (case.looked, case.swapped) if n in known]
    found = localised(case, target, RULE, level, (*seqs, *clues), why)
    return replace(found, probability=round(likely, 4))


def untried(case: Case, nodes: Sequence[NodeId]) -> Target | None:
    """Return what is to be repaired; what was tried in vain is lifted, and then given up."""
    gone = {(type(target), region_of(target, case.graph)) for target in case.tried}
    return next(
        (t for t in _targets(case, nodes) if (type(t), region_of(t, case.graph)) not in gone), None
    )


def _targets(case: Case, nodes: Sequence[NodeId]) -> Iterator[Target]:
    first = nodes[0]
    if len(nodes) > 1:
        yield AtNodes(nodes=tuple(nodes))
    else:
        clue = case.looked[first][1] if first in case.looked else None
        for taker in clue.hands_badly_to[:1] if clue else ():
            yield AtInterface(provider=first, consumer=taker)
    yield AtNode(node=first)
    if case.replannable and first != ROOT:
        yield AtBranch(root=case.graph.branch_root(first))


def _told(belief: Belief) -> str:
    points = ", ".join(belief.points) or "nothing in particular"
    against = f"; against it: {', '.join(belief.speaks_against)}" if belief.speaks_against else ""
    return f"{belief.node} ({belief.probability:.2f}): {points}{against}"


def _beside(belief: Belief) -> str:
    return f"next is {belief.node} ({belief.probability:.2f})"


def _settling(case: Case, beliefs: Sequence[Belief]) -> Iterator[str]:
    """Say what would tell about those that are neither likely nor unlikely, if any is."""
    doubtful = [NodeId(b.node) for b in beliefs if 1 - SURE < b.probability < SURE][:_DOUBTFUL]
    swapped = {node: clue.signs for node, (_, clue) in case.swapped.items()}
    untried = [node for node in doubtful if Kind.TRIED.name not in swapped.get(node, {})]
    if untried:
        yield f"another implementation of {' or of '.join(untried)} would tell"
    elif doubtful:
        yield f"a check of {' or of '.join(doubtful)} alone would tell"


def _undecided(case: Case, beliefs: Sequence[Belief]) -> str:
    if not beliefs:
        return "nothing was noticed about any part of the program"
    likeliest = " and ".join(f"{b.node} ({b.probability:.2f})" for b in beliefs[:2])
    first = f"nothing is likely enough: {likeliest} come first"
    return "; ".join([first, *_settling(case, beliefs)])
