"""The ledger: the bounded state that the laws need."""

from collections.abc import Iterable

import msgspec

from auditcoder.domain.assembly import Assembly
from auditcoder.domain.brief import Brief
from auditcoder.domain.code import CodeBundle, NodeCode
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.drafts import DraftPart, DraftSlot, Sufficiency, TriedVariant
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.graph import Region, TaskGraph, region_of
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Frozen, Rank, StateDigest, TransactionKind, rank
from auditcoder.domain.targets import AtNode, AtProgram, Subject, Target
from auditcoder.domain.task import Example, Task
from auditcoder.domain.values import CheckId, Digest, RunId, Value, digest_of


class CurrentCheck(Value):
    """The latest result of a check, if it is about the current code."""

    seq: int
    kind: CheckKind
    subject: Subject
    trust: Trust
    verdict: Verdict
    against: Digest
    """Digest of what was checked; when that changes, the evidence no longer stands."""


class RegisteredCheck(Value):
    """The definition of a check, fixed when it is planned or first run."""

    kind: CheckKind
    subject: Subject
    trust: Trust
    requirement: str = ""
    input: Digest | None = None
    expected: Digest | None = None


class WorkingState(Value):
    """The state that a run changes and a rollback restores as a whole."""

    brief: Brief | None = None
    graph: TaskGraph | None = None
    code: dict[NodeId, NodeCode] = {}
    assembly: Assembly | None = None
    evidence: dict[CheckId, CurrentCheck] = {}
    bundles: dict[NodeId, CodeBundle] = {}
    """The parsed bundles of `code`, so that they are not parsed again."""
    readable: bool = False
    """Whether the assembled program parses, which it does only if the code of every node does.

    Otherwise the owners of its names are unknown, so no check of the program can count as clean.
    """

    def owners(self) -> dict[str, NodeId]:
        """Return the ownership map: the owner of every registered unit."""
        return {u.registered: node for node, code in self.code.items() for u in code.units}

    def codes_of(self, nodes: Iterable[NodeId]) -> Digest:
        """Return one digest of the codes of several nodes, as used by checks of a branch."""
        return digest_of([(n, self.code[n].digest) for n in sorted(nodes) if n in self.code])

    def rank(self, pinned: dict[CheckId, Trust]) -> Rank:
        """Rank the assembled program on the `pinned` checks."""
        return rank(
            {c: s.verdict for c, s in self.evidence.items() if isinstance(s.subject, AtProgram)},
            pinned,
        )

    def freeze(self, region: Region) -> tuple[Frozen, ...]:
        """Return F: every node outside `region`, with digests of description, code and evidence."""
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
        """Return the digests of all parts of this state."""
        return StateDigest(
            brief=self.brief.digest if self.brief else digest_of(None),
            graph=self.graph.digest if self.graph else digest_of(None),
            code=digest_of(self.code),
            ownership=digest_of(self.owners()),
            assembly=digest_of(self.assembly),
            evidence=digest_of(self.evidence),
        )


class OpenTransaction(Value):
    """A repair that is not finished."""

    number: int
    kind: TransactionKind
    before: WorkingState
    """The state when it opened, which a rollback restores."""
    program: Digest
    """The program that is to be repaired."""
    snapshot: StateDigest
    region: Region
    frozen: tuple[Frozen, ...]
    pinned: dict[CheckId, Trust]
    rank: Rank
    rejected: bool = False
    """Whether the candidate was rejected; then the next event must be the rollback."""


class UsableReply(Value):
    """A reply that code may come from."""

    seq: int
    """The number of its event."""
    text: Digest
    request: Digest
    """The request that it answers."""
    node: NodeId | None = None
    """The node that it is for; None if it is for several."""
    plans: bool = False
    """Whether it is a plan, which may hold the definitions of the nodes that follow from it."""


class WrittenDraft(Value):
    """A draft of some nodes, and the reply that it comes from."""

    reply: int
    parts: dict[NodeId, DraftPart]


class Drafting(Value):
    """The drafts of some nodes and what is known of them."""

    nodes: frozenset[NodeId]
    slots: tuple[DraftSlot, ...]
    inputs: int
    """The number of inputs on which drafts may agree."""
    enough: Sufficiency
    drafts: dict[int, WrittenDraft] = {}
    """The drafts by slot; a slot without a usable reply has none."""
    tried: tuple[TriedVariant, ...] = ()
    chosen: TriedVariant | None = None
    """None until one is chosen."""

    def part(self, node: NodeId, slot: int) -> DraftPart | None:
        """Return a node's code in the draft of a slot; None if there is none."""
        draft = self.drafts.get(slot)
        return draft.parts.get(node) if draft else None


class Ledger(Value):
    """The state of a run, as far as the laws need it."""

    seq: int = 0
    """The sequence number that the next event will have."""
    run: RunId | None = None
    format: int = 0
    """The version of the format that the record was started in."""
    finished: bool = False
    allocated: dict[NodeId, int] = {}
    """All ids ever allocated, including retired ones, with the number of the event."""
    working: WorkingState = WorkingState()
    assembled: bool = False
    """Whether a program was ever assembled; from then on code changes only in transactions."""
    replies: dict[int, UsableReply] = {}
    """Replies that code may come from. A transaction's start or end clears them."""
    opinions: dict[NodeId, UsableReply] = {}
    """The newest second opinion on each node, which code may also come from."""
    code_requested: bool = False
    """Whether a model was ever asked for code, also if its reply could not be used."""
    drafting: Drafting | None = None
    """The drafts of the first code; None if none were planned."""
    answers: frozenset[int] = frozenset()
    """The events of all usable replies."""
    checks: dict[CheckId, RegisteredCheck] = {}
    """All checks ever registered, except dropped ones; a rollback does not remove any."""
    examples: dict[CheckId, Example] = {}
    """The examples that given and planned checks of the program run."""
    task: Task | None = None
    """The task; None before the run has started."""
    exceptions: frozenset[tuple[NodeId, NodeId]] = frozenset()
    """Pairs of nodes: before the first assembly, the first may cause edits of the second."""
    dropped: frozenset[CheckId] = frozenset()
    diagnosis: tuple[int, Diagnosis] | None = None
    """The newest diagnosis with its sequence number, until a transaction acts on it."""
    transaction: OpenTransaction | None = None
    transactions: int = 0

    def program_checks(self) -> dict[CheckId, Trust]:
        """Return the program checks that a transaction pins and an outcome requires."""
        return {c: r.trust for c, r in self.checks.items() if isinstance(r.subject, AtProgram)}

    def passes(self) -> bool:
        """Whether every check that decides about the program has passed on the present one."""
        return self.working.rank(self.program_checks()).full

    def agents_of(self, target: Target) -> tuple[str, ...]:
        """Return the authors of a target's code, in the order of its nodes; empty if unknown."""
        code = self.working.code
        return tuple(
            code[node].agent if node in code else ""
            for node in sorted(region_of(target, self.graph))
        )

    @property
    def graph(self) -> TaskGraph:
        """The committed graph; it must exist."""
        assert self.working.graph is not None, "no graph has been committed"
        return self.working.graph


def change(ledger: Ledger, **fields: object) -> Ledger:
    """Return the ledger with some fields changed."""
    return msgspec.structs.replace(ledger, **fields)


def rework(ledger: Ledger, **fields: object) -> Ledger:
    """Return the ledger with some fields of its working state changed."""
    working = msgspec.structs.replace(ledger.working, **fields)
    return msgspec.structs.replace(ledger, working=working)
