"""Runs that start with an injected fault, which a real model then repairs."""

import random
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from msgspec.structs import replace

from auditcoder.domain.chain import EMPTY
from auditcoder.domain.errors import NotFound, RecordRefused
from auditcoder.domain.graph import TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import Say, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.export_import import verified_trace
from auditcoder.lifecycle.options import AutoSwitch, Build, Options, Planner
from auditcoder.lifecycle.planning import sketch_planner
from auditcoder.lifecycle.planning.plan import PlanRefused
from auditcoder.lifecycle.runs import AUDITCODER, RunResources, Solution, resume, start
from auditcoder.lifecycle.task_forms import root_of
from auditcoder_bench.baselines import METHODS
from auditcoder_bench.engines.threads import LocalEngine
from auditcoder_bench.experiments import Experiment, open_tools
from auditcoder_bench.faultbench.injected_failures import CHECK, GRAPH, InjectedFailure
from auditcoder_bench.faultbench.injection_targets import (
    SolvedProgram,
    is_class_name,
    is_run_name,
    programs,
)
from auditcoder_bench.faultbench.line_file import read_lines
from auditcoder_bench.models.seeded import SeededModel
from auditcoder_bench.runner import require_same_settings

SUITE = "faultbench"
FIXED = {
    "planner": Planner.SKETCH,
    "build": Build.JOINT,
    "edge_cases": AutoSwitch.OFF,
}
"""The options that the prepared first replies need: one sketch, and one reply with all code."""


def failures(path: Path, each: int, say: Say) -> list[tuple[SolvedProgram, InjectedFailure]]:
    """Read injected failures, and choose up to `each` of them per program."""
    known = {solved.name: solved for solved in programs()}
    chosen, unfit = some_of(read_lines(path, InjectedFailure), known, each)
    if unfit:
        say(f"{unfit} faults were left out: they change the plan of the program")
    if not chosen:
        raise NotFound(
            "faults.none",
            f"{path} contains no fault in the code of a program",
            "make some: `auditcoder faults inject`",
        )
    return [(known[fault.solved], fault) for fault in chosen]


def repair(
    experiment: Experiment, chosen: list[tuple[SolvedProgram, InjectedFailure]], say: Say
) -> Iterator[Solution]:
    """Start one run per fault, which repairs it; yield the runs as they complete."""
    with ExitStack() as held:
        sandbox = held.enter_context(closing(open_sandbox(read_settings(), say)))
        tools, _ = open_tools(experiment, sandbox, held, say)
        options = replace(experiment.options, **FIXED)
        yield from LocalEngine(experiment.at_once).each(
            lambda pair: _run(tools, *pair, options), chosen
        )


def _run(
    tools: RunResources, solved: SolvedProgram, fault: InjectedFailure, options: Options
) -> Solution:
    run, replies = run_of(fault), opening(solved, fault)
    task = solved.with_examples(fault.more).task
    if tools.store.head(run) == EMPTY:
        return start(_seeded(tools, replies), task, options, run, method=METHODS[AUDITCODER.name])
    require_same_settings(tools, run, task, options, AUDITCODER.name)
    recorded = _recorded_replies(tools, run)
    if recorded[: len(replies)] != replies[: len(recorded)]:
        raise RecordRefused(
            "bench.differs",
            f"run {run} already exists, but started with a different fault",
            "use another store for different faults",
        )
    return resume(_seeded(tools, replies[len(recorded) :]), run, methods=METHODS)


def _recorded_replies(tools: RunResources, run: RunId) -> tuple[str, ...]:
    replies = verified_trace(tools.store, run).replies
    return tuple(tools.store.blob(billed.reply.reply).decode() for billed in replies)


def _seeded(tools: RunResources, replies: tuple[str, ...]) -> RunResources:
    return tools._replace(model=SeededModel(tools.model, replies))


def run_of(fault: InjectedFailure) -> RunId:
    """Return the id of the run that starts with a fault."""
    return RunId(f"{SUITE}.{fault.id.replace('+', '-and-')}"[:120])


def some_of(
    faults: Iterable[InjectedFailure], known: Mapping[str, SolvedProgram], each: int
) -> tuple[list[InjectedFailure], int]:
    """Choose up to `each` faults per program at random; faults in plans and checks are left out.

    Return also the number of faults that change the plan of the program and cannot be used.
    """
    by_program: dict[str, list[InjectedFailure]] = {}
    unfit = 0
    for fault in sorted(faults, key=lambda fault: fault.id):
        not_a_program = is_class_name(fault.solved) or is_run_name(fault.solved)
        if not_a_program or fault.where in {GRAPH, CHECK}:
            continue
        if fault.solved not in known:
            raise NotFound(
                "faults.program",
                f"{fault.id} belongs to {fault.solved}, a program that this version does not have",
                "make the faults again with this version: `auditcoder faults inject`",
            )
        if keeps_the_plan(known[fault.solved], fault):
            by_program.setdefault(fault.solved, []).append(fault)
        else:
            unfit += 1
    for name, own in by_program.items():
        random.Random(name).shuffle(own)  # noqa: S311 - reproducible, not secret
    return [fault for own in by_program.values() for fault in own[:each]], unfit


def keeps_the_plan(solved: SolvedProgram, fault: InjectedFailure) -> bool:
    """Whether planning the faulty program gives the same nodes as planning the correct one."""
    if ROOT not in fault.codes:
        return True
    try:
        plan = sketch_planner.plan_of(_sketch(solved, fault), solved.task, root_of(solved.task))
    except PlanRefused:
        return False
    return _parts(plan.graph) == _parts(solved.plan.graph)


def _parts(graph: TaskGraph) -> dict[NodeId, str]:
    return {node.id: node.contract.name for node in graph.nodes if node.contract}


def _sketch(solved: SolvedProgram, fault: InjectedFailure) -> str:
    return f"{solved.stubs}\n\n{fault.codes.get(ROOT, solved.codes[ROOT])}"


def opening(solved: SolvedProgram, fault: InjectedFailure) -> tuple[str, str]:
    """Return the replies of a model that planned this program and wrote it with the fault."""
    codes = {**solved.codes, **fault.codes}
    written = "\n\n".join(source for node, source in codes.items() if node != ROOT)
    return _python(_sketch(solved, fault)), _python(written)


def _python(code: str) -> str:
    return f"```python\n{code.strip()}\n```\n"
