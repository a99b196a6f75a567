"""Declaration of hostile programs. Each prints ESCAPED if its attack succeeds."""

from typing import NamedTuple

from auditcoder.domain.execution import Action, Bounds, Ending, RunProgram

QUICK = Bounds(seconds=2.0, memory_bytes=256 << 20)


class Hostile(NamedTuple):
    """One attack, and how it must end."""

    name: str
    source: str
    endings: tuple[Ending, ...] = (Ending.EXCEPTION,)
    """The accepted endings; several only where the outcome depends on the machine."""
    action: Action = RunProgram()
    bounds: Bounds = QUICK


CORPUS: list[Hostile] = []


def hostile(name: str, source: str, *endings: Ending, action: Action | None = None) -> None:
    """Add an attack."""
    CORPUS.append(Hostile(name, source, endings or (Ending.EXCEPTION,), action or RunProgram()))
