"""The runner: each method on each problem once, recorded, judged, and never done twice.

The store is the ledger. What it holds is done; what it holds in part is gone on with; what is
done and not judged is judged. So an interruption costs nothing but the time since the last event,
and it does not matter who does a job, or how often it is begun.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from auditcoder.bench.judging import judge, resolved
from auditcoder.bench.problem import Problem
from auditcoder.domain.chain import EMPTY
from auditcoder.domain.errors import NotFound, RecordRefused
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.task import Task
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Digest, RunId
from auditcoder.lifecycle.ports import Sandbox, TraceStore
from auditcoder.lifecycle.workshop import Options
from auditcoder.methods import method
from auditcoder.methods.solving import (
    Solution,
    Tools,
    manifest_for,
    resume,
    solution,
    start,
    started,
)
from auditcoder.metrics.records import spent


class Judgements(Protocol):
    """Where judges' words are kept, apart from the records."""

    def keep_judgement(self, judgement: Judgement) -> None:
        """Keep what a judge found, once for each suite and head of a record."""
        ...

    def judgements(self, run: RunId) -> list[Judgement]:
        """Return what judges found about a run."""
        ...


class Ledger(TraceStore, Judgements, Protocol):
    """A store that keeps both."""


class Job(NamedTuple):
    """One method on one problem."""

    suite: str
    method: str
    problem: str
    model: str

    @property
    def run(self) -> RunId:
        """The run's id: the same job is the same run, whoever does it."""
        suite = self.suite.replace("+", "-plus")
        model = re.sub(r"[^\w.-]+", "-", self.model)
        return RunId(f"{suite}.{self.problem}.{self.method}.{model}"[:128])


class Done(NamedTuple):
    """A job that was done, now or before."""

    job: Job
    outcome: str
    resolved: bool
    tokens: int
    before: bool
    """Whether there was nothing left to do."""


def jobs(suite: str, methods: Iterable[str], problems: Iterable[str], model: str) -> list[Job]:
    """Return every method on every problem, problem by problem: the methods stay paired."""
    chosen = tuple(methods)
    return [Job(suite, method, problem, model) for problem in problems for method in chosen]


def choose(problems: list[Problem], ids: Iterable[str]) -> list[Problem]:
    """Return the problems with these ids, in this order; all of them if none are named."""
    known = {problem.id: problem for problem in problems}
    wanted = list(ids) or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise NotFound(
            "problem.unknown",
            f"there is no problem {', '.join(unknown[:5])} in this suite",
            f"there are {len(known)}, such as {', '.join(list(known)[:5])}",
        )
    return [known[name] for name in wanted]


def perform(tools: Tools, ledger: Ledger, job: Job, problem: Problem, options: Options) -> Done:
    """Do one job as far as it is not done: solve, go on, judge."""
    before = bool(ledger.judgements(job.run))
    if ledger.head(job.run) == EMPTY:
        found = start(tools, problem.task, options, job.run, named=job.method)
    else:
        refuse_another(tools, job.run, problem.task, options, job.method)
        found = resume(tools, job.run)
    return _done(job, found, judged(ledger, tools.sandbox, job, problem), before)


def refuse_another(tools: Tools, run: RunId, task: Task, options: Options, named: str) -> None:
    """Refuse to take a run for the wanted one that was made in another way, or for another text."""
    begun = started(tools.store, run)
    chosen = method(named).settle(options)
    now = manifest_for(tools, chosen, named)
    differing = [
        name
        for name in ("model", "weights", "decoding", "prompts", "settings", "seed")
        if getattr(begun.manifest, name) != getattr(now, name)
    ]
    if begun.task != task:
        differing.append("task")
    if differing:
        raise RecordRefused(
            "bench.differs",
            f"run {run} is there, but was made otherwise: {', '.join(differing)}",
            "give an experiment with other settings a store of its own",
        )


def _done(job: Job, found: Solution, judgement: Judgement, before: bool) -> Done:
    final = found.trace.working.assembly
    return Done(
        job,
        found.outcome.value,
        final is not None and resolved(judgement.results[final.program]),
        spent(found.trace).total.tokens,
        before,
    )


def judged(ledger: Ledger, sandbox: Sandbox, job: Job, problem: Problem) -> Judgement:
    """Return the judge's word on a finished run; ask the judge if there is none yet."""
    head = ledger.head(job.run).digest
    for known in ledger.judgements(job.run):
        if (known.suite, known.head) == (job.suite, head):
            return known
    trace = solution(ledger, job.run).trace
    results = {
        program: judge(sandbox, problem, ledger.blob(program).decode())
        for program in programs_of(trace)
    }
    judgement = Judgement(run=job.run, head=head, suite=job.suite, results=results)
    ledger.keep_judgement(judgement)
    return judgement


def programs_of(trace: Trace) -> list[Digest]:
    """Return what is to be judged: the first program, and both sides of every transaction."""
    programs = {assembled.program: None for assembled in trace.programs}
    return list(programs)
