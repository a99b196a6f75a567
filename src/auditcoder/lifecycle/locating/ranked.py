"""Locators to compare with: the innermost frame, and ranking by who ran in failing cases."""

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level, Localised
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtNode
from auditcoder.lifecycle.locating.case import FLAKY, Case, Collector, localised
from auditcoder.lifecycle.locating.clues import watch_it_fail
from auditcoder.lifecycle.locating.rules import by_traceback
from auditcoder.lifecycle.locating.spectra import FORMULAS, most_suspicious


class Traceback:
    """Names the innermost node of a traceback, and knows nothing else."""

    name = "traceback"
    collectors: tuple[Collector, ...] = ()

    def locate(self, case: Case) -> Diagnosis:
        """Look for a crash in a node."""
        failing = [s for s in case.program if s.evidence.verdict is not Verdict.PASSED]
        found = by_traceback(case, failing)
        if isinstance(found, Localised) and found.target not in case.tried:
            return found
        return Abstained(reason="no traceback leads anywhere new", evidence=_seqs(case))

    def unsettled(self, _case: Case) -> tuple[NodeId, ...]:
        """There is nothing more to ask for."""
        return ()


class Ranked:
    """Names the node that a formula finds more suspicious than all others."""

    collectors: tuple[Collector, ...] = (watch_it_fail,)

    def __init__(self, name: str) -> None:
        self.name = name
        self._formula = FORMULAS[name]

    def locate(self, case: Case) -> Diagnosis:
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

    def unsettled(self, case: Case) -> tuple[NodeId, ...]:
        """It must be watched once."""
        return () if case.looked else case.graph.order


def _seqs(case: Case) -> tuple[int, ...]:
    return tuple(s.seq for s in case.program if s.evidence.verdict is not Verdict.PASSED)
