"""Exit codes. They are documented, and the meaning of a code never changes."""

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
    """Success; for `verify`, the record verifies."""
    DOES_NOT_HOLD = 1
    """`verify` or `replay` found a mismatch."""
    USAGE = 2
    """The command line could not be understood."""
    NOT_FOUND = 3
    """A run, node, line or file does not exist."""
    UNREADABLE = 4
    """Not a record or a bundle, damaged, unsafe, or of another version."""
    STORE = 5
    """The store is locked, full, unreachable, or belongs to another program."""
    REFUSED = 6
    """The change would break a law, or another process wrote first."""
    MODEL = 7
    """A model gave no usable answer, or its weights are not available."""
    SANDBOX = 8
    """Generated code cannot be run safely here."""
    BUDGET = 9
    """The next call would cost more than was allowed."""
    TASK = 10
    """The task is invalid."""
    UNSOLVED = 11
    """The program fails some of its checks; the record shows which."""
    UNAVAILABLE = 12
    """The data or the machines for a suite are not available."""
    INTERNAL = 70
    """An internal error. Nothing was altered."""
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
