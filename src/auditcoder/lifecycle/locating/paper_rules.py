"""The paper's rule-based locator.

In order of priority: R1 traceback, R2 resource, R3 local rejection, R4 abstention.
"""

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level, Localised
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtBranch, AtNode, Target
from auditcoder.lifecycle.locating.diagnosis_input import (
    Collector,
    DiagnosisInput,
    DiagnosisState,
    RecordedCheck,
    localised,
    most_trusted_failure,
    retargeted,
)
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.validation.model_review import review


def ask_for_opinions(
    context: RunContext, state: DiagnosisState, _nodes: tuple[NodeId, ...]
) -> DiagnosisState:
    """Ask a model for a verdict on every function that ran in the failing check."""
    review(context, most_trusted_failure(context))
    return state


class PaperRules:
    """Applies the rules R1 to R4."""

    name = "paper-rules"
    collectors: tuple[Collector, ...] = (ask_for_opinions,)

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Return all nodes if a wrong answer leads to an abstention and no repair was tried yet."""
        failing = [s for s in case.program if s.evidence.verdict.failing]
        wrong = bool(failing) and failing[0].evidence.verdict is Verdict.FAILED
        ambiguous = wrong and not case.tried and isinstance(self.locate(case), Abstained)
        return case.graph.order if ambiguous else ()

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Apply the rules in order; a target whose repair was rejected is widened or dropped."""
        failing = [s for s in case.program if s.evidence.verdict.failing]
        for rule in (by_traceback, _resource, _local_rejection):
            diagnosis = rule(case, failing)
            if isinstance(diagnosis, Localised):
                return _widened(case, diagnosis)
            if diagnosis is not None:
                return diagnosis
        return Abstained(
            reason="the program fails, and nothing that failed points to one part of it",
            evidence=tuple(s.seq for s in failing),
        )


def by_traceback(case: DiagnosisInput, failing: list[RecordedCheck]) -> Diagnosis | None:
    """Apply R1: name the owner of the innermost owned stack frame of a crash."""
    for seq, evidence in failing:
        if evidence.verdict is not Verdict.CRASH:
            continue
        owned = [f for f in evidence.frames if f.node is not None and f.node in case.graph.ids]
        if owned:
            frame = owned[-1]
            assert frame.node is not None
            why = f"{evidence.message} in {frame.function}, line {frame.line}, of {frame.node}"
            target = AtNode(node=frame.node)
            return localised(case, target, "R1", Level.HIGH, (seq,), why)
    return None


def _resource(case: DiagnosisInput, failing: list[RecordedCheck]) -> Diagnosis | None:
    """Apply R2: name the narrowest node that failed probes, or the frame at the stop, point to."""
    exhausted = [s for s in failing if s.evidence.verdict in {Verdict.TIMEOUT, Verdict.MEMORY}]
    if not exhausted:
        return None
    seq, evidence = exhausted[0]
    probed = {
        s.evidence.subject.node: s.seq
        for s in case.local
        if isinstance(s.evidence.subject, AtNode)
        and s.evidence.verdict.failing
        and (s.evidence.kind is CheckKind.PROBE or not s.evidence.verdict.clean)
    }
    stopped = [f.node for f in evidence.frames if f.node is not None and f.node in case.graph.ids]
    candidates = set(probed) or set(stopped[-1:])
    seqs = (seq, *(probed[n] for n in sorted(candidates) if n in probed))
    if not candidates:
        return Abstained(
            reason="the program used too much, and nothing says which part of it did",
            evidence=(seq,),
        )
    narrowest = _narrowest(case.graph, candidates)
    if narrowest is None:
        return Abstained(
            reason=f"{', '.join(sorted(candidates))} could each be what uses too much",
            evidence=seqs,
        )
    level = Level.MEDIUM if probed else Level.LOW
    why = (
        "its cost grows faster than its budget" if probed else "the program was in it when it ended"
    )
    return localised(case, AtNode(node=narrowest), "R2", level, seqs, why)


def _narrowest(graph: TaskGraph, candidates: set[NodeId]) -> NodeId | None:
    """Return the candidate whose ancestors are all the others; None if there is none."""
    deepest = max(sorted(candidates), key=lambda n: len(graph.path(n)))
    return deepest if candidates <= set(graph.path(deepest)) else None


_REJECTING = frozenset(
    {
        CheckKind.COMPILE,
        CheckKind.SIGNATURE,
        CheckKind.EXAMPLE,
        CheckKind.BOUNDARY,
        CheckKind.CONTRACT,
        CheckKind.INVARIANT,
        CheckKind.DIFFERENTIAL,
        CheckKind.REVIEW,
    }
)


def _local_rejection(case: DiagnosisInput, failing: list[RecordedCheck]) -> Diagnosis | None:
    """Apply R3: name nodes that ran in the failing check and fail a check of their own."""
    wrong = [s for s in failing if s.evidence.verdict is Verdict.FAILED]
    if not wrong:
        return None
    first = wrong[0]
    ran = first.evidence.ran
    rejected: dict[NodeId, list[RecordedCheck]] = {}
    for standing in case.local:
        subject = standing.evidence.subject
        if (
            isinstance(subject, AtNode)
            and standing.evidence.verdict.failing
            and standing.evidence.kind in _REJECTING
            and (ran is None or subject.node in ran)
        ):
            rejected.setdefault(subject.node, []).append(standing)
    firm = {
        node: rejections
        for node, rejections in rejected.items()
        if any(s.evidence.kind is not CheckKind.REVIEW for s in rejections)
    }
    chosen, level = (firm, Level.MEDIUM) if firm else (rejected, Level.LOW)
    if not chosen:
        return _sole(case, first)
    seqs = (first.seq, *(s.seq for rejections in chosen.values() for s in rejections))
    if len(chosen) == 1:
        ((node, rejections),) = chosen.items()
        why = f"{rejections[0].evidence.check} rejects it: {rejections[0].evidence.message}"
        return localised(case, AtNode(node=node), "R3", level, seqs, why)
    top = _common_ancestor(case.graph, set(chosen))
    names = ", ".join(sorted(chosen))
    if top is None:
        return Abstained(
            reason=f"{names} are each rejected, and only the root is above them all",
            evidence=seqs,
        )
    return localised(
        case, AtBranch(root=top), "R3", level, seqs, f"{names} are each rejected, all under {top}"
    )


def _sole(case: DiagnosisInput, failing: RecordedCheck) -> Diagnosis | None:
    """Name the only node of the graph, if it has just one: the fault can be nowhere else."""
    if case.graph.sole is None:
        return None
    target = AtNode(node=case.graph.sole)
    why = "it is the only responsibility, and the root merely starts it"
    return localised(case, target, "R3", Level.MEDIUM, (failing.seq,), why)


def _common_ancestor(graph: TaskGraph, nodes: set[NodeId]) -> NodeId | None:
    """Return the lowest common ancestor of `nodes`; None if that is the root."""
    paths = [graph.path(node) for node in nodes]
    shared = [step[0] for step in zip(*paths, strict=False) if len(set(step)) == 1]
    return shared[-1] if shared and shared[-1] != ROOT else None


def _widened(case: DiagnosisInput, diagnosis: Localised) -> Diagnosis:
    """Replace a target whose repair was rejected: a node by its branch, a branch by abstention."""
    target: Target = diagnosis.target
    if target not in case.tried:
        return diagnosis
    if isinstance(target, AtNode) and target.node != ROOT:
        branch = AtBranch(root=case.graph.branch_root(target.node))
        if case.replannable and branch not in case.tried:
            why = f"a repair of {target.node} alone was rejected"
            return retargeted(case, diagnosis, branch, why)
    return Abstained(
        reason=f"what {diagnosis.rule} points to was repaired in vain",
        evidence=diagnosis.evidence,
    )
