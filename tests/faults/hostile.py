"""Declaration of hostile programs, each of which prints ESCAPED if its attack succeeds, and how one
run of such a program is judged."""

import resource
import subprocess
import sys
import time
from enum import Enum
from typing import NamedTuple

import msgspec

from auditcoder.adapters.sandboxes.forkserver import LocalSandbox
from auditcoder.domain.errors import SandboxError
from auditcoder.domain.execution import (
    Action,
    Bounds,
    Ending,
    Execution,
    ExecutionOutcome,
    Returned,
    RunProgram,
)

AMPLE = Bounds(seconds=60.0, memory_bytes=256 << 20)
"""For programs that end: far more time than they need, even on a busy machine."""
ENDLESS = Bounds(seconds=2.0, memory_bytes=256 << 20)
"""For programs that may never end."""
HUNG = 120.0
"""Seconds after which reading a result back counts as hung."""
LATE = 60.0
"""Seconds after its limit from which a program that still runs has stalled the host."""


class Hostile(NamedTuple):
    """One attack, and how it must end."""

    name: str
    source: str
    endings: tuple[Ending, ...] = (Ending.EXCEPTION,)
    """The accepted endings; several only where the outcome depends on the machine."""
    action: Action = RunProgram()
    without_namespaces: str = ""
    """Why it succeeds where namespaces are forbidden, if it does."""

    @property
    def bounds(self) -> Bounds:
        """The limits to run it under."""
        return ENDLESS if Ending.TIMEOUT in self.endings else AMPLE


CORPUS: list[Hostile] = []


def hostile(
    name: str,
    source: str,
    *endings: Ending,
    action: Action | None = None,
    without_namespaces: str = "",
) -> None:
    """Add an attack."""
    CORPUS.append(
        Hostile(
            name,
            source,
            endings or (Ending.EXCEPTION,),
            action or RunProgram(),
            without_namespaces,
        )
    )


class Result(Enum):
    """What an attack achieved."""

    CONTAINED = "contained"
    LEAKED = "leaked"
    STALLED = "stalled the host"


class Attack(NamedTuple):
    """One run of a hostile program."""

    result: Result
    outcome: ExecutionOutcome | None
    """None if the sandbox gave up."""


def attacked(sandbox: LocalSandbox, program: Hostile) -> Attack:
    """Run a hostile program, read its results back as a caller does, and judge what it achieved."""
    began = time.monotonic()
    execution = Execution(source=program.source, action=program.action, bounds=program.bounds)
    try:
        outcome = sandbox.run(execution)
    except SandboxError:
        return Attack(Result.STALLED, None)
    late = time.monotonic() - began > program.bounds.seconds + LATE
    if late or not _readable(outcome):
        return Attack(Result.STALLED, outcome)
    return Attack(Result.LEAKED if _escaped(outcome) else Result.CONTAINED, outcome)


def _escaped(outcome: ExecutionOutcome) -> bool:
    """Whether the program printed ESCAPED; a traceback that quotes the line does not count."""
    errors = b"\n".join(
        line for line in outcome.stderr.splitlines() if b"print(" not in line.lower()
    )
    return b"ESCAPED" in outcome.stdout or b"ESCAPED" in errors


def _readable(outcome: ExecutionOutcome) -> bool:
    """Whether the outcome can be encoded, and its values decoded within limits."""
    if msgspec.json.decode(msgspec.json.encode(outcome), type=ExecutionOutcome) != outcome:
        return False
    values = [call.value for call in outcome.calls if isinstance(call, Returned)]
    if not values:
        return True
    reader = (
        "import sys, json\nfrom auditcoder.domain.value_decoder import read\n"
        "for text in json.load(sys.stdin):\n"
        "    try: read(text) == 42\n"
        "    except ValueError: pass\n"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", reader],
            input=msgspec.json.encode(values),
            check=False,
            timeout=HUNG,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)),
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
