"""Injected failures repaired by a real model, each as a run that can be resumed and replayed."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from auditcoder.adapters.engines.local import LocalEngine
from auditcoder.adapters.models.prefaced import PrefacedModel
from auditcoder.bench.faultbench.injected import Injected
from auditcoder.bench.faultbench.material import Solved, programs
from auditcoder.bench.faultbench.mending import opening, run_of, some_of
from auditcoder.bench.faultbench.records import read_lines
from auditcoder.bench.runner import refuse_another
from auditcoder.domain.chain import EMPTY
from auditcoder.domain.errors import NotFound, RecordRefused
from auditcoder.domain.trace import fold
from auditcoder.domain.values import RunId
from auditcoder.interfaces.benching import Experiment, open_tools
from auditcoder.interfaces.opening import Say, open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.workshop import Options
from auditcoder.methods.solving import DEFAULT, Solution, Tools, resume, start


def failures(path: Path, each: int, say: Say) -> list[tuple[Solved, Injected]]:
    """Read injected failures, and choose so many of each program."""
    known = {solved.name: solved for solved in programs()}
    chosen, unfit = some_of(read_lines(path, Injected), known, each)
    if unfit:
        say(f"{unfit} faults were left out: with them, the root is another plan")
    if not chosen:
        raise NotFound(
            "faults.none",
            f"{path} has no fault in the code of a program",
            "make some: `auditcoder faults inject`",
        )
    return [(known[fault.solved], fault) for fault in chosen]


def repair(
    experiment: Experiment, chosen: list[tuple[Solved, Injected]], say: Say
) -> Iterator[Solution]:
    """Let a run begin with each fault and repair it; yield them as they are done."""
    with ExitStack() as held:
        sandbox = held.enter_context(closing(open_sandbox(read_settings(), say)))
        tools, _ = open_tools(experiment, sandbox, held, say)
        yield from LocalEngine(experiment.at_once).each(
            lambda pair: _run(tools, *pair, experiment.options), chosen
        )


def _run(tools: Tools, solved: Solved, fault: Injected, options: Options) -> Solution:
    run, said = run_of(fault), opening(solved, fault)
    task = solved.with_examples(fault.more).task
    if tools.store.head(run) == EMPTY:
        return start(_prefaced(tools, said), task, options, run)
    refuse_another(tools, run, task, options, DEFAULT)
    heard = _heard(tools, run)
    if heard[: len(said)] != said[: len(heard)]:
        raise RecordRefused(
            "bench.differs",
            f"run {run} is there, but began with another fault",
            "give other faults a store of their own",
        )
    return resume(_prefaced(tools, said[len(heard) :]), run)


def _heard(tools: Tools, run: RunId) -> tuple[str, ...]:
    replies = fold(tools.store.read(run), tools.store.blob).replies
    return tuple(tools.store.blob(billed.reply.reply).decode() for billed in replies)


def _prefaced(tools: Tools, said: tuple[str, ...]) -> Tools:
    return tools._replace(model=PrefacedModel(tools.model, said))
