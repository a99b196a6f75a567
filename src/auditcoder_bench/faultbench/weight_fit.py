"""Fits the weights of features, and evaluates them by cross-validation over tasks."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.scoring import (
    ALWAYS,
    FROM_OTHERS,
    MAX_OPINION_REQUESTS,
    MAX_SECOND_OPINIONS,
    PLAUSIBLE,
    SETTLED,
    FeatureWeights,
    FittedModels,
    FittedWeights,
    is_settled,
    merge_features,
    named,
    score_nodes,
    score_with_substitutions,
)
from auditcoder.lifecycle.locating.substitution import SubstitutionResult
from auditcoder_bench.faultbench.failure_records import MULTI
from auditcoder_bench.faultbench.observations import FailureEvidence, traced_signs, tried_signs

_PENALTY = 1.0
_LIMITS = tuple(step / 20 for step in range(4, 20))
_INSIDE = 0.965
"""Required share of answers that name only faulty nodes, on the failures the limit is fitted on.

On other failures the share is lower.
"""
_MAX_ITERATIONS = 50
_TOLERANCE = 1e-6

_RELATIVE = frozenset(
    {ALWAYS, FeatureKind.ROOT.name, FeatureKind.UNTRIED.name, *(kind.name for kind in FROM_OTHERS)}
)
"""Base rates, and features that depend on which other functions were substituted."""

NO_WEIGHTS = FittedWeights(
    traced=FeatureWeights(features={}), tried=FeatureWeights(features={}), each=1.0
)
"""Weights without any training data; an answer that uses them names no node."""

Believed = dict[str, float]
"""Probability of each method of one failure to be at fault."""
Signs = Mapping[str, Mapping[str, float]]


class FitRow(NamedTuple):
    """The features of all methods of one failure, and the weight of that failure in the fit."""

    case: int
    features: Signs
    weight: float = 1.0


class _FeatureMatrix:
    """The features of failures as a matrix with one row per method."""

    def __init__(self, failures: Sequence[FitRow], truths: Sequence[frozenset[str]]):
        import numpy as np

        rows = [
            (failure, node, own) for failure in failures for node, own in failure.features.items()
        ]
        self.names = sorted({ALWAYS, *(name for _, _, own in rows for name in own)})
        columns = {name: column for column, name in enumerate(self.names)}
        self.features: Any = np.zeros((len(rows), len(self.names)))
        self.features[:, columns[ALWAYS]] = 1.0
        for number, (_, _, own) in enumerate(rows):
            for name, strength in own.items():
                self.features[number, columns[name]] = strength
        self.case: Any = np.array([failure.case for failure, _, _ in rows], dtype=int)
        self.sample_weights: Any = np.array([failure.weight for failure, _, _ in rows], dtype=float)
        at_fault = [node in truths[failure.case] for failure, node, _ in rows]
        self.at_fault: Any = np.array(at_fault, dtype=float)
        self._weights: Any = np.zeros(len(self.names))

    def fit(self, chosen: Any) -> Any:
        """Fit an L2-penalised logistic regression on some failures, by Newton's method.

        It starts from the weights of the previous fit, since leaving out a task changes little.
        """
        import numpy as np

        rows = chosen[self.case]
        self._weights = self._newton(rows, self.features[rows], np.zeros(rows.sum()), self._weights)
        return self._weights

    def extended(
        self, chosen: Any, before: FeatureWeights, again: Collection[str] = ()
    ) -> FeatureWeights:
        """Fit the features that `before` lacks, and adjust those in `again`; the others stay."""
        import numpy as np

        old = np.array([before.features.get(name, 0.0) for name in self.names])
        free = [c for c, n in enumerate(self.names) if n in again or n not in before.features]
        rows = chosen[self.case]
        moved = self._newton(
            rows, self.features[rows][:, free], self.features[rows] @ old, np.zeros(len(free))
        )
        fitted = {
            self.names[column]: round(float(old[column] + change), 4)
            for column, change in zip(free, moved, strict=True)
        }
        features = dict(sorted({**before.features, **fitted}.items()))
        return FeatureWeights(features=features, cases=before.cases)

    def _newton(self, rows: Any, features: Any, offset: Any, weights: Any) -> Any:
        import numpy as np

        labels, sample_weights = self.at_fault[rows], self.sample_weights[rows]
        for _ in range(_MAX_ITERATIONS):
            likely = _logistic(features @ weights + offset)
            gradient = features.T @ (sample_weights * (likely - labels)) + _PENALTY * weights
            curvature = sample_weights * likely * (1 - likely)
            hessian = (features.T * curvature) @ features + _PENALTY * np.eye(len(weights))
            step = np.linalg.solve(hessian, gradient)
            weights = weights - step
            if not len(step) or np.abs(step).max() < _TOLERANCE:
                break
        return weights

    def likely(self, weights: FeatureWeights) -> Any:
        """Return the probability of each row; the weights may include other features."""
        import numpy as np

        return _logistic(
            self.features @ np.array([weights.features.get(n, 0.0) for n in self.names])
        )

    def rounded(self, weights: Any, cases: int) -> FeatureWeights:
        """Return fitted weights by feature name, rounded to four decimals."""
        features = dict(zip(self.names, (round(float(w), 4) for w in weights), strict=True))
        return FeatureWeights(features=features, cases=cases)


def _logistic(score: Any) -> Any:
    import numpy as np

    return 1 / (1 + np.exp(-np.clip(score, -500, 500)))


def _stages(number: int, case: FailureEvidence) -> list[FitRow]:
    """Return the features after the opinions of the first request, of the second, and so on."""
    nodes = [node for node, own in (case.swaps or {}).items() if own.tried]
    ends = [MAX_SECOND_OPINIONS * (n + 1) for n in range(MAX_OPINION_REQUESTS)]
    stages = list(dict.fromkeys(tuple(nodes[:end]) for end in ends))
    return [
        FitRow(number, merge_features(traced_signs(case), tried_signs(case, s)), 1 / len(stages))
        for s in stages
    ]


class Learner:
    """Fits weights and limits on a set of failures, with or without those of one task."""

    def __init__(self, cases: Sequence[FailureEvidence]) -> None:
        import numpy as np

        self._cases = cases
        truths = [frozenset(case.truth) for case in cases]
        traced = [FitRow(n, traced_signs(case)) for n, case in enumerate(cases)]
        self._traced = _FeatureMatrix(traced, truths)
        tried = [(n, case) for n, case in enumerate(cases) if case.swaps]
        stages = [row for n, case in tried for row in _stages(n, case)]
        self._tried = _FeatureMatrix(stages, truths)
        final = [
            FitRow(n, merge_features(traced_signs(c), tried_signs(c, c.swaps or {})))
            for n, c in tried
        ]
        self._after = _FeatureMatrix(final, truths)
        self._was_tried = np.zeros(len(cases), dtype=bool)
        self._was_tried[[n for n, _ in tried]] = True
        starts = np.searchsorted(self._traced.case, np.arange(len(cases) + 1))
        self._rows = [slice(*ends) for ends in pairwise(starts.tolist())]

    def fit(self, left_out: str = "") -> FittedWeights:
        """Fit on all failures except those of one task."""
        import numpy as np

        chosen = np.array([case.task != left_out for case in self._cases], dtype=bool)
        if not chosen.any():
            return NO_WEIGHTS
        traced = self._traced.rounded(self._traced.fit(chosen), int(chosen.sum()))
        number = int((chosen & self._was_tried).sum())
        tried = self._tried.rounded(self._tried.fit(chosen), number)
        each = self._each(self._likely(traced, tried), chosen)
        return FittedWeights(traced=traced, tried=tried, each=each)

    def extend(self, before: FittedWeights) -> FittedWeights:
        """Fit the features that `before` lacks on all failures, and adjust `_RELATIVE`."""
        import numpy as np

        chosen = np.ones(len(self._cases), dtype=bool)
        if not chosen.any():
            return before
        return FittedWeights(
            traced=self._traced.extended(chosen, before.traced),
            tried=self._tried.extended(chosen, before.tried, _RELATIVE),
            each=before.each,
        )

    def _likely(self, traced: FeatureWeights, tried: FeatureWeights) -> Any:
        """Return the probability of each method after all substitutions, as `weigh` computes it."""
        import numpy as np

        likely, after = self._traced.likely(traced), self._after.likely(tried)
        clear = (likely >= SETTLED) | (likely <= 1 - SETTLED)
        open_ = np.zeros(len(self._cases), dtype=bool)
        for number, rows in enumerate(self._rows):
            is_settled = clear[rows].all() and (likely[rows] >= SETTLED).any()
            open_[number] = self._was_tried[number] and not is_settled
        likely[open_[self._traced.case]] = after[open_[self._after.case]]
        return likely

    def _failures_of_kind(self, likely: Any, chosen: Any, kind: str) -> Iterable[tuple[Any, Any]]:
        """Yield scores and labels of the methods of each chosen failure of a kind."""
        for number, rows in enumerate(self._rows):
            if chosen[number] and self._cases[number].kind == kind and rows.stop > rows.start:
                yield likely[rows], self._traced.at_fault[rows]

    def _each(self, likely: Any, chosen: Any) -> float:
        """Return the lowest limit at which enough answers name only faulty methods."""
        several = [
            (bool(at_fault[own.argmax()]), (own * (1 - at_fault)).max())
            for own, at_fault in self._failures_of_kind(likely, chosen, MULTI)
        ]
        for each in _LIMITS if several else ():
            inside = sum(right and innocent < each for right, innocent in several)
            if inside >= _INSIDE * len(several):
                return each
        return _LIMITS[-1]


_WEIGHT_SOURCES = {
    FeatureKind.TOOK_MEMORY.name: FeatureKind.TOOK_TIME.name,
    FeatureKind.BROKE_INVARIANT.name: FeatureKind.BROKE_PROMISE.name,
}
"""Features that no failure of the study has, and the feature whose weight they get."""


def _completed(own: FittedWeights, other: FittedWeights) -> FittedWeights:
    """Take the weights of features that do not occur in the data from the other weights."""
    return FittedWeights(
        traced=_with_more(own.traced, other.traced),
        tried=_with_more(own.tried, other.tried),
        each=own.each,
    )


def _with_more(own: FeatureWeights, other: FeatureWeights) -> FeatureWeights:
    features = {**other.features, **own.features}
    for name, source in _WEIGHT_SOURCES.items():
        if source in features:
            features.setdefault(name, features[source])
    return FeatureWeights(features=dict(sorted(features.items())), cases=own.cases)


class _Learners:
    """Fits separate weights for classes and for programs.

    For classes only real failures are used, if there are any; injected ones serve for evaluation.
    """

    def __init__(self, cases: Sequence[FailureEvidence]) -> None:
        classes = [case for case in cases if not case.rooted]
        real = [case for case in classes if not case.fault]
        self._classes = Learner(real or classes)
        self._programs = Learner([case for case in cases if case.rooted])
        self._known: dict[tuple[bool, str], FittedWeights] = {}

    def without(self, case: FailureEvidence) -> FittedWeights:
        """Return the weights for a failure, fitted without its task."""
        key = case.rooted, case.task
        if key not in self._known:
            learner = self._programs if case.rooted else self._classes
            self._known[key] = learner.fit(case.task)
        return self._known[key]

    def all(self) -> FittedModels:
        """Return the weights fitted on all failures; missing features come from the other kind."""
        classes, programs = self._classes.fit(), self._programs.fit()
        return FittedModels(
            classes=_completed(classes, programs), programs=_completed(programs, classes)
        )

    def extend(self, before: FittedModels) -> FittedModels:
        """Return `before`, extended and adjusted to these failures."""
        return FittedModels(
            classes=self._classes.extend(before.classes),
            programs=self._programs.extend(before.programs),
        )


def fit_both(cases: Sequence[FailureEvidence]) -> FittedModels:
    """Fit weights and limits on all failures, for classes and for programs."""
    return _Learners(cases).all()


def extend_both(cases: Sequence[FailureEvidence], before: FittedModels) -> FittedModels:
    """Extend weights by the features that they lack; a kind without failures stays as it is.

    What was fitted on other data, for example on opinions that are often wrong, is kept.
    """
    return _Learners(cases).extend(before)


class HeldOutFailure(NamedTuple):
    """The diagnosis of a failure with weights that were fitted without its task."""

    believed: Believed
    answer: tuple[str, ...]
    """The named methods, the most probable first."""
    runs: int = 1
    """Number of sandbox runs, for the trace and the substitutions."""


def cross_validated(
    cases: Sequence[FailureEvidence], *, tried: bool = True
) -> list[HeldOutFailure]:
    """Diagnose every failure with weights and limits fitted on all other tasks.

    Without `tried`, only the trace is used; the weights and limits are the same.
    """
    learners = _Learners(cases)
    return [judge(case, learners.without(case), tried=tried) for case in cases]


def judge(case: FailureEvidence, fitted: FittedWeights, *, tried: bool = True) -> HeldOutFailure:
    """Diagnose one failure as a run does: if the trace leaves doubt, substitute what is likely."""
    if case.blind:  # there is no trace
        return HeldOutFailure({}, tuple(case.rules or ()))
    scores = score_with_substitutions(traced_signs(case), None, fitted)
    known = case.swaps if tried and case.swaps else {}
    substituted: list[str] = []
    for _ in range(MAX_OPINION_REQUESTS):
        open_nodes = [] if is_settled(scores) else [b for b in scores if b.probability >= PLAUSIBLE]
        wanted = [b.node for b in open_nodes if b.node in known and b.node not in substituted]
        substituted += wanted[:MAX_SECOND_OPINIONS]
        if any(known[each].tried for each in substituted):  # rejected ones are not evidence
            signs = tried_signs(case, substituted)
            scores = score_with_substitutions(traced_signs(case), signs, fitted)
    chosen = named(scores, fitted.each) if fitted != NO_WEIGHTS else []
    return HeldOutFailure(
        {score.node: score.probability for score in scores},
        tuple(score.node for score in chosen),
        1 + _runs([known[node] for node in substituted]),
    )


def _runs(tried: Sequence[SubstitutionResult]) -> int:
    """Count the sandbox runs: one before, each substitution, one after a success.

    The last one checks that the unchanged program still fails: the failure may be flaky.
    """
    success = any(own.healed for own in tried)
    return 1 + sum(own.runs for own in tried) + success if tried else 0


def open_questions(cases: Sequence[FailureEvidence]) -> list[tuple[str, ...]]:
    """Return the methods of each failure to substitute after its trace; empty if all are clear.

    The most probable come first, by weights fitted on all other tasks.
    """
    learners, questions = _Learners(cases), []
    for case in cases:
        scores = score_nodes(traced_signs(case), learners.without(case).traced)
        plausible = (b.node for b in scores if b.probability >= PLAUSIBLE)
        questions.append(() if is_settled(scores) else tuple(plausible))
    return questions
