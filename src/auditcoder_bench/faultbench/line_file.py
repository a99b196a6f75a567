"""Reads and writes files of JSON lines; work that appends to one can be resumed."""

import gzip
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Generic, Protocol, TypeVar

import msgspec

from auditcoder.adapters.atomic_files import atomic_file
from auditcoder.domain.errors import NotFound, RecordUnreadable, StoreError

Line = TypeVar("Line")


class Identified(Protocol):
    """A value with an id that is unique in its file."""

    @property
    def id(self) -> str:
        """The id by which a later line replaces an earlier one."""
        ...


IdentifiedLine = TypeVar("IdentifiedLine", bound=Identified)


class ResumableLineFile(Generic[IdentifiedLine]):
    """A file of JSON lines that grows as work is done, and is continued after an interruption.

    Every line is flushed when it is appended. If the process is killed, at most the last line is
    incomplete; it is dropped when the file is opened again. Of two lines with the same id the
    later one counts.
    """

    def __init__(self, path: Path, kind: type[IdentifiedLine]) -> None:
        if path.suffix == ".gz":
            raise StoreError(
                "file.unwritable",
                f"{path} would be compressed, but lines are appended to it one by one",
                "choose a name without .gz, and compress the file when it is complete",
            )
        self.path = path
        written = read_lines(path, kind, allow_partial=True) if path.exists() else []
        self.lines: dict[str, IdentifiedLine] = {line.id: line for line in written}
        """The lines so far, by id."""
        self._file: IO[bytes] | None = None

    def __enter__(self) -> "ResumableLineFile[IdentifiedLine]":
        """Rewrite the file without partial or replaced lines, and open it for appending."""
        write_lines(self.path, self.lines.values())
        self._file = self.path.open("ab")
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def append(self, line: IdentifiedLine) -> None:
        """Append a line and flush it."""
        assert self._file is not None, "the file is not open"
        self._file.write(msgspec.json.encode(line) + b"\n")
        self._file.flush()
        self.lines[line.id] = line

    def sort(self, order: Sequence[str], *, keep_others: bool) -> list[IdentifiedLine]:
        """Rewrite the file with its lines in the order of these ids, and return those lines.

        Lines with other ids follow them if `keep_others` is set, and are removed otherwise.
        """
        listed = [self.lines[name] for name in order if name in self.lines]
        ids = set(order)
        others = [line for name, line in self.lines.items() if name not in ids]
        write_lines(self.path, [*listed, *others] if keep_others else listed)
        return listed


def read_lines(path: Path, kind: type[Line], *, allow_partial: bool = False) -> list[Line]:
    """Read a file of JSON lines of one type; a name that ends in .gz is a compressed file.

    With `allow_partial`, an incomplete last line is ignored.
    """
    try:
        content = path.read_bytes()
        if path.suffix == ".gz":
            content = gzip.decompress(content)
    except FileNotFoundError:
        raise NotFound(
            "faults.missing",
            f"file not found: {path}",
            "make one with `auditcoder faults build` or `auditcoder faults inject`",
        ) from None
    except (OSError, EOFError, zlib.error) as error:
        raise RecordUnreadable("faults.unreadable", f"{path} cannot be read: {error}") from error
    if allow_partial:
        content = content[: content.rfind(b"\n") + 1]
    decoder = msgspec.json.Decoder(kind)
    return [_decode(path, n, line, decoder) for n, line in enumerate(content.splitlines(), 1)]


def _decode(path: Path, number: int, line: bytes, decoder: msgspec.json.Decoder[Line]) -> Line:
    try:
        return decoder.decode(line)
    except msgspec.MsgspecError as error:
        raise RecordUnreadable(
            "faults.unreadable",
            f"line {number} of {path} has an unexpected format: {error}",
            "remove the file and make it again with `auditcoder faults`",
        ) from error


def write_lines(path: Path, values: Iterable[object]) -> None:
    """Write a file of JSON lines, completely or not at all."""
    with atomic_file(path) as file:
        for value in values:
            file.write(msgspec.json.encode(value) + b"\n")
