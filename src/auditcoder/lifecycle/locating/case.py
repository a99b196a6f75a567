"""What a locator may look at, and how it answers."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias

import msgspec

from auditcoder.domain.diagnosis import Diagnosis, Level, Localised
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.graph import TaskGraph, region_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtNode, AtProgram, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import Digest, Value
from auditcoder.lifecycle.locating.spectra import Counts
from auditcoder.lifecycle.workshop import Workshop

FLAKY = "what failed passes when it is run again: it is flaky, and no part is to blame"
Collector: TypeAlias = Callable[[Workshop, tuple[NodeId, ...]], None]
"""Puts more evidence about some nodes on record, if there is any to be had."""


class Standing(NamedTuple):
    """A piece of evidence that speaks about the present, and where it stands in the record."""

    seq: int
    evidence: Evidence


class Clue(Value):
    """What a collector noticed about one node, as it stands on record."""

    signs: dict[str, float]
    """How strong each sign is."""
    hands_badly_to: tuple[NodeId, ...] = ()
    """Nodes that do not take what this one hands over."""
    ran: Counts | None = None
    """How often it ran in failing and in passing cases."""
    calls: int = 0
    """How often it was called while it was watched."""
    place: int | None = None
    """The place of its first call among all that were watched; None if it was never called."""
    runs: int = 0
    """Of the sandbox, for this and what was noticed with it; told once."""
    passes: bool = False
    """Whether what had failed passed when it was run again."""
    blind: bool = False
    """Whether the program was gone before any of its checks could be run, or none failed then."""
    healers: tuple[Digest, ...] = ()
    """The programs, with other code in its place, that passed every check."""
    unfit: int = 0
    """Other code that was tried in its place and says nothing: its own examples reject it."""


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
    looked: Mapping[NodeId, tuple[int, Clue]] = {}
    """What watching the failing cases showed, and where that stands in the record."""
    swapped: Mapping[NodeId, tuple[int, Clue]] = {}
    """What other implementations showed."""

    @property
    def flaky(self) -> bool:
        """Whether what had failed passed when it was checked again."""
        return any(clue.passes for seen in (self.looked, self.swapped) for _, clue in seen.values())


class Locator(Protocol):
    """Answers with a boundary that the evidence supports, or abstains."""

    name: str
    collectors: tuple[Collector, ...]
    """Who can be asked for more evidence, the cheapest first."""

    def locate(self, case: Case) -> Diagnosis:
        """Diagnose a failing program on the evidence that there is."""
        ...

    def unsettled(self, case: Case) -> tuple[NodeId, ...]:
        """Return the nodes about which more evidence is wanted, the likeliest first.

        There are none if the answer is clear.
        """
        ...


def case_of(workshop: Workshop, tried: tuple[Target, ...] = ()) -> Case:
    """Return what there is to look at now."""
    working = workshop.recorder.ledger.working
    standing = [Standing(s.seq, workshop.witnessed[s.seq]) for s in working.evidence.values()]
    program = [s for s in standing if isinstance(s.evidence.subject, AtProgram)]
    since = max((s.seq for s in program), default=0)
    return Case(
        graph=workshop.recorder.ledger.graph,
        agents={node: code.agent for node, code in working.code.items()},
        program=tuple(sorted(program, key=lambda s: weight(s.evidence))),
        local=tuple(s for s in standing if not isinstance(s.evidence.subject, AtProgram)),
        tried=tried,
        replannable=not isinstance(workshop.task.form, ClassForm),
        looked=_clues(workshop, standing, CheckKind.CLUE, since),
        swapped=_clues(workshop, standing, CheckKind.SWAP, since),
    )


def _clues(
    workshop: Workshop, standing: list[Standing], kind: CheckKind, since: int
) -> dict[NodeId, tuple[int, Clue]]:
    """Read what was noticed since the program was last checked: it is about that program."""
    return {
        s.evidence.subject.node: (s.seq, _clue(workshop.recorder.read(s.evidence.observed)))
        for s in standing
        if s.evidence.kind is kind and s.seq > since
        if isinstance(s.evidence.subject, AtNode) and s.evidence.observed
    }


def _clue(content: bytes) -> Clue:
    return msgspec.json.decode(content, type=Clue)


def weightiest(workshop: Workshop) -> Evidence:
    """Return the failing check of the program that weighs most."""
    case = case_of(workshop)
    return next(s.evidence for s in case.program if s.evidence.verdict is not Verdict.PASSED)


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
    found = localised(case, target, diagnosis.rule, diagnosis.level, diagnosis.evidence, explained)
    return msgspec.structs.replace(found, probability=diagnosis.probability)


def weight(evidence: Evidence) -> tuple[int, str]:
    """Order program checks: what came with the task first."""
    return list(Trust).index(evidence.trust), evidence.check
