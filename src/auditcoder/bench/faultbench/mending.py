"""Mending: an injected failure as a run that begins with it and goes on with a real model."""

import random
from collections.abc import Iterable, Mapping

from auditcoder.bench.faultbench.injected import CHECK, GRAPH, Injected
from auditcoder.bench.faultbench.material import Solved, of_a_class, of_a_run
from auditcoder.domain.errors import NotFound
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.forms import root_of
from auditcoder.lifecycle.planning import sketch
from auditcoder.lifecycle.planning.plan import PlanRefused

SUITE = "faultbench"


def run_of(fault: Injected) -> RunId:
    """Name the run that begins with a fault."""
    return RunId(f"{SUITE}.{fault.id.replace('+', '-and-')}"[:120])


def some_of(
    faults: Iterable[Injected], known: Mapping[str, Solved], each: int
) -> tuple[list[Injected], int]:
    """Choose so many faults of each program by chance: in a node, in two, on an interface.

    Say also how many could not be used: a root that calls other parts is another plan.
    """
    by_program: dict[str, list[Injected]] = {}
    unfit = 0
    for fault in sorted(faults, key=lambda fault: fault.id):
        elsewhere = of_a_class(fault.solved) or of_a_run(fault.solved)
        if elsewhere or fault.where in {GRAPH, CHECK}:
            continue
        if fault.solved not in known:
            raise NotFound(
                "faults.program",
                f"{fault.id} was put into {fault.solved}, and there is no such program here",
                "make the faults again with this version: `auditcoder faults inject`",
            )
        if keeps_the_plan(known[fault.solved], fault):
            by_program.setdefault(fault.solved, []).append(fault)
        else:
            unfit += 1
    for name, own in by_program.items():
        random.Random(name).shuffle(own)  # noqa: S311 - a choice, not a secret
    return [fault for own in by_program.values() for fault in own[:each]], unfit


def keeps_the_plan(solved: Solved, fault: Injected) -> bool:
    """Whether every part is still the same one where the run plans it itself."""
    if ROOT not in fault.codes:
        return True
    try:
        plan = sketch.plan_of(_sketch(solved, fault), solved.task, root_of(solved.task))
    except PlanRefused:
        return False
    return _parts(plan.graph) == _parts(solved.plan.graph)


def _parts(graph: TaskGraph) -> dict[NodeId, str]:
    return {node.id: node.contract.name for node in graph.nodes if node.contract}


def _sketch(solved: Solved, fault: Injected) -> str:
    return f"{solved.stubs}\n\n{fault.codes.get(ROOT, solved.codes[ROOT])}"


def opening(solved: Solved, fault: Injected) -> tuple[str, str]:
    """Return what a model would have said that planned it so, and wrote it with the fault."""
    codes = {**solved.codes, **fault.codes}
    written = "\n\n".join(source for node, source in codes.items() if node != ROOT)
    return _python(_sketch(solved, fault)), _python(written)


def _python(code: str) -> str:
    return f"```python\n{code.strip()}\n```\n"
