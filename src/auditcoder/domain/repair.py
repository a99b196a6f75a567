"""Repair: ranks, the acceptance rule and transactions."""

from collections.abc import Mapping
from enum import Enum

from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.evidence import Evidence, Trust, Verdict
from auditcoder.domain.graph import GraphDelta
from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import CheckId, Digest, Value

FAULT_ELSEWHERE = "the fault is elsewhere: "
"""Starts the reason of a transaction whose author named another part instead of writing code."""
PLAN_AT_FAULT = "the plan is at fault: "
"""Starts the reason of a transaction whose author said that no code of the node can be right."""


class Rank(Value, order=True):
    """The rank of a program: the paper's lexicographic tuple.

    Ranks are compared field by field, in order. External checks are given with the task, internal
    ones are derived or generated. A clean exit is a pass or a wrong result.
    """

    full: bool
    external_passes: int
    internal_passes: int
    external_clean: int
    internal_clean: int


class Decision(Enum):
    """Whether a candidate was accepted."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class RollbackStatus(Enum):
    """Whether a transaction was rolled back."""

    NOT_APPLICABLE = "not_applicable"
    RESTORED = "restored"


def decide(before: Rank, after: Rank) -> Decision:
    """Accept a candidate exactly if its rank is strictly higher."""
    return Decision.ACCEPTED if after > before else Decision.REJECTED


def rank(verdicts: Mapping[CheckId, Verdict], pinned: Mapping[CheckId, Trust]) -> Rank:
    """Return the rank for `verdicts` on the `pinned` checks; a check without one has not passed."""
    external: list[Verdict | None] = []
    internal: list[Verdict | None] = []
    derived: list[Verdict | None] = []
    for check, trust in pinned.items():
        verdict = verdicts.get(check)
        (external if trust is Trust.GIVEN else internal).append(verdict)
        if trust is Trust.DERIVED:
            derived.append(verdict)
    decisive = external or derived
    return Rank(
        full=bool(decisive) and decisive.count(Verdict.PASSED) == len(decisive),
        external_passes=external.count(Verdict.PASSED),
        internal_passes=internal.count(Verdict.PASSED),
        external_clean=sum(v is not None and v.clean for v in external),
        internal_clean=sum(v is not None and v.clean for v in internal),
    )


class IntegrationException(Value):
    """Why an edit must cross a boundary. It widens the region before code is regenerated."""

    parent: NodeId
    """The node whose code needs the edit."""
    child: NodeId
    """The node whose code is edited."""
    rationale: str
    region: tuple[NodeId, ...]
    """The nodes that the transaction may change in addition."""


class Frozen(Value):
    """A node outside the region, by its digests when the transaction opened."""

    node: NodeId
    commitment: Digest
    """Digest of its description: goal, contract and place in the graph."""
    code: Digest | None
    evidence: Digest


class StateDigest(Value):
    """The digests of all parts of a working state. A rollback must restore each of them."""

    brief: Digest
    graph: Digest
    code: Digest
    ownership: Digest
    assembly: Digest
    evidence: Digest


class CodeDelta(Value):
    """One node's code before and after; None if it had or has none.

    Equal digests mean that only the registered names changed.
    """

    node: NodeId
    before: Digest | None
    after: Digest | None


class TransactionKind(Enum):
    """A bounded repair freezes all other nodes; a fallback may change the whole graph."""

    BOUNDED = "bounded"
    FALLBACK = "fallback"


class Transaction(Value):
    """One repair (the paper's h), from its diagnosis to its decision or rollback."""

    number: int
    kind: TransactionKind
    opened: int
    """Sequence number of the event that opened it."""
    diagnosis: Diagnosis
    selected: tuple[NodeId, ...]
    """R(z): the region that the diagnosis gave."""
    region: tuple[NodeId, ...]
    """The region after integration exceptions and new nodes."""
    frozen: tuple[Frozen, ...]
    snapshot: StateDigest
    pinned: tuple[CheckId, ...]
    before: Rank
    nodes_before: int
    """Number of nodes in the graph when it opened."""
    verdicts_before: dict[CheckId, Verdict]
    """The verdicts of the pinned checks when it opened."""
    program_before: Digest
    exceptions: tuple[IntegrationException, ...] = ()
    program_after: Digest | None = None
    """The candidate program; None if none was assembled."""
    graph_delta: GraphDelta | None = None
    code_deltas: tuple[CodeDelta, ...] = ()
    local_evidence: tuple[Evidence, ...] = ()
    global_evidence: tuple[Evidence, ...] = ()
    after: Rank | None = None
    regressions: tuple[CheckId, ...] = ()
    decision: Decision | None = None
    """None while the transaction is open."""
    reason: str = ""
    rollback: RollbackStatus = RollbackStatus.NOT_APPLICABLE
    closed: int | None = None
