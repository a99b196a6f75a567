"""The runner: runs each method on each problem once, and judges the result.

The store holds the progress. A finished run is not repeated, an incomplete run is resumed, and a
finished run without a judgement is judged. An interruption loses only the time since the last
event, and a job may be started anywhere and any number of times.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from auditcoder.domain.chain import EMPTY
from auditcoder.domain.errors import NotFound, RecordRefused
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.task import Task
from auditcoder.domain.trace import Trace
from auditcoder.domain.values import Digest, RunId
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import JudgedStore, Sandbox
from auditcoder.lifecycle.runs import (
    RunResources,
    Solution,
    manifest_for,
    resume,
    solution,
    start,
    started,
)
from auditcoder.metrics.trace_metrics import token_use
from auditcoder_bench.baselines import METHODS, method
from auditcoder_bench.judge import judge, resolved
from auditcoder_bench.problem import Problem


class Job(NamedTuple):
    """One method on one problem."""

    suite: str
    method: str
    problem: str
    model: str

    @property
    def run(self) -> RunId:
        """The id of the run, which depends on the job alone."""
        suite = self.suite.replace("+", "-plus")
        model = re.sub(r"[^\w.-]+", "-", self.model)
        return RunId(f"{suite}.{self.problem}.{self.method}.{model}"[:128])


class JobResult(NamedTuple):
    """The result of a completed job."""

    job: Job
    outcome: str
    resolved: bool
    tokens: int
    before: bool
    """Whether the job had been completed earlier."""


def jobs(suite: str, methods: Iterable[str], problems: Iterable[str], model: str) -> list[Job]:
    """Return a job for every method and problem, ordered by problem so that methods stay paired."""
    chosen = tuple(methods)
    return [Job(suite, method, problem, model) for problem in problems for method in chosen]


def choose(problems: list[Problem], ids: Iterable[str]) -> list[Problem]:
    """Return the problems with these ids, in this order; all problems if there are no ids."""
    known = {problem.id: problem for problem in problems}
    wanted = list(ids) or list(known)
    if unknown := [name for name in wanted if name not in known]:
        raise NotFound(
            "problem.unknown",
            f"unknown problem in this suite: {', '.join(unknown[:5])}",
            f"the suite has {len(known)} problems, such as {', '.join(list(known)[:5])}",
        )
    return [known[name] for name in wanted]


def perform(
    tools: RunResources, ledger: JudgedStore, job: Job, problem: Problem, options: Options
) -> JobResult:
    """Complete one job: start or resume its run, then judge it."""
    before = bool(ledger.judgements(job.run))
    if ledger.head(job.run) == EMPTY:
        finished = start(tools, problem.task, options, job.run, method=method(job.method))
    else:
        require_same_settings(tools, job.run, problem.task, options, job.method)
        finished = resume(tools, job.run, methods=METHODS)
    return _result(job, finished, judged(ledger, tools.sandbox, job, problem), before)


def require_same_settings(
    tools: RunResources, run: RunId, task: Task, options: Options, method_name: str
) -> None:
    """Raise an error if an existing run was made for another task or with other settings."""
    recorded = started(tools.store, run)
    chosen = method(method_name)
    current = manifest_for(tools, chosen.fix_options(options), chosen)
    differing = [
        name
        for name in ("model", "weights", "decoding", "prompts", "settings", "seed")
        if getattr(recorded.manifest, name) != getattr(current, name)
    ]
    if recorded.task != task:
        differing.append("task")
    if differing:
        raise RecordRefused(
            "bench.differs",
            f"run {run} already exists, but differs in: {', '.join(differing)}",
            "use another store for an experiment with different settings",
        )


def _result(job: Job, finished: Solution, judgement: Judgement, before: bool) -> JobResult:
    judgement.require_about(finished.trace)
    final = finished.trace.working.assembly
    return JobResult(
        job,
        finished.outcome.value,
        final is not None and resolved(judgement.of(final.program)),
        token_use(finished.trace).total.tokens,
        before,
    )


def judged(ledger: JudgedStore, sandbox: Sandbox, job: Job, problem: Problem) -> Judgement:
    """Return the judgement of a finished run; judge it if it was not judged yet."""
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
    """Return every distinct program that the run assembled, in order."""
    programs = {assembled.program: None for assembled in trace.programs}
    return list(programs)
