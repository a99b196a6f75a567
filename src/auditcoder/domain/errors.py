"""What can go wrong that is not the candidate program's doing.

    AuditCoderError
    ├── NotFound            a run, node or line that is not there
    ├── RecordRefused       the writer will not write an illegal history
    ├── RecordUnreadable    not a record, or not one that this version reads
    ├── ReplayDiverged      a record, gone through again, does not come out the same
    ├── TaskInvalid         the task cannot be understood as it is given
    ├── BundleUnreadable    not a bundle, or an unsafe or damaged one
    ├── StoreError          the store cannot serve
    │   ├── StoreConflict     someone else wrote to this run meanwhile
    │   ├── StoreForeign      a database of another program or version
    │   ├── StoreFull         no room left
    │   ├── StoreLocked       someone holds it, and did not let go in time
    │   └── StoreUnavailable  it cannot be opened or reached
    ├── ModelError          no usable answer
    │   ├── ModelMisconfigured  no such model, a missing key or package, a refused request
    │   ├── ModelUnavailable    it did not answer, or not now: trying again may help
    │   ├── ReplyUnusable       it answered, and the answer is no answer
    │   └── WeightsUnavailable  the embedded model's weights are not here and cannot be had
    ├── BudgetExceeded      the next call would cost more than was allowed
    └── SandboxError        generated code cannot be run safely here

Every one says what went wrong, what to do next, and carries a stable code.
"""

from auditcoder.domain.request import Attempt


class AuditCoderError(Exception):
    """Our fault or the user's, never the candidate's."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        """Stable, documented, for programs to match on."""
        self.advice = advice
        """What to do next."""


class NotFound(AuditCoderError):
    """What was asked for is not there."""


class RecordRefused(AuditCoderError):
    """The event would make the history illegal, so it was not written."""


class RecordUnreadable(AuditCoderError):
    """These bytes are not a record, or not one that this version can read."""


class ReplayDiverged(AuditCoderError):
    """A run that is gone through again does something else than its record says."""


class EndOfRecord(ReplayDiverged):
    """The record ends here, and the run would go on."""

    def __init__(
        self,
        code: str = "replay.diverged",
        message: str = "the record ends, and the run would go on",
        advice: str = "resume it, or replay it with the version that made it",
    ) -> None:
        super().__init__(code, message, advice)


class TaskInvalid(AuditCoderError):
    """The task cannot be understood as it is given."""


class BundleUnreadable(AuditCoderError):
    """The file is not a bundle, or is damaged or unsafe."""


class StoreError(AuditCoderError):
    """The store cannot serve."""


class StoreConflict(StoreError):
    """Someone else wrote to this run meanwhile."""


class StoreForeign(StoreError):
    """The database belongs to another program, or to another version of this one."""


class StoreFull(StoreError):
    """There is no room for another event. What was acknowledged is safe."""


class StoreLocked(StoreError):
    """Another writer holds the store and did not let go in time."""


class StoreUnavailable(StoreError):
    """The store cannot be opened or reached."""


class ModelError(AuditCoderError):
    """A model gave no usable answer."""


class ModelMisconfigured(ModelError):
    """The model cannot be asked like this; trying again would change nothing."""


class ModelUnavailable(ModelError):
    """The model did not answer, or not now. Trying again may help."""

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
        """Seconds that the server asked us to wait."""
        self.billed = billed
        """Whether the server may have worked, and charged, for an answer that never came."""
        self.attempts: tuple[Attempt, ...] = ()
        """Every try, once we have given up."""


class ReplyUnusable(ModelError):
    """The model answered, and what it said cannot be used."""


class WeightsUnavailable(ModelError):
    """The embedded model's weights are not here and cannot be had."""


class DataUnavailable(AuditCoderError):
    """A suite's data is not here, and cannot be had."""


class EngineUnavailable(AuditCoderError):
    """Jobs cannot be done where they were to be done."""


class BudgetExceeded(AuditCoderError):
    """The next call would cost more than was allowed, so it was not made."""


class SandboxError(AuditCoderError):
    """Generated code cannot be run safely here, or the sandbox itself failed."""
