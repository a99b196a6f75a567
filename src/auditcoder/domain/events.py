"""The events of a record, as one tagged union. All state is derived from them."""

from enum import Enum
from typing import TypeAlias

from auditcoder.domain.assembly import Segment
from auditcoder.domain.brief import Brief
from auditcoder.domain.code import Unit
from auditcoder.domain.diagnosis import Diagnosis
from auditcoder.domain.drafts import CheckResult, DraftPart, DraftSlot, Sufficiency
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
    """Base class of all events."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digests of the content that the store must hold for this event."""
        return ()


class Manifest(Value):
    """The model, weights, prompts, options and versions of a run, as needed to reproduce it."""

    method: str = ""
    model: str = ""
    weights: Digest | None = None
    decoding: dict[str, str] = {}
    prompts: dict[str, Digest] = {}
    """Digest of each role's prompt file."""
    sandbox: str = ""
    """The kind of sandbox that ran candidates."""
    versions: dict[str, str] = {}
    settings: dict[str, str] = {}
    seed: int | None = None


class RunStarted(Recordable, tag="run_started"):
    """A run started, with the root node `S0`. It is the first event, and occurs once."""

    format: int
    run: RunId
    task: Task
    manifest: Manifest = Manifest()


class RunResumed(Recordable, tag="run_resumed"):
    """A run continued after an interruption, possibly on another machine."""

    manifest: Manifest = Manifest()


class BriefCommitted(Recordable, tag="brief_committed"):
    """The brief (P, B and Q) was fixed, or revised for a reason."""

    brief: Brief
    reason: str = ""


class GraphCommitted(Recordable, tag="graph_committed"):
    """The graph and its node ids were fixed, before any code exists."""

    graph: TaskGraph
    planner: str = ""
    granularity: str = ""
    """Why the graph has this number of nodes."""
    losses: tuple[str, ...] = ()
    """What the planner's reply said and the graph does not hold, one sentence for each."""


class GraphRevised(Recordable, tag="graph_revised"):
    """A repair changed the graph inside its region."""

    delta: GraphDelta
    reason: str
    losses: tuple[str, ...] = ()
    """What the planner's reply said and the graph does not hold, one sentence for each."""


class ReplyRecorded(Recordable, tag="reply_recorded"):
    """A model replied. Every reply is kept and billed, usable or not."""

    role: str
    scope: Scope
    phase: Phase
    request: Digest
    """The complete request as sent."""
    reply: Digest
    """The raw text of the reply."""
    prompt: Digest | None = None
    """Digest of the prompt template of the request."""
    model: str = ""
    node: NodeId | None = None
    """The node that the request was about."""
    nodes: tuple[NodeId, ...] = ()
    """For a request about several nodes, to verify them: all of them."""
    usage: Usage = Usage()
    finish: str = ""
    milliseconds: float | None = None
    rejected: str = ""
    """Why the reply was rejected; empty if it was used."""
    attempts: tuple[Attempt, ...] = ()
    """The failed attempts before this reply, or before the retries were exhausted."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digests of request and reply."""
        return (self.request, self.reply)

    def answer(self, text: str) -> Reply:
        """Return the recorded reply with its text, which is stored as a blob."""
        return Reply(
            text=text,
            finish=FinishReason(self.finish),
            usage=self.usage,
            model=self.model,
            seconds=(self.milliseconds or 0.0) / 1000,
            attempts=self.attempts,
        )


class DraftsCommitted(Recordable, tag="drafts_committed"):
    """The drafts of some nodes were fixed, and how they are compared, before any was requested."""

    nodes: tuple[NodeId, ...]
    slots: tuple[DraftSlot, ...]
    inputs: Digest
    """A JSON array of texts: inputs without an expected result, on which drafts may agree."""
    enough: Sufficiency = Sufficiency()

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digest of the inputs."""
        return (self.inputs,)


class DraftWritten(Recordable, tag="draft_written"):
    """A reply gave a draft: code for every drafted node, which is not the program's code yet."""

    slot: int
    """The number of its slot, counted from 1."""
    reply: int
    """Sequence number of the reply that it comes from."""
    parts: tuple[DraftPart, ...]

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digests of the code."""
        return tuple(part.code for part in self.parts)


class VariantTried(Recordable, tag="variant_tried"):
    """A program that takes the code of each node from one of its drafts ran, beside the program."""

    versions: dict[NodeId, int]
    """The slot of the draft that each node's code is taken from."""
    program: Digest
    results: dict[CheckId, CheckResult]
    """The result of every check of the program."""
    outputs: Digest
    """A JSON array: the output for each input as text, or null if there was none."""
    judge: str
    """The sandbox kind that ran it."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digests of the program and of what was observed."""
        seen = (result.observed for result in self.results.values())
        return (self.program, self.outputs, *(name for name in seen if name is not None))


class DraftChosen(Recordable, tag="draft_chosen"):
    """The variant with the highest rank was chosen; its code becomes the code of the nodes."""

    versions: dict[NodeId, int]
    reason: str


class CodeWritten(Recordable, tag="code_written"):
    """The complete code of a node was written or replaced."""

    node: NodeId
    code: Digest
    units: tuple[Unit, ...]
    scope: str = ""
    """The class that it is placed in; empty for module level."""
    agent: str = ""
    cause: NodeId | None = None
    """The node for whose sake it was written, if that is another one."""
    reply: int | None = None
    """Sequence number of the reply that it comes from; None if no model wrote it."""
    losses: tuple[str, ...] = ()
    """What of the reply is lost, because no node owns it: one sentence for each."""
    note: str = ""
    """Parts of the reply that were left out, because no node owns them, and added imports."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digest of the code."""
        return (self.code,)


class CheckRan(Recordable, tag="check_ran"):
    """A check ran, with this evidence."""

    evidence: Evidence

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digests of the evidence's blobs."""
        return self.evidence.blobs()


class CheckDropped(Recordable, tag="check_dropped"):
    """A check that a model wrote was found to be wrong and no longer counts."""

    check: CheckId
    reason: str


class Ruling(Enum):
    """Who is wrong when a check fails that was not given with the task."""

    PROGRAM_WRONG = "program_wrong"
    """The program is to be repaired."""
    CHECK_WRONG = "check_wrong"
    """The check is to be dropped."""
    UNDECIDED = "undecided"
    """The doubt stays open."""


class Opinion(Value):
    """One answer to the question whether the program or a check is wrong."""

    source: str
    """Where it comes from: `statement`, `independent implementation`, `model`, …"""
    ruling: Ruling
    reason: str
    reply: int | None = None
    """Sequence number of the reply that it comes from; None if no model was asked."""


class Adjudicated(Recordable, tag="adjudicated"):
    """It was decided who is wrong: the program, or a failing check that was not given."""

    check: CheckId
    evidence: int
    """Sequence number of the failing evidence in question."""
    ruling: Ruling
    reason: str
    opinions: tuple[Opinion, ...] = ()


class Assembled(Recordable, tag="assembled"):
    """The bundles were assembled into a program, with an owner for each line."""

    program: Digest
    segments: tuple[Segment, ...]

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digest of the program."""
        return (self.program,)


class Located(Recordable, tag="located"):
    """The locator named a target or abstained."""

    diagnosis: Diagnosis
    locator: str = ""
    runs: int = 0
    """Number of additional sandbox runs for the diagnosis."""


class TransactionOpened(Recordable, tag="transaction_opened"):
    """A repair began: the nodes it may change, and the digests of the frozen ones."""

    number: int
    kind: TransactionKind
    diagnosis: int
    """Sequence number of the diagnosis it acts on."""
    selected: tuple[NodeId, ...]
    frozen: tuple[Frozen, ...]
    snapshot: StateDigest
    pinned: tuple[CheckId, ...]
    """The program checks that decide the transaction."""
    rank: Rank


class ExceptionRaised(Recordable, tag="exception_raised"):
    """An edit must cross a boundary, so the region is widened."""

    exception: IntegrationException


class TransactionDecided(Recordable, tag="transaction_decided"):
    """The candidate was compared with the program before it, and accepted or rejected."""

    number: int
    decision: Decision
    before: Rank
    after: Rank
    program: Digest | None
    """The candidate program; None if it could not be assembled."""
    brief: Digest | None
    """The revised brief; None if it is unchanged."""
    graph_delta: GraphDelta | None
    code_deltas: tuple[CodeDelta, ...]
    regressions: tuple[CheckId, ...]
    """Pinned checks that passed before the repair and do not pass after it."""
    reason: str = ""


class RolledBack(Recordable, tag="rolled_back"):
    """The state before a rejected candidate was restored; the candidate stays on record."""

    number: int
    restored: StateDigest


class RunOutcome(Enum):
    """How a run ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The allowed repairs are used up and checks still fail."""
    ABSTAINED = "abstained"
    """The evidence supported no target."""
    STOPPED = "stopped"
    """The run was ended by a budget or by the user."""


class RunFinished(Recordable, tag="run_finished"):
    """The run ended. It is the last event."""

    outcome: RunOutcome
    program: Digest | None
    reason: str = ""
    doubts: tuple[CheckId, ...] = ()
    """If it passed: the checks that still fail, none of which was given with the task."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digest of the program."""
        return () if self.program is None else (self.program,)


Event: TypeAlias = (
    RunStarted
    | RunResumed
    | BriefCommitted
    | GraphCommitted
    | GraphRevised
    | ReplyRecorded
    | DraftsCommitted
    | DraftWritten
    | VariantTried
    | DraftChosen
    | CodeWritten
    | CheckRan
    | CheckDropped
    | Adjudicated
    | Assembled
    | Located
    | TransactionOpened
    | ExceptionRaised
    | TransactionDecided
    | RolledBack
    | RunFinished
)
