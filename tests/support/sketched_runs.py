"""Options of runs that plan with a sketch, so that a test can choose the graph."""

from typing import Any

from auditcoder.lifecycle.options import Options, Planner


def sketching(**chosen: Any) -> Options:
    """Return options with the planner `sketch`, unless another one is chosen."""
    return Options(**{"planner": Planner.SKETCH, **chosen})
