"""AuditCoder: a program, and the record of how it was built."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditcoder.interfaces.api import solve
    from auditcoder.methods.solving import Solution

__all__ = ["Solution", "__version__", "solve"]
__version__ = "0.1.0"

_HOMES = {
    "solve": "auditcoder.interfaces.api",
    "Solution": "auditcoder.methods.solving",
}


def __getattr__(name: str) -> Any:
    """Load what is asked for when it is asked for: importing the package does nothing."""
    if name not in _HOMES:
        raise AttributeError(f"module 'auditcoder' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
