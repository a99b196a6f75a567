"""The default locator: weighs every sign that was noticed, by weights fitted on known causes."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

import msgspec
from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.graph import region_of
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, Target
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.locating.collectors import (
    substitute_known_versions,
    substitute_second_opinion,
    trace_failing_check,
)
from auditcoder.lifecycle.locating.diagnosis_input import (
    FLAKY,
    Clue,
    Collector,
    DiagnosisInput,
    RecordedCheck,
    localised,
)
from auditcoder.lifecycle.locating.features import FeatureKind
from auditcoder.lifecycle.locating.paper_rules import PaperRules
from auditcoder.lifecycle.locating.scoring import (
    ASKED,
    CONFIDENT,
    PLAUSIBLE,
    SURE,
    FittedModels,
    FittedWeights,
    NodeScore,
    named,
    settled,
    weigh,
)

_FITTED = "fitted-1.json"
_LEVELS = ((SURE, Level.HIGH), (CONFIDENT, Level.MEDIUM), (0.0, Level.LOW))
RULE = "weighed"
_DOUBTFUL = 2
"""So many are named of those that more evidence would tell about."""


@cache
def fitted() -> FittedModels:
    """Return the weights that come with the package."""
    return msgspec.json.decode(_content(), type=FittedModels)


@cache
def weights_digest() -> Digest:
    """Name the weights that come with the package."""
    return digest(_content())


def _content() -> bytes:
    return resources.files("auditcoder.lifecycle.locating").joinpath(_FITTED).read_bytes()


class EvidenceLocator:
    """Reasons over all evidence there is, and asks for more while the answer is open."""

    name = "weighed"
    collectors: tuple[Collector, ...] = (
        trace_failing_check,
        substitute_known_versions,
        *[substitute_second_opinion] * ASKED,
    )

    def __init__(self, weights: FittedModels | None = None) -> None:
        self._known = weights or fitted()

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Name what is likely at fault, or say what keeps it open."""
        failing = [s for s in case.program if s.evidence.verdict is not Verdict.PASSED]
        seqs = tuple(s.seq for s in failing[:1])
        if case.flaky:
            return Abstained(reason=FLAKY, evidence=seqs, flaky=True)
        if case.graph.sole is not None:
            return _sole(case, case.graph.sole, seqs)
        if _blind(case):
            return _by_rules(case)
        beliefs = self._beliefs(case)
        chosen = named(beliefs, self._weights(case).each)
        return answer(case, beliefs, chosen, seqs)

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Everything until it was watched; then what may be at fault, the likeliest first."""
        if not case.looked:
            return case.graph.order
        if case.graph.sole is not None or case.flaky or _blind(case):
            return ()
        if any(clue.blind for _, clue in case.swapped.values()):
            return ()  # nothing can be tried
        beliefs = self._beliefs(case)
        if settled(beliefs):
            return ()
        return tuple(NodeId(b.node) for b in beliefs if b.probability >= PLAUSIBLE)

    def _beliefs(self, case: DiagnosisInput) -> list[NodeScore]:
        tried = _signs(case.swapped)
        some = any(FeatureKind.TRIED.name in own for own in tried.values())
        return weigh(signs_of(case), tried if some else None, self._weights(case))

    def _weights(self, case: DiagnosisInput) -> FittedWeights:
        has_root = case.graph.by_id[case.graph.root].contract is not None
        return self._known.of(rooted=has_root)


def _blind(case: DiagnosisInput) -> bool:
    """Whether nobody could watch it fail: it is gone before its first check, say."""
    return not case.looked or any(clue.blind for _, clue in case.looked.values())


def _by_rules(case: DiagnosisInput) -> Diagnosis:
    """Answer by what the failing check itself left: there is nothing else to weigh."""
    found = PaperRules().locate(case)
    if isinstance(found, Abstained):
        return replace(found, reason=f"nobody could watch it fail, and {found.reason}")
    return replace(found, explanation=f"nobody could watch it fail: {found.explanation}")


def signs_of(case: DiagnosisInput) -> dict[str, dict[str, float]]:
    """Return what speaks for and against each node before anything was tried."""
    own = _own_checks(case)
    return {node: {**clue.signs, **own.get(node, {})} for node, (_, clue) in case.looked.items()}


def _signs(clues: Mapping[NodeId, tuple[int, Clue]]) -> dict[str, dict[str, float]]:
    return {node: clue.signs for node, (_, clue) in clues.items()}


def _own_checks(case: DiagnosisInput) -> dict[NodeId, dict[str, float]]:
    """Read what the checks of single nodes say of them, and of what they rely on."""
    found: dict[NodeId, set[FeatureKind]] = {}
    for standing in case.local:
        kind = sign_of(standing)
        if kind is not None and isinstance(standing.evidence.subject, AtNode):
            found.setdefault(standing.evidence.subject.node, set()).add(kind)
    rejected = {node for node, kinds in found.items() if FeatureKind.REJECTED in kinds}
    for node in rejected:
        found[node].discard(FeatureKind.ACCEPTED)  # what rejects it outweighs that
        below = case.graph.relied_on_by(node)
        if below & rejected:
            found[node] = found[node] - {FeatureKind.REJECTED} | {FeatureKind.REJECTED_TOO}
        for other in below - rejected:
            found.setdefault(other, set()).add(FeatureKind.REJECTED_ABOVE)
    return {node: dict.fromkeys(sorted(k.name for k in own), 1.0) for node, own in found.items()}


def sign_of(standing: RecordedCheck) -> FeatureKind | None:
    """Return what one check of a node says of it; None for what says nothing."""
    evidence = standing.evidence
    passed = evidence.verdict is Verdict.PASSED
    match evidence.kind:
        case kind if not kind.judges:
            return None
        case CheckKind.REVIEW:
            return FeatureKind.ACCEPTED_BY_OPINION if passed else FeatureKind.REJECTED_BY_OPINION
        case CheckKind.PROBE:
            return None if passed else FeatureKind.GREW
        case CheckKind.COMPILE | CheckKind.SIGNATURE if passed:
            return None  # any code does that
        case _:
            return FeatureKind.ACCEPTED if passed else FeatureKind.REJECTED


def _sole(case: DiagnosisInput, node: NodeId, seqs: tuple[int, ...]) -> Diagnosis:
    target = untried(case, [node])
    if target is None:
        return Abstained(reason=f"{node} is all there is, and was repaired in vain", evidence=seqs)
    why = "it is the only responsibility, and the root merely starts it"
    return localised(case, target, RULE, Level.MEDIUM, seqs, why)


def answer(
    case: DiagnosisInput,
    beliefs: Sequence[NodeScore],
    chosen: Sequence[NodeScore],
    seqs: tuple[int, ...],
) -> Diagnosis:
    """Say what was chosen of all beliefs and why, or why nothing was; the likeliest first."""
    if not chosen:
        return Abstained(reason=_undecided(case, beliefs), evidence=seqs)
    first, others = chosen[0], [belief for belief in beliefs if belief not in chosen]
    target = untried(case, [NodeId(belief.node) for belief in chosen])
    if target is None:
        named = " and ".join(belief.node for belief in chosen)
        return Abstained(reason=f"what points to {named} was repaired in vain", evidence=seqs)
    # Of several that are named all must be at fault, which is as likely as the least of them.
    several = isinstance(target, AtNodes)
    likely = min(b.probability for b in chosen) if several else first.probability
    level = next(level for least, level in _LEVELS if likely >= least)
    why = "; ".join([*map(_told, chosen), *map(_beside, others[:1]), *_settling(case, beliefs)])
    nodes = [NodeId(belief.node) for belief in chosen]
    clues = [known[n][0] for n in nodes for known in (case.looked, case.swapped) if n in known]
    found = localised(case, target, RULE, level, (*seqs, *clues), why)
    return replace(found, probability=round(likely, 4))


def untried(case: DiagnosisInput, nodes: Sequence[NodeId]) -> Target | None:
    """Return what is to be repaired; what was tried in vain is lifted, and then given up."""
    gone = {(type(target), region_of(target, case.graph)) for target in case.tried}
    return next(
        (t for t in _targets(case, nodes) if (type(t), region_of(t, case.graph)) not in gone), None
    )


def _targets(case: DiagnosisInput, nodes: Sequence[NodeId]) -> Iterator[Target]:
    first = nodes[0]
    if len(nodes) > 1:
        yield AtNodes(nodes=tuple(nodes))
    else:
        clue = case.looked[first][1] if first in case.looked else None
        for taker in clue.hands_badly_to[:1] if clue else ():
            yield AtInterface(provider=first, consumer=taker)
    yield AtNode(node=first)
    if case.replannable and first != ROOT:
        yield AtBranch(root=case.graph.branch_root(first))


def _told(belief: NodeScore) -> str:
    points = ", ".join(belief.points) or "nothing in particular"
    against = f"; against it: {', '.join(belief.speaks_against)}" if belief.speaks_against else ""
    return f"{belief.node} ({belief.probability:.2f}): {points}{against}"


def _beside(belief: NodeScore) -> str:
    return f"next is {belief.node} ({belief.probability:.2f})"


def _settling(case: DiagnosisInput, beliefs: Sequence[NodeScore]) -> Iterator[str]:
    """Say what would tell about those that are neither likely nor unlikely, if any is."""
    doubtful = [NodeId(b.node) for b in beliefs if 1 - SURE < b.probability < SURE][:_DOUBTFUL]
    swapped = {node: clue.signs for node, (_, clue) in case.swapped.items()}
    untried = [node for node in doubtful if FeatureKind.TRIED.name not in swapped.get(node, {})]
    if untried:
        yield f"another implementation of {' or of '.join(untried)} would tell"
    elif doubtful:
        yield f"a check of {' or of '.join(doubtful)} alone would tell"


def _undecided(case: DiagnosisInput, beliefs: Sequence[NodeScore]) -> str:
    if not beliefs:
        return "nothing was noticed about any part of the program"
    likeliest = " and ".join(f"{b.node} ({b.probability:.2f})" for b in beliefs[:2])
    first = f"nothing is likely enough: {likeliest} come first"
    return "; ".join([first, *_settling(case, beliefs)])
