"""Evidence: the results of checks. Faults of the candidate are evidence, our own are errors."""

from enum import Enum

from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtNode, Subject
from auditcoder.domain.values import CheckId, Digest, Value, digest


class Verdict(Enum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    """The candidate ended normally with a wrong result."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    CRASH = "crash"
    NOT_RUN = "not_run"
    """It could not be run."""
    VACUOUS = "vacuous"
    """It ran, but no input met its precondition."""
    UNTRIED = "untried"
    """A substitution that was not tried, because it is the same code or cannot be assembled."""
    UNMEASURABLE = "unmeasurable"
    """It ran, but the runs were too short or too few to measure."""

    @property
    def conclusive(self) -> bool:
        """Whether something ran that could have passed and could have failed."""
        return self is Verdict.PASSED or self.failing

    @property
    def failing(self) -> bool:
        """Whether it is evidence against its subject; an inconclusive verdict is for nobody."""
        return self in _FAILING

    @property
    def clean(self) -> bool:
        """Whether the candidate ended normally, with a correct or a wrong result."""
        return self is Verdict.PASSED or self is Verdict.FAILED


_FAILING = frozenset({Verdict.FAILED, Verdict.TIMEOUT, Verdict.MEMORY, Verdict.CRASH})


class Trust(Enum):
    """How far a check itself can be trusted."""

    GIVEN = "given"
    """Given with the task: an example, or a test from the user."""
    DERIVED = "derived"
    """Derived mechanically from the task or a contract."""
    STATED = "stated"
    """In a docstring of the task, where examples are often wrong: it ranks, and never rejects."""
    GENERATED = "generated"
    """Written by a model, and possibly wrong."""


class CheckKind(Enum):
    """The kind of a check."""

    COMPILE = "compile"
    SIGNATURE = "signature"
    EXAMPLE = "example"
    BOUNDARY = "boundary"
    CONTRACT = "contract"
    INVARIANT = "invariant"
    DIFFERENTIAL = "differential"
    PROBE = "probe"
    """A measurement of growth or resource use against a cost budget."""
    REVIEW = "review"
    """A model's opinion, which is the weakest evidence."""
    CLUE = "clue"
    """The features of a node in the trace of the failing checks."""
    SWAP = "swap"
    """The effect on the failing checks of substituting another implementation of a node."""
    STATIC = "static"
    PROOF = "proof"
    TEST = "test"
    """A test that is itself code."""

    @property
    def judges(self) -> bool:
        """Whether it decides if its subject is correct; observations of a failure do not."""
        return self not in {CheckKind.CLUE, CheckKind.SWAP}

    @property
    def explains_failure(self) -> bool:
        """Whether it is about the failure of one program, and not about a node's code alone."""
        return self in {CheckKind.CLUE, CheckKind.SWAP, CheckKind.REVIEW}


def node_check_id(
    node: NodeId, name: str, requirement: str, given: str | None = None, expected: str | None = None
) -> CheckId:
    """Return the id of a check of a node; it contains a digest of what is required."""
    content = digest(f"{requirement}\n{given}\n{expected}".encode())[:6]
    return CheckId(f"{node}.{name}-{content}" if requirement else f"{node}.{name}")


CLAIM = "elsewhere"
"""Names the check that fails when the author of another repair blames a node."""


class Frame(Value):
    """One frame of a traceback."""

    function: str
    line: int
    file: str = ""
    node: NodeId | None = None
    """The owner of the line, if it is a line of the program."""


class Evidence(Value):
    """The result of one run of a check."""

    check: CheckId
    kind: CheckKind
    subject: Subject
    trust: Trust
    verdict: Verdict
    against: Digest
    """Digest of what was checked: a node's code, the codes of a branch, or the program."""
    requirement: str = ""
    message: str = ""
    input: Digest | None = None
    expected: Digest | None = None
    observed: Digest | None = None
    """The result; None if there is none, or if files are missing although it would look right."""
    errors: Digest | None = None
    """The candidate's standard error output."""
    exit_code: int | None = None
    signal: int | None = None
    frames: tuple[Frame, ...] = ()
    ran: tuple[NodeId, ...] | None = None
    """For a check of the program: the nodes whose code ran; None if that was not observed."""
    milliseconds: float | None = None
    peak_bytes: int | None = None
    judge: str = ""
    """The sandbox kind, checker or model that ran the check."""
    tried: int | None = None
    """For a check over several inputs, the number of those that decided something; else None."""

    def blobs(self) -> tuple[Digest, ...]:
        """Return the digests of the content that is stored outside the event."""
        names = (self.input, self.expected, self.observed, self.errors)
        return tuple(name for name in names if name is not None)


def is_claim(evidence: Evidence) -> bool:
    """Whether evidence is that the author of another repair blames a node."""
    named = isinstance(evidence.subject, AtNode) and evidence.check.startswith(
        f"{evidence.subject.node}.{CLAIM}-"
    )
    return named and evidence.kind is CheckKind.REVIEW
