"""What a locator may look at, and how it answers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self, TypeAlias

import msgspec

from auditcoder.domain.contract import Contract
from auditcoder.domain.diagnosis import Diagnosis, Level, Localised
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import ExecutionOutcome
from auditcoder.domain.graph import TaskGraph, region_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtNode, AtProgram, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import Digest, Value
from auditcoder.lifecycle.locating.features import SpectrumCounts
from auditcoder.lifecycle.root_cause import CauseAnalysis
from auditcoder.lifecycle.run_context import RunContext

FLAKY = "what failed passes when it is run again: it is flaky, and no part is to blame"


class SecondOpinion(NamedTuple):
    """A second implementation of a node, written without seeing the first."""

    source: str = ""
    """Empty if no reply was usable."""
    seq: int | None = None
    """The number of the reply in the record."""


Implemented: TypeAlias = tuple[NodeId, Contract | None]
"""A node under one contract: an implementation for another contract says nothing about it."""


@dataclass(frozen=True)
class DiagnosisState:
    """What the diagnoses of a run have learned beside the recorded evidence.

    Collectors take it and return the next one; it is never changed in place.
    """

    rejected: tuple[Target, ...] = ()
    """Targets whose repair was rejected since the last accepted one."""
    causes: Mapping[tuple[int, ...], CauseAnalysis] = field(default_factory=dict)
    """What a model took for the cause, by the evidence of the diagnosis."""
    opinions: Mapping[Implemented, SecondOpinion] = field(default_factory=dict)
    """Second opinions that were substituted for a node's code."""
    replies: Mapping[Implemented, SecondOpinion] = field(default_factory=dict)
    """All second opinions that the model was asked for, substituted or not."""
    outcomes: Mapping[Digest, ExecutionOutcome] = field(default_factory=dict)
    """How programs with substituted code ended, by the digest of the execution."""

    def with_opinion(self, about: Implemented) -> Self:
        """Return the state in which the reply about a node is substituted."""
        return replace(self, opinions={**self.opinions, about: self.replies[about]})

    def with_cause(self, evidence: tuple[int, ...], cause: CauseAnalysis) -> Self:
        """Return the state in which the cause behind some evidence is known."""
        return replace(self, causes={**self.causes, evidence: cause})

    def with_rejected(self, target: Target) -> Self:
        """Return the state after the repair of a target was rejected."""
        return replace(self, rejected=(*self.rejected, target))


Collector: TypeAlias = Callable[[RunContext, DiagnosisState, tuple[NodeId, ...]], DiagnosisState]
"""Records more evidence about some nodes if there is any, and returns the state after that."""


class RecordedCheck(NamedTuple):
    """A piece of evidence that speaks about the present, and where it stands in the record."""

    seq: int
    evidence: Evidence


class Clue(Value):
    """What a collector noticed about one node, as it stands on record."""

    signs: dict[str, float]
    """How strong each sign is."""
    hands_badly_to: tuple[NodeId, ...] = ()
    """Nodes that do not take what this one hands over."""
    ran: SpectrumCounts | None = None
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


class DiagnosisInput(NamedTuple):
    """Everything that a locator may look at."""

    graph: TaskGraph
    agents: Mapping[NodeId, str]
    """Who wrote each node's code."""
    program: tuple[RecordedCheck, ...]
    """The checks of the program, the weightiest first."""
    local: tuple[RecordedCheck, ...]
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

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Diagnose a failing program on the evidence that there is."""
        ...

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Return the nodes about which more evidence is wanted, the likeliest first.

        There are none if the answer is clear.
        """
        ...


def diagnosis_input_of(context: RunContext, tried: tuple[Target, ...] = ()) -> DiagnosisInput:
    """Return what there is to look at now."""
    working = context.recorder.ledger.working
    known = context.recorder.history
    standing = [RecordedCheck(s.seq, known.evidence(s.seq)) for s in working.evidence.values()]
    program = [s for s in standing if isinstance(s.evidence.subject, AtProgram)]
    since = max((s.seq for s in program), default=0)
    return DiagnosisInput(
        graph=context.recorder.ledger.graph,
        agents={node: code.agent for node, code in working.code.items()},
        program=tuple(sorted(program, key=lambda s: weight(s.evidence))),
        local=tuple(s for s in standing if not isinstance(s.evidence.subject, AtProgram)),
        tried=tried,
        replannable=not isinstance(context.task.form, ClassForm),
        looked=_clues(context, standing, CheckKind.CLUE, since),
        swapped=_clues(context, standing, CheckKind.SWAP, since),
    )


def _clues(
    context: RunContext, standing: list[RecordedCheck], kind: CheckKind, since: int
) -> dict[NodeId, tuple[int, Clue]]:
    """Read what was noticed since the program was last checked: it is about that program."""
    return {
        s.evidence.subject.node: (s.seq, _clue(context.recorder.read(s.evidence.observed)))
        for s in standing
        if s.evidence.kind is kind and s.seq > since
        if isinstance(s.evidence.subject, AtNode) and s.evidence.observed
    }


def _clue(content: bytes) -> Clue:
    return msgspec.json.decode(content, type=Clue)


def weightiest(context: RunContext) -> Evidence:
    """Return the failing check of the program that weighs most."""
    case = diagnosis_input_of(context)
    return next(s.evidence for s in case.program if s.evidence.verdict is not Verdict.PASSED)


def localised(
    case: DiagnosisInput, target: Target, rule: str, level: Level, seqs: tuple[int, ...], why: str
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


def retargeted(case: DiagnosisInput, diagnosis: Localised, target: Target, why: str) -> Localised:
    """Return the diagnosis on the same evidence for another target, and those who wrote that."""
    explained = f"{diagnosis.explanation}; {why}"
    found = localised(case, target, diagnosis.rule, diagnosis.level, diagnosis.evidence, explained)
    return msgspec.structs.replace(found, probability=diagnosis.probability)


def weight(evidence: Evidence) -> tuple[int, str]:
    """Order program checks: what came with the task first."""
    return list(Trust).index(evidence.trust), evidence.check
