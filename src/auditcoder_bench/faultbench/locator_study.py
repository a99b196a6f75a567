"""The steps of a locator study: inject faults, collect evidence, and read it for the tables."""

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from auditcoder import __version__
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound, RecordUnreadable
from auditcoder.domain.table import Row, Table
from auditcoder.domain.values import digest
from auditcoder.interfaces.factories import Say, open_sandbox
from auditcoder.interfaces.record_sources import open_store
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.export_import import verified_trace
from auditcoder.lifecycle.locating.evidence_model import weights_digest
from auditcoder.lifecycle.locating.scoring import FittedModels
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources
from auditcoder_bench.engines.threads import LocalEngine
from auditcoder_bench.experiments import files_of, sandbox_for
from auditcoder_bench.faultbench import injected_evidence, observations, weight_fit
from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.injected_failures import InjectedFailure
from auditcoder_bench.faultbench.injected_failures import inject as inject_into
from auditcoder_bench.faultbench.injection_targets import (
    SolvedProgram,
    from_class,
    from_run,
    is_class_name,
    is_run_name,
    programs,
)
from auditcoder_bench.faultbench.line_file import ResumableLineFile, read_lines, write_lines
from auditcoder_bench.faultbench.observations import UNSEEN, FailureEvidence, LocatorView
from auditcoder_bench.faultbench.published_answers import PUBLISHED, class_code, read_subjects
from auditcoder_bench.faultbench.published_dataset import Tell
from auditcoder_bench.faultbench.published_failures import LEFT_OUT, PublishedAnswer, answers
from auditcoder_bench.suites import suite

_PEEK_BYTES = 1000
_FAULTS_PER_CLASS = 12
_ANSWERS_PER_TASK = 5
"""Maximum number of published answers to a task that are tried until one passes."""


class PublishedClasses(NamedTuple):
    """The published answers to ClassEval by task, with their code, and the tests of each task."""

    answers: dict[str, list[tuple[PublishedAnswer, str]]]
    tests: dict[str, str]

    def others(self, task: str, model: str) -> list[str]:
        """Return the code that other models wrote for a task."""
        return [code for answer, code in self.answers.get(task, ()) if answer.model != model]


def read_published(data: Path | None) -> PublishedClasses:
    """Read ClassEval and all published answers to it."""
    known = suite("classeval")
    files = files_of(
        known._replace(sources=(*known.sources, *(each.source for each in PUBLISHED))), data
    )
    left_out = {**known.unusable, **LEFT_OUT}
    subjects = [
        subject
        for subject in read_subjects(files[known.sources[0].path])
        if subject.task_id.removeprefix("ClassEval_") not in left_out
    ]
    by_task: dict[str, list[tuple[PublishedAnswer, str]]] = {}
    for answer in answers(PUBLISHED, files, subjects):
        code = class_code(answer.text, answer.subject.imports)
        by_task.setdefault(answer.subject.task_id, []).append((answer, code))
    return PublishedClasses(by_task, {subject.task_id: subject.tests for subject in subjects})


def own_runs(store: str | None) -> dict[str, SolvedProgram]:
    """Return the runs of a store that passed and have several nodes, by their FaultBench names."""
    if store is None:
        return {}
    with closing(open_store(store)) as kept:
        traces = (verified_trace(kept, run) for run in kept.runs())
        usable = (from_run(trace, kept.blob) for trace in traces)
        return {solved.name: solved for solved in usable if solved}


def inject(
    out: Path,
    data: Path | None,
    jobs: int,
    say: Say,
    tell: Tell,
    *,
    classes: bool,
    runs: str | None = None,
) -> list[InjectedFailure]:
    """Inject faults into solved programs, classes and recorded runs; write those that fail."""
    published = read_published(data) if classes else None
    solved_works = [*programs(), *own_runs(runs).values()]
    with closing(_sandbox(say, classes=classes)) as sandbox:
        opened = partial(_tools, sandbox)
        works: list[Callable[[], list[InjectedFailure]]] = [
            partial(inject_into, opened, solved) for solved in solved_works
        ]
        for task in published.answers if published else ():
            assert published is not None
            works.append(partial(_inject_into_class, opened, published, task))
        failures: list[InjectedFailure] = []
        without_failure = 0
        done = LocalEngine(jobs).each(lambda work: work(), works)
        for number, own in enumerate(done, start=1):
            failures += own
            without_failure += not own
            tell(number, len(works), False)
    if without_failure:
        say(
            f"{without_failure} of {len(works)} programs, classes and runs gave no failure:"
            " they have no passing check that a fault could break"
        )
    failures.sort(key=lambda fault: fault.id)
    write_lines(out, failures)
    return failures


def _inject_into_class(
    opened: Callable[[], RunResources], published: PublishedClasses, task: str
) -> list[InjectedFailure]:
    """Inject faults into the first published answer to a task that passes."""
    for answer, _ in published.answers[task][:_ANSWERS_PER_TASK]:
        solved = _published_class(published, answer.id)
        failures = inject_into(opened, solved, most=_FAULTS_PER_CLASS) if solved else []
        if failures:
            return failures
    return []


def _published_class(
    published: PublishedClasses, name: str, *, alone: bool = False
) -> SolvedProgram | None:
    """Return the published class of that name, with other models' implementations.

    With `alone`, these are left out, since parsing them takes long.
    """
    task = name.rpartition("|")[2]
    answer, code = next((a, code) for a, code in published.answers[task] if a.id == name)
    others = [] if alone else published.others(task, answer.model)
    return from_class(name, answer.subject, code, others)


def observe(
    faults: Path,
    out: Path,
    data: Path | None,
    jobs: int,
    say: Say,
    tell: Tell,
    *,
    view: LocatorView = LocatorView.PROGRAM,
    spoiled: float = 0.0,
    opinions: int | None = None,
    runs: str | None = None,
) -> list[FailureEvidence]:
    """Trace every failure, then try substitutions where the trace leaves a node in doubt."""
    cases = read_faults(faults)
    real = any(isinstance(case, FaultRecord) for case in cases)
    classes = any(
        isinstance(case, InjectedFailure) and is_class_name(case.solved) for case in cases
    )
    solved = {work.name: work for work in programs()} | own_runs(runs)
    _refuse_unknown(cases, solved)
    published = read_published(data) if real or classes else None
    notes = ResumableLineFile(out, FailureEvidence)
    if any(
        _has_other_settings(evidence, view, opinions, spoiled) for evidence in notes.lines.values()
    ):
        raise RecordUnreadable(
            "faults.view",
            f"{out} was made with another --view, --opinions or --spoiled",
            "choose another output file",
        )
    with notes, closing(_sandbox(say, classes=published is not None)) as sandbox:
        collector = _EvidenceCollector(sandbox, view, published, spoiled, opinions, solved)
        todo = [case for case in cases if case.id not in notes.lines]
        for number, evidence in enumerate(LocalEngine(jobs).each(collector.observe, todo), start=1):
            notes.append(evidence)
            tell(number, len(todo), False)
        by_id = {case.id: case for case in cases}
        seen = [n for name in by_id if (n := notes.lines[name]).kind != UNSEEN]
        more = [
            (by_id[n.id], n, wanted)
            for n, wanted in zip(seen, weight_fit.open_questions(seen), strict=True)
            if wanted and n.swaps is None
        ]
        for number, evidence in enumerate(
            LocalEngine(jobs).each(collector.look_more, more), start=1
        ):
            notes.append(evidence)
            tell(number, len(more), False)
    ordered = notes.sort(list(by_id), keep_others=False)
    return [evidence for evidence in ordered if evidence.kind != UNSEEN]


def _refuse_unknown(
    cases: Iterable[FaultRecord | InjectedFailure], solved: Mapping[str, SolvedProgram]
) -> None:
    """Raise an error if a fault belongs to a program or run that is not available."""
    for case in cases:
        if isinstance(case, InjectedFailure) and not is_class_name(case.solved) | (
            case.solved in solved
        ):
            advice = "pass the store of that run as --runs" if is_run_name(case.solved) else ""
            raise NotFound(
                "faults.program",
                f"{case.id} belongs to {case.solved}, which is not available",
                advice or "make the faults again with this version: `auditcoder faults inject`",
            )


def _has_other_settings(
    evidence: FailureEvidence, view: LocatorView, opinions: int | None, spoiled: float
) -> bool:
    """Whether an observation was made with other settings than those of this command."""
    if evidence.kind == UNSEEN:
        return False
    if evidence.fault:
        return evidence.rooted and evidence.spoiled != spoiled
    asked = evidence.swaps is not None
    return evidence.view != view.value or (asked and evidence.opinions != opinions)


def read_faults(path: Path) -> list[FaultRecord] | list[InjectedFailure]:
    """Read failures from a file, which holds either real or injected ones."""
    first = path.read_bytes()[:_PEEK_BYTES] if path.suffix != ".gz" and path.is_file() else b""
    if b'"where"' in first:
        return read_lines(path, InjectedFailure)
    return read_lines(path, FaultRecord)


class _EvidenceCollector:
    """Collects evidence about real and injected failures."""

    def __init__(
        self,
        sandbox: Sandbox,
        view: LocatorView,
        published: PublishedClasses | None,
        spoiled: float,
        opinions: int | None,
        solved: Mapping[str, SolvedProgram],
    ) -> None:
        self._opinions = opinions
        self._sandbox = sandbox
        self._spoiled = spoiled
        self._view = view
        self._published = published
        self._known = solved

    def observe(self, case: FaultRecord | InjectedFailure) -> FailureEvidence:
        """Trace one failure."""
        if isinstance(case, InjectedFailure):
            evidence = injected_evidence.trace_fault(
                partial(_tools, self._sandbox), self._solved(case), case
            )
            if evidence:
                return replace(evidence, spoiled=self._spoiled if evidence.rooted else 0.0)
        else:
            evidence = observations.trace_failure(
                self._sandbox, case, self._tests(case), self._view
            )
            if evidence and self._view is LocatorView.PROGRAM:
                evidence = replace(evidence, rules=self._by_rules(case, evidence))
        return evidence or observations.not_reproduced(case.id)

    def look_more(
        self, asked: tuple[FaultRecord | InjectedFailure, FailureEvidence, tuple[str, ...]]
    ) -> FailureEvidence:
        """Try substitutions for the plausible nodes of one failure."""
        case, before, nodes = asked
        if isinstance(case, InjectedFailure):
            opened = partial(_tools, self._sandbox)
            solved = self._solved(case)
            return injected_evidence.try_fault_substitutions(
                opened, solved, case, before, nodes, before.spoiled
            )
        assert self._published is not None
        others = self._published.others(case.task_id, case.model)
        tests = self._tests(case)
        return observations.try_substitutions(
            self._sandbox, case, tests, others, before, nodes, self._view, self._opinions
        )

    def _by_rules(self, case: FaultRecord, evidence: FailureEvidence) -> tuple[str, ...]:
        """Apply the paper's rules; only R1 if the methods differ from those of the skeleton."""
        assert self._published is not None
        solved = _published_class(self._published, case.id, alone=True)
        named = (
            injected_evidence.by_rules(partial(_tools, self._sandbox), solved) if solved else None
        )
        return named if named is not None else tuple(filter(None, [evidence.traceback]))

    def _tests(self, case: FaultRecord) -> str:
        assert self._published is not None
        return self._published.tests[case.task_id]

    def _solved(self, case: InjectedFailure) -> SolvedProgram:
        if case.solved in self._known:
            return self._known[case.solved]
        assert self._published is not None
        solved = _published_class(self._published, case.solved)
        assert solved is not None
        return solved


def read_observations(paths: Iterable[Path]) -> Iterator[FailureEvidence]:
    """Read observations; of two lines about one failure the later one counts."""
    for path in paths:
        # An interrupted `observe` leaves two lines about one failure.
        last = {evidence.id: evidence for evidence in read_lines(path, FailureEvidence)}
        yield from (evidence for evidence in last.values() if evidence.kind != UNSEEN)


def made_with(paths: Iterable[Path]) -> Table:
    """Return the versions and input files of a study as a table."""
    files = [(path.name, digest(path.read_bytes())) for path in paths]
    versions = {
        "auditcoder": __version__,
        "python": platform.python_version(),
        "weights in the package": weights_digest(),
    }
    return Table(
        name="made-with",
        title="Versions and input files",
        columns=("what", "which"),
        rows=tuple(Row(cells=pair) for pair in (*versions.items(), *files)),
    )


def held_out(
    paths: Iterable[Path], cases: Sequence[FailureEvidence]
) -> tuple[list[FailureEvidence], list[FailureEvidence]]:
    """Split observations into those to fit on and those held out by the files."""
    used = list(cases)
    unused: list[FailureEvidence] = []
    for path in paths:
        names = {fault.id for fault in read_faults(path)}
        own = [case for case in used if case.id in names]
        if not own:
            raise NotFound(
                "faults.missing",
                f"there are no observations of the failures in {path}: nothing is held out",
                "pass the input file of `faults observe`, or a part of it",
            )
        unused += own
        used = [case for case in used if case.id not in names]
    return used, unused


def write_weights(path: Path, fitted: FittedModels) -> None:
    """Write weights in the format of the package's weight file."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(fitted), indent=1) + b"\n")


def _tools(sandbox: Sandbox) -> RunResources:
    return RunResources(SqliteStore(":memory:"), ScriptedModel(()), sandbox)


def _sandbox(say: Say, *, classes: bool) -> Sandbox:
    settings = read_settings()
    return (
        sandbox_for(suite("classeval"), settings, say) if classes else open_sandbox(settings, say)
    )
