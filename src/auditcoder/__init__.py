"""AuditCoder generates a program together with the record of how it was built."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from auditcoder.interfaces.api import solve
    from auditcoder.lifecycle.intake import TaskOptions
    from auditcoder.lifecycle.options import Options
    from auditcoder.lifecycle.runs import Solution

__all__ = ["Options", "Solution", "TaskOptions", "__version__", "solve"]
__version__ = "0.1.0"

_MODULE_OF = {
    "solve": "auditcoder.interfaces.api",
    "Options": "auditcoder.lifecycle.options",
    "Solution": "auditcoder.lifecycle.runs",
    "TaskOptions": "auditcoder.lifecycle.intake",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use: importing the package itself does nothing."""
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'auditcoder' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULE_OF[name]), name)
