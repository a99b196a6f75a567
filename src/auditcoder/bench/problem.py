"""A problem: the task that a method may see, and the hidden tests that only the judge may.

Nothing in `methods` or `lifecycle` can import this package: CI checks it.
"""

from typing import NamedTuple, TypeAlias

from auditcoder.domain.execution import Bounds
from auditcoder.domain.task import StdioExample, Task
from auditcoder.domain.values import Value


class StdioTests(Value, tag="stdio"):
    """What goes in on standard input, and what must come out, compared outside the sandbox."""

    cases: tuple[StdioExample, ...]


class Call(Value):
    """An expression that calls the program, and the value that it must have."""

    expression: str
    result: str
    """A Python literal."""


class CallTests(Value, tag="calls"):
    """Calls whose values are compared outside the sandbox."""

    cases: tuple[Call, ...]


class CodeTests(Value, tag="code"):
    """Test code: unittest classes, or plain asserts. It runs beside the program."""

    code: str


class FileTests(Value, tag="files"):
    """A folder that the program is run in, and test code that is run over what it leaves.

    The tests run in a sandbox of their own, after the program has ended: it never meets them.
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
    """What it is reported under beside the whole: a difficulty, a domain."""
    bounds: Bounds = Bounds()
    """For each hidden test."""
    reference: str | None = None
    """A solution that passes, where the suite has one. It checks the harness, nothing else."""
