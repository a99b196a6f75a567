"""The default locator: weighs every sign that was noticed, by weights fitted on known causes."""

from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec
from msgspec.structs import replace

from auditcoder.domain.diagnosis import Abstained, Diagnosis, Level
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtNode
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.locating.answering import RULE, answer, untried
from auditcoder.lifecycle.locating.believing import (
    ASKED,
    PLAUSIBLE,
    Belief,
    Fitted,
    FittedFor,
    named,
    settled,
    weigh,
)
from auditcoder.lifecycle.locating.case import FLAKY, Case, Clue, Collector, Standing, localised
from auditcoder.lifecycle.locating.clues import (
    try_another,
    try_what_is_known,
    watch_it_fail,
)
from auditcoder.lifecycle.locating.rules import PaperRules
from auditcoder.lifecycle.locating.signs import Kind

_FITTED = "fitted-1.json"


@cache
def fitted() -> FittedFor:
    """Return the weights that come with the package."""
    return msgspec.json.decode(_content(), type=FittedFor)


@cache
def weights_digest() -> Digest:
    """Name the weights that come with the package."""
    return digest(_content())


def _content() -> bytes:
    return resources.files("auditcoder.lifecycle.locating").joinpath(_FITTED).read_bytes()


class Weighed:
    """Reasons over all evidence there is, and asks for more while the answer is open."""

    name = "weighed"
    collectors: tuple[Collector, ...] = (
        watch_it_fail,
        try_what_is_known,
        *[try_another] * ASKED,
    )

    def __init__(self, weights: FittedFor | None = None) -> None:
        self._known = weights or fitted()

    def locate(self, case: Case) -> Diagnosis:
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

    def unsettled(self, case: Case) -> tuple[NodeId, ...]:
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

    def _beliefs(self, case: Case) -> list[Belief]:
        tried = _signs(case.swapped)
        some = any(Kind.TRIED.name in own for own in tried.values())
        return weigh(signs_of(case), tried if some else None, self._weights(case))

    def _weights(self, case: Case) -> Fitted:
        has_root = case.graph.by_id[case.graph.root].contract is not None
        return self._known.of(rooted=has_root)


def _blind(case: Case) -> bool:
    """Whether nobody could watch it fail: it is gone before its first check, say."""
    return not case.looked or any(clue.blind for _, clue in case.looked.values())


def _by_rules(case: Case) -> Diagnosis:
    """Answer by what the failing check itself left: there is nothing else to weigh."""
    found = PaperRules().locate(case)
    if isinstance(found, Abstained):
        return replace(found, reason=f"nobody could watch it fail, and {found.reason}")
    return replace(found, explanation=f"nobody could watch it fail: {found.explanation}")


def signs_of(case: Case) -> dict[str, dict[str, float]]:
    """Return what speaks for and against each node before anything was tried."""
    own = _own_checks(case)
    return {node: {**clue.signs, **own.get(node, {})} for node, (_, clue) in case.looked.items()}


def _signs(clues: Mapping[NodeId, tuple[int, Clue]]) -> dict[str, dict[str, float]]:
    return {node: clue.signs for node, (_, clue) in clues.items()}


def _own_checks(case: Case) -> dict[NodeId, dict[str, float]]:
    """Read what the checks of single nodes say of them, and of what they rely on."""
    found: dict[NodeId, set[Kind]] = {}
    for standing in case.local:
        kind = sign_of(standing)
        if kind is not None and isinstance(standing.evidence.subject, AtNode):
            found.setdefault(standing.evidence.subject.node, set()).add(kind)
    rejected = {node for node, kinds in found.items() if Kind.REJECTED in kinds}
    for node in rejected:
        found[node].discard(Kind.ACCEPTED)  # what rejects it outweighs that
        below = case.graph.relied_on_by(node)
        if below & rejected:
            found[node] = found[node] - {Kind.REJECTED} | {Kind.REJECTED_TOO}
        for other in below - rejected:
            found.setdefault(other, set()).add(Kind.REJECTED_ABOVE)
    return {node: dict.fromkeys(sorted(k.name for k in own), 1.0) for node, own in found.items()}


def sign_of(standing: Standing) -> Kind | None:
    """Return what one check of a node says of it; None for what says nothing."""
    evidence = standing.evidence
    passed = evidence.verdict is Verdict.PASSED
    match evidence.kind:
        case kind if not kind.judges:
            return None
        case CheckKind.REVIEW:
            return Kind.ACCEPTED_BY_OPINION if passed else Kind.REJECTED_BY_OPINION
        case CheckKind.PROBE:
            return None if passed else Kind.GREW
        case CheckKind.COMPILE | CheckKind.SIGNATURE if passed:
            return None  # any code does that
        case _:
            return Kind.ACCEPTED if passed else Kind.REJECTED


def _sole(case: Case, node: NodeId, seqs: tuple[int, ...]) -> Diagnosis:
    target = untried(case, [node])
    if target is None:
        return Abstained(reason=f"{node} is all there is, and was repaired in vain", evidence=seqs)
    why = "it is the only responsibility, and the root merely starts it"
    return localised(case, target, RULE, Level.MEDIUM, seqs, why)
