"""Spectrum-based ranking: which functions ran in failing checks, and which in passing ones.

The formulas are the classic ones. Where no check passes, they can tell no two functions apart
that ran; such a draw is no answer.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level, Localised
from auditcoder.domain.evidence import Verdict
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
    """The cosine between having run and having failed."""
    ran = counts.failed + counts.passed
    return counts.failed / math.sqrt(counts.all_failed * ran) if ran and counts.all_failed else 0.0


def tarantula(counts: SpectrumCounts) -> float:
    """How much of the failing checks it ran in, beside how much of the passing ones."""
    failed = counts.failed / counts.all_failed if counts.all_failed else 0.0
    passed = counts.passed / counts.all_passed if counts.all_passed else 0.0
    return failed / (failed + passed) if failed + passed else 0.0


def dstar(counts: SpectrumCounts) -> float:
    """Its failures, squared, over what speaks against them."""
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
    """Count for each function that ran at all."""
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
    """Return the one that is more suspicious than all others; None if there is no such one."""
    scores = {node: formula(own) for node, own in counts.items()}
    if not scores:
        return None
    best = max(scores.values())
    leading = [node for node, score in scores.items() if score == best]
    return leading[0] if len(leading) == 1 and best > 0 else None


class TracebackLocator:
    """Names the innermost node of a traceback, and knows nothing else."""

    name = "traceback"
    collectors: tuple[Collector, ...] = ()

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Look for a crash in a node."""
        failing = [s for s in case.program if s.evidence.verdict is not Verdict.PASSED]
        found = by_traceback(case, failing)
        if isinstance(found, Localised) and found.target not in case.tried:
            return found
        return Abstained(reason="no traceback leads anywhere new", evidence=_seqs(case))

    def unsettled(self, _case: DiagnosisInput) -> tuple[NodeId, ...]:
        """There is nothing more to ask for."""
        return ()


class RankedLocator:
    """Names the node that a formula finds more suspicious than all others."""

    def __init__(self, name: str, collectors: tuple[Collector, ...] = ()) -> None:
        self.name = name
        self.collectors = collectors
        self._formula = FORMULAS[name]

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Rank by who ran in failing and in passing cases."""
        if case.flaky:
            return Abstained(reason=FLAKY, evidence=_seqs(case), flaky=True)
        counts = {str(n): clue.ran for n, (_, clue) in case.looked.items() if clue.ran}
        found = most_suspicious(self._formula, counts)
        target = AtNode(node=NodeId(found)) if found else None
        if target is None or target in case.tried:
            reason = "nothing new is more suspicious than all else"
            return Abstained(reason=reason, evidence=_seqs(case))
        seqs = (*_seqs(case)[:1], case.looked[target.node][0])
        why = f"{self.name} finds nothing more suspicious"
        return localised(case, target, self.name, Level.LOW, seqs, why)

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """It must be watched once."""
        return () if case.looked else case.graph.order


def _seqs(case: DiagnosisInput) -> tuple[int, ...]:
    return tuple(s.seq for s in case.program if s.evidence.verdict is not Verdict.PASSED)
