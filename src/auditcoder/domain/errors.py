"""Errors that are not the candidate program's fault.

    AuditCoderError
    ├── NotFound                a run, node or line does not exist
    ├── RecordRefused           the event would make the history illegal
    ├── RecordUnreadable        not a record, or not one that this version reads
    ├── ReplayDiverged          a replay does not reproduce the record
    │   └── EndOfRecord         the record ends before the run does
    ├── TaskInvalid             the task cannot be parsed
    ├── BundleUnreadable        not a bundle, or an unsafe or damaged one
    ├── StoreError              the store failed
    │   ├── StoreConflict       another writer appended to this run
    │   ├── StoreForeign        a database of another program or version
    │   ├── StoreFull           no space left
    │   ├── StoreLocked         another writer holds the lock beyond the timeout
    │   └── StoreUnavailable    the store cannot be opened or reached
    ├── ModelError              the model gave no usable reply
    │   ├── ModelMisconfigured  no such model, a missing key or package, a refused request
    │   ├── ModelUnavailable    no reply; a retry may help
    │   ├── ReplyUnusable       the reply cannot be used
    │   └── WeightsUnavailable  the embedded model's weights cannot be found or downloaded
    ├── DataUnavailable         a suite's data cannot be found or downloaded
    ├── EngineUnavailable       the job engine cannot run jobs
    ├── BudgetExceeded          the next call would exceed the budget
    └── SandboxError            generated code cannot be run safely here

Every error says what went wrong and what to do next, and carries a stable code.
"""

from auditcoder.domain.request import Attempt


class AuditCoderError(Exception):
    """Base class: a fault of this program, its environment or its user, never of the candidate."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        """Stable and documented; programs can match on it."""
        self.advice = advice
        """What to do next."""


class NotFound(AuditCoderError):
    """A run, node or line does not exist."""


class RecordRefused(AuditCoderError):
    """The event would make the history illegal, so it was not written."""


class RecordUnreadable(AuditCoderError):
    """These bytes are not a record, or not one that this version can read."""


class ReplayDiverged(AuditCoderError):
    """A replay does not reproduce the events of the record."""


class EndOfRecord(ReplayDiverged):
    """The record ends before the replayed run does."""

    def __init__(
        self,
        code: str = "replay.diverged",
        message: str = "the record ends before the run does",
        advice: str = "resume the run, or replay it with the version that made it",
    ) -> None:
        super().__init__(code, message, advice)


class TaskInvalid(AuditCoderError):
    """The task cannot be parsed."""


class BundleUnreadable(AuditCoderError):
    """The file is not a bundle, or is damaged or unsafe."""


class StoreError(AuditCoderError):
    """The store failed."""


class StoreConflict(StoreError):
    """Another writer appended to this run in the meantime."""


class StoreForeign(StoreError):
    """The database belongs to another program, or to another version of this one."""


class StoreFull(StoreError):
    """There is no space for another event. Events that were acknowledged are safe."""


class StoreLocked(StoreError):
    """Another writer holds the lock of the store beyond the timeout."""


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached."""


class ModelError(AuditCoderError):
    """A model gave no usable reply."""


class ModelMisconfigured(ModelError):
    """The model cannot be called with this configuration; a retry would not help."""


class ModelUnavailable(ModelError):
    """The model did not reply. A retry may help."""

    def __init__(
        self,
        code: str,
        message: str,
        advice: str = "",
        *,
        retry_after: float | None = None,
        billed: bool = False,
    ) -> None:
        super().__init__(code, message, advice)
        self.retry_after = retry_after
        """Seconds to wait before the next attempt, as the server requested."""
        self.billed = billed
        """Whether the server may have charged for the lost reply."""
        self.attempts: tuple[Attempt, ...] = ()
        """Every failed attempt, once the retries are exhausted."""


class ReplyUnusable(ModelError):
    """The model replied, but the reply cannot be used."""


class WeightsUnavailable(ModelError):
    """The embedded model's weights cannot be found or downloaded."""


class DataUnavailable(AuditCoderError):
    """A suite's data cannot be found or downloaded."""


class EngineUnavailable(AuditCoderError):
    """The job engine cannot run jobs."""


class BudgetExceeded(AuditCoderError):
    """The next call would exceed the budget, so it was not made."""


class SandboxError(AuditCoderError):
    """Generated code cannot be run safely here, or the sandbox itself failed."""
