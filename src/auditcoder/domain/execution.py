"""One sandboxed run of untrusted code: its action, its limits and its outcome.

There is one action for each of the four task forms. An `Execution` has no expected results: the
results in the `ExecutionOutcome` are compared with them outside the sandbox.
"""

from enum import Enum
from typing import Annotated, TypeAlias

import msgspec

from auditcoder.domain.evidence import Frame
from auditcoder.domain.values import Value

PROGRAM_FILE = "program.py"
"""The file name of the candidate's code in stack frames."""
TESTS_FILE = "tests.py"
"""The file name of test code in stack frames."""


class RunProgram(Value, tag="program"):
    """Run the code as a program that reads standard input."""

    stdin: str = ""
    arguments: tuple[str, ...] = ()


class CallFunction(Value, tag="calls"):
    """Load the code, then evaluate expressions such as `solve([1, 2], k=3)`, one after another.

    They share one process. Calls that must not see the effects of earlier ones need separate
    executions.
    """

    calls: tuple[str, ...]


class RunTests(Value, tag="tests"):
    """Load the code, then run test code that uses its names: unittest classes, or plain asserts.

    Test code runs in the candidate's interpreter and sees its names, even if they shadow built-in
    ones. Patches of the test machinery and forged reports are detected. A program that targets this
    harness could still cheat, as in any in-process test: it could read the tests, return an object
    that equals everything, or undo a patch in time. Tests that are plain data should be calls,
    whose results are compared outside the sandbox.
    """

    code: str


class RunFiles(Value, tag="files"):
    """Run the code as a program in a folder with input files, and collect its output files."""

    inputs: dict[str, bytes]
    artefacts: tuple[str, ...]
    """Names of the files to collect."""
    stdin: str = ""
    arguments: tuple[str, ...] = ()


Action: TypeAlias = RunProgram | CallFunction | RunTests | RunFiles


class Bounds(Value):
    """Resource limits of one run."""

    seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 10.0
    memory_bytes: Annotated[int, msgspec.Meta(ge=1 << 20)] = 1 << 30
    """Limit of the address space beyond that of the bare interpreter, including thread stacks."""
    output_bytes: Annotated[int, msgspec.Meta(ge=1)] = 4 << 20
    """Limit of standard output, and of standard error."""
    file_bytes: Annotated[int, msgspec.Meta(ge=1 << 16)] = 64 << 20
    """Limit of the total size of the private folder."""


class OwnedUnit(Value):
    """A function, class or method of a program, or another global name."""

    name: str
    """Its qualified name."""
    owner: str
    """Empty for an import that nodes share."""
    plain: bool = False
    """Whether nothing but one undecorated definition binds it."""
    defaults: tuple[str, ...] = ()
    """The representation of each default of a plain function; empty if it is no constant."""
    wrappers: tuple[str, ...] = ()
    """The owners of its decorators and, for a method, of those of its class."""
    defined: bool = True
    """Whether a definition binds it, rather than an assignment or import."""


class Ownership(Value):
    """The owners of a program's lines and of its functions, classes and methods."""

    lines: tuple[tuple[int, int, str], ...]
    """First and last line, and their owner."""
    units: tuple[OwnedUnit, ...]
    definitions: int = 0
    """The number of lines before the statements that only use definitions; 0 if unknown."""


class Execution(Value):
    """Untrusted code, the action to run on it, and the limits."""

    source: str
    action: Action
    bounds: Bounds = Bounds()
    watch: bool = False
    """Whether to record which functions ran, how often and how long; this slows calls down."""
    owned: Ownership | None = None
    """If given, the run reports names whose code was replaced by others than their owners."""
    trace: bool = False
    """Whether to compare after every step, which shows who replaced code; this is slow."""


class Ending(Enum):
    """How a run ended. It does not say whether the result was correct."""

    OK = "ok"
    """It ended with exit code 0 after it did everything that was requested."""
    WRONG_EXIT = "wrong exit"
    """It exited early, or with another exit code."""
    EXCEPTION = "exception"
    """An exception ended it."""
    TIMEOUT = "timeout"
    MEMORY = "memory"
    OUTPUT_LIMIT = "output limit"
    KILLED = "killed"
    """A signal ended it."""


class Raised(Value, tag="raised"):
    """An exception with its traceback."""

    exception: str
    """The name of its type."""
    message: str
    frames: tuple[Frame, ...] = ()
    """From the candidate's first frame on, innermost last."""


class Returned(Value, tag="returned"):
    """A returned value, in the encoding that `auditcoder.domain.value_decoder` reads."""

    value: str


class TestVerdict(Enum):
    """How one test ended."""

    __test__ = False  # pytest must not collect it

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    SKIPPED = "skipped"


class TestReport(Value):
    """The result of one test."""

    __test__ = False

    name: str
    """Class and method; empty if the whole test code is the test."""
    verdict: TestVerdict
    message: str = ""
    frames: tuple[Frame, ...] = ()


class Artefact(Value):
    """A file that the program was expected to write."""

    name: str
    content: bytes | None = None
    missing: str = ""
    """Why there is no content."""


class FunctionUse(Value):
    """Calls and time of one function of the program."""

    name: str
    line: int
    calls: int
    seconds: float
    """Including callees."""
    own_seconds: float


class Replacement(Value):
    """A name whose code was replaced while the program ran."""

    name: str
    line: int = 0
    """The line that replaced it; 0 if that was not observed. The owner may have done it then."""
    change: str = ""
    """What of it was replaced, such as its binding or code."""
    own: bool = False
    """Whether its owner was observed to do it, which is legal."""


class ExecutionOutcome(Value):
    """How a run ended, and its output. Exit, time and memory are measured by the kernel."""

    ending: Ending
    sandbox: str
    """The kind of sandbox."""
    exit_code: int | None = None
    signal: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""
    stdout_cut: bool = False
    """Whether the output was truncated."""
    stderr_cut: bool = False
    raised: Raised | None = None
    """The exception that ended it; after a timeout, the place where it was stopped."""
    calls: tuple[Returned | Raised, ...] = ()
    """The result of each call that ended, in order."""
    tests: tuple[TestReport, ...] = ()
    planned: int | None = None
    """Number of tests to run; None if the action has no tests, or none was started.

    A test that was skipped, or is missing from `tests`, has not passed.
    """
    artefacts: tuple[Artefact, ...] = ()
    functions: tuple[FunctionUse, ...] | None = None
    """None if this was not requested, or the run ended before the report."""
    replaced: tuple[Replacement, ...] | None = None
    """Names whose code was replaced; None if this was not requested, or the run ended before the
    comparison."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    note: str = ""
    """Additional information about the ending."""
