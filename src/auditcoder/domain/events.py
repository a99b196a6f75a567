"""Everything that can be recorded: one tagged union. State is folded from these, never stored."""

from enum import Enum
from typing import TypeAlias

from auditcoder.domain.assembly import Segment
from auditcoder.domain.brief import Brief
from auditcoder.domain.code import Unit
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import GraphDelta, TaskGraph
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import (
    CodeDelta,
    Decision,
    Frozen,
    IntegrationException,
    Rank,
    StateDigest,
    TransactionKind,
)
from auditcoder.domain.request import Attempt, FinishReason, Reply
from auditcoder.domain.task import Task
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import CheckId, Digest, RunId, Value


class Recordable(Value):
    """What all events share."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the content that this event names and the store must hold."""
        return ()


class Manifest(Value):
    """What a run was made with: enough to say what would have to be the same again."""

    method: str = ""
    model: str = ""
    weights: Digest | None = None
    decoding: dict[str, str] = {}
    prompts: dict[str, Digest] = {}
    """Digest of each role's prompt file."""
    sandbox: str = ""
    """The sandbox kind that judged candidates."""
    versions: dict[str, str] = {}
    settings: dict[str, str] = {}
    seed: int | None = None


class RunStarted(Recordable, tag="run_started"):
    """The run exists, and with it `S0`. Always the first event, and only that."""

    format: int
    run: RunId
    task: Task
    manifest: Manifest = Manifest()


class RunResumed(Recordable, tag="run_resumed"):
    """A run went on after an interruption, perhaps elsewhere."""

    manifest: Manifest = Manifest()


class BriefCommitted(Recordable, tag="brief_committed"):
    """P, B and Q were fixed, or, with a reason, revised."""

    brief: Brief
    reason: str = ""


class GraphCommitted(Recordable, tag="graph_committed"):
    """The responsibilities and their ids exist. No code does."""

    graph: TaskGraph
    planner: str = ""
    granularity: str = ""
    """Why this many nodes and not fewer."""


class GraphRevised(Recordable, tag="graph_revised"):
    """A repair changed the graph inside its region."""

    delta: GraphDelta
    reason: str


class ReplyRecorded(Recordable, tag="reply_recorded"):
    """A model answered, well or badly. Every answer is kept and billed."""

    role: str
    scope: Scope
    phase: Phase
    request: Digest
    """The whole request as sent."""
    reply: Digest
    """The raw text of the answer."""
    prompt: Digest | None = None
    """Digest of the prompt template it was made from."""
    model: str = ""
    node: NodeId | None = None
    """The responsibility it was asked for."""
    nodes: tuple[NodeId, ...] = ()
    """Where it was asked for several to verify them, all of these."""
    usage: Usage = Usage()
    finish: str = ""
    milliseconds: float | None = None
    rejected: str = ""
    """Why the reply was refused; empty if it was taken."""
    attempts: tuple[Attempt, ...] = ()
    """What went wrong before this answer came, or before we gave up."""

    def blobs(self) -> tuple[Digest, ...]:
        """Request and reply."""
        return (self.request, self.reply)

    def answer(self, text: str) -> Reply:
        """Return the answer as it was given; its text is kept apart."""
        return Reply(
            text=text,
            finish=FinishReason(self.finish),
            usage=self.usage,
            model=self.model,
            seconds=(self.milliseconds or 0.0) / 1000,
            attempts=self.attempts,
        )


class CodeWritten(Recordable, tag="code_written"):
    """A node's code, all of it, as from now on."""

    node: NodeId
    code: Digest
    units: tuple[Unit, ...]
    scope: str = ""
    """The class into whose body it goes; empty for module level."""
    agent: str = ""
    cause: NodeId | None = None
    """The responsibility on whose behalf it was written, where that is another one."""
    reply: int | None = None
    """Sequence number of the reply it was taken from; None if no model wrote it."""
    note: str = ""
    """What of the reply was left out, because nobody owns it, and which imports were added."""

    def blobs(self) -> tuple[Digest, ...]:
        """The code."""
        return (self.code,)


class CheckRan(Recordable, tag="check_ran"):
    """A check ran, and this is what it saw."""

    evidence: Evidence

    def blobs(self) -> tuple[Digest, ...]:
        """What the evidence keeps."""
        return self.evidence.blobs()


class CheckDropped(Recordable, tag="check_dropped"):
    """A check that a model wrote turned out to be wrong, and no longer counts."""

    check: CheckId
    reason: str


class Assembled(Recordable, tag="assembled"):
    """The bundles became a program; every line says whose it is."""

    program: Digest
    segments: tuple[Segment, ...]

    def blobs(self) -> tuple[Digest, ...]:
        """The program."""
        return (self.program,)


class Located(Recordable, tag="located"):
    """The locator answered, or abstained."""

    diagnosis: Diagnosis
    locator: str = ""
    runs: int = 0
    """Extra sandbox runs that the answer cost."""


class TransactionOpened(Recordable, tag="transaction_opened"):
    """A repair began: what may change, and the proof of what must not."""

    number: int
    kind: TransactionKind
    diagnosis: int
    """Sequence number of the diagnosis it acts on."""
    selected: tuple[NodeId, ...]
    frozen: tuple[Frozen, ...]
    snapshot: StateDigest
    pinned: tuple[CheckId, ...]
    """The program-level checks that decide, for the whole transaction."""
    rank: Rank


class ExceptionRaised(Recordable, tag="exception_raised"):
    """An edit has to cross a boundary; from here on the region is wider."""

    exception: IntegrationException


class TransactionDecided(Recordable, tag="transaction_decided"):
    """The candidate was measured against what was there before."""

    number: int
    decision: Decision
    before: Rank
    after: Rank
    program: Digest | None
    """The candidate's program; None if none could be assembled."""
    brief: Digest | None
    """The brief, if a fallback revised it."""
    graph_delta: GraphDelta | None
    code_deltas: tuple[CodeDelta, ...]
    regressions: tuple[CheckId, ...]
    """Pinned checks that passed before and do not now."""
    reason: str = ""


class RolledBack(Recordable, tag="rolled_back"):
    """A rejected candidate is gone from the state, and stays on record."""

    number: int
    restored: StateDigest


class RunOutcome(Enum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    """Repairs ran out and the checks still fail."""
    ABSTAINED = "abstained"
    """The evidence supported no boundary."""
    STOPPED = "stopped"
    """A budget or a person ended it."""


class RunFinished(Recordable, tag="run_finished"):
    """The run is over. Nothing follows."""

    outcome: RunOutcome
    program: Digest | None
    reason: str = ""

    def blobs(self) -> tuple[Digest, ...]:
        """The program."""
        return (self.program,) if self.program else ()


Event: TypeAlias = (
    RunStarted
    | RunResumed
    | BriefCommitted
    | GraphCommitted
    | GraphRevised
    | ReplyRecorded
    | CodeWritten
    | CheckRan
    | CheckDropped
    | Assembled
    | Located
    | TransactionOpened
    | ExceptionRaised
    | TransactionDecided
    | RolledBack
    | RunFinished
)
