"""From signs to belief: how likely each function is at fault, and what speaks for and against it.

Every sign has a weight; weights are fitted on failures with known ground truth. There are two
sets: for what one watched run shows, and, where that leaves something open, for what other
implementations show as well.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from auditcoder.domain.values import Value
from auditcoder.lifecycle.locating.features import FeatureKind, kind_of

ALWAYS = "ALWAYS"
"""The sign that every function has."""
SURE = 0.9
"""So likely, or so unlikely, is clear enough."""
CONFIDENT = 0.7
"""From here on a reviewer may rely on an answer."""
LEAST = 0.2
"""What is less likely is not named. A boundary that is wrong costs a repair that is undone; none
at all ends the run: it is worth trying one that is right in one of five."""
ASKED = 5
"""Of so many nodes other implementations may be tried, one after another, while it is open."""
PLAUSIBLE = 0.02
"""What is less likely is not worth a try."""
_MENTIONED = 0.2
"""A sign that weighs less is not worth a reviewer's time."""
_ALIKE = (
    (
        *(
            FeatureKind.HEALS,
            FeatureKind.HEALS_OFTEN,
            FeatureKind.MENDS,
            FeatureKind.MENDS_OFTEN,
            FeatureKind.MENDS_MANY,
        ),
        *(FeatureKind.MENDS_SOME, FeatureKind.HARMS, FeatureKind.NO_MATTER, FeatureKind.TRIED),
    ),
    (FeatureKind.OTHER_HEALS, FeatureKind.OTHER_MENDS),
    (FeatureKind.WROTE_ALONE, FeatureKind.WROTE),
    (FeatureKind.RECENT, FeatureKind.BEFORE),
    (FeatureKind.FINE, FeatureKind.FINE_UNDER, FeatureKind.FINE_WROTE),
)
"""Signs of one and the same thing, the most telling first."""


class FeatureWeights(Value):
    """What each sign says for (above nought) or against (below) a function being at fault."""

    signs: dict[str, float]
    cases: int = 0
    """On how many failures they were fitted."""


class FittedWeights(Value):
    """The weights of both sets, and how likely must be what is named beside the likeliest."""

    looked: FeatureWeights
    tried: FeatureWeights
    each: float = 0.8


class FittedModels(Value):
    """What was fitted for classes, whose parts are methods, and for programs with a root."""

    classes: FittedWeights
    programs: FittedWeights

    def of(self, *, rooted: bool) -> FittedWeights:
        """Return what was fitted for programs, if there is a root, or for classes."""
        return self.programs if rooted else self.classes


class NodeScore(Value):
    """How likely one function is at fault, and why."""

    node: str
    probability: float
    points: tuple[str, ...] = ()
    """What points to it, the weightiest first."""
    speaks_against: tuple[str, ...] = ()


def believe(noticed: Mapping[str, Mapping[str, float]], weights: FeatureWeights) -> list[NodeScore]:
    """Weigh what was noticed about each function; the likeliest first."""
    beliefs = [_belief(node, own, weights) for node, own in noticed.items()]
    return sorted(beliefs, key=lambda belief: (-belief.probability, belief.node))


def settled(beliefs: Iterable[NodeScore]) -> bool:
    """Whether of every function it is clear enough if it is at fault, and one is."""
    likely = [belief.probability for belief in beliefs]
    return any(p >= SURE for p in likely) and all(p >= SURE or p <= 1 - SURE for p in likely)


def weigh(
    looked: Mapping[str, Mapping[str, float]],
    tried: Mapping[str, Mapping[str, float]] | None,
    fitted: FittedWeights,
) -> list[NodeScore]:
    """Weigh what was seen and, where something was tried because that left doubt, all of it."""
    first = believe(looked, fitted.looked)
    if tried is None or settled(first):
        return first
    return believe(together(looked, tried), fitted.tried)


def together(
    looked: Mapping[str, Mapping[str, float]], tried: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Put what was seen and what was tried together, and what follows for those left over."""
    helped = {node for node, own in tried.items() if FeatureKind.MENDS_SOME.name in own}
    touched = {node for node, own in tried.items() if FeatureKind.TRIED.name in own}
    found = {}
    for node, own in looked.items():
        found[node] = {**own, **tried.get(node, {})}
        others = touched - {node}
        if others and not helped - {node}:
            share = len(others) / max(1, len(looked) - 1)
            found[node][FeatureKind.OTHERS_IN_VAIN.name] = share
    return found


def named(beliefs: Sequence[NodeScore], each: float) -> list[NodeScore]:
    """Return what is likely enough to be named; `beliefs` come the likeliest first."""
    if not beliefs or beliefs[0].probability < LEAST:
        return []
    return [beliefs[0], *(b for b in beliefs[1:] if b.probability >= each)]


def _belief(node: str, own: Mapping[str, float], weights: FeatureWeights) -> NodeScore:
    weighed = {
        name: strength * weights.signs.get(name, 0.0)
        for name, strength in {ALWAYS: 1.0, **own}.items()
    }
    return NodeScore(
        node=node,
        probability=logistic(math.fsum(weighed.values())),
        points=_said(weighed, 1),
        speaks_against=_said(weighed, -1),
    )


def logistic(score: float) -> float:
    """Return the probability that a score stands for."""
    return 1 / (1 + math.exp(-score)) if score >= 0 else 1 - 1 / (1 + math.exp(score))


def _said(weighed: Mapping[str, float], way: int) -> tuple[str, ...]:
    """Say in words what weighs in one way; what is about the same thing is said once.

    Signs of one thing share their weight as chance has it, so that single ones may even weigh
    the wrong way: only what they weigh together is told, by the most telling of them.
    """
    groups: dict[tuple[FeatureKind, ...], float] = {}
    kinds = {name: kind_of(name) for name, weight in weighed.items() if weight and name != ALWAYS}
    present = set(kinds.values())
    for name, kind in kinds.items():
        group = next((alike for alike in _ALIKE if kind in alike), (kind,))
        groups[group] = groups.get(group, 0.0) + weighed[name]
    told = sorted(((-way * weight, group) for group, weight in groups.items()), key=_by_weight)
    firsts = [
        next(kind for kind in group if kind in present)
        for weight, group in told
        if -weight >= _MENTIONED
    ]
    return tuple(kind.value for kind in firsts if kind.points == (way > 0))


def _by_weight(told: tuple[float, tuple[FeatureKind, ...]]) -> float:
    return told[0]
