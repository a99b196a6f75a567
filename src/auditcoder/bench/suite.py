"""A suite: where its data lives, under which terms, and how it is read."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from auditcoder.bench.problem import Problem
from auditcoder.domain.values import Digest, Value


class Source(Value):
    """One file of a suite's data, at its own home."""

    path: str
    """Where it stands in a local copy: below the folder that `--data` names."""
    url: str = ""
    """Its home; empty where it cannot be had from there, and must be put in place by hand."""
    sha256: Digest | None = None
    """What it must be; None where any version will do and its digest is recorded instead."""
    instead: tuple[str, ...] = ()
    """Files of another layout that serve as well, if a local copy has them."""
    advice: str = ""
    """What to do where there is no copy and no home."""


class Suite(NamedTuple):
    """A set of problems."""

    name: str
    title: str
    licence: str
    """The terms of the data, and whose it is."""
    sources: tuple[Source, ...]
    read: Callable[[Mapping[str, Path]], list[Problem]]
    """Read the problems from the files, by their `path`."""
    ids: tuple[str, ...] = ()
    """The problems that stand for the suite unless others are asked for; empty for all."""
    samples: Mapping[str, Callable[[Sequence[Problem]], tuple[str, ...]]] = {}
    """Other choices that are fixed by a name, asked for as `--ids @name`."""
    unusable: Mapping[str, str] = {}
    """Problems that are left out, and why: their own references fail their own tests."""
    packages: tuple[str, ...] = ()
    """What programs may import beside the standard library."""
    extra: str = ""
    """The extra of this project that installs them."""
