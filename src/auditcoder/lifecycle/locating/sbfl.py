"""Spectrum-based fault localisation: Ochiai, Tarantula and DStar, and the traceback locator.

A function is the more suspicious, the more failing and the fewer passing tests it ran in. If no
test passes, all functions that ran can tie; a tie is an abstention.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level, Localised
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtNode
from auditcoder.lifecycle.locating.diagnosis_input import (
    FLAKY,
    Collector,
    DiagnosisInput,
    localised,
)
from auditcoder.lifecycle.locating.features import SpectrumCounts
from auditcoder.lifecycle.locating.paper_rules import by_traceback


def ochiai(counts: SpectrumCounts) -> float:
    """Return the Ochiai score: the cosine similarity of running and failing."""
    ran = counts.failed + counts.passed
    return counts.failed / math.sqrt(counts.all_failed * ran) if ran and counts.all_failed else 0.0


def tarantula(counts: SpectrumCounts) -> float:
    """Return the Tarantula score: the failing share over the sum of failing and passing share."""
    failed = counts.failed / counts.all_failed if counts.all_failed else 0.0
    passed = counts.passed / counts.all_passed if counts.all_passed else 0.0
    return failed / (failed + passed) if failed + passed else 0.0


def dstar(counts: SpectrumCounts) -> float:
    """Return the DStar score with exponent 2: failures squared over the counterevidence."""
    against = counts.passed + (counts.all_failed - counts.failed)
    if not against:
        return math.inf if counts.failed else 0.0
    return counts.failed**2 / against


FORMULAS: dict[str, Callable[[SpectrumCounts], float]] = {
    "ochiai": ochiai,
    "tarantula": tarantula,
    "dstar": dstar,
}


def counted(
    failing: Sequence[AbstractSet[str]], passing: Sequence[AbstractSet[str]]
) -> dict[str, SpectrumCounts]:
    """Return the counts of each function that ran in any test."""
    return {
        node: SpectrumCounts(
            sum(node in ran for ran in failing),
            sum(node in ran for ran in passing),
            len(failing),
            len(passing),
        )
        for node in sorted(set().union(*failing, *passing))
    }


def most_suspicious(
    formula: Callable[[SpectrumCounts], float], counts: Mapping[str, SpectrumCounts]
) -> str | None:
    """Return the function with the highest score; None if it is zero or shared."""
    scores = {node: formula(own) for node, own in counts.items()}
    if not scores:
        return None
    best = max(scores.values())
    tied = [node for node, score in scores.items() if score == best]
    return tied[0] if len(tied) == 1 and best > 0 else None


class TracebackLocator:
    """Names the node of the innermost owned frame of a traceback, and uses no other evidence."""

    name = "traceback"
    collectors: tuple[Collector, ...] = ()

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Name the node that crashed, unless its repair was rejected."""
        failing = [s for s in case.program if s.evidence.verdict.failing]
        diagnosis = by_traceback(case, failing)
        if isinstance(diagnosis, Localised) and diagnosis.target not in case.tried:
            return diagnosis
        return Abstained(reason="no traceback leads anywhere new", evidence=_seqs(case))

    def unsettled(self, _case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Return no nodes: this locator has no collectors."""
        return ()


class RankedLocator:
    """Names the node with the highest score of a formula."""

    def __init__(self, name: str, collectors: tuple[Collector, ...] = ()) -> None:
        self.name = name
        self.collectors = collectors
        self._formula = FORMULAS[name]

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Name the node with the highest score, unless its repair was rejected."""
        if case.flaky:
            return Abstained(reason=FLAKY, evidence=_seqs(case), flaky=True)
        counts = {str(n): clue.ran for n, (_, clue) in case.traced.items() if clue.ran}
        suspect = most_suspicious(self._formula, counts)
        target = AtNode(node=NodeId(suspect)) if suspect else None
        if target is None or target in case.tried:
            reason = "nothing new is more suspicious than all else"
            return Abstained(reason=reason, evidence=_seqs(case))
        # The claim compares all nodes, so the observations of all are cited.
        seqs = (*_seqs(case)[:1], *(seq for seq, _ in case.traced.values()))
        why = f"{self.name} finds nothing more suspicious"
        return localised(case, target, self.name, Level.LOW, seqs, why)

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Return all nodes until the program was traced once."""
        return () if case.traced else case.graph.order


def _seqs(case: DiagnosisInput) -> tuple[int, ...]:
    return tuple(s.seq for s in case.program if s.evidence.verdict.failing)
