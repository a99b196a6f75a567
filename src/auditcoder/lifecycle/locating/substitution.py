"""Swapping: put another implementation in a function's place, and see what becomes of the failure.

That a failing step passes with another implementation of one function is evidence of cause, not
of company. The other implementation need not be right: where it is not, it changes nothing, or
makes other steps fail. One that helps nothing and that its own examples reject says nothing at all.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

import msgspec

from auditcoder.domain.assembly import AssemblyConflict, assemble
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.code_laws import taken_names
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.locating.features import Feature, FeatureKind
from auditcoder.lifecycle.locating.trace_run import FailingRun, Observation, TracePlan, watch
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.run_context import RunContext

_ENOUGH = 4
"""So many tries say as much as more would."""
_A_FEW = 2


class SubstitutedProgram(NamedTuple):
    """A program in which one function is another's."""

    node: str
    program: str
    own: TracePlan | None = None
    """What the function's own contract gives as examples, if it does."""


class SubstitutionResult(NamedTuple):
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
    trial: TracePlan,
    before: Observation,
    alternatives: Iterable[SubstitutedProgram],
    misjudged: Collection[str] = (),
) -> dict[str, SubstitutionResult]:
    """Try every alternative; those that cannot be loaded do not count.

    `before` is the program as it is, driven as the alternatives are: unwatched. Tests that are
    `misjudged` when they are driven so say nothing about those either.
    """
    found: dict[str, SubstitutionResult] = {}
    first = next((step.line for step in before.failing_steps), None)
    if first is None:
        return found  # no step fails, so none can be mended
    for alternative in alternatives:
        seen = watch(sandbox, alternative.program, (), trial).forgiving(misjudged)
        own = found.get(alternative.node, SubstitutionResult())
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


def signs(
    swapped: Mapping[str, SubstitutionResult], nodes: Iterable[str], failing: int
) -> Iterator[Feature]:
    """Say what the tries show of each function; so many lines were `failing`."""
    healers = {node for node, own in swapped.items() if own.healed}
    menders = {node for node, own in swapped.items() if own.first}
    for node in nodes:
        own = swapped.get(node, SubstitutionResult())
        by_others = {
            FeatureKind.OTHER_HEALS: float(bool(healers) and node not in healers),
            FeatureKind.OTHER_MENDS: float(bool(menders) and node not in menders),
        }
        rates = (
            by_others
            | {
                FeatureKind.TRIED: min(1.0, own.tried / _ENOUGH),
                FeatureKind.HEALS: float(own.healed > 0),
                FeatureKind.HEALS_OFTEN: own.healed / own.tried,
                FeatureKind.MENDS: float(own.first > 0),
                FeatureKind.MENDS_OFTEN: own.first / own.tried,
                FeatureKind.MENDS_SOME: float(bool(own.mended)),
                FeatureKind.MENDS_MANY: len(own.mended) / max(1, failing),
                FeatureKind.HARMS: own.harmed / own.tried,
                FeatureKind.NO_MATTER: float(not own.mended and own.tried >= _A_FEW),
            }
            if own.tried
            else by_others | {FeatureKind.UNTRIED: 1.0}
        )
        yield from (Feature(node, kind, strength=rate) for kind, rate in rates.items() if rate)


class SubstitutionResults(NamedTuple):
    """What putting other implementations in the functions' places showed."""

    swapped: Mapping[str, SubstitutionResult] = {}
    """What came of it, by function."""
    failing: int = 0
    """How many lines of the driver failed before."""
    passes: bool = False
    """Whether the program itself passed this time: then what was tried says nothing."""
    runs: int = 0
    """Of the sandbox."""


def intervene(
    sandbox: Sandbox,
    failing: FailingRun,
    others: Iterable[SubstitutedProgram],
    again: Sandbox | None = None,
) -> SubstitutionResults:
    """Put other implementations in the functions' places, and read what becomes of the failure.

    Where one heals, the program itself is run `again`: it may have failed by chance.
    """
    trial = failing.trial
    seen = watch(sandbox, failing.program, (), trial)
    misjudged = seen.failed_tests & trial.passing
    before = seen.forgiving(misjudged)
    if before.passes:
        return SubstitutionResults(passes=True, runs=1)
    swapped = swap(sandbox, trial, before, others, misjudged)
    healed = any(own.healed for own in swapped.values())
    runs = 1 + sum(own.runs for own in swapped.values()) + healed
    if healed and watch(again or sandbox, failing.program, (), trial).forgiving(misjudged).passes:
        return SubstitutionResults(passes=True, runs=runs)
    return SubstitutionResults(swapped, len(before.failing), runs=runs)


def with_code(context: RunContext, node: NodeId, source: str) -> str:
    """Return the program with other code for one node; empty if that cannot stand there."""
    return with_codes(context, {node: source})


def with_codes(context: RunContext, sources: Mapping[NodeId, str]) -> str:
    """Return the program with other code for some nodes; empty if that cannot stand there."""
    ledger = context.recorder.ledger
    working, graph = ledger.working, ledger.graph
    code, bundles = dict(working.code), dict(working.bundles)
    for node, source in sources.items():
        bundle = bundles[node] = read_bundle(source)
        known = working.code[node]
        units = units_of(bundle, node, known.scope, taken_names(ledger, node))
        code[node] = msgspec.structs.replace(known, units=units)
    try:
        return assemble(graph, code, bundles).text
    except AssemblyConflict:
        return ""
