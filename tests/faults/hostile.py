"""Declaration of hostile programs. Each prints ESCAPED if its attack succeeds."""

from typing import NamedTuple

from auditcoder.domain.execution import Action, Bounds, Ending, RunProgram

AMPLE = Bounds(seconds=60.0, memory_bytes=256 << 20)
"""For programs that end: far more time than they need, even on a busy machine."""
ENDLESS = Bounds(seconds=2.0, memory_bytes=256 << 20)
"""For programs that may never end."""


class Hostile(NamedTuple):
    """One attack, and how it must end."""

    name: str
    source: str
    endings: tuple[Ending, ...] = (Ending.EXCEPTION,)
    """The accepted endings; several only where the outcome depends on the machine."""
    action: Action = RunProgram()

    @property
    def bounds(self) -> Bounds:
        """The limits to run it under."""
        return ENDLESS if Ending.TIMEOUT in self.endings else AMPLE


CORPUS: list[Hostile] = []


def hostile(name: str, source: str, *endings: Ending, action: Action | None = None) -> None:
    """Add an attack."""
    CORPUS.append(Hostile(name, source, endings or (Ending.EXCEPTION,), action or RunProgram()))
