"""The task: what is asked, in which of four forms, with which public examples and limits.

Hidden tests have no place here: a method receives a `Task`, and so cannot see them.
"""

from typing import TypeAlias

from auditcoder.domain.values import CheckId, Value


class ProgramForm(Value, tag="program"):
    """A whole program that reads standard input and writes standard output."""


class FunctionForm(Value, tag="function"):
    """One function, called with arguments."""

    entry: str
    """The function's name."""
    signature: str = ""
    """Its full header, where the task gives one: `def f(xs: list[int]) -> int`."""


class ClassForm(Value, tag="class"):
    """A class whose skeleton is given."""

    name: str
    skeleton: str


class FilesForm(Value, tag="files"):
    """A program that reads an input folder and leaves artefacts."""

    inputs: tuple[str, ...] = ()
    """Names of the files it is given."""
    artefacts: tuple[str, ...] = ()
    """Names of the files it must leave."""


Form: TypeAlias = ProgramForm | FunctionForm | ClassForm | FilesForm


class StdioExample(Value, tag="stdio"):
    """What comes in on standard input, and what must come out."""

    input: str
    output: str
    explanation: str = ""


class CallExample(Value, tag="call"):
    """Arguments and result, each a Python expression."""

    arguments: str
    result: str
    explanation: str = ""


class CodeExample(Value, tag="code"):
    """A check that is itself code, such as a unittest class."""

    code: str
    explanation: str = ""


class FilesExample(Value, tag="files"):
    """Input files and the artefacts expected of them, by name and text."""

    inputs: dict[str, str]
    artefacts: dict[str, str]
    explanation: str = ""


Example: TypeAlias = StdioExample | CallExample | CodeExample | FilesExample


def example_check(number: int) -> CheckId:
    """Name the check that the task's example `number`, from 1, is."""
    return CheckId(f"example-{number}")


class Limits(Value):
    """What the finished program may use; unset means the task does not say."""

    seconds: float | None = None
    memory_mb: int | None = None


class Task(Value):
    """A programming task in natural language, as a method may see it."""

    title: str
    statement: str
    form: Form
    examples: tuple[Example, ...] = ()
    """Public examples only."""
    limits: Limits = Limits()
    source: str = ""
    """Joins the run to a benchmark's record, such as `apps/3103`; empty for a user's own task."""
