"""A problem: the task that a method sees, and the hidden tests that only the judge sees.

The product never imports this package, which CI checks, so no run can read hidden tests.
"""

from typing import NamedTuple, TypeAlias

from auditcoder.domain.execution import Bounds
from auditcoder.domain.task import StdioExample, Task
from auditcoder.domain.values import Value


class StdioTests(Value, tag="stdio"):
    """Standard input and expected standard output, compared outside the sandbox."""

    cases: tuple[StdioExample, ...]


class CallTest(Value):
    """An expression that calls the program, and its expected value."""

    expression: str
    result: str
    """A Python literal."""


class CallTests(Value, tag="calls"):
    """Calls whose results are compared outside the sandbox."""

    cases: tuple[CallTest, ...]


class CodeTests(Value, tag="code"):
    """Test code: unittest classes or plain asserts. It runs in the process of the program."""

    code: str


class FileTests(Value, tag="files"):
    """Input files for the program, and test code that checks the files it writes.

    The tests run in a separate sandbox after the program has ended, so it never sees them.
    """

    inputs: dict[str, bytes]
    artefacts: tuple[str, ...]
    code: tuple[str, ...]


Hidden: TypeAlias = StdioTests | CallTests | CodeTests | FileTests


class Problem(NamedTuple):
    """One problem of a suite."""

    id: str
    """Unique in its suite, and usable in a run's id: `4014`, `HumanEval-0`."""
    task: Task
    hidden: Hidden
    group: str = ""
    """A subset of the suite that is reported separately: a difficulty, a domain."""
    bounds: Bounds = Bounds()
    """The limits of each hidden test."""
    reference: str | None = None
    """A correct solution, if the suite has one. It is only used to check the harness."""
