"""Fitting the weights of signs, and what they are worth on tasks that they were not fitted on."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.scoring import (
    ALWAYS,
    ASKED,
    PLAUSIBLE,
    SURE,
    FeatureWeights,
    FittedModels,
    FittedWeights,
    believe,
    named,
    settled,
    together,
    weigh,
)
from auditcoder.lifecycle.locating.substitution import SubstitutionResult
from auditcoder_bench.faultbench.failure_records import MULTI
from auditcoder_bench.faultbench.observations import Noticed, tried_signs

_PENALTY = 1.0
_LIMITS = tuple(step / 20 for step in range(4, 20))
_INSIDE = 0.965
"""How often all that is named must be at fault where the limit is chosen; elsewhere it is less."""
_ROUNDS = 50
_CLOSE = 1e-6

NOBODY = FittedWeights(looked=FeatureWeights(signs={}), tried=FeatureWeights(signs={}), each=1.0)
"""What names nobody, where there was nothing to learn from: all of it is as likely as not."""

Believed = dict[str, float]
"""How likely each method of one failure is at fault."""
Signs = Mapping[str, Mapping[str, float]]


class FitRow(NamedTuple):
    """The signs of one failure, and how much it counts."""

    case: int
    signs: Signs
    weight: float = 1.0


class _Numbers:
    """What was noticed about the methods of failures, as a matrix: a line a method."""

    def __init__(self, noticed: Sequence[FitRow], truths: Sequence[frozenset[str]]):
        import numpy as np

        lines = [(one, node, own) for one in noticed for node, own in one.signs.items()]
        self.names = sorted({ALWAYS, *(name for _, _, own in lines for name in own)})
        places = {name: place for place, name in enumerate(self.names)}
        self.signs: Any = np.zeros((len(lines), len(self.names)))
        self.signs[:, places[ALWAYS]] = 1.0
        for number, (_, _, own) in enumerate(lines):
            for name, strength in own.items():
                self.signs[number, places[name]] = strength
        self.case: Any = np.array([one.case for one, _, _ in lines], dtype=int)
        self.counts: Any = np.array([one.weight for one, _, _ in lines], dtype=float)
        at_fault = [node in truths[one.case] for one, node, _ in lines]
        self.at_fault: Any = np.array(at_fault, dtype=float)
        self._weights: Any = np.zeros(len(self.names))

    def fit(self, chosen: Any) -> Any:
        """Penalised logistic regression over the methods of some failures, by Newton's way.

        It begins where the last one ended: leaving a task out changes little.
        """
        import numpy as np

        lines = chosen[self.case]
        signs, wanted, counts = self.signs[lines], self.at_fault[lines], self.counts[lines]
        weights = self._weights
        for _ in range(_ROUNDS):
            likely = _logistic(signs @ weights)
            slope = signs.T @ (counts * (likely - wanted)) + _PENALTY * weights
            bent = counts * likely * (1 - likely)
            bend = (signs.T * bent) @ signs + _PENALTY * np.eye(len(weights))
            step = np.linalg.solve(bend, slope)
            weights = weights - step
            if np.abs(step).max() < _CLOSE:
                break
        self._weights = weights
        return weights

    def likely(self, weights: FeatureWeights) -> Any:
        """Return how likely each line is by weights that may be of other signs as well."""
        import numpy as np

        return _logistic(self.signs @ np.array([weights.signs.get(n, 0.0) for n in self.names]))

    def told(self, weights: Any, cases: int) -> FeatureWeights:
        """Write weights as they are kept."""
        signs = dict(zip(self.names, (round(float(w), 4) for w in weights), strict=True))
        return FeatureWeights(signs=signs, cases=cases)


def _logistic(score: Any) -> Any:
    import numpy as np

    return 1 / (1 + np.exp(-np.clip(score, -500, 500)))


def _stages(number: int, case: Noticed) -> list[FitRow]:
    """Return what is seen after the first try, the second, and so on, as they are asked for."""
    asked = [node for node, own in (case.swaps or {}).items() if own.tried][:ASKED]
    stages = [asked[: place + 1] for place in range(len(asked))] or [[]]
    return [
        FitRow(number, together(case.signs, tried_signs(case, nodes)), 1 / len(stages))
        for nodes in stages
    ]


class Learner:
    """Fits weights and limits on any of a set of failures."""

    def __init__(self, cases: Sequence[Noticed]) -> None:
        import numpy as np

        self._cases = cases
        truths = [frozenset(case.truth) for case in cases]
        self._looked = _Numbers([FitRow(n, case.signs) for n, case in enumerate(cases)], truths)
        tried = [(n, case) for n, case in enumerate(cases) if case.swaps]
        self._tried = _Numbers([line for n, case in tried for line in _stages(n, case)], truths)
        whole = [(n, together(c.signs, tried_signs(c, c.swaps or {}))) for n, c in tried]
        self._after = _Numbers([FitRow(n, signs) for n, signs in whole], truths)
        self._was_tried = np.zeros(len(cases), dtype=bool)
        self._was_tried[[n for n, _ in tried]] = True
        starts = np.searchsorted(self._looked.case, np.arange(len(cases) + 1))
        self._lines = [slice(*ends) for ends in pairwise(starts.tolist())]

    def fit(self, left_out: str = "") -> FittedWeights:
        """Fit on all failures but those of one task."""
        import numpy as np

        chosen = np.array([case.task != left_out for case in self._cases], dtype=bool)
        if not chosen.any():
            return NOBODY
        looked = self._looked.told(self._looked.fit(chosen), int(chosen.sum()))
        number = int((chosen & self._was_tried).sum())
        tried = self._tried.told(self._tried.fit(chosen), number)
        each = self._each(self._likely(looked, tried), chosen)
        return FittedWeights(looked=looked, tried=tried, each=each)

    def _likely(self, looked: FeatureWeights, tried: FeatureWeights) -> Any:
        """Return how likely each method is, as `weigh` says it after everything was tried."""
        import numpy as np

        likely, after = self._looked.likely(looked), self._after.likely(tried)
        clear = (likely >= SURE) | (likely <= 1 - SURE)
        open_ = np.zeros(len(self._cases), dtype=bool)
        for number, lines in enumerate(self._lines):
            sure = clear[lines].all() and (likely[lines] >= SURE).any()
            open_[number] = self._was_tried[number] and not sure
        likely[open_[self._looked.case]] = after[open_[self._after.case]]
        return likely

    def _chosen(self, likely: Any, chosen: Any, kind: str) -> Iterable[tuple[Any, Any]]:
        """Yield how likely the methods of each failure of a kind are, and which are at fault."""
        for number, lines in enumerate(self._lines):
            if chosen[number] and self._cases[number].kind == kind and lines.stop > lines.start:
                yield likely[lines], self._looked.at_fault[lines]

    def _each(self, likely: Any, chosen: Any) -> float:
        """Return the lowest limit above which all that is named is at fault often enough."""
        several = [
            (bool(at_fault[own.argmax()]), (own * (1 - at_fault)).max())
            for own, at_fault in self._chosen(likely, chosen, MULTI)
        ]
        for each in _LIMITS if several else ():
            inside = sum(right and innocent < each for right, innocent in several)
            if inside >= _INSIDE * len(several):
                return each
        return _LIMITS[-1]


_LIKE = {
    FeatureKind.TOOK_MEMORY.name: FeatureKind.TOOK_TIME.name,
    FeatureKind.BROKE_INVARIANT.name: FeatureKind.BROKE_PROMISE.name,
}
"""Signs that no failure of the study has, and what they are worth as much as."""


def _completed(own: FittedWeights, other: FittedWeights) -> FittedWeights:
    """Give signs that were never seen the weight that they have elsewhere."""
    return FittedWeights(
        looked=_with_more(own.looked, other.looked),
        tried=_with_more(own.tried, other.tried),
        each=own.each,
    )


def _with_more(own: FeatureWeights, other: FeatureWeights) -> FeatureWeights:
    signs = {**other.signs, **own.signs}
    for name, alike in _LIKE.items():
        if alike in signs:
            signs.setdefault(name, signs[alike])
    return FeatureWeights(signs=dict(sorted(signs.items())), cases=own.cases)


class _Both:
    """Learns for classes and for programs apart: what a sign is worth differs.

    For classes there are real failures; what was put into others only tests what they teach.
    """

    def __init__(self, cases: Sequence[Noticed]) -> None:
        classes = [case for case in cases if not case.rooted]
        real = [case for case in classes if not case.fault]
        self._classes = Learner(real or classes)
        self._programs = Learner([case for case in cases if case.rooted])
        self._known: dict[tuple[bool, str], FittedWeights] = {}

    def without(self, case: Noticed) -> FittedWeights:
        """Return what is learnt for a failure without its task."""
        key = case.rooted, case.task
        if key not in self._known:
            learner = self._programs if case.rooted else self._classes
            self._known[key] = learner.fit(case.task)
        return self._known[key]

    def all(self) -> FittedModels:
        """Return what is learnt from everything; what one never saw, it takes from the other."""
        classes, programs = self._classes.fit(), self._programs.fit()
        return FittedModels(
            classes=_completed(classes, programs), programs=_completed(programs, classes)
        )


def fit_both(cases: Sequence[Noticed]) -> FittedModels:
    """Fit weights and limits on all failures, for classes and for programs."""
    return _Both(cases).all()


class HeldOutFailure(NamedTuple):
    """A failure as weights and limits see it that never saw its task."""

    believed: Believed
    answer: tuple[str, ...]
    runs: int = 1
    """Of the sandbox, to watch it and to try what was asked for."""


def cross_validated(cases: Sequence[Noticed], *, tried: bool = True) -> list[HeldOutFailure]:
    """Judge every failure by weights and limits of all tasks but its own.

    Unless something may be `tried`, by what one watched run shows: weights and limits are the same.
    """
    both = _Both(cases)
    return [judge(case, both.without(case), tried=tried) for case in cases]


def judge(case: Noticed, fitted: FittedWeights, *, tried: bool = True) -> HeldOutFailure:
    """Judge one failure as a run does: what is likeliest is tried, one by one, while it is open."""
    if case.blind:  # there is nothing to weigh
        return HeldOutFailure({}, tuple(case.rules or ()))
    beliefs = weigh(case.signs, None, fitted)
    known = case.swaps if tried and case.swaps else {}
    asked: list[str] = []
    while not settled(beliefs) and len(asked) < ASKED:
        plausible = (b.node for b in beliefs if b.probability >= PLAUSIBLE)
        node = next((n for n in plausible if n in known and n not in asked), None)
        if node is None:
            break
        asked.append(node)
        if any(known[each].tried for each in asked):  # what is unfit says nothing
            beliefs = weigh(case.signs, tried_signs(case, asked), fitted)
    chosen = named(beliefs, fitted.each) if fitted != NOBODY else []
    return HeldOutFailure(
        {belief.node: belief.probability for belief in beliefs},
        tuple(belief.node for belief in chosen),
        1 + _runs([known[node] for node in asked]),
    )


def _runs(tried: Sequence[SubstitutionResult]) -> int:
    """Count the runs of trying: before it, for each, and once more where one heals."""
    healed = any(own.healed for own in tried)
    return 1 + sum(own.runs for own in tried) + healed if tried else 0


def open_questions(cases: Sequence[Noticed]) -> list[tuple[str, ...]]:
    """Say which methods of each failure are worth a try after one watched run; none if it is clear.

    The likeliest come first. Weights of all tasks but its own decide.
    """
    both, found = _Both(cases), []
    for case in cases:
        beliefs = believe(case.signs, both.without(case).looked)
        plausible = (b.node for b in beliefs if b.probability >= PLAUSIBLE)
        found.append(() if settled(beliefs) else tuple(plausible))
    return found
