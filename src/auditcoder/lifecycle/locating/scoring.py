"""Scores functions: the probability of being at fault, and the features for and against it.

The probability is a logistic function of the weighted features; weights are fitted on failures
with known ground truth. There are two sets of weights: one for the features of the trace alone,
and one that adds the features of substitutions, used if the trace alone leaves ambiguity.
"""

import math
from collections.abc import Iterable, Mapping, Sequence

from auditcoder.domain.values import Value
from auditcoder.lifecycle.locating.features import FeatureKind, is_statable, kind_of

ALWAYS = "ALWAYS"
"""The name of the constant feature, whose weight is the intercept."""
SETTLED = 0.9
"""A probability of at least this, or at most its complement, is settled."""
CONFIDENT = 0.7
"""The least probability of a diagnosis with medium confidence."""
MIN_NAMED = 0.2
"""The least probability of a node to be named. A wrong target costs one repair that is rolled back,
an abstention ends the run: a target that is right one time in five is worth a repair."""
MAX_SECOND_OPINIONS = 5
"""Maximum number of nodes in one request for second opinions."""
MAX_OPINION_REQUESTS = 2
"""Maximum number of such requests in one diagnosis; the second is made only if doubt remains."""
PLAUSIBLE = 0.02
"""The least probability of a node that is worth a substitution."""
_MIN_REPORTED = 0.2
"""Features of less weight are left out of explanations."""
_RELATED = (
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
    (FeatureKind.ALONE_IN_VAIN, FeatureKind.FAILS_ALONE),
    (FeatureKind.WROTE_ALONE, FeatureKind.WROTE),
    (FeatureKind.RECENT, FeatureKind.BEFORE),
    (FeatureKind.FINE, FeatureKind.FINE_UNDER, FeatureKind.FINE_WROTE),
)
"""Groups of correlated features, the most informative first."""


class FeatureWeights(Value, rename={"features": "signs"}):
    """The weight of each feature; a positive one makes the function more likely at fault."""

    features: dict[str, float]
    cases: int = 0
    """Number of failures that the weights were fitted on."""


class FittedWeights(Value, rename={"traced": "looked"}):
    """The weights for the trace alone and with substitutions, and a threshold."""

    traced: FeatureWeights
    tried: FeatureWeights
    each: float = 0.8
    """The least probability of a node that is named in addition to the most likely one."""


class FittedModels(Value):
    """Separate weights for classes, whose nodes are methods, and for programs with a root."""

    classes: FittedWeights
    programs: FittedWeights

    def of(self, *, rooted: bool) -> FittedWeights:
        """Return the weights for programs if there is a root, else those for classes."""
        return self.programs if rooted else self.classes


class NodeScore(Value):
    """The probability that one function is at fault, and the reasons."""

    node: str
    probability: float
    points: tuple[FeatureKind, ...] = ()
    """Features for its being at fault, the strongest first."""
    speaks_against: tuple[FeatureKind, ...] = ()


def score_nodes(
    features: Mapping[str, Mapping[str, float]], weights: FeatureWeights
) -> list[NodeScore]:
    """Score each function by its features; the most likely comes first."""
    scores = [_score_node(node, own, weights) for node, own in features.items()]
    return sorted(scores, key=lambda score: (-score.probability, score.node))


def is_settled(scores: Iterable[NodeScore]) -> bool:
    """Whether every function is clearly at fault or clearly not, and at least one is."""
    likely = [score.probability for score in scores]
    return any(p >= SETTLED for p in likely) and all(
        p >= SETTLED or p <= 1 - SETTLED for p in likely
    )


def score_with_substitutions(
    traced: Mapping[str, Mapping[str, float]],
    tried: Mapping[str, Mapping[str, float]] | None,
    fitted: FittedWeights,
) -> list[NodeScore]:
    """Score by the trace alone if that settles it or nothing was substituted, else by both."""
    first = score_nodes(traced, fitted.traced)
    if tried is None or is_settled(first):
        return first
    return score_nodes(merge_features(traced, tried), fitted.tried)


def merge_features(
    traced: Mapping[str, Mapping[str, float]], tried: Mapping[str, Mapping[str, float]]
) -> dict[str, dict[str, float]]:
    """Merge the features of trace and substitutions, and add those that follow from others'."""
    merged = {}
    for node, own in traced.items():
        substituted = tried.get(node, {})
        merged[node] = {**own, **substituted}
        if FeatureKind.TRIED.name not in substituted:
            merged[node][FeatureKind.UNTRIED.name] = 1.0
        for kind in FROM_OTHERS:
            if kind is FeatureKind.ALONE_IN_VAIN and FeatureKind.FAILS_ALONE.name not in own:
                continue
            if others := shown_by(kind, node, tried):
                share = len(others) / max(1, len(traced) - 1) if kind in _IN_VAIN else 1.0
                merged[node][kind.name] = share
    return merged


_IN_VAIN = (FeatureKind.OTHERS_IN_VAIN, FeatureKind.ALONE_IN_VAIN)
FROM_OTHERS = (FeatureKind.OTHER_HEALS, FeatureKind.OTHER_MENDS, *_IN_VAIN)
"""Features of a function that follow from the substitutions of others."""


def shown_by(
    kind: FeatureKind, node: str, tried: Mapping[str, Mapping[str, float]]
) -> tuple[str, ...]:
    """Return the other functions whose substitution shows a feature of `FROM_OTHERS`.

    `tried` has the features of the substitutions, by function.
    """
    if kind in _IN_VAIN:
        helped = {n for n, own in tried.items() if FeatureKind.MENDS_SOME.name in own}
        others = {n for n, own in tried.items() if FeatureKind.TRIED.name in own} - {node}
        return () if helped - {node} else tuple(sorted(others))
    name = (FeatureKind.HEALS if kind is FeatureKind.OTHER_HEALS else FeatureKind.MENDS).name
    showing = {n for n, own in tried.items() if name in own}
    return () if node in showing else tuple(sorted(showing))


def named(scores: Sequence[NodeScore], each: float) -> list[NodeScore]:
    """Return the nodes that are likely enough to be named, from scores sorted by probability."""
    if not scores or scores[0].probability < MIN_NAMED:
        return []
    return [scores[0], *(b for b in scores[1:] if b.probability >= each)]


def _score_node(node: str, own: Mapping[str, float], weights: FeatureWeights) -> NodeScore:
    weighed = {
        name: strength * weights.features.get(name, 0.0)
        for name, strength in {ALWAYS: 1.0, **own}.items()
    }
    return NodeScore(
        node=node,
        probability=logistic(math.fsum(weighed.values())),
        points=_reasons(own, weighed, 1),
        speaks_against=_reasons(own, weighed, -1),
    )


def logistic(score: float) -> float:
    """Return the logistic function of a score, without overflow."""
    return 1 / (1 + math.exp(-score)) if score >= 0 else 1 - 1 / (1 + math.exp(score))


def _reasons(
    own: Mapping[str, float], weighed: Mapping[str, float], sign: int
) -> tuple[FeatureKind, ...]:
    """Return the features whose contribution has one sign, strongest first.

    The fit distributes weight arbitrarily among correlated features, and single ones may even get
    the wrong feature. So a group is judged by its sum and reported by its most informative feature.
    """
    groups: dict[tuple[FeatureKind, ...], float] = {}
    kinds = {name: kind_of(name) for name, weight in weighed.items() if weight and name != ALWAYS}
    statable = {kind for name, kind in kinds.items() if is_statable(kind, own[name])}
    for name, kind in kinds.items():
        group = next((related for related in _RELATED if kind in related), (kind,))
        groups[group] = groups.get(group, 0.0) + weighed[name]
    ordered = sorted(((-sign * weight, group) for group, weight in groups.items()), key=_by_weight)
    firsts = [
        next((kind for kind in group if kind in statable), None)
        for weight, group in ordered
        if -weight >= _MIN_REPORTED
    ]
    return tuple(kind for kind in firsts if kind and kind.points == (sign > 0))


def _by_weight(weighted: tuple[float, tuple[FeatureKind, ...]]) -> float:
    return weighted[0]
