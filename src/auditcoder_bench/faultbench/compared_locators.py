"""Reference locators without fitted weights; each maps the evidence of a failure to an answer."""

from collections.abc import Callable

from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.sbfl import FORMULAS, most_suspicious
from auditcoder_bench.faultbench.locator_scores import Answer
from auditcoder_bench.faultbench.observations import FailureEvidence

_SLICE = (
    *(
        FeatureKind.RAISED,
        FeatureKind.LACKED,
        FeatureKind.CAME_THROUGH,
        FeatureKind.ANSWERED,
        FeatureKind.MADE,
    ),
    *(FeatureKind.WROTE_ALONE, FeatureKind.RECENT),
)
"""Features for the origin of the first failing step's values, the closest origin first."""


def traceback(case: FailureEvidence) -> Answer:
    """Name the innermost method of the traceback."""
    return (case.traceback,) if case.traceback else ()


def by_slice(case: FailureEvidence) -> Answer:
    """Name a method that produced a value of the first failing step."""
    for kind in _SLICE:
        methods = [m for m, own in case.features.items() if own.get(f"{kind.name}_FIRST")]
        if methods:
            return tuple(methods[:1])
    return ()


def spectrum(name: str) -> Callable[[FailureEvidence], Answer]:
    """Return a spectrum-based locator with this suspiciousness formula."""

    def locate(case: FailureEvidence) -> Answer:
        method = most_suspicious(FORMULAS[name], case.counts)
        return (method,) if method else ()

    return locate


UNWEIGHTED_LOCATORS: dict[str, Callable[[FailureEvidence], Answer]] = {
    "traceback": traceback,
    **{name: spectrum(name) for name in FORMULAS},
    "slice": by_slice,
}
"""The locators by name."""
