"""Mending: an injected failure as a run that begins with it and goes on with a real model."""

import random
from collections.abc import Iterable

from auditcoder.bench.faultbench.injected import CHECK, GRAPH, Injected
from auditcoder.bench.faultbench.material import Solved
from auditcoder.domain.ids import ROOT


def some_of(faults: Iterable[Injected], each: int) -> list[Injected]:
    """Choose so many faults of each program by chance: in a node, in two, on an interface."""
    known: dict[str, list[Injected]] = {}
    for fault in sorted(faults, key=lambda fault: fault.id):
        if "|" not in fault.solved and fault.where not in {GRAPH, CHECK}:
            known.setdefault(fault.solved, []).append(fault)
    for name, own in known.items():
        random.Random(name).shuffle(own)  # noqa: S311 - a choice, not a secret
    return [fault for own in known.values() for fault in own[:each]]


def opening(solved: Solved, fault: Injected) -> tuple[str, str]:
    """Return what a model would have said that planned it so, and wrote it with the fault."""
    codes = {**solved.codes, **fault.codes}
    written = "\n\n".join(source for node, source in codes.items() if node != ROOT)
    return _python(f"{solved.stubs}\n\n{codes[ROOT]}"), _python(written)


def _python(code: str) -> str:
    return f"```python\n{code.strip()}\n```\n"
