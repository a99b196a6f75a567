"""Repair: the rank order, the acceptance rule, and the transaction that carries both."""

from collections.abc import Mapping
from enum import Enum

from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.evidence import Evidence, Trust, Verdict
from auditcoder.domain.graph import GraphDelta
from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import CheckId, Digest, Value


class Rank(Value, order=True):
    """Full pass, external passes, internal passes, external and internal clean exits.

    Compared field by field in this order, as the paper's lexicographic tuple is.
    External are the checks given with the task, internal the derived and generated ones.
    """

    full: bool
    external_passes: int
    internal_passes: int
    external_clean: int
    internal_clean: int


class Decision(Enum):
    """What became of a candidate."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"


class RollbackStatus(Enum):
    """Whether the state before was restored."""

    NOT_APPLICABLE = "not_applicable"
    RESTORED = "restored"


def decide(before: Rank, after: Rank) -> Decision:
    """Accept exactly when the candidate ranks strictly higher."""
    return Decision.ACCEPTED if after > before else Decision.REJECTED


def rank(verdicts: Mapping[CheckId, Verdict], pinned: Mapping[CheckId, Trust]) -> Rank:
    """Rank a program by its `verdicts` on the `pinned` checks; one that did not run is no pass."""
    external: list[Verdict | None] = []
    internal: list[Verdict | None] = []
    derived: list[Verdict | None] = []
    for check, trust in pinned.items():
        seen = verdicts.get(check)
        (external if trust is Trust.GIVEN else internal).append(seen)
        if trust is Trust.DERIVED:
            derived.append(seen)
    decisive = external or derived
    return Rank(
        full=bool(decisive) and decisive.count(Verdict.PASSED) == len(decisive),
        external_passes=external.count(Verdict.PASSED),
        internal_passes=internal.count(Verdict.PASSED),
        external_clean=sum(v is not None and v.clean for v in external),
        internal_clean=sum(v is not None and v.clean for v in internal),
    )


class IntegrationException(Value):
    """Why an edit must cross a boundary. It widens the region before anything is regenerated."""

    parent: NodeId
    """The responsibility whose work needs the edit."""
    child: NodeId
    """The responsibility whose code is affected."""
    rationale: str
    region: tuple[NodeId, ...]
    """What the transaction may change from here on, beside what it could already."""


class Frozen(Value):
    """A node outside the region, as it was when the transaction opened."""

    node: NodeId
    commitment: Digest
    """Its goal, contract and place in the graph."""
    code: Digest | None
    evidence: Digest


class StateDigest(Value):
    """Names a whole working state by its parts. A rollback must restore every one."""

    brief: Digest
    graph: Digest
    code: Digest
    ownership: Digest
    assembly: Digest
    evidence: Digest


class CodeDelta(Value):
    """One node's code before and after; None where it had or has none.

    The same digest twice means that only the names it registers changed.
    """

    node: NodeId
    before: Digest | None
    after: Digest | None


class TransactionKind(Enum):
    """Bounded repairs freeze their complement; a fallback is graph-wide and counted apart."""

    BOUNDED = "bounded"
    FALLBACK = "fallback"


class Transaction(Value):
    """h: one repair, from its diagnosis to its end."""

    number: int
    kind: TransactionKind
    opened: int
    """Sequence number of the event that opened it."""
    diagnosis: Diagnosis
    selected: tuple[NodeId, ...]
    """R(z), as the diagnosis gave it."""
    region: tuple[NodeId, ...]
    """R after integration exceptions and new nodes."""
    frozen: tuple[Frozen, ...]
    snapshot: StateDigest
    pinned: tuple[CheckId, ...]
    before: Rank
    nodes_before: int
    """How many nodes the graph had when it opened."""
    verdicts_before: dict[CheckId, Verdict]
    """What the pinned checks said when it opened."""
    program_before: Digest
    exceptions: tuple[IntegrationException, ...] = ()
    program_after: Digest | None = None
    """The candidate's program; None if none was assembled."""
    graph_delta: GraphDelta | None = None
    code_deltas: tuple[CodeDelta, ...] = ()
    local_evidence: tuple[Evidence, ...] = ()
    global_evidence: tuple[Evidence, ...] = ()
    after: Rank | None = None
    regressions: tuple[CheckId, ...] = ()
    decision: Decision | None = None
    """None while it is open."""
    reason: str = ""
    rollback: RollbackStatus = RollbackStatus.NOT_APPLICABLE
    closed: int | None = None
