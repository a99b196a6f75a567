"""Exit codes. They are part of the interface: documented, and never given another meaning."""

from enum import IntEnum

from auditcoder.domain.errors import (
    AuditCoderError,
    BudgetExceeded,
    BundleUnreadable,
    DataUnavailable,
    EngineUnavailable,
    ModelError,
    NotFound,
    RecordRefused,
    RecordUnreadable,
    ReplayDiverged,
    SandboxError,
    StoreConflict,
    StoreError,
    TaskInvalid,
)


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    """Done; with `verify`, everything holds."""
    DOES_NOT_HOLD = 1
    """`verify` or `replay` found something that does not hold."""
    USAGE = 2
    """The command line could not be understood."""
    NOT_FOUND = 3
    """A run, node, line or file is not there."""
    UNREADABLE = 4
    """Not a record or a bundle, damaged, unsafe, or of another version."""
    STORE = 5
    """The store is locked, full, foreign or out of reach."""
    REFUSED = 6
    """The change would make a history illegal, or someone else wrote first."""
    MODEL = 7
    """A model gave no usable answer, or its weights cannot be had."""
    SANDBOX = 8
    """Generated code cannot be run safely here."""
    BUDGET = 9
    """The next call would cost more than was allowed."""
    TASK = 10
    """The task cannot be understood as it is given."""
    UNSOLVED = 11
    """A program was made, and it does not pass its checks; the record says how far it came."""
    UNAVAILABLE = 12
    """A suite's data, or the machines for it, cannot be had."""
    INTERNAL = 70
    """A fault of our own. Nothing was altered."""
    INTERRUPTED = 130
    """Ctrl-C."""


def exit_for(error: AuditCoderError) -> Exit:
    """Return the exit code for an error."""
    match error:
        case NotFound():
            return Exit.NOT_FOUND
        case BundleUnreadable() | RecordUnreadable():
            return Exit.UNREADABLE
        case RecordRefused() | StoreConflict():
            return Exit.REFUSED
        case StoreError():
            return Exit.STORE
        case ModelError():
            return Exit.MODEL
        case DataUnavailable() | EngineUnavailable():
            return Exit.UNAVAILABLE
        case SandboxError():
            return Exit.SANDBOX
        case BudgetExceeded():
            return Exit.BUDGET
        case TaskInvalid():
            return Exit.TASK
        case ReplayDiverged():
            return Exit.DOES_NOT_HOLD
        case _:
            return Exit.UNREADABLE
