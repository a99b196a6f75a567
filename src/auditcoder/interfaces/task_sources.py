"""Reads a task from a file, from standard input or from the text itself."""

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from auditcoder.domain.errors import TaskInvalid
from auditcoder.domain.task import (
    ClassForm,
    CodeExample,
    Example,
    FilesExample,
    FilesForm,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.toml_reader import read_toml
from auditcoder.lifecycle.intake import NO_TASK_OPTIONS, TaskOptions, make_task
from auditcoder.lifecycle.intake.example_checks import examples_of
from auditcoder.lifecycle.intake.front_matter import LONGEST, is_file_name, split_front_matter
from auditcoder.lifecycle.intake.suite_split import split_suite
from auditcoder.lifecycle.intake.visible_tests import visible_text

_STDIN = "-"
_SUFFIXES = (".md", ".txt", ".py", ".toml", ".markdown")
_LARGEST_TASK = 4 * LONGEST
"""Bytes. A character takes at most four, so a larger file is too long in any case."""
_LARGEST_FILE = 1_000_000
_LARGEST_TESTS = 10_000_000
_MOST_FILES = 50
_MOST_TESTS = 1_000


def read_task_source(
    source: str | Path,
    options: TaskOptions = NO_TASK_OPTIONS,
    tests: Path | None = None,
) -> Task:
    """Read a task from `source`, a path or the text, with the tests at `tests`.

    Test code is kept from the prompts, unless the options or the front matter show the tests.
    """
    text, beside = _text_of(source)
    matter, _ = split_front_matter(text)
    inputs: dict[str, str] | None = None
    given: tuple[Example, ...] = ()
    overridden = options.form not in {None, "files"} or options.entry or options.signature
    if beside is not None and isinstance(matter.inputs, str) and not overridden:
        inputs = _folder(beside, matter.inputs)
        expected = {} if matter.expected is None else _folder(beside, matter.expected)
        given = (FilesExample(inputs=inputs, artefacts=expected),)
    task = make_task(text, options, inputs=inputs, examples=given)
    shown = matter.show_tests if options.show_tests is None else options.show_tests
    if tests is None:
        if options.show_tests:
            raise TaskInvalid(
                "task.no-tests", "there are no tests to show", "name them with --tests PATH"
            )
        return task
    read = read_tests(tests, task.form)
    task = make_task(text, options, inputs=inputs, examples=given + read)
    visible = visible_text(tests.suffix.lower(), _text_of_tests(tests), read) if shown else ""
    return msgspec.structs.replace(task, visible_tests=visible)


def _text_of_tests(path: Path) -> str:
    """Return the text of a file of tests; empty for a folder."""
    return "" if path.is_dir() else _decoded(_bytes(path, _LARGEST_TESTS), str(path))


def read_tests(path: Path, form: Form) -> tuple[Example, ...]:
    """Read public examples from a file of test code, from a data file or from a folder."""
    status = _status(path)
    if status is None:
        raise _unreadable(str(path), "there is no such file or folder")
    if stat.S_ISDIR(status.st_mode):
        match form:
            case ProgramForm():
                return tuple(_pairs(path))
            case FilesForm():
                return tuple(_cases(path))
            case FunctionForm() | ClassForm():
                raise _bad_examples(path, "a folder of examples is for a program or files task")
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise _bad_examples(path, "examples are read from .py, .json, .jsonl and .toml files")
    text = _decoded(_bytes(path, _LARGEST_TESTS), str(path))
    try:
        tables = read(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _bad_examples(path, str(error)) from error
    return tuple(map(_private, examples_of(tables, form, str(path))))


def _private(example: Example) -> Example:
    """Return test code as one that prompts do not show."""
    if isinstance(example, CodeExample):
        return msgspec.structs.replace(example, private=True)
    return example


def _tables(value: object) -> list[object]:
    """Return the list of examples: `value`, or its only member `examples`."""
    if isinstance(value, dict) and set(value) == {"examples"}:
        value = value["examples"]
    if not isinstance(value, list):
        raise TypeError("it is neither a list of examples nor a table with `examples` only")
    return value


def _json_lines(text: str) -> list[object]:
    return [msgspec.json.decode(line) for line in text.split("\n") if line.strip()]


def _test_code(text: str) -> list[object]:
    """Return each test of test code as an example; all of it as one if it cannot be split."""
    parts = split_suite(text)
    return [{"code": p.code, "explanation": p.description} for p in parts] or [{"code": text}]


_READERS: dict[str, Callable[[str], Iterable[object]]] = {
    ".py": _test_code,
    ".json": lambda text: _tables(msgspec.json.decode(text)),
    ".jsonl": _json_lines,
    ".toml": lambda text: _tables(read_toml(text)),
}


def _pairs(folder: Path) -> Iterable[StdioExample]:
    """Read `NAME.in` with `NAME.out` or `NAME.ans`, in natural order of their names."""
    inputs = [path for path in _entries(folder) if path.suffix == ".in"]
    if not inputs:
        raise _bad_examples(folder, "it has no file NAME.in")
    for path in inputs:
        answers = [path.with_suffix(suffix) for suffix in (".out", ".ans")]
        answer = next((answer for answer in answers if _status(answer) is not None), None)
        if answer is None:
            raise _bad_examples(folder, f"{path.name} has no {answers[0].name} beside it")
        yield StdioExample(input=_file(path, folder), output=_file(answer, folder))


def _cases(folder: Path) -> Iterable[FilesExample]:
    """Read the subfolders with `inputs` and, if artefacts are compared, `expected`."""
    cases = [path for path in _entries(folder) if path.is_dir()]
    if not cases:
        raise _bad_examples(folder, "it has no folder NAME/inputs")
    for case in cases:
        expected = _status(case / "expected") is not None
        yield FilesExample(
            inputs=_folder(case, "inputs"),
            artefacts=_folder(case, "expected") if expected else {},
        )


def _entries(folder: Path) -> list[Path]:
    try:
        entries = sorted(folder.iterdir(), key=lambda path: _natural(path.name))
    except OSError as error:
        raise _unreadable(str(folder), error.strerror or "") from error
    if len(entries) > 2 * _MOST_TESTS:
        raise _too_large(str(folder), f"{_MOST_TESTS} examples")
    return entries


def _natural(name: str) -> list[tuple[int, str]]:
    """Return a sort key that orders names by the numbers in them: 2 before 10."""
    return [
        (int(part), "") if part.isdecimal() and len(part) < 20 else (0, part)
        for part in re.split(r"(\d+)", name)
    ]


def _text_of(source: str | Path) -> tuple[str, Path | None]:
    """Return the task's text and, if it was read from a file, the file's folder."""
    if source == _STDIN:
        content = b"" if sys.stdin is None else sys.stdin.buffer.read(_LARGEST_TASK + 1)
        return _decoded(_within_limit(content, _LARGEST_TASK, "the task"), "standard input"), None
    if isinstance(source, Path) or _is_path(source):
        path = Path(source)
        return _decoded(_bytes(path, _LARGEST_TASK), str(path)), path.parent
    return source, None


def _is_path(source: str) -> bool:
    """Whether `source` names a file rather than being the task itself."""
    if _status(Path(source)) is not None:
        return bool(source.strip())
    if not source or re.search(r"\s", source):
        return False
    return "/" in source or os.sep in source or source.lower().endswith(_SUFFIXES)


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except (OSError, ValueError):  # no such file, or an invalid name
        return None


def _bytes(path: Path, most: int) -> bytes:
    """Read a regular file; a device or pipe could block or never end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise _unreadable(str(path), "it is not a regular file")
        with path.open("rb") as file:
            return _within_limit(file.read(most + 1), most, str(path))
    except (OSError, ValueError) as error:
        raise _unreadable(str(path), getattr(error, "strerror", None) or str(error)) from error


def _within_limit(content: bytes, most: int, where: str) -> bytes:
    if len(content) > most:
        raise _too_large(where, f"{most:,} bytes")
    return content


def _decoded(content: bytes, where: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_text(where, f"byte {error.start} is not UTF-8") from error
    if "\0" in text:
        raise _not_text(where, "it contains a NUL character")
    return text


def _folder(base: Path, name: str) -> dict[str, str]:
    """Read the text files of a folder inside `base`, by their paths relative to it."""
    folder = base / name
    if not is_file_name(name.removesuffix("/")):
        raise _unreadable(name, f"it is not a folder inside {base}")
    status = _status(folder)
    if status is None or not stat.S_ISDIR(status.st_mode):
        raise _unreadable(str(folder), "there is no such folder")
    texts: dict[str, str] = {}
    for path in _walk(folder):
        inside = path.relative_to(folder).as_posix()
        if not is_file_name(inside):
            raise _unreadable(ascii(inside), "its name is not allowed")
        if len(texts) == _MOST_FILES:
            raise _too_large(str(folder), f"{_MOST_FILES} files")
        texts[inside] = _file(path, base)
    return texts


def _walk(folder: Path) -> Iterable[Path]:
    """Yield the files of a folder; a link to a folder counts as a file, so it is refused."""

    def refuse(error: OSError) -> None:
        raise _unreadable(str(error.filename), error.strerror or "")

    for where, folders, files in os.walk(folder, onerror=refuse):
        folders.sort()
        linked = [name for name in folders if (Path(where) / name).is_symlink()]
        yield from (Path(where) / name for name in sorted([*files, *linked]))


def _file(path: Path, base: Path) -> str:
    """Read a text file that is inside `base` after links are followed."""
    try:
        inside = path.resolve().is_relative_to(base.resolve())
    except RuntimeError as error:  # before Python 3.13; later, opening the file fails
        raise _unreadable(str(path), "its links form a loop") from error
    if not inside:
        raise _unreadable(str(path), f"it points outside {base}")
    content = _bytes(path, _LARGEST_FILE)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise _not_text(str(path), f"byte {error.start} is not UTF-8") from error


def _unreadable(where: str, why: str) -> TaskInvalid:
    return TaskInvalid(
        "task.unreadable",
        f"{where} cannot be read: {why}",
        "name an existing file, give - for standard input, or give the text of the task;"
        " files that a task file names must be inside its folder",
    )


def _too_large(where: str, most: str) -> TaskInvalid:
    return TaskInvalid(
        "task.too-large",
        f"{where} exceeds the limit of {most}",
        "shorten the statement, or give fewer or smaller examples",
    )


def _not_text(where: str, why: str) -> TaskInvalid:
    return TaskInvalid(
        "task.encoding", f"{where} is not text: {why}", "save it as plain text in UTF-8"
    )


def _bad_examples(path: Path, why: str) -> TaskInvalid:
    return TaskInvalid(
        "task.example",
        f"no examples can be read from {path}: {why}",
        "give test code in a .py file; tables of examples in .json, .jsonl or .toml;"
        " or a folder with NAME.in and NAME.out, or with NAME/inputs and NAME/expected",
    )
