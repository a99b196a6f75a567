"""A suite: the location of its data, its licence, and how its problems are read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from auditcoder.domain.values import Digest, Value
from auditcoder_bench.problem import Problem


class DataFile(Value):
    """One data file of a suite."""

    path: str
    """Its path in a local copy, relative to the folder given by `--data`."""
    url: str = ""
    """Where it is downloaded from; empty if it cannot be downloaded."""
    sha256: Digest | None = None
    """The expected checksum; None if every version is accepted and its digest is recorded."""
    instead: tuple[str, ...] = ()
    """Files in another layout that a local copy may have in its place."""
    advice: str = ""
    """What the user can do if the file is missing and cannot be downloaded."""


class Suite(NamedTuple):
    """A set of problems."""

    name: str
    title: str
    licence: str
    """The licence of the data, and its authors."""
    sources: tuple[DataFile, ...]
    read: Callable[[Mapping[str, Path]], list[Problem]]
    """Read the problems from the files, by their `path`."""
    ids: tuple[str, ...] = ()
    """The problems that are run by default; empty for all."""
    samples: Mapping[str, Callable[[Sequence[Problem]], tuple[str, ...]]] = {}
    """Named selections of problems, used as `--ids @name`."""
    unusable: Mapping[str, str] = {}
    """Excluded problems, with reasons: their reference solutions fail their own tests."""
    packages: tuple[str, ...] = ()
    """Packages that programs may import besides the standard library."""
    extra: str = ""
    """The optional dependency of this package that installs them."""
