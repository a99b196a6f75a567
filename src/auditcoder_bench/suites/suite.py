"""A benchmark suite: the location of its data, its licence, and how its problems are read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from auditcoder.domain.values import Digest, Value
from auditcoder_bench.problem import Problem


class DataFile(Value):
    """One data file of a suite."""

    path: str
    """Path in a local copy, relative to the folder given by `--data`."""
    url: str = ""
    """Download address; empty if the file cannot be downloaded."""
    sha256: Digest | None = None
    """The expected checksum; None if every version is accepted and its digest is recorded."""
    instead: tuple[str, ...] = ()
    """Alternative paths, which may hold the data in another layout."""
    advice: str = ""
    """What the user can do if the file is missing and cannot be downloaded."""


class Suite(NamedTuple):
    """A set of problems with the data they are read from."""

    name: str
    title: str
    licence: str
    """The licence of the data, and its authors."""
    sources: tuple[DataFile, ...]
    read: Callable[[Mapping[str, Path]], list[Problem]]
    """Reads the problems; the files are keyed by their `path`."""
    ids: tuple[str, ...] = ()
    """The problems that are run by default; empty for all."""
    samples: Mapping[str, Callable[[Sequence[Problem]], tuple[str, ...]]] = {}
    """Named selections of problems, used as `--ids @name`."""
    unusable: Mapping[str, str] = {}
    """Excluded problems, with reasons: their reference solutions fail their own tests."""
    packages: tuple[str, ...] = ()
    """Packages that programs may import besides the standard library."""
    extra: str = ""
    """The extra of `auditcoder-bench` that installs these packages."""
