"""Builds FaultBench from published answers; an interrupted build continues where it stopped."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import NamedTuple

from auditcoder.domain.errors import NotFound
from auditcoder.interfaces.factories import Say
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.engines.threads import LocalEngine
from auditcoder_bench.experiments import files_of, sandbox_for
from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.line_file import ResumableLineFile
from auditcoder_bench.faultbench.published_answers import PUBLISHED, PublishedModel, read_subjects
from auditcoder_bench.faultbench.published_failures import (
    FAILS,
    LEFT_OUT,
    PASSES,
    AnswerOutcome,
    PublishedAnswer,
    answers,
    check_reference,
    examine,
    reference_id,
)
from auditcoder_bench.suites import suite

Tell = Callable[[int, int, bool], None]
"""Reports progress: the number done, the total, and whether the last was done earlier."""


class BuildSummary(NamedTuple):
    """The result of a build."""

    records: tuple[FaultRecord, ...]
    answers: tuple[AnswerOutcome, ...]
    left_out: dict[str, str]
    """Tasks whose answers were not examined, and why."""


def published(models: Sequence[str]) -> tuple[PublishedModel, ...]:
    """Return the published answers of these models, or of all."""
    known = list(dict.fromkeys(each.model for each in PUBLISHED))
    for name in models:
        if name not in known:
            raise NotFound(
                "faults.model",
                f"no published answers of model '{name}'",
                f"the models are {', '.join(known)}",
            )
    return tuple(each for each in PUBLISHED if not models or each.model in models)


def build(
    out: Path, chosen: Iterable[PublishedModel], data: Path | None, jobs: int, say: Say, tell: Tell
) -> BuildSummary:
    """Examine every answer that was not examined before, and write the records in order."""
    chosen = tuple(chosen)
    known = suite("classeval")
    with_answers = known._replace(sources=(*known.sources, *(each.source for each in chosen)))
    files = files_of(with_answers, data)
    subjects = read_subjects(files[known.sources[0].path])
    left_out = dict(known.unusable) | dict(LEFT_OUT)
    subjects = [s for s in subjects if s.task_id.removeprefix("ClassEval_") not in left_out]
    with ExitStack() as held:
        written = held.enter_context(_DatasetFiles(out))
        sandbox = sandbox_for(known, read_settings(), say)
        held.callback(sandbox.close)
        for subject in subjects:
            kept = written.outcomes.get(reference_id(subject))
            if kept is None:
                kept = check_reference(sandbox, subject)
                written.append(kept, None)
            if kept.outcome != PASSES:
                left_out[subject.task_id] = f"its reference solution fails here: {kept.why}"
        subjects = [s for s in subjects if s.task_id not in left_out]
        todo = list(answers(chosen, files, subjects))
        for number, before in enumerate(_examine_remaining(written, sandbox, todo, jobs), start=1):
            tell(number, len(todo), before)
        records = written.sort_records([answer.id for answer in todo])
        return BuildSummary(
            records, tuple(written.outcomes[answer.id] for answer in todo), left_out
        )


def _examine_remaining(
    files: "_DatasetFiles", sandbox: Sandbox, todo: list[PublishedAnswer], jobs: int
) -> Iterator[bool]:
    """Examine the remaining answers; yield for each answer whether it was examined before."""
    left = [answer for answer in todo if answer.id not in files.outcomes]
    for _ in range(len(todo) - len(left)):
        yield True
    for done, record in LocalEngine(jobs).each(partial(examine, sandbox), left):
        files.append(done, record)
        yield False


class _DatasetFiles:
    """The file of failure records, and next to it the file with the outcome of every answer.

    The record of a failure is written before its outcome. After a kill, an outcome without its
    record and a record without its outcome are dropped, and that one answer is examined again.
    """

    def __init__(self, out: Path) -> None:
        self._records = ResumableLineFile(out, FaultRecord)
        self._outcomes = ResumableLineFile(out.with_name(f"{out.name}.done"), AnswerOutcome)
        records, outcomes = self._records.lines, self._outcomes.lines
        for name in [n for n, o in outcomes.items() if o.outcome == FAILS and n not in records]:
            del outcomes[name]
        for name in records.keys() - outcomes.keys():
            del records[name]

    @property
    def outcomes(self) -> Mapping[str, AnswerOutcome]:
        """The outcome of every answer that was examined, by its id."""
        return self._outcomes.lines

    def append(self, outcome: AnswerOutcome, record: FaultRecord | None) -> None:
        """Write the outcome of an answer and, if it fails, its record."""
        if record is not None:
            self._records.append(record)
        self._outcomes.append(outcome)

    def sort_records(self, order: Sequence[str]) -> tuple[FaultRecord, ...]:
        """Sort the records; those of other builds into the same file follow."""
        return tuple(self._records.sort(order, keep_others=True))

    def __enter__(self) -> "_DatasetFiles":
        """Open both files."""
        self._records.__enter__()
        self._outcomes.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Close both files."""
        self._records.__exit__()
        self._outcomes.__exit__()
