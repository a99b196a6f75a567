"""A run cut off at any moment goes on as if nothing had happened, and nothing is asked twice."""

import contextlib
import multiprocessing
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import Head, Reader
from auditcoder.domain.errors import (
    BudgetExceeded,
    ModelUnavailable,
    ReplayDiverged,
    StoreConflict,
    StoreError,
    StoreFull,
    StoreLocked,
)
from auditcoder.domain.events import Event, Outcome, ReplyRecorded, RunResumed
from auditcoder.domain.evidence import CheckKind
from auditcoder.domain.request import FREE, Reply, Request, Traits
from auditcoder.domain.task import Limits, Task
from auditcoder.domain.values import Digest, RunId, digest_of
from auditcoder.interfaces.opening import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle import recorder, workshop
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.patience import Patience
from auditcoder.lifecycle.ports import Sandbox, TraceReader, TraceStore
from auditcoder.lifecycle.recorder import Watch
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.lifecycle.workshop import Build, Options
from auditcoder.methods import solving
from auditcoder.methods.solving import Solution, Tools, replay, resume, start
from auditcoder.prompts import Prompt, load
from tests.support import solvers

RUN = RunId("a-run")
KILLS = int(os.environ.get("AUDITCODER_KILLS", "40"))
EVERY = 1 if KILLS >= 200 else 16
"""Cut a run off at every so many of its events."""
LONGEST = 5.0
"""Seconds: a machine that once stood still must not leave the next ones alive for long."""
IMPATIENT = Patience(attempts=1)

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.faults.test_resume"])


class Life(NamedTuple):
    """A task that always goes the same way."""

    task: Task
    options: Options
    parallel: int
    wrong: Mapping[str, str]
    """What is wrongly written at first, by function."""
    stubborn: bool = False
    """Whether a function written again is still wrong, so that its branch is planned again."""


def _patient(task: Task) -> Task:
    return msgspec.structs.replace(task, limits=Limits(seconds=10.0))


LIVES = {
    "repaired": Life(_patient(solvers.PROGRAM), Options(), 1, {"square": "return number + 'x'"}),
    "branch": Life(
        _patient(solvers.SIGNED),
        Options(build=Build.NODE, fallback=True, differential=True),
        2,
        {"square": "return number + 'x'"},
        stubborn=True,
    ),
    "parallel": Life(
        _patient(solvers.PROGRAM),
        Options(build=Build.NODE),
        4,
        {"sum_squares": "return -1"},
    ),
    "class": Life(
        _patient(solvers.CLASS), Options(build=Build.NODE), 3, {"total": "return self.nothing"}
    ),
}


class Scribe:
    """Answers by the request alone, and notes what it was asked where no kill can reach."""

    name = "scribe"

    def __init__(self, life: Life, log: Path | None = None, pace: float = 0.0) -> None:
        self.traits = Traits(price=FREE, parallel=life.parallel)
        self.asked: list[Digest] = []
        self._life = life
        self._pace = pace
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def complete(self, request: Request) -> Reply:
        """Note the request, and answer it."""
        self.asked.append(request.digest)
        if self._log is not None:
            os.write(self._log, f"{request.digest}\n".encode())
            os.fsync(self._log)
        # Different requests take different times, so that parallel ones come back in any order.
        time.sleep(self._pace * (1 + int(request.digest[:2], 16) % 8))
        seconds = int(request.digest[:6], 16) / 1e6
        return solvers.answer(request, self._said(request), seconds)

    def _said(self, request: Request) -> str:
        step = solvers.step_of(request)
        if step not in solvers.CODES:
            return solvers.right(request)
        wrong = self._life.wrong if step != "again" or self._life.stubborn else {}
        if "inner_part" in solvers.asked(request):
            wrong = {}
        code = "\n\n".join(
            solvers.function(header, wrong.get(header.partition("(")[0]))
            for header in solvers.headers(request)
        )
        scoped = "class Basket" in solvers.asked(request)
        return solvers.fenced(solvers.in_class(code) if scoped else code)

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox(read_settings(), lambda _said: None)
    yield opened
    opened.close()


class Ended(NamedTuple):
    """What a run came to, without what time and interruptions put into it."""

    outcome: str
    program: str | None
    parts: tuple[Digest, ...]
    verdicts: tuple[tuple[str, str], ...]
    answers: Counter[str]


def ended(store: TraceReader, solution: Solution) -> Ended:
    working = solution.trace.working
    assert working.graph is not None
    assert working.brief is not None
    code = {node: (c.digest, c.units, c.scope, c.agent) for node, c in working.code.items()}
    owners = dict(sorted(working.owners().items()))
    verdicts = {
        check: standing.verdict.value
        for check, standing in working.evidence.items()
        if standing.kind is not CheckKind.PROBE
    }
    return Ended(
        solution.outcome.value,
        solution.program,
        (
            digest_of(working.brief),
            digest_of(working.graph),
            digest_of(code),
            digest_of(owners),
            digest_of(working.assembly),
        ),
        tuple(sorted(verdicts.items())),
        answers(store),
    )


def events(store: TraceReader) -> list[Event]:
    reader = Reader()
    return [reader.read(body).event for body in store.read(RUN)]


def answers(store: TraceReader) -> Counter[str]:
    """Count the answers on record, by request."""
    recorded = (e for e in events(store) if isinstance(e, ReplyRecorded))
    return Counter(str(e.request) for e in recorded if e.finish != "failed")


def undisturbed(life: Life, sandbox: Sandbox) -> tuple[Ended, list[Event]]:
    store = SqliteStore(":memory:")
    solution = start(Tools(store, Scribe(life), sandbox), life.task, life.options, RUN)
    assert solution.passed, solution.trace.finish
    return ended(store, solution), events(store)


def hold(store: TraceStore, sandbox: Sandbox) -> None:
    """Hold a finished run to what a record promises."""
    report = verify_run(store, RUN)
    assert report.holds, report.findings
    head = store.head(RUN)
    assert replay(store, RUN, None).head == head
    seen = replay(store, RUN, sandbox)
    assert (seen.head, seen.differences) == (head, ())


# A process of its own, killed.


def work(name: str, place: str, log: str, pace: float, ready: Connection) -> None:
    """Start the run or go on with it; leave quietly when interrupted."""
    os.setsid()
    life = LIVES[name]
    try:
        ready.send_bytes(b"ready")
        sandbox = open_sandbox(read_settings(), lambda _said: None)
        store = SqliteStore(place)
        tools = Tools(store, Scribe(life, Path(log), pace), sandbox)
        if store.head(RUN).entries:
            resume(tools, RUN)
        else:
            start(tools, life.task, life.options, RUN)
        sandbox.close()
        store.close()
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException as error:
        Path(f"{log}.error").write_text(f"{type(error).__name__}: {error}")
        raise
    os._exit(0)


def worker(name: str, place: Path, log: Path, pace: float) -> BaseProcess:
    """Start a worker, and wait until it is about to begin."""
    reading, writing = processes.Pipe(duplex=False)
    process = processes.Process(target=work, args=(name, str(place), str(log), pace, writing))
    process.start()
    writing.close()
    with contextlib.suppress(EOFError):
        reading.recv_bytes()
    reading.close()
    return process


def end(process: BaseProcess, seconds: float, number: signal.Signals) -> int:
    """Let it work so long, then send it the signal; return its exit code."""
    process.join(seconds)
    if process.exitcode is None:
        assert process.pid is not None
        with contextlib.suppress(ProcessLookupError):
            if number is signal.SIGINT:
                os.killpg(process.pid, number)  # as a terminal does
            else:
                os.kill(process.pid, number)
    process.join(60)
    assert process.exitcode is not None, "it does not end"
    code = process.exitcode
    process.close()
    return code


def logged(log: Path) -> list[str]:
    return log.read_text().split("\n")[:-1] if log.exists() else []


class Toll(NamedTuple):
    kills: int
    """How many were killed before they were done."""
    cut: int
    """How many of those had written something."""
    lost: int
    """Answers that were on their way."""


def kill_many(name: str, place: Path, kills: int, sandbox: Sandbox, number: signal.Signals) -> Toll:
    """Kill one life after another at random moments until there were so many kills."""
    life, chance, pace = LIVES[name], random.Random(f"{name}{number}"), 0.01
    wanted, _ = undisturbed(life, sandbox)
    toll, lives = Toll(0, 0, 0), 0
    whole = 1.0
    while toll.kills < kills:
        lives += 1
        store_path, log = place / f"{name}-{lives}.db", place / f"{name}-{lives}.log"
        for _ in range(chance.randint(1, 5)):
            before = Counter(logged(log))
            on_record = answers(SqliteStore(store_path)) if store_path.exists() else Counter()
            code = end(worker(name, store_path, log, pace), chance.uniform(0.0, whole), number)
            error = Path(f"{log}.error")
            assert not error.exists(), error.read_text()
            assert code in {0, -number, 130}
            asked = Counter(logged(log)) - before
            assert not asked + on_record - wanted.answers, "what is on record was asked again"
            if code == 0:
                break
            store = SqliteStore(store_path)
            now = answers(store)
            lost = (asked - (now - on_record)).total()
            assert lost <= life.parallel
            if store.head(RUN).entries:
                report = verify_run(store, RUN)
                assert report.holds, report.findings
            toll = Toll(toll.kills + 1, toll.cut + bool(store.head(RUN).entries), toll.lost + lost)
            store.close()
        begun = time.monotonic()
        assert end(worker(name, store_path, log, pace), 120.0, signal.SIGKILL) == 0
        took = time.monotonic() - begun
        whole = min(LONGEST, max(whole if lives > 1 else 0.0, took))
        store = SqliteStore(store_path)
        assert ended(store, solving.solution(store, RUN)) == wanted
        hold(store, sandbox)
        store.close()
    return toll


@pytest.mark.slow
@pytest.mark.parametrize("name", LIVES)
def test_a_killed_run_goes_on_as_if_nothing_had_happened(
    name: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    toll = kill_many(name, tmp_path, KILLS // len(LIVES), sandbox, signal.SIGKILL)
    assert toll.cut, "all were killed before they could write"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["repaired", "parallel"])
def test_an_interrupted_run_goes_on_as_if_nothing_had_happened(
    name: str, tmp_path: Path, sandbox: Sandbox
) -> None:
    toll = kill_many(name, tmp_path, KILLS // (2 * len(LIVES)), sandbox, signal.SIGINT)
    assert toll.cut, "all were interrupted before they could write"


# In this process, cut off at every single event, and at every single request.


class Failing:
    """A store that fails once, at one append."""

    def __init__(self, store: TraceStore, at: int, error: BaseException) -> None:
        self._store, self._left, self._error = store, at, error

    def runs(self) -> list[RunId]:
        return self._store.runs()

    def head(self, run: RunId) -> Head:
        return self._store.head(run)

    def read(self, run: RunId, start: int = 0) -> Iterator[bytes]:
        return self._store.read(run, start)

    def blob(self, name: Digest) -> bytes:
        return self._store.blob(name)

    def append(
        self,
        run: RunId,
        after: Head,
        entries: Iterable[bytes],
        head: Head,
        blobs: Mapping[Digest, bytes] | Iterable[tuple[Digest, bytes]] = (),
    ) -> None:
        self._left -= 1
        if self._left == 0:
            raise self._error
        self._store.append(run, after, entries, head, blobs)

    def close(self) -> None:
        """Leave it to who opened it."""


def go_on(store: TraceStore, life: Life, sandbox: Sandbox, wanted: Ended) -> None:
    """Replay a run as far as it came, resume it, and hold it to what it would have been."""
    known, head = answers(store), store.head(RUN)
    seen = replay(store, RUN, None)
    assert (seen.head, seen.finished) == (head, False)
    model = Scribe(life)
    solution = resume(Tools(store, model, sandbox), RUN)
    assert ended(store, solution) == wanted
    assert not Counter(map(str, model.asked)) + known - wanted.answers
    hold(store, sandbox)


@pytest.mark.parametrize("name", LIVES)
@pytest.mark.parametrize(
    "error", [StoreFull("store.full", "full"), StoreLocked("store.locked", "held")], ids=repr
)
def test_a_store_that_fails_at_any_event_costs_nothing_but_time(
    name: str, error: StoreError, sandbox: Sandbox
) -> None:
    life = LIVES[name]
    wanted, whole = undisturbed(life, sandbox)
    first = 2 if isinstance(error, StoreFull) else 5
    for at in range(first, len(whole) + 1, EVERY):
        store = SqliteStore(":memory:")
        tools = Tools(Failing(store, at, error), Scribe(life), sandbox)
        with pytest.raises(type(error)):
            start(tools, life.task, life.options, RUN)
        assert verify_run(store, RUN).holds
        go_on(store, life, sandbox, wanted)
        store.close()


@pytest.mark.parametrize("name", LIVES)
def test_a_run_cut_off_twice_goes_on_twice(name: str, sandbox: Sandbox) -> None:
    life = LIVES[name]
    full = StoreFull("store.full", "full")
    wanted, whole = undisturbed(life, sandbox)
    for at in range(2, len(whole), 3 * EVERY):
        for later in range(1, len(whole) - at, 5 * EVERY):
            store = SqliteStore(":memory:")
            broken = Tools(Failing(store, at, full), Scribe(life), sandbox)
            with pytest.raises(StoreFull):
                start(broken, life.task, life.options, RUN)
            with pytest.raises(StoreFull):
                resume(Tools(Failing(store, later, full), Scribe(life), sandbox), RUN)
            go_on(store, life, sandbox, wanted)
            resumed = [e for e in events(store) if isinstance(e, RunResumed)]
            assert len(resumed) in {1, 2}, "a resumption that came to nothing is not on record"
            store.close()


class Down(Scribe):
    """Does not answer from some request on."""

    def __init__(self, life: Life, after: int) -> None:
        super().__init__(life)
        self._after = after

    def complete(self, request: Request) -> Reply:
        if len(self.asked) >= self._after:
            raise ModelUnavailable("model.down", "it is down", billed=self._after % 2 == 0)
        return super().complete(request)


@pytest.mark.parametrize("name", LIVES)
def test_a_model_that_is_down_ends_the_run_where_it_can_go_on(name: str, sandbox: Sandbox) -> None:
    life = LIVES[name]
    wanted, _ = undisturbed(life, sandbox)
    for after in range(0, wanted.answers.total(), min(3, EVERY)):
        store = SqliteStore(":memory:")
        tools = Tools(store, Down(life, after), sandbox, IMPATIENT)
        with pytest.raises(ModelUnavailable):
            start(tools, life.task, life.options, RUN)
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                resume(Tools(store, Down(life, 0), sandbox, IMPATIENT), RUN)
        assert verify_run(store, RUN).holds
        go_on(store, life, sandbox, wanted)
        store.close()


@pytest.mark.parametrize("name", LIVES)
def test_an_interrupt_at_any_event_leaves_a_run_that_goes_on(name: str, sandbox: Sandbox) -> None:
    life = LIVES[name]
    wanted, whole = undisturbed(life, sandbox)

    def interrupting(at: int) -> Watch:
        def watch(seq: int, _event: Event) -> None:
            if seq == at:
                raise KeyboardInterrupt

        return watch

    for at in range(0, len(whole) - 1, EVERY):
        store = SqliteStore(":memory:")
        tools = Tools(store, Scribe(life), sandbox)
        with pytest.raises(KeyboardInterrupt):
            start(tools, life.task, life.options, RUN, interrupting(at))
        # Again while what is on record is gone through, and where it goes on.
        for early in {at // 2, at}:
            before = store.head(RUN)
            with pytest.raises(KeyboardInterrupt):
                resume(tools, RUN, interrupting(early))
            assert store.head(RUN) == before
        assert verify_run(store, RUN).holds
        go_on(store, life, sandbox, wanted)
        store.close()


def test_two_that_go_on_with_one_run_do_not_both_write_it(sandbox: Sandbox) -> None:
    life = LIVES["repaired"]
    wanted, _ = undisturbed(life, sandbox)
    store = SqliteStore(":memory:")
    with pytest.raises(ModelUnavailable):
        start(Tools(store, Down(life, 1), sandbox, IMPATIENT), life.task, life.options, RUN)

    class Overtaken(Scribe):
        def complete(self, request: Request) -> Reply:
            resume(Tools(store, Scribe(life), sandbox), RUN)
            return super().complete(request)

    with pytest.raises(StoreConflict):
        resume(Tools(store, Overtaken(life), sandbox), RUN)
    assert ended(store, solving.solution(store, RUN)) == wanted
    hold(store, sandbox)


def test_an_interrupt_while_the_past_is_gone_through_is_an_interrupt(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The moment is short: between looking for a recorded answer and having it."""
    life = LIVES["repaired"]
    wanted, whole = undisturbed(life, sandbox)
    store = SqliteStore(":memory:")
    broken = Failing(store, len(whole), StoreFull("store.full", "full"))
    with pytest.raises(StoreFull):
        start(Tools(broken, Scribe(life), sandbox), life.task, life.options, RUN)
    head = store.head(RUN)

    def interrupted(_recorder: recorder.Recorder, _request: Digest) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(recorder.Recorder, "recall_reply", interrupted)
        with pytest.raises(KeyboardInterrupt):
            resume(Tools(store, Scribe(life), sandbox), RUN)
    assert store.head(RUN) == head
    go_on(store, life, sandbox, wanted)


def test_calls_that_brought_nothing_are_counted_against_the_budget_for_good(
    sandbox: Sandbox,
) -> None:
    """Each may have cost as much as it could: whoever resumes again and again pays for it."""
    life = LIVES["repaired"]
    options = msgspec.structs.replace(life.options, budget=Budget(tokens=20_000))
    store = SqliteStore(":memory:")
    tools = Tools(store, Down(life, 0), sandbox, IMPATIENT)
    with pytest.raises(ModelUnavailable):
        start(tools, life.task, options, RUN)
    for _ in range(10):
        with contextlib.suppress(ModelUnavailable):
            assert resume(tools, RUN).outcome is Outcome.STOPPED
            break
    else:
        raise AssertionError("ten calls of more than 4,000 tokens fit into 20,000")
    hold(store, sandbox)


def test_a_budget_that_nobody_can_keep_begins_no_run(sandbox: Sandbox) -> None:
    life = LIVES["repaired"]
    options = msgspec.structs.replace(life.options, budget=Budget(usd=1.0))
    store, model = SqliteStore(":memory:"), Scribe(life)
    model.traits = Traits(price=None)
    with pytest.raises(BudgetExceeded):
        start(Tools(store, model, sandbox), life.task, options, RUN)
    assert store.runs() == []


@pytest.mark.parametrize("name", LIVES)
def test_a_finished_run_is_not_made_again(name: str, sandbox: Sandbox) -> None:
    life = LIVES[name]
    store = SqliteStore(":memory:")
    first = start(Tools(store, Scribe(life), sandbox), life.task, life.options, RUN)
    head, model = store.head(RUN), Scribe(life)
    again = resume(Tools(store, model, sandbox), RUN)
    assert (again.program, again.outcome) == (first.program, first.outcome)
    assert (store.head(RUN), model.asked) == (head, [])


@pytest.mark.parametrize("name", LIVES)
def test_other_prompts_are_refused_and_nothing_is_written(
    name: str, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = LIVES[name]
    _, whole = undisturbed(life, sandbox)
    first = next(n for n, e in enumerate(whole) if isinstance(e, ReplyRecorded))

    def altered(role: str) -> Prompt:
        prompt = load(role)
        return prompt._replace(system=f"{prompt.system} Hurry.")

    for at in range(first + 2, len(whole) + 1, 2 * EVERY):
        store = SqliteStore(":memory:")
        broken = Failing(store, at, StoreFull("store.full", "full"))
        with pytest.raises(StoreFull):
            start(Tools(broken, Scribe(life), sandbox), life.task, life.options, RUN)
        head, model = store.head(RUN), Scribe(life)
        with monkeypatch.context() as patched:
            patched.setattr(workshop, "load", altered)
            patched.setattr(recorder, "_PATIENCE", 0.5)
            with pytest.raises(ReplayDiverged) as refused:
                resume(Tools(store, model, sandbox), RUN)
        assert refused.value.code in {"replay.diverged", "replay.miss"}
        assert (store.head(RUN), model.asked) == (head, [])
        store.close()


def test_other_settings_are_refused_and_nothing_is_written(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = LIVES["repaired"]
    _, whole = undisturbed(life, sandbox)
    others = (Options(seed=1), Options(temperature="0.5"), Options(build=Build.NODE))
    for options in others:
        store = SqliteStore(":memory:")
        broken = Failing(store, len(whole), StoreFull("store.full", "full"))
        with pytest.raises(StoreFull):
            start(Tools(broken, Scribe(life), sandbox), life.task, life.options, RUN)
        head, model = store.head(RUN), Scribe(life)
        with monkeypatch.context() as patched:
            patched.setattr(recorder, "_PATIENCE", 0.5)
            patched.setattr(solving, "options_of", lambda _manifest, chosen=options: chosen)
            with pytest.raises(ReplayDiverged):
                resume(Tools(store, model, sandbox), RUN)
        assert (store.head(RUN), model.asked) == (head, [])
        store.close()
