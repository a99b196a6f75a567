"""FaultBench, made here: data found or fetched, work kept as it is done, nothing done twice."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple

import msgspec

from auditcoder.adapters.engines.local import LocalEngine
from auditcoder.adapters.files import whole_file
from auditcoder.bench.faultbench.building import (
    FAILS,
    LEFT_OUT,
    PASSES,
    Answer,
    Done,
    answers,
    check_reference,
    examine,
    reference_id,
)
from auditcoder.bench.faultbench.published import PUBLISHED, Published, read_subjects
from auditcoder.bench.faultbench.records import FaultRecord, read_records
from auditcoder.bench.suites import suite
from auditcoder.domain.errors import NotFound, RecordUnreadable, StoreError
from auditcoder.interfaces.benching import files_of, sandbox_for
from auditcoder.interfaces.opening import Say
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.ports import Sandbox

Tell = Callable[[int, int, bool], None]
"""Hears how many of how many are done, and whether the last was done before."""


class Built(NamedTuple):
    """What there is in the end."""

    records: tuple[FaultRecord, ...]
    answers: tuple[Done, ...]
    left_out: dict[str, str]
    """Tasks that no answer was looked at for, and why."""


def published(models: Sequence[str]) -> tuple[Published, ...]:
    """Return the published answers of these models, or of all."""
    known = list(dict.fromkeys(each.model for each in PUBLISHED))
    for name in models:
        if name not in known:
            raise NotFound(
                "faults.model",
                f"no answers of {name} were published",
                f"there are those of {', '.join(known)}",
            )
    return tuple(each for each in PUBLISHED if not models or each.model in models)


def build(
    out: Path, chosen: Iterable[Published], data: Path | None, jobs: int, say: Say, tell: Tell
) -> Built:
    """Examine every answer that is not yet, and write the records in their order."""
    chosen = tuple(chosen)
    known = suite("classeval")
    with_answers = known._replace(sources=(*known.sources, *(each.source for each in chosen)))
    files = files_of(with_answers, data)
    subjects = read_subjects(files[known.sources[0].path])
    left_out = dict(known.unusable) | dict(LEFT_OUT)
    subjects = [s for s in subjects if s.task_id.removeprefix("ClassEval_") not in left_out]
    with ExitStack() as held:
        shelf = held.enter_context(Shelf(out))
        sandbox = sandbox_for(known, read_settings(), say)
        held.callback(sandbox.close)
        for subject in subjects:
            kept = shelf.done.get(reference_id(subject))
            if kept is None:
                kept = check_reference(sandbox, subject)
                shelf.keep(kept, None)
            if kept.outcome != PASSES:
                left_out[subject.task_id] = f"its reference does not do here: {kept.why}"
        subjects = [s for s in subjects if s.task_id not in left_out]
        todo = list(answers(chosen, files, subjects))
        for number, before in enumerate(_worked(shelf, sandbox, todo, jobs), start=1):
            tell(number, len(todo), before)
        records = shelf.finish([answer.id for answer in todo])
        return Built(records, tuple(shelf.done[answer.id] for answer in todo), left_out)


def _worked(shelf: "Shelf", sandbox: Sandbox, todo: list[Answer], jobs: int) -> Iterator[bool]:
    """Examine what is not done; yield for each whether it was done before."""
    left = [answer for answer in todo if answer.id not in shelf.done]
    for _ in range(len(todo) - len(left)):
        yield True
    for done, record in LocalEngine(jobs).each(partial(examine, sandbox), left):
        shelf.keep(done, record)
        yield False


class Shelf:
    """The file of records, and beside it what came of every answer.

    A record is written before the word that its answer is done, so a kill loses one answer's
    work at most, and doubles none.
    """

    def __init__(self, out: Path) -> None:
        if out.suffix == ".gz":
            raise StoreError(
                "file.unwritable",
                f"{out} would be compressed, and a build adds line by line",
                "name it without .gz, and compress it when it is done",
            )
        self._out = out
        self._beside = out.with_name(f"{out.name}.done")
        written = read_records(out, torn=True) if out.exists() else []
        there = {record.id for record in written}
        done = (d for d in _read_done(self._beside) if d.outcome != FAILS or d.id in there)
        self.done = {d.id: d for d in done}
        self._records = {r.id: r for r in written if r.id in self.done}
        self._files: tuple[IO[bytes], IO[bytes]] | None = None

    def keep(self, done: Done, record: FaultRecord | None) -> None:
        """Write down what came of an answer."""
        assert self._files is not None
        for file, line in zip(self._files, (record, done), strict=True):
            if line is not None:
                file.write(msgspec.json.encode(line) + b"\n")
                file.flush()
        self.done[done.id] = done
        if record is not None:
            self._records[record.id] = record

    def finish(self, order: Sequence[str]) -> tuple[FaultRecord, ...]:
        """Put the records in order, those of other builds into the same file behind them."""
        places = {name: place for place, name in enumerate(order)}
        kept = sorted(self._records.values(), key=lambda r: places.get(r.id, len(places)))
        write_lines(self._out, kept)
        return tuple(record for record in kept if record.id in places)

    def __enter__(self) -> "Shelf":
        """Open both files, whole."""
        write_lines(self._out, self._records.values())
        write_lines(self._beside, self.done.values())
        self._files = (self._out.open("ab"), self._beside.open("ab"))
        return self

    def __exit__(self, *_: object) -> None:
        """Close both."""
        for file in self._files or ():
            file.close()


def write_lines(path: Path, values: Iterable[msgspec.Struct]) -> None:
    with whole_file(path) as file:
        for value in values:
            file.write(msgspec.json.encode(value) + b"\n")


def _read_done(path: Path) -> Iterator[Done]:
    """Read what was done; a line that was cut off was not."""
    content = path.read_bytes() if path.exists() else b""
    for line in content[: content.rfind(b"\n") + 1].splitlines():
        try:
            yield msgspec.json.decode(line, type=Done)
        except msgspec.MsgspecError as error:
            raise RecordUnreadable(
                "faults.unreadable",
                f"{path} does not say what was done: {error}",
                "remove it, to begin again",
            ) from error
