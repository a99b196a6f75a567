"""Collecting: a failing program is looked at from every side that costs one run, then from more."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.contract import Contract
from auditcoder.lifecycle.locating import blaming, outline, swapping
from auditcoder.lifecycle.locating.blaming import Blaming, Breach
from auditcoder.lifecycle.locating.reading import Reader
from auditcoder.lifecycle.locating.signs import Kind, Sign
from auditcoder.lifecycle.locating.swapping import Alternative, Swapped
from auditcoder.lifecycle.locating.watching import NOTHING, Observation, Trial, watch
from auditcoder.lifecycle.ports import Sandbox


class Failing(NamedTuple):
    """A program that fails, and what it fails at."""

    program: str
    functions: tuple[str, ...]
    """Those that answer for something, by their qualified names."""
    trial: Trial
    contracts: Mapping[str, Contract] = {}
    root: str = ""
    """The function that puts the others together, if one does."""


class Look(NamedTuple):
    """What one watched run showed."""

    seen: Observation
    signs: tuple[Sign, ...]
    breaches: tuple[Breach, ...] = ()


def look(sandbox: Sandbox, failing: Failing) -> Look:
    """Drive a program through what it fails at, once, and read everything that this shows."""
    seen = watch(sandbox, failing.program, failing.functions, failing.trial)
    seen = seen.forgiving(seen.failed_tests & failing.trial.passing)
    if seen == NOTHING or seen.passes:
        return Look(seen, ())  # nothing fails, or nothing was seen: that points to nobody
    outlined = outline.outline(failing.program)
    reads = {name: one.reads for name, one in outlined.items()}
    called = None if seen.cut else {call.node for call in seen.calls}
    breaches = Blaming(seen, failing.contracts).breaches()
    found = [
        *Reader(seen, failing.trial.driver, reads).signs(),
        *outline.signs(outlined, failing.functions, called),
        *blaming.signs(breaches),
        *blaming.cost_signs(seen),
        *blaming.spectrum_signs(seen),
        *([Sign(failing.root, Kind.ROOT)] if failing.root else []),
    ]
    return Look(seen, tuple(_qualified(found, failing.functions)), tuple(breaches))


def _qualified(found: Iterable[Sign], functions: Iterable[str]) -> Iterator[Sign]:
    """Give a bare name, as an error has it, to the method that is called so."""
    known = {name.rpartition(".")[2]: name for name in functions}
    return (sign._replace(node=known.get(sign.node, sign.node)) for sign in found)


class Tried(NamedTuple):
    """What putting other implementations in the functions' places showed."""

    swapped: Mapping[str, Swapped] = {}
    """What came of it, by function."""
    failing: int = 0
    """How many lines of the driver failed before."""
    passes: bool = False
    """Whether the program itself passed this time: then what was tried says nothing."""
    runs: int = 0
    """Of the sandbox."""


def intervene(
    sandbox: Sandbox, failing: Failing, others: Iterable[Alternative], again: Sandbox | None = None
) -> Tried:
    """Put other implementations in the functions' places, and read what becomes of the failure.

    Where one heals, the program itself is run `again`: it may have failed by chance.
    """
    trial = failing.trial
    seen = watch(sandbox, failing.program, (), trial)
    misjudged = seen.failed_tests & trial.passing
    before = seen.forgiving(misjudged)
    if before.passes:
        return Tried(passes=True, runs=1)
    swapped = swapping.swap(sandbox, trial, before, others, misjudged)
    healed = any(own.healed for own in swapped.values())
    runs = 1 + sum(own.runs for own in swapped.values()) + healed
    if healed and watch(again or sandbox, failing.program, (), trial).forgiving(misjudged).passes:
        return Tried(passes=True, runs=runs)
    return Tried(swapped, len(before.failing), runs=runs)
