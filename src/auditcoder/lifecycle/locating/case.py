"""What a locator may look at, and how it answers."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from auditcoder.domain.diagnosis import Diagnosis, Level, Localised
from auditcoder.domain.evidence import Evidence, Trust
from auditcoder.domain.graph import TaskGraph, region_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import Target


class Standing(NamedTuple):
    """A piece of evidence that speaks about the present, and where it stands in the record."""

    seq: int
    evidence: Evidence


class Case(NamedTuple):
    """Everything that a locator may look at."""

    graph: TaskGraph
    agents: Mapping[NodeId, str]
    """Who wrote each node's code."""
    program: tuple[Standing, ...]
    """The checks of the program, the weightiest first."""
    local: tuple[Standing, ...]
    """The checks of single nodes."""
    tried: tuple[Target, ...] = ()
    """Targets whose repair was rejected: none is tried again unchanged."""
    replannable: bool = True
    """Whether a branch can be planned anew; what a skeleton fixes cannot."""


class Locator(Protocol):
    """Answers with a boundary that the evidence supports, or abstains."""

    name: str

    def locate(self, case: Case) -> Diagnosis:
        """Diagnose a failing program."""
        ...


def localised(
    case: Case, target: Target, rule: str, level: Level, seqs: tuple[int, ...], why: str
) -> Localised:
    """Return a diagnosis that names the target, those who wrote it, and what points there."""
    nodes = sorted(region_of(target, case.graph))
    return Localised(
        target=target,
        agents=tuple(case.agents.get(n, "") for n in nodes),
        rule=rule,
        level=level,
        evidence=tuple(dict.fromkeys(seqs)),
        explanation=why,
    )


def retargeted(case: Case, diagnosis: Localised, target: Target, why: str) -> Localised:
    """Return the diagnosis on the same evidence for another target, and those who wrote that."""
    explained = f"{diagnosis.explanation}; {why}"
    return localised(case, target, diagnosis.rule, diagnosis.level, diagnosis.evidence, explained)


def weight(evidence: Evidence) -> tuple[int, str]:
    """Order program checks: what came with the task first."""
    return list(Trust).index(evidence.trust), evidence.check
