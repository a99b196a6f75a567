"""Parses the front matter of a task: TOML settings before the statement."""

import re
from pathlib import PurePosixPath
from typing import Annotated, Any

import msgspec

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.toml_reader import read_toml
from auditcoder.domain.values import Value
from auditcoder.lifecycle.options import Option

LONGEST = 200_000
"""Maximum number of characters of a task."""


class TaskOptions(Value):
    """The properties of a task that flags, Python and front matter can set, each declared once.

    The flags of `solve` are derived from the declarations.
    """

    form: Annotated[str | None, Option("program, function, class or files", "FORM")] = None
    entry: Annotated[str | None, Option("the function or class to write", "NAME")] = None
    signature: Annotated[
        str | None, Option("its header, such as 'def f(xs: list[int]) -> int'", "HEADER")
    ] = None
    title: Annotated[str | None, Option("the task's title", "TEXT")] = None
    seconds: Annotated[float | None, Option("time limit of one execution, in seconds", "S")] = None
    memory_mb: Annotated[int | None, Option("memory limit of one execution, in MB", "N")] = None
    source: Annotated[str | None, Option("where the task comes from", "TEXT")] = None
    artefacts: Annotated[
        tuple[str, ...],
        Option("a file that the program must write; may be repeated", "NAME", singular="artefact"),
    ] = ()
    show_tests: Annotated[
        bool | None,
        Option("show the tests of --tests to the model that writes the program (default: false)"),
    ] = None


class FrontMatter(TaskOptions):
    """The settings of a task between two lines of `+++`."""

    class_name: str | None = msgspec.field(name="class", default=None)
    skeleton: str | None = None
    inputs: str | tuple[str, ...] | None = None
    """A folder beside the task's file, or the names of the input files."""
    expected: str | None = None
    """A folder beside the task's file, with the artefacts expected for the inputs."""
    examples: tuple[dict[str, Any], ...] = ()


def split_front_matter(text: str) -> tuple[FrontMatter, str]:
    """Split a text into front matter and statement; raise TaskInvalid if it is not a task."""
    if len(text) > LONGEST:
        raise TaskInvalid(
            "task.too-large",
            f"the task has {len(text):,} characters; the maximum is {LONGEST:,}",
            "shorten the statement, and give large examples with --tests",
        )
    check_characters(text)
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").strip()
    lines = text.split("\n")
    matter = FrontMatter()
    if lines[0].rstrip() == "+++":
        end = next((n for n, line in enumerate(lines) if n and line.rstrip() == "+++"), None)
        if end is None:
            raise bad_front_matter("it begins with a line +++, but has no second one at its end")
        matter = _front_matter("\n".join(lines[1:end]))
        text = "\n".join(lines[end + 1 :]).strip()
    elif lines[0].rstrip() == "---" and _looks_like_yaml(lines):
        raise bad_front_matter("it is YAML between lines ---")
    if not text:
        raise TaskInvalid(
            "task.empty",
            "the task has no statement",
            "describe what the program should do, after the front matter if there is one",
        )
    return matter, text


def check_characters(text: str, what: str = "the task") -> None:
    """Raise TaskInvalid if a text cannot be recorded as UTF-8."""
    invalid = "a NUL character" if "\0" in text else ""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        invalid = f"an unpaired surrogate at position {error.start}"
    if invalid:
        raise TaskInvalid(
            "task.encoding",
            f"{what} contains {invalid}, so it is not text",
            "save it as plain text in UTF-8",
        )


def _looks_like_yaml(lines: list[str]) -> bool:
    """Whether two lines `---` enclose keys; they may also be horizontal rules."""
    ends = [n for n, line in enumerate(lines) if line.rstrip() == "---"]
    block = [line for line in lines[1 : ends[1]] if line.strip()] if len(ends) > 1 else []
    return bool(block) and re.match(r"[A-Za-z_][\w-]*+:(?:\s|$)", block[0]) is not None


def _front_matter(source: str) -> FrontMatter:
    try:
        return msgspec.convert(read_toml(source), FrontMatter)
    except (ValueError, RecursionError) as error:
        raise bad_front_matter(str(error)) from error


def bad_front_matter(why: str) -> TaskInvalid:
    """Return an error that says why front matter is invalid and which keys it may set."""
    known = ", ".join(FrontMatter.__struct_encode_fields__)
    return TaskInvalid(
        "task.front-matter",
        f"the task's front matter is invalid: {why}",
        f"write it as TOML between two lines +++ at the very start; it may set {known}",
    )


def is_file_name(name: str) -> bool:
    """Whether `name` is a normalised relative path inside its folder."""
    path = PurePosixPath(name)
    plain = name.isprintable() and "\\" not in name and str(path) == name and len(name) <= 255
    return plain and name != "." and not path.is_absolute() and ".." not in path.parts
