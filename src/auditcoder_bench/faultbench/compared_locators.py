"""The locators that are compared, each from what was noticed to an answer."""

from collections.abc import Callable

from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.sbfl import FORMULAS, most_suspicious
from auditcoder_bench.faultbench.locator_scores import Answer
from auditcoder_bench.faultbench.observations import Noticed

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
"""Where the first failing step's values came from, the nearest first."""


def traceback(case: Noticed) -> Answer:
    """Name the innermost method of the traceback."""
    return (case.traceback,) if case.traceback else ()


def by_slice(case: Noticed) -> Answer:
    """Name whoever made what the first failing step saw."""
    for kind in _SLICE:
        made = [m for m, own in case.signs.items() if own.get(f"{kind.name}_FIRST")]
        if made:
            return tuple(made[:1])
    return ()


def spectrum(name: str) -> Callable[[Noticed], Answer]:
    """Return a locator that ranks by a formula."""

    def locate(case: Noticed) -> Answer:
        found = most_suspicious(FORMULAS[name], case.counts)
        return (found,) if found else ()

    return locate


PLAIN: dict[str, Callable[[Noticed], Answer]] = {
    "traceback": traceback,
    **{name: spectrum(name) for name in FORMULAS},
    "slice": by_slice,
}
"""Those that need no weights."""
