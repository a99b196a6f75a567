"""Swapping: put another implementation in a function's place, and see what becomes of the failure.

That a failing step passes with another implementation of one function is evidence of cause, not
of company. The other implementation need not be right: where it is not, it changes nothing, or
makes other steps fail. One that helps nothing and that its own examples reject says nothing at all.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.locating.signs import Kind, Sign
from auditcoder.lifecycle.locating.watching import Observation, Trial, watch
from auditcoder.lifecycle.ports import Sandbox

_ENOUGH = 4
"""So many tries say as much as more would."""
_A_FEW = 2


class Alternative(NamedTuple):
    """A program in which one function is another's."""

    node: str
    program: str
    own: Trial | None = None
    """What the function's own contract gives as examples, if it does."""


class Swapped(NamedTuple):
    """What came of putting other implementations in one function's place."""

    tried: int = 0
    """Those that could be loaded."""
    healers: tuple[Digest, ...] = ()
    """The programs with which everything passed."""
    first: int = 0
    """How often the first failing step passed."""
    mended: frozenset[int] = frozenset()
    """The failing lines that passed at least once."""
    harmed: int = 0
    """How often a line failed that had not."""
    runs: int = 0
    unfit: int = 0
    """Those that do not count: they mend nothing, and their own examples reject them."""

    @property
    def healed(self) -> int:
        """How often everything passed."""
        return len(self.healers)


def swap(
    sandbox: Sandbox,
    trial: Trial,
    before: Observation,
    alternatives: Iterable[Alternative],
    misjudged: Collection[str] = (),
) -> dict[str, Swapped]:
    """Try every alternative; those that cannot be loaded do not count.

    `before` is the program as it is, driven as the alternatives are: unwatched. Tests that are
    `misjudged` when they are driven so say nothing about those either.
    """
    found: dict[str, Swapped] = {}
    first = next((step.line for step in before.failing_steps), None)
    if first is None:
        return found  # no step fails, so none can be mended
    for alternative in alternatives:
        seen = watch(sandbox, alternative.program, (), trial).forgiving(misjudged)
        own = found.get(alternative.node, Swapped())
        own = found[alternative.node] = own._replace(runs=own.runs + 1)
        if seen.loads or not seen.steps:
            continue
        heals = (digest(alternative.program.encode()),) if seen.passes else ()
        # A line that was never reached is not mended.
        fine = {step.line for step in seen.steps if step.fine} - seen.failing
        mended = before.failing & fine
        if not mended and alternative.own:
            fit = watch(sandbox, alternative.program, (), alternative.own).passes
            own = own._replace(runs=own.runs + 1, unfit=own.unfit + (not fit))
            found[alternative.node] = own
            if not fit:
                continue
        found[alternative.node] = own._replace(
            tried=own.tried + 1,
            healers=own.healers + heals,
            first=own.first + (first in fine),
            mended=own.mended | mended,
            harmed=own.harmed + bool(seen.failing - before.failing),
        )
    return found


def signs(swapped: Mapping[str, Swapped], nodes: Iterable[str], failing: int) -> Iterator[Sign]:
    """Say what the tries show of each function; so many lines were `failing`."""
    healers = {node for node, own in swapped.items() if own.healed}
    menders = {node for node, own in swapped.items() if own.first}
    for node in nodes:
        own = swapped.get(node, Swapped())
        by_others = {
            Kind.OTHER_HEALS: float(bool(healers) and node not in healers),
            Kind.OTHER_MENDS: float(bool(menders) and node not in menders),
        }
        rates = (
            by_others
            | {
                Kind.TRIED: min(1.0, own.tried / _ENOUGH),
                Kind.HEALS: float(own.healed > 0),
                Kind.HEALS_OFTEN: own.healed / own.tried,
                Kind.MENDS: float(own.first > 0),
                Kind.MENDS_OFTEN: own.first / own.tried,
                Kind.MENDS_SOME: float(bool(own.mended)),
                Kind.MENDS_MANY: len(own.mended) / max(1, failing),
                Kind.HARMS: own.harmed / own.tried,
                Kind.NO_MATTER: float(not own.mended and own.tried >= _A_FEW),
            }
            if own.tried
            else by_others | {Kind.UNTRIED: 1.0}
        )
        yield from (Sign(node, kind, strength=rate) for kind, rate in rates.items() if rate)
