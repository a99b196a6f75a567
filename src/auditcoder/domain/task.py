"""The task: its statement, form, public examples and limits.

A `Task` has no hidden tests, so a method that receives one cannot see them.
"""

from typing import NamedTuple, TypeAlias

from auditcoder.domain.values import CheckId, Value


class ProgramForm(Value, tag="program"):
    """A whole program that reads standard input and writes standard output."""


class FunctionForm(Value, tag="function"):
    """One function, called with arguments."""

    entry: str
    """The function's name."""
    signature: str = ""
    """The full header, if the task gives one: `def f(xs: list[int]) -> int`."""


class ClassForm(Value, tag="class"):
    """A class whose skeleton is given."""

    name: str
    skeleton: str


class FilesForm(Value, tag="files"):
    """A program that reads input files and writes output files."""

    inputs: tuple[str, ...] = ()
    """Names of the input files."""
    artefacts: tuple[str, ...] = ()
    """Names of the files that it must write."""


Form: TypeAlias = ProgramForm | FunctionForm | ClassForm | FilesForm


_PROGRAM_MAIN = """\
import sys

if __name__ == "__main__":
    print(solve(sys.stdin.read().removesuffix("\\n")))
"""
_FILES_MAIN = """\
if __name__ == "__main__":
    solve()
"""


def main_block(form: Form) -> str:
    """Return the code that calls the root function `solve`; empty if only tests call it."""
    match form:
        case ProgramForm():
            return _PROGRAM_MAIN
        case FilesForm():
            return _FILES_MAIN
        case FunctionForm() | ClassForm():
            return ""


class StdioExample(Value, tag="stdio"):
    """Standard input and the expected standard output."""

    input: str
    output: str
    explanation: str = ""


class CallExample(Value, tag="call"):
    """Arguments and the expected result, as Python expressions."""

    arguments: str
    result: str
    explanation: str = ""


class CodeExample(Value, tag="code"):
    """A test as code, such as a unittest class."""

    code: str
    explanation: str = ""
    private: bool = False
    """Whether prompts leave it out until it fails, as a test beside the task."""


class FilesExample(Value, tag="files"):
    """Input files and expected output files, as text by name."""

    inputs: dict[str, str]
    artefacts: dict[str, str]
    explanation: str = ""


Example: TypeAlias = StdioExample | CallExample | CodeExample | FilesExample


class ExampleContent(NamedTuple):
    """An example as its check records it."""

    input: str
    expected: str | None
    """None for a test that is itself code."""


def example_content(example: Example) -> ExampleContent:
    """Return the input and the expected result of an example, as text."""
    match example:
        case StdioExample(input=given, output=expected):
            return ExampleContent(given, expected)
        case CallExample(arguments=arguments, result=result):
            return ExampleContent(arguments, result)
        case CodeExample(code=code):
            return ExampleContent(code, None)
        case FilesExample(inputs=inputs, artefacts=artefacts):
            return ExampleContent(files_as_text(inputs), files_as_text(artefacts))


def files_as_text(files: dict[str, str]) -> str:
    """Return files as one text, each under its name."""
    return "".join(f"==> {name} <==\n{text}\n" for name, text in sorted(files.items()))


EXAMPLE_PREFIX = "example-"
"""The names of checks that run the task's examples begin with it."""


def example_check(number: int) -> CheckId:
    """Return the id of the check for the task's example `number`, counted from 1."""
    return CheckId(f"{EXAMPLE_PREFIX}{number}")


class Limits(Value):
    """Resource limits of the program; None if the task gives none."""

    seconds: float | None = None
    memory_mb: int | None = None

    @property
    def wall_seconds(self) -> float:
        """The time limit of one run of the program."""
        return self.seconds or _DEFAULT_SECONDS


_DEFAULT_SECONDS = 5.0


class Task(Value):
    """A programming task in natural language."""

    title: str
    statement: str
    form: Form
    examples: tuple[Example, ...] = ()
    """Public examples only."""
    limits: Limits = Limits()
    visible_tests: str = ""
    """The text of the tests beside the task that prompts show; empty if they are not shown."""
    source: str = ""
    """The id of a benchmark problem, such as `apps/3103`; empty for a user's own task."""


def derived_examples(task: Task) -> tuple[Example, ...]:
    """Return the examples that follow from those of the task.

    It is the first one without the line ending of its last line, if it has one.
    """
    if not isinstance(task.form, ProgramForm):
        return ()
    first = next((e for e in task.examples if isinstance(e, StdioExample)), None)
    if first is None or not first.input.endswith("\n") or not first.input.strip():
        return ()
    return (StdioExample(input=first.input.rstrip("\n"), output=first.output),)
