"""What a check saw. The candidate's fault is evidence; our own fault never is."""

from enum import Enum

from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import Subject
from auditcoder.domain.values import CheckId, Digest, Value


class Verdict(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    """It ran to its end and the answer was wrong."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"

    @property
    def clean(self) -> bool:
        """Whether the candidate came to its own end, right or wrong."""
        return self is Verdict.PASSED or self is Verdict.FAILED


class Trust(Enum):
    """How far a check itself can be believed."""

    GIVEN = "given"
    """Came with the task: an example, or a test the user supplied."""
    DERIVED = "derived"
    """Follows mechanically from the task or a contract."""
    GENERATED = "generated"
    """A model wrote it: a hypothesis."""


class CheckKind(Enum):
    """What kind of check it is."""

    COMPILE = "compile"
    SIGNATURE = "signature"
    EXAMPLE = "example"
    BOUNDARY = "boundary"
    CONTRACT = "contract"
    INVARIANT = "invariant"
    DIFFERENTIAL = "differential"
    PROBE = "probe"
    """Growth or resource use against a cost budget."""
    REVIEW = "review"
    """A model's opinion: the weakest evidence there is."""
    CLUE = "clue"
    """What failing cases showed of a node when they were watched."""
    SWAP = "swap"
    """What became of failing cases with another implementation in a node's place."""
    STATIC = "static"
    PROOF = "proof"
    TEST = "test"
    """A test that is itself code."""

    @property
    def judges(self) -> bool:
        """Whether it says if its subject is right, and not merely what a failure showed of it."""
        return self not in {CheckKind.CLUE, CheckKind.SWAP}


class Frame(Value):
    """One line of a traceback, innermost last."""

    function: str
    line: int
    file: str = ""
    node: NodeId | None = None
    """The owner of the line, where it belongs to the program."""


class Evidence(Value):
    """One run of one check."""

    check: CheckId
    kind: CheckKind
    subject: Subject
    trust: Trust
    verdict: Verdict
    against: Digest
    """What exactly was checked: the node's code, the branch's codes, or the program."""
    requirement: str = ""
    message: str = ""
    input: Digest | None = None
    expected: Digest | None = None
    observed: Digest | None = None
    errors: Digest | None = None
    """What the candidate wrote to standard error."""
    exit_code: int | None = None
    signal: int | None = None
    frames: tuple[Frame, ...] = ()
    ran: tuple[NodeId, ...] | None = None
    """For a check of the program: the nodes whose code ran; None if nobody looked."""
    milliseconds: float | None = None
    peak_bytes: int | None = None
    judge: str = ""
    """Who ran it: a sandbox kind, a checker, a model."""

    def blobs(self) -> tuple[Digest, ...]:
        """Everything this evidence keeps outside the event."""
        return tuple(d for d in (self.input, self.expected, self.observed, self.errors) if d)
