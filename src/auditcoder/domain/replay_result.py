"""The results of replays: whether repeating a run gave the events and results on record.

They are stored outside the record, with the digest of its head at that time.
"""

from datetime import datetime

from auditcoder.domain.values import Digest, RunId, Value


class ReplayResult(Value):
    """The result of one replay of a run."""

    run: RunId
    head: Digest
    """The head of the record that was replayed."""
    at: datetime
    same: bool
    """Whether every event was reproduced, and every repeated check had its recorded result."""
    repeated: bool
    """Whether the checks ran again; otherwise their results were taken from the record."""
    events: int = 0
    """Number of events that were reproduced byte for byte."""
    finished: bool = True
    """Whether the run had ended."""
    versions: dict[str, str] = {}
    """The versions of the program and of Python that replayed it."""
    sandbox: str = ""
    """The isolation that the checks ran in; empty if they were not repeated."""
    differences: tuple[str, ...] = ()
    """What differed."""
