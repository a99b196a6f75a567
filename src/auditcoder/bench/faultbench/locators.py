"""The locators that are compared, each from what was noticed to an answer."""

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from auditcoder.bench.faultbench.gathering import Noticed
from auditcoder.bench.faultbench.scoring import Answer
from auditcoder.lifecycle.locating.signs import Kind
from auditcoder.lifecycle.locating.spectra import FORMULAS, most_suspicious, suspicion

_SLICE = (
    *(Kind.RAISED, Kind.LACKED, Kind.CAME_THROUGH, Kind.ANSWERED, Kind.MADE),
    *(Kind.WROTE_ALONE, Kind.RECENT),
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
        failing, passing = list(map(set, case.failing)), list(map(set, case.passing))
        found = most_suspicious(suspicion(FORMULAS[name], failing, passing))
        return (found,) if found else ()

    return locate


PLAIN: dict[str, Callable[[Noticed], Answer]] = {
    "traceback": traceback,
    **{name: spectrum(name) for name in FORMULAS},
    "slice": by_slice,
}
"""Those that need no weights."""


def named(beliefs: Mapping[str, float], least: float, each: float) -> Answer:
    """Name the likeliest method if it is likely enough, and others that are likely themselves."""
    order = sorted(beliefs, key=lambda method: (-beliefs[method], method))
    if not order or beliefs[order[0]] < least:
        return ()
    return (order[0], *(method for method in order[1:] if beliefs[method] >= each))


def without_swaps(case: Noticed) -> Noticed:
    """Return the case as it is before other implementations are tried."""
    return replace(case, swaps=None)
