"""Substitution: run the program with another implementation of one function.

If a failing step then passes, that is causal evidence against the function, not a correlation.
The other implementation need not be correct: a wrong one changes nothing, or makes other steps
fail. One that fixes no step and fails the examples of its own contract is ignored.
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
from auditcoder.lifecycle.locating.trace_run import FailingRun, Observation, TracePlan, run_traced
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.run_context import RunContext

_FULL_STRENGTH_TRIES = 4
"""Number of tries from which the feature TRIED has its full strength."""
_MIN_TRIES = 2
"""Number of tries without effect from which the feature NO_MATTER is given."""


class SubstitutedProgram(NamedTuple):
    """A program in which the code of one function is substituted."""

    node: str
    program: str
    own: TracePlan | None = None
    """The examples of the function's contract, if it has any."""


class SubstitutionResult(NamedTuple):
    """The results of all substitutions for one function."""

    tried: int = 0
    """Number of implementations that could be loaded and are not unfit."""
    healers: tuple[Digest, ...] = ()
    """Digests of the programs in which every step passed."""
    first: int = 0
    """In how many programs the first failing step passed."""
    mended: frozenset[int] = frozenset()
    """Failing lines of the driver that passed in at least one program."""
    harmed: int = 0
    """In how many programs a line failed that did not fail before."""
    runs: int = 0
    unfit: int = 0
    """Number of ignored implementations: they fix no step and fail the contract's examples."""

    @property
    def healed(self) -> int:
        """In how many programs every step passed."""
        return len(self.healers)


def substitute_each(
    sandbox: Sandbox,
    trial: TracePlan,
    before: Observation,
    alternatives: Iterable[SubstitutedProgram],
    misjudged: Collection[str] = (),
) -> dict[str, SubstitutionResult]:
    """Run every alternative; those that cannot be loaded do not count.

    `before` is the observation of the unchanged program, run like the alternatives without call
    tracing. `misjudged` are tests that fail only under the driver; they are ignored here as well.
    """
    results: dict[str, SubstitutionResult] = {}
    first = next((step.line for step in before.failing_steps), None)
    if first is None:
        return results  # no step fails, so none can be fixed
    for alternative in alternatives:
        seen = run_traced(sandbox, alternative.program, (), trial).forgiving(misjudged)
        own = results.get(alternative.node, SubstitutionResult())
        own = results[alternative.node] = own._replace(runs=own.runs + 1)
        if seen.loads or not seen.steps:
            continue
        healers = (digest(alternative.program.encode()),) if seen.passes else ()
        # A line that was never reached is not fixed.
        fine = {step.line for step in seen.steps if step.fine} - seen.failing
        fixed = before.failing & fine
        if not fixed and alternative.own:
            fit = run_traced(sandbox, alternative.program, (), alternative.own).passes
            own = own._replace(runs=own.runs + 1, unfit=own.unfit + (not fit))
            results[alternative.node] = own
            if not fit:
                continue
        results[alternative.node] = own._replace(
            tried=own.tried + 1,
            healers=own.healers + healers,
            first=own.first + (first in fine),
            mended=own.mended | fixed,
            harmed=own.harmed + bool(seen.failing - before.failing),
        )
    return results


def substitution_features(
    swapped: Mapping[str, SubstitutionResult], failing: int
) -> Iterator[Feature]:
    """Yield the features of each function that was substituted.

    `failing` is the number of lines that failed before.
    """
    for node, own in swapped.items():
        if not own.tried:
            continue
        rates = {
            FeatureKind.TRIED: min(1.0, own.tried / _FULL_STRENGTH_TRIES),
            FeatureKind.HEALS: float(own.healed > 0),
            FeatureKind.HEALS_OFTEN: own.healed / own.tried,
            FeatureKind.MENDS: float(own.first > 0),
            FeatureKind.MENDS_OFTEN: own.first / own.tried,
            FeatureKind.MENDS_SOME: float(bool(own.mended)),
            FeatureKind.MENDS_MANY: len(own.mended) / max(1, failing),
            FeatureKind.HARMS: own.harmed / own.tried,
            FeatureKind.NO_MATTER: float(not own.mended and own.tried >= _MIN_TRIES),
        }
        yield from (Feature(node, kind, strength=rate) for kind, rate in rates.items() if rate)


class SubstitutionResults(NamedTuple):
    """The results of substitutions in one failing program."""

    swapped: Mapping[str, SubstitutionResult] = {}
    """The results by function."""
    failing: int = 0
    """Number of driver lines that failed before any substitution."""
    passes: bool = False
    """Whether the unchanged program passed this time; then substitutions are no evidence."""
    runs: int = 0
    """Number of sandbox runs."""


def run_substitutions(
    sandbox: Sandbox,
    failing: FailingRun,
    others: Iterable[SubstitutedProgram],
    again: Sandbox | None = None,
) -> SubstitutionResults:
    """Run the program with each substitution and return how the failure changes.

    If all steps pass with one, the unchanged program is run once more in the sandbox `again`: the
    failure may have been flaky.
    """
    trial = failing.trial
    seen = run_traced(sandbox, failing.program, (), trial)
    misjudged = seen.failed_tests & trial.passing
    before = seen.forgiving(misjudged)
    if before.passes:
        return SubstitutionResults(passes=True, runs=1)
    swapped = substitute_each(sandbox, trial, before, others, misjudged)
    healed = any(own.healed for own in swapped.values())
    runs = 1 + sum(own.runs for own in swapped.values()) + healed
    if (
        healed
        and run_traced(again or sandbox, failing.program, (), trial).forgiving(misjudged).passes
    ):
        return SubstitutionResults(passes=True, runs=runs)
    return SubstitutionResults(swapped, len(before.failing), runs=runs)


def with_code(context: RunContext, node: NodeId, source: str) -> str:
    """Return the program with other code for one node; empty if it cannot be assembled."""
    return with_codes(context, {node: source})


def with_codes(context: RunContext, sources: Mapping[NodeId, str]) -> str:
    """Return the program with other code for some nodes; empty if it cannot be assembled."""
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
