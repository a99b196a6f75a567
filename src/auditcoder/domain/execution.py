"""One run of untrusted code: what is to be run, within which bounds, and how it ended.

The four forms of a task have four actions. What a program should have answered has no place in
an `Execution`: answers are compared outside, with what the `ExecutionOutcome` says was seen.
"""

from enum import Enum
from typing import Annotated, TypeAlias

import msgspec

from auditcoder.domain.evidence import Frame
from auditcoder.domain.values import Value

PROGRAM_FILE = "program.py"
"""The name that the candidate's own code has in frames."""
TESTS_FILE = "tests.py"
"""The name that test code has in frames."""


class RunProgram(Value, tag="program"):
    """Run the code as a program that reads standard input."""

    stdin: str = ""
    arguments: tuple[str, ...] = ()


class CallFunction(Value, tag="calls"):
    """Load the code, then evaluate expressions such as `solve([1, 2], k=3)`, one after another.

    They share one process: where a call must not see what the one before left behind, give
    each an execution of its own.
    """

    calls: tuple[str, ...]


class RunTests(Value, tag="tests"):
    """Load the code, then run test code that sees its names: unittest classes, or plain asserts.

    Test code shares the candidate's interpreter, and sees its names, also where they hide
    built-in ones. Patching the test machinery is found out. A program written against this very
    harness could still lie, as it could to any test that runs beside it: read the tests, answer
    with an object that equals everything, forge a report. Cases that are data should be calls,
    whose answers are compared outside.
    """

    code: str


class RunFiles(Value, tag="files"):
    """Run the code as a program in a folder that holds some files, and keep what it leaves."""

    inputs: dict[str, bytes]
    artefacts: tuple[str, ...]
    """Names of the files to bring out."""
    stdin: str = ""
    arguments: tuple[str, ...] = ()


Action: TypeAlias = RunProgram | CallFunction | RunTests | RunFiles


class Bounds(Value):
    """How much one run may use."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 10.0
    memory_bytes: Annotated[int, msgspec.Meta(ge=1 << 20)] = 1 << 30
    """Of address space, beyond what the bare interpreter takes; the stacks of threads count."""
    output_bytes: Annotated[int, msgspec.Meta(ge=1)] = 4 << 20
    """For standard output and standard error, each."""
    file_bytes: Annotated[int, msgspec.Meta(ge=1 << 16)] = 64 << 20
    """For everything in the private folder together."""


class Execution(Value):
    """Untrusted code, and what to do with it."""

    source: str
    action: Action
    bounds: Bounds = Bounds()
    watch: bool = False
    """Also say which functions ran, how often and how long. Slows calls down."""


class Ending(Enum):
    """How a run ended. Whether the answer was right is for others to say."""

    OK = "ok"
    """It came to its own end, with exit code 0 and everything asked for done."""
    WRONG_EXIT = "wrong exit"
    """It left early, or with another exit code."""
    EXCEPTION = "exception"
    """An exception ended it."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output limit"
    KILLED = "killed"
    """A signal ended it."""


class Raised(Value, tag="raised"):
    """An exception: what it was, and where."""

    exception: str
    """The name of its type."""
    message: str
    frames: tuple[Frame, ...] = ()
    """Outermost first, from the candidate's first frame on."""


class Returned(Value, tag="returned"):
    """A value, as `auditcoder.domain.value_decoder` reads it."""

    value: str


class TestVerdict(Enum):
    """How one test ended."""

    __test__ = False  # not one of our own

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


class TestReport(Value):
    """One test of the test code."""

    __test__ = False

    name: str
    """Class and method; empty where the test code is itself the test."""
    verdict: TestVerdict
    message: str = ""
    frames: tuple[Frame, ...] = ()


class Artefact(Value):
    """A file that the program was to leave."""

    name: str
    content: bytes | None = None
    missing: str = ""
    """Why there is no content."""


class FunctionUse(Value):
    """How much one function of the program ran."""

    name: str
    line: int
    calls: int
    seconds: float
    """With what it called."""
    own_seconds: float


class ExecutionOutcome(Value):
    """How a run ended, and what it left. Exit, time and memory are the kernel's word."""

    ending: Ending
    sandbox: str
    """The kind of sandbox: which walls stood."""
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_cut: bool = False
    """There was more than was kept."""
    stderr_cut: bool = False
    raised: Raised | None = None
    """The exception that ended it, or, after a timeout, where it was."""
    calls: tuple[Returned | Raised, ...] = ()
    """One for each call that came to an end, in order."""
    tests: tuple[TestReport, ...] = ()
    planned: int | None = None
    """How many tests there were to run; None where it was not about tests, or none was begun.

    A test that is skipped, or was to run and is not among `tests`, has not passed.
    """
    artefacts: tuple[Artefact, ...] = ()
    functions: tuple[FunctionUse, ...] | None = None
    """None if nobody asked, or the run ended before it could be told."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    note: str = ""
    """What else should be known about the ending."""
