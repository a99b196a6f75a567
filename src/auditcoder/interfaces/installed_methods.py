"""Finds the methods that installed packages add for `resume` and `replay`."""

from collections.abc import Mapping
from importlib.metadata import entry_points

from auditcoder.domain.values import RunId
from auditcoder.lifecycle.ports import TraceReader
from auditcoder.lifecycle.runs import BUILT_IN, Method, started

GROUP = "auditcoder.methods"


def methods_for(reader: TraceReader, run: RunId) -> Mapping[str, Method]:
    """Return the methods to continue a run with; other packages are loaded only if needed."""
    if started(reader, run).manifest.method in BUILT_IN:
        return BUILT_IN
    methods: dict[str, Method] = dict(BUILT_IN)
    for entry in entry_points(group=GROUP):
        methods.update(entry.load())
    return methods
