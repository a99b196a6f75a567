"""The input of a locator, its interface, and the construction of its diagnosis."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, Self, TypeAlias

import msgspec

from auditcoder.domain.contract import Contract
from auditcoder.domain.diagnosis import Diagnosis, Level, Localised
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import ExecutionOutcome
from auditcoder.domain.graph import TaskGraph, named_in, region_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtNode, AtProgram, Target
from auditcoder.domain.task import ClassForm
from auditcoder.domain.values import Digest, Value
from auditcoder.lifecycle.locating.features import SpectrumCounts
from auditcoder.lifecycle.plan_excerpts import defined_names
from auditcoder.lifecycle.root_cause import StatedCause
from auditcoder.lifecycle.run_context import RunContext

FLAKY = "what failed passes when it is run again: it is flaky, and no part is to blame"


class SecondOpinion(NamedTuple):
    """A second implementation of a node, written without seeing the first."""

    source: str = ""
    """Empty if no reply was usable."""
    seq: int | None = None
    """The number of the reply in the record."""


Implemented: TypeAlias = tuple[NodeId, Contract | None]
"""A node and its contract: an implementation for another contract is no evidence about it."""


class PlanFault(NamedTuple):
    """The answer that no code of a node can be right, and the diagnosis that named the node."""

    diagnosis: Localised
    cause: StatedCause


@dataclass(frozen=True)
class DiagnosisState:
    """State that the diagnoses of a run keep in addition to the recorded evidence.

    It is immutable: a collector receives one state and returns the next.
    """

    rejected: tuple[Target, ...] = ()
    """Targets whose repair was rejected since the last accepted repair."""
    causes: Mapping[tuple[int, ...], StatedCause] = field(default_factory=dict)
    """The cause that the author of a rejected repair stated, by the evidence of the diagnosis."""
    plan_fault: PlanFault | None = None
    """Set if the last repair ended without code, because its author found the plan at fault."""
    opinions: Mapping[Implemented, SecondOpinion] = field(default_factory=dict)
    """Second opinions that the model was asked for."""
    outcomes: Mapping[Digest, ExecutionOutcome] = field(default_factory=dict)
    """How programs with substituted code ended, by the digest of the execution."""

    def with_opinions(self, opinions: Mapping[Implemented, SecondOpinion]) -> Self:
        """Return the state with more second opinions."""
        return replace(self, opinions={**self.opinions, **opinions})

    def with_cause(self, evidence: tuple[int, ...], cause: StatedCause) -> Self:
        """Return the state in which the cause behind some evidence is known."""
        return replace(self, causes={**self.causes, evidence: cause})

    def with_rejected(self, target: Target) -> Self:
        """Return the state after the repair of a target was rejected."""
        return replace(self, rejected=(*self.rejected, target))


Collector: TypeAlias = Callable[[RunContext, DiagnosisState, tuple[NodeId, ...]], DiagnosisState]
"""Records more evidence about some nodes, if it can, and returns the next state."""


class RecordedCheck(NamedTuple):
    """Standing evidence and its sequence number in the record."""

    seq: int
    evidence: Evidence


class Clue(Value, rename={"features": "signs"}):
    """The recorded observations of a collector about one node."""

    features: dict[str, float]
    """The strength of each feature, from 0 to 1, by the feature's name."""
    hands_badly_to: tuple[NodeId, ...] = ()
    """Nodes whose contract forbids a value that this node provided."""
    ran: SpectrumCounts | None = None
    """In how many failing and passing tests it ran."""
    calls: int = 0
    """Number of its calls in the trace."""
    place: int | None = None
    """Index of its first call among all traced calls; None if it was never called."""
    runs: int = 0
    """Sandbox runs of the whole collection; only its first recorded clue has them."""
    passes: bool = False
    """Whether the failed checks passed when they were repeated."""
    blind: bool = False
    """Whether the failure was not observed: the program exited before any check ran, or no check
    failed this time."""
    healers: tuple[Digest, ...] = ()
    """Programs with substituted code for this node that passed every check."""
    unfit: int = 0
    """Number of substituted implementations that are ignored: they fail the contract's examples."""


class DiagnosisInput(NamedTuple):
    """Everything that a locator may use."""

    graph: TaskGraph
    agents: Mapping[NodeId, str]
    """The agent that wrote each node's code."""
    program: tuple[RecordedCheck, ...]
    """The checks of the program, the most trusted first."""
    local: tuple[RecordedCheck, ...]
    """The checks of single nodes."""
    tried: tuple[Target, ...] = ()
    """Targets whose repair was rejected; the same target is not named again."""
    replannable: bool = True
    """Whether a branch can be replanned; false for classes, whose skeleton fixes the plan."""
    traced: Mapping[NodeId, tuple[int, Clue]] = {}
    """What the trace of the failing checks showed, with the number of the event."""
    swapped: Mapping[NodeId, tuple[int, Clue]] = {}
    """What substitutions showed, with the number of the event."""

    reads: Mapping[NodeId, Mapping[NodeId, tuple[str, ...]]] = {}
    """The shared definitions that occur in each node's code, by the node that owns them."""

    def definitions_read_by(self, node: NodeId) -> tuple[str, ...]:
        """Return one sentence for each node whose definitions a node reads, if it was not tried."""
        tried = {other for target in self.tried for other in named_in(target)}
        known = self.reads.get(node, {})
        return tuple(
            f"{node} reads {', '.join(names)}, defined in {owner}"
            for owner, names in known.items()
            if owner not in tried
        )

    @property
    def flaky(self) -> bool:
        """Whether the failed checks passed when they were repeated."""
        return any(clue.passes for seen in (self.traced, self.swapped) for _, clue in seen.values())


class Locator(Protocol):
    """Names a target that the evidence supports, or abstains."""

    name: str
    collectors: tuple[Collector, ...]
    """Sources of more evidence, the cheapest first."""

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Diagnose a failing program from the evidence so far."""
        ...

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Return the nodes that need more evidence, the most likely first; none if it is clear."""
        ...


def diagnosis_input_of(context: RunContext, tried: tuple[Target, ...] = ()) -> DiagnosisInput:
    """Return the input of a locator for the current state of the run."""
    working = context.recorder.ledger.working
    known = context.recorder.history
    standing = [RecordedCheck(s.seq, known.evidence(s.seq)) for s in working.evidence.values()]
    program = [s for s in standing if isinstance(s.evidence.subject, AtProgram)]
    since = max((s.seq for s in program), default=0)
    return DiagnosisInput(
        graph=context.recorder.ledger.graph,
        agents={node: code.agent for node, code in working.code.items()},
        program=tuple(sorted(program, key=lambda s: trust_order(s.evidence))),
        local=tuple(s for s in standing if not isinstance(s.evidence.subject, AtProgram)),
        tried=tried,
        replannable=not isinstance(context.task.form, ClassForm),
        traced=_clues(context, standing, CheckKind.CLUE, since),
        swapped=_clues(context, standing, CheckKind.SWAP, since),
        reads=_definitions_read(context),
    )


def _definitions_read(context: RunContext) -> dict[NodeId, dict[NodeId, tuple[str, ...]]]:
    """Return the names of shared definitions in the code of other nodes, by their owners."""
    ledger = context.recorder.ledger
    shared = defined_names(ledger.graph, ledger.working)
    found: dict[NodeId, dict[NodeId, tuple[str, ...]]] = {}
    for node, bundle in ledger.working.bundles.items() if shared else ():
        for name in sorted(shared.keys() & bundle.words):
            if (owner := shared[name]) != node:
                own = found.setdefault(node, {})
                own[owner] = (*own.get(owner, ()), name)
    return found


def _clues(
    context: RunContext, standing: list[RecordedCheck], kind: CheckKind, since: int
) -> dict[NodeId, tuple[int, Clue]]:
    """Return the clues recorded after the last program check, which are about this program."""
    return {
        s.evidence.subject.node: (
            s.seq,
            _clue(context.recorder.read(s.evidence.observed), s.evidence.verdict),
        )
        for s in standing
        if s.evidence.kind is kind and s.seq > since
        if isinstance(s.evidence.subject, AtNode) and s.evidence.observed
    }


def _clue(content: bytes, verdict: Verdict) -> Clue:
    """Read a clue; an inconclusive one is evidence for nobody, whatever the record holds."""
    clue = msgspec.json.decode(content, type=Clue)
    if verdict.conclusive:
        return clue
    return msgspec.structs.replace(clue, features={}, hands_badly_to=(), ran=None, healers=())


def most_trusted_failure(context: RunContext) -> Evidence:
    """Return the most trusted failing check of the program."""
    case = diagnosis_input_of(context)
    return next(s.evidence for s in case.program if s.evidence.verdict.failing)


def localised(
    case: DiagnosisInput, target: Target, rule: str, level: Level, seqs: tuple[int, ...], why: str
) -> Localised:
    """Return a diagnosis with the target, the agents that wrote it, and the evidence."""
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
    """Return a diagnosis from the same evidence for another target and its agents."""
    explained = f"{diagnosis.explanation}; {why}"
    moved = localised(case, target, diagnosis.rule, diagnosis.level, diagnosis.evidence, explained)
    return msgspec.structs.replace(moved, probability=diagnosis.probability)


def trust_order(evidence: Evidence) -> tuple[int, str]:
    """Return a sort key for program checks: those given with the task come first."""
    return list(Trust).index(evidence.trust), evidence.check
