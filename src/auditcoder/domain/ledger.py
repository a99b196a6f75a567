"""The state that the laws need: bounded however long the log, and a value at every step."""

from collections.abc import Iterable

import msgspec

from auditcoder.domain.assembly import Assembly
from auditcoder.domain.brief import Brief
from auditcoder.domain.code import CodeBundle, NodeCode
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.graph import Region, TaskGraph
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Frozen, Rank, StateDigest, TransactionKind, rank
from auditcoder.domain.targets import AtNode, AtProgram, Subject
from auditcoder.domain.values import CheckId, Digest, RunId, Value, digest_of


class CurrentCheck(Value):
    """The latest run of a check that still speaks about the present code."""

    seq: int
    kind: CheckKind
    subject: Subject
    trust: Trust
    verdict: Verdict
    against: Digest
    """What was checked; when that changes, the evidence no longer stands."""


class RegisteredCheck(Value):
    """What a check is, from its planning or its first run on. It cannot become another."""

    subject: Subject
    trust: Trust
    example: Digest | None = None
    """The example that it was planned from, if it was."""
    kind: CheckKind | None = None
    """None until it has run."""
    requirement: str = ""
    input: Digest | None = None
    expected: Digest | None = None


class WorkingState(Value):
    """What a run works on, and what a rollback restores: all of it, by pointing back."""

    brief: Brief | None = None
    graph: TaskGraph | None = None
    code: dict[NodeId, NodeCode] = {}
    assembly: Assembly | None = None
    evidence: dict[CheckId, CurrentCheck] = {}
    bundles: dict[NodeId, CodeBundle] = {}
    """The code as read: what `code` names, so that it need not be read again."""

    def owners(self) -> dict[str, NodeId]:
        """The ownership map: every registered unit to its one owner."""
        return {u.registered: node for node, code in self.code.items() for u in code.units}

    def codes_of(self, nodes: Iterable[NodeId]) -> Digest:
        """Name the codes of several nodes together, as a check of a branch sees them."""
        return digest_of([(n, self.code[n].digest) for n in sorted(nodes) if n in self.code])

    def rank(self, pinned: dict[CheckId, Trust]) -> Rank:
        """Rank the assembled program on the `pinned` checks."""
        return rank(
            {c: s.verdict for c, s in self.evidence.items() if isinstance(s.subject, AtProgram)},
            pinned,
        )

    def freeze(self, region: Region) -> tuple[Frozen, ...]:
        """F: every node outside `region`, by the digests of its code and local evidence."""
        assert self.graph is not None
        local: dict[NodeId, dict[CheckId, CurrentCheck]] = {}
        for check, s in self.evidence.items():
            if isinstance(s.subject, AtNode):
                local.setdefault(s.subject.node, {})[check] = s
        return tuple(
            Frozen(
                node=node,
                commitment=self.graph.commitments[node],
                code=self.code[node].digest if node in self.code else None,
                evidence=digest_of(local.get(node, {})),
            )
            for node in sorted(self.graph.ids - region)
        )

    def digest(self) -> StateDigest:
        """Name this whole state by its parts."""
        return StateDigest(
            brief=self.brief.digest if self.brief else digest_of(None),
            graph=self.graph.digest if self.graph else digest_of(None),
            code=digest_of(self.code),
            ownership=digest_of(self.owners()),
            assembly=digest_of(self.assembly),
            evidence=digest_of(self.evidence),
        )


class OpenTransaction(Value):
    """A repair under way."""

    number: int
    kind: TransactionKind
    before: WorkingState
    """The snapshot. Restoring it is pointing back to it."""
    program: Digest
    """The program that is to be repaired."""
    snapshot: StateDigest
    region: Region
    frozen: tuple[Frozen, ...]
    pinned: dict[CheckId, Trust]
    rank: Rank
    rejected: bool = False
    """Decided against: the next event must be the rollback."""


class Ledger(Value):
    """Where a run stands, as far as the laws are concerned."""

    seq: int = 0
    """The sequence number that the next event will have."""
    run: RunId | None = None
    finished: bool = False
    allocated: dict[NodeId, int] = {}
    """Every id ever given, retired ones too, and the event that gave it."""
    working: WorkingState = WorkingState()
    assembled: bool = False
    """Whether a program was ever assembled: from then on code changes only in transactions."""
    replies: dict[int, NodeId | None] = {}
    """Replies, since the last transaction began or ended, that code may come from: for whom."""
    opinions: dict[NodeId, int] = {}
    """The newest reply that says, to verify a node, how it could be written: code may be that."""
    checks: dict[CheckId, RegisteredCheck] = {}
    """Every check there ever was, but for the dropped ones. No rollback forgets one."""
    exceptions: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """Who may write for whom before the first assembly."""
    dropped: frozenset[CheckId] = frozenset()
    diagnosis: tuple[int, Diagnosis] | None = None
    """The newest diagnosis, until a transaction has acted on it."""
    transaction: OpenTransaction | None = None
    transactions: int = 0

    def program_checks(self) -> dict[CheckId, Trust]:
        """The program-level checks that count: what a transaction pins, and an outcome needs."""
        return {c: r.trust for c, r in self.checks.items() if isinstance(r.subject, AtProgram)}

    @property
    def graph(self) -> TaskGraph:
        """The committed graph; asking before there is one is our own mistake."""
        assert self.working.graph is not None, "no graph has been committed"
        return self.working.graph


def change(ledger: Ledger, **fields: object) -> Ledger:
    """Return the ledger with some fields changed."""
    return msgspec.structs.replace(ledger, **fields)


def rework(ledger: Ledger, **fields: object) -> Ledger:
    """Return the ledger with some fields of its working state changed."""
    working = msgspec.structs.replace(ledger.working, **fields)
    return msgspec.structs.replace(ledger, working=working)
