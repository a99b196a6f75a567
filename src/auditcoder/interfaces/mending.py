"""Injected failures repaired by a real model, each as a run that can be resumed and replayed."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from auditcoder.adapters.engines.local import LocalEngine
from auditcoder.adapters.models.prefaced import PrefacedModel
from auditcoder.bench.faultbench.injected import Injected
from auditcoder.bench.faultbench.material import Solved, programs
from auditcoder.bench.faultbench.mending import opening, some_of
from auditcoder.bench.faultbench.records import read_lines
from auditcoder.domain.chain import EMPTY
from auditcoder.domain.trace import fold
from auditcoder.domain.values import RunId
from auditcoder.interfaces.benching import Experiment, open_tools
from auditcoder.interfaces.opening import Say, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.workshop import Options
from auditcoder.methods.solving import Solution, Tools, resume, start

SUITE = "faultbench"


def failures(path: Path, each: int) -> list[Injected]:
    """Read injected failures, and choose so many of each program."""
    return some_of(read_lines(path, Injected), each)


def repair(experiment: Experiment, faults: list[Injected], say: Say) -> Iterator[Solution]:
    """Let a run begin with each fault and repair it; yield them as they are done."""
    known = {solved.name: solved for solved in programs()}
    with ExitStack() as held:
        sandbox = held.enter_context(closing(open_sandbox(read_settings(), say)))
        tools, _ = open_tools(experiment, sandbox, held, say)
        yield from LocalEngine(experiment.at_once).each(
            lambda fault: _run(tools, known[fault.solved], fault, experiment.options), faults
        )


def _run(tools: Tools, solved: Solved, fault: Injected, options: Options) -> Solution:
    run = RunId(f"{SUITE}.{fault.id}")
    said = opening(solved, fault)
    if tools.store.head(run) == EMPTY:
        task = solved.with_examples(fault.more).task
        return start(_prefaced(tools, said), task, options, run)
    heard = len(fold(tools.store.read(run), tools.store.blob).replies)
    return resume(_prefaced(tools, said[heard:]), run)


def _prefaced(tools: Tools, said: tuple[str, ...]) -> Tools:
    return tools._replace(model=PrefacedModel(tools.model, said))
