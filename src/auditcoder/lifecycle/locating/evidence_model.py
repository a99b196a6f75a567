"""The default locator: a logistic model over all features, fitted on failures of known cause."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.graph import named_in, region_of
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtBranch, AtInterface, AtNode, AtNodes, Target
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.locating.collectors import (
    substitute_known_versions,
    substitute_second_opinion,
    trace_failing_check,
)
from auditcoder.lifecycle.locating.constant_substitution import (
    healed_by_constant,
    substitute_constants,
)
from auditcoder.lifecycle.locating.diagnosis_input import (
    FLAKY,
    Collector,
    DiagnosisInput,
    RecordedCheck,
    localised,
)
from auditcoder.lifecycle.locating.features import FeatureKind, with_lone_failure
from auditcoder.lifecycle.locating.paper_rules import PaperRules
from auditcoder.lifecycle.locating.scoring import (
    CONFIDENT,
    FROM_OTHERS,
    MAX_OPINION_REQUESTS,
    PLAUSIBLE,
    SETTLED,
    FittedModels,
    FittedWeights,
    NodeScore,
    is_settled,
    named,
    score_with_substitutions,
    shown_by,
)
from auditcoder.lifecycle.validation.promise_checks import held_before, is_weak

_FITTED = "fitted-1.json"
_LEVELS = ((SETTLED, Level.HIGH), (CONFIDENT, Level.MEDIUM), (0.0, Level.LOW))
RULE = "weighed"
_MAX_AMBIGUOUS = 2
"""Maximum number of ambiguous nodes to list."""


@cache
def fitted() -> FittedModels:
    """Return the weights that are shipped with the package."""
    return msgspec.json.decode(_content(), type=FittedModels)


@cache
def weights_digest() -> Digest:
    """Return the digest of the weights that are shipped with the package."""
    return digest(_content())


def _content() -> bytes:
    return resources.files("auditcoder.lifecycle.locating").joinpath(_FITTED).read_bytes()


class EvidenceLocator:
    """Scores nodes by all evidence, and requests more while the result is ambiguous."""

    name = "weighed"
    collectors: tuple[Collector, ...] = (
        substitute_constants,
        trace_failing_check,
        substitute_known_versions,
        *[substitute_second_opinion] * MAX_OPINION_REQUESTS,
    )

    def __init__(self, weights: FittedModels | None = None) -> None:
        self._known = weights or fitted()

    def locate(self, case: DiagnosisInput) -> Diagnosis:
        """Name the nodes that are likely at fault, or abstain and say which evidence is missing."""
        failing = [s for s in case.program if s.evidence.verdict.failing]
        seqs = tuple(s.seq for s in failing[:1])
        if case.flaky:
            return Abstained(reason=FLAKY, evidence=seqs, flaky=True)
        if case.graph.sole is not None:
            return _diagnose_sole(case, case.graph.sole, seqs)
        if (healed := healed_by_constant(case)) is not None:
            return healed
        if _crashed_in_definitions(case):
            return PaperRules().locate(case)
        if _unobserved(case):
            return _by_rules(case)
        scores = self._scores(case)
        chosen = named(scores, self._weights(case).each)
        return answer(case, scores, chosen, seqs)

    def unsettled(self, case: DiagnosisInput) -> tuple[NodeId, ...]:
        """Return all nodes before the trace, then the plausible ones, the most likely first."""
        if _crashed_in_definitions(case) or healed_by_constant(case) is not None:
            return ()
        if not case.traced:
            return case.graph.order
        if case.graph.sole is not None or case.flaky or _unobserved(case):
            return ()
        if any(clue.blind for _, clue in case.swapped.values()):
            return ()  # substitutions show nothing if no step fails
        scores = self._scores(case)
        if is_settled(scores):
            return ()
        return tuple(NodeId(b.node) for b in scores if b.probability >= PLAUSIBLE)

    def _scores(self, case: DiagnosisInput) -> list[NodeScore]:
        substituted = _substituted(case)
        any_tried = any(FeatureKind.TRIED.name in own for own in substituted.values())
        return score_with_substitutions(
            features_of(case), substituted if any_tried else None, self._weights(case)
        )

    def _weights(self, case: DiagnosisInput) -> FittedWeights:
        has_root = case.graph.by_id[case.graph.root].contract is not None
        return self._known.of(rooted=has_root)


def _crashed_in_definitions(case: DiagnosisInput) -> bool:
    """Whether a failing check crashed in code of a node that owns definitions.

    Such a node has no function that could be traced, so there are no features of it.
    """
    failing = [s for s in case.program if s.evidence.verdict.failing]
    frames = [f for s in failing[:1] for f in s.evidence.frames if f.node in case.graph.ids]
    inner = frames[-1].node if frames else None
    return inner in case.graph.defining and not any(inner in named_in(t) for t in case.tried)


def _unobserved(case: DiagnosisInput) -> bool:
    """Whether no trace shows the failure, for example if the program exited before any check."""
    return not case.traced or any(clue.blind for _, clue in case.traced.values())


def _by_rules(case: DiagnosisInput) -> Diagnosis:
    """Apply the paper's rules to the failing check itself: there are no features to score."""
    diagnosis = PaperRules().locate(case)
    blind = [seq for seq, clue in case.traced.values() if clue.blind][:1]
    cited = tuple(dict.fromkeys((*diagnosis.evidence, *blind)))
    why = "no failing step was observed" if blind else "no check can be traced"
    if isinstance(diagnosis, Abstained):
        return replace(diagnosis, evidence=cited, reason=f"{why}, and {diagnosis.reason}")
    return replace(diagnosis, evidence=cited, explanation=f"{why}: {diagnosis.explanation}")


def features_of(case: DiagnosisInput) -> dict[str, dict[str, float]]:
    """Return the features of each node without those from substitutions."""
    own = _own_checks(case)
    features: dict[str, dict[str, float]] = {
        node: {**clue.features, **own.get(node, {})} for node, (_, clue) in case.traced.items()
    }
    return with_lone_failure(features, [clue.ran for _, clue in case.traced.values() if clue.ran])


def _substituted(case: DiagnosisInput) -> dict[str, dict[str, float]]:
    """Return the features of the substitutions of functions; definitions have no weights."""
    functions = (node for node in case.swapped if node not in case.graph.defining)
    return {node: case.swapped[node][1].features for node in functions}


def _own_checks(case: DiagnosisInput) -> dict[NodeId, dict[str, float]]:
    """Return features from the checks of single nodes, also for the nodes that they rely on."""
    return {
        node: dict.fromkeys(sorted(kind.name for kind in own), 1.0)
        for node, own in _events_of_checks(case).items()
    }


def _events_of_checks(case: DiagnosisInput) -> dict[NodeId, dict[FeatureKind, tuple[int, ...]]]:
    """Return each feature from the checks of single nodes, with the events that show it."""
    events: dict[NodeId, dict[FeatureKind, tuple[int, ...]]] = {}
    for standing in case.local:
        kind = feature_of(standing)
        if kind is not None and isinstance(standing.evidence.subject, AtNode):
            own = events.setdefault(standing.evidence.subject.node, {})
            own[kind] = (*own.get(kind, ()), standing.seq)
    rejected = {
        node: own[FeatureKind.REJECTED]
        for node, own in events.items()
        if FeatureKind.REJECTED in own
    }
    for node, seqs in rejected.items():
        events[node].pop(FeatureKind.ACCEPTED, None)  # one rejection outweighs it
        below = case.graph.relied_on_by(node)
        if follows := [seq for n in sorted(below & set(rejected)) for seq in rejected[n]]:
            del events[node][FeatureKind.REJECTED]
            events[node][FeatureKind.REJECTED_TOO] = (*seqs, *follows)
        for other in below - set(rejected):
            own = events.setdefault(other, {})
            above = own.get(FeatureKind.REJECTED_ABOVE, ())
            own[FeatureKind.REJECTED_ABOVE] = (*above, *seqs)
    return events


def feature_of(standing: RecordedCheck) -> FeatureKind | None:
    """Return the feature that one check of a node gives; None if it gives none."""
    evidence = standing.evidence
    passed = evidence.verdict is Verdict.PASSED
    match evidence.kind:
        case kind if not kind.judges or not evidence.verdict.conclusive:
            return None
        case CheckKind.REVIEW:
            return FeatureKind.ACCEPTED_BY_OPINION if passed else FeatureKind.REJECTED_BY_OPINION
        case CheckKind.PROBE:
            return None if passed else FeatureKind.GREW
        case CheckKind.COMPILE | CheckKind.SIGNATURE if passed:
            return None  # almost all code passes these
        case CheckKind.CONTRACT if is_weak(evidence) and held_before(evidence):
            return None  # the promise is in doubt before the code is
        case _:
            return FeatureKind.ACCEPTED if passed else FeatureKind.REJECTED


class Reason(NamedTuple):
    """A reason of a diagnosis: what was observed about a node, and the events that show it."""

    node: NodeId
    kind: FeatureKind
    events: tuple[int, ...]
    others: tuple[NodeId, ...] = ()
    """The other nodes whose substitution shows it."""

    def __str__(self) -> str:
        """Return the sentence that a reviewer reads."""
        return self.kind.value.format(others=" or of ".join(self.others))


def reasons(case: DiagnosisInput, node: NodeId, kinds: Iterable[FeatureKind]) -> tuple[Reason, ...]:
    """Return the reasons that events of the record show."""
    found = (_reason(case, node, kind) for kind in kinds)
    return tuple(reason for reason in found if reason.events)


def _reason(case: DiagnosisInput, node: NodeId, kind: FeatureKind) -> Reason:
    swapped = _substituted(case)
    if kind in FROM_OTHERS:
        others = tuple(NodeId(other) for other in shown_by(kind, node, swapped))
        alone = [case.traced[node][0]] if kind is FeatureKind.ALONE_IN_VAIN else []
        return Reason(node, kind, (*alone, *(case.swapped[n][0] for n in others)), others)
    if events := _events_of_checks(case).get(node, {}).get(kind):
        return Reason(node, kind, events)
    if kind is FeatureKind.FAILS_ALONE:  # the trace of each node counts the failing tests
        return Reason(node, kind, (case.traced[node][0],))
    shown = (
        seq
        for known in (case.traced, case.swapped)
        for seq, clue in ([known[node]] if node in known else [])
        if {kind.name, f"{kind.name}_FIRST"} & clue.features.keys()
    )
    return Reason(node, kind, tuple(shown))


def _diagnose_sole(case: DiagnosisInput, node: NodeId, seqs: tuple[int, ...]) -> Diagnosis:
    target = untried(case, [node])
    if target is None:
        return Abstained(reason=f"{node} is all there is, and was repaired in vain", evidence=seqs)
    why = "it is the only responsibility, and the root merely starts it"
    return localised(case, target, RULE, Level.MEDIUM, seqs, why)


def answer(
    case: DiagnosisInput,
    scores: Sequence[NodeScore],
    chosen: Sequence[NodeScore],
    seqs: tuple[int, ...],
) -> Diagnosis:
    """Return a diagnosis of the chosen nodes, or an abstention if there are none.

    `scores` and `chosen` are sorted, the most likely first.
    """
    if not chosen:
        return Abstained(reason=_undecided(case, scores), evidence=seqs)
    first, others = chosen[0], [score for score in scores if score not in chosen]
    target = untried(case, [NodeId(score.node) for score in chosen])
    if target is None:
        named = " and ".join(score.node for score in chosen)
        reads = (text for score in chosen for text in case.definitions_read_by(NodeId(score.node)))
        reason = "; ".join([f"what points to {named} was repaired in vain", *reads])
        return Abstained(reason=reason, evidence=seqs)
    # A target of several nodes claims that all are at fault: at most as likely as the least one.
    several = isinstance(target, AtNodes)
    likely = min(b.probability for b in chosen) if several else first.probability
    level = next(level for least, level in _LEVELS if likely >= least)
    cited = list(seqs)
    explained = []
    for score in chosen:
        node = NodeId(score.node)
        points, against = (reasons(case, node, k) for k in (score.points, score.speaks_against))
        explained.append(_explanation(score, points, against))
        cited += [known[node][0] for known in (case.traced, case.swapped) if node in known]
        cited += [seq for reason in (*points, *against) for seq in reason.events]
    reads = (text for score in chosen for text in case.definitions_read_by(NodeId(score.node)))
    further = (*map(_runner_up, others[:1]), *_missing_evidence(case, scores))
    why = "; ".join([*explained, *reads, *further])
    diagnosis = localised(case, target, RULE, level, tuple(cited), why)
    return replace(diagnosis, probability=round(likely, 4))


def untried(case: DiagnosisInput, nodes: Sequence[NodeId]) -> Target | None:
    """Return the narrowest target whose repair was not rejected yet; None if there is none."""
    rejected = {(type(target), region_of(target, case.graph)) for target in case.tried}
    return next(
        (t for t in _targets(case, nodes) if (type(t), region_of(t, case.graph)) not in rejected),
        None,
    )


def _targets(case: DiagnosisInput, nodes: Sequence[NodeId]) -> Iterator[Target]:
    first = nodes[0]
    if len(nodes) > 1:
        yield AtNodes(nodes=tuple(nodes))
    else:
        clue = case.traced[first][1] if first in case.traced else None
        for consumer in clue.hands_badly_to[:1] if clue else ():
            yield AtInterface(provider=first, consumer=consumer)
    yield AtNode(node=first)
    if case.replannable and first != ROOT:
        yield AtBranch(root=case.graph.branch_root(first))


def _explanation(score: NodeScore, points: Sequence[Reason], against: Sequence[Reason]) -> str:
    why = ", ".join(map(str, points)) or "nothing in particular"
    contrary = f"; against it: {', '.join(map(str, against))}" if against else ""
    return f"{score.node} ({score.probability:.2f}): {why}{contrary}"


def _runner_up(score: NodeScore) -> str:
    return f"next is {score.node} ({score.probability:.2f})"


def _missing_evidence(case: DiagnosisInput, scores: Sequence[NodeScore]) -> Iterator[str]:
    """Yield the evidence that would settle the ambiguous nodes, if there are any."""
    ambiguous = [NodeId(b.node) for b in scores if 1 - SETTLED < b.probability < SETTLED][
        :_MAX_AMBIGUOUS
    ]
    swapped = {node: clue.features for node, (_, clue) in case.swapped.items()}
    untried = [node for node in ambiguous if FeatureKind.TRIED.name not in swapped.get(node, {})]
    if untried:
        yield f"another implementation of {' or of '.join(untried)} would tell"
    elif ambiguous:
        yield f"a check of {' or of '.join(ambiguous)} alone would tell"


def _undecided(case: DiagnosisInput, scores: Sequence[NodeScore]) -> str:
    if not scores:
        return "nothing was noticed about any part of the program"
    likeliest = " and ".join(f"{b.node} ({b.probability:.2f})" for b in scores[:2])
    first = f"nothing is likely enough: {likeliest} come first"
    reads = (text for score in scores[:2] for text in case.definitions_read_by(NodeId(score.node)))
    return "; ".join([first, *reads, *_missing_evidence(case, scores)])
