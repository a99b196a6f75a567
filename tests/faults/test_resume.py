"""An interrupted run resumes to the same result, and no recorded request is sent again."""

import contextlib
import multiprocessing
import os
import random
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EntryReader, Head
from auditcoder.domain.errors import (
    BudgetExceeded,
    ModelUnavailable,
    ReplayDiverged,
    StoreConflict,
    StoreError,
    StoreFull,
    StoreLocked,
)
from auditcoder.domain.events import Event, ReplyRecorded, RunOutcome, RunResumed
from auditcoder.domain.evidence import CheckKind
from auditcoder.domain.request import FREE, Reply, Request, Traits
from auditcoder.domain.task import Limits, Task
from auditcoder.domain.values import Digest, RunId, digest_of
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle import replayer, run_context, runs
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import Build, Options
from auditcoder.lifecycle.ports import Sandbox, TraceReader, TraceStore
from auditcoder.lifecycle.recorder import Watch
from auditcoder.lifecycle.retry_policy import RetryPolicy
from auditcoder.lifecycle.runs import RunResources, Solution, replay, resume, start
from auditcoder.prompts import Prompt, load
from tests.support import scripted_answers
from tests.support.campaigns import CUTS, RUN_INTERRUPTS, RUN_KILLS, sized, spread
from tests.support.sketched_runs import sketching

RUN = RunId("a-run")
HUNG = 300.0
"""Seconds after which a process counts as hung."""
NO_RETRIES = RetryPolicy(attempts=1)

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["tests.faults.test_resume"])


class Scenario(NamedTuple):
    """A task whose run is always the same."""

    task: Task
    options: Options
    parallel: int
    wrong: Mapping[str, str]
    """The wrong first code, by function."""
    stubborn: bool = False
    """Whether a function written again is still wrong, so that its branch is planned again."""


def _with_long_limits(task: Task) -> Task:
    return msgspec.structs.replace(task, limits=Limits(seconds=60.0))


SCENARIOS = {
    "repaired": Scenario(
        _with_long_limits(scripted_answers.PROGRAM),
        sketching(),
        1,
        {"square": "return number + 'x'"},
    ),
    "branch": Scenario(
        _with_long_limits(scripted_answers.SIGNED),
        sketching(build=Build.NODE, fallback=True, differential=True),
        2,
        {"square": "return number + 'x'"},
        stubborn=True,
    ),
    "parallel": Scenario(
        _with_long_limits(scripted_answers.PROGRAM),
        sketching(build=Build.NODE),
        4,
        {"sum_squares": "return -1"},
    ),
    "class": Scenario(
        _with_long_limits(scripted_answers.CLASS),
        sketching(build=Build.NODE),
        3,
        {"total": "return self.nothing"},
    ),
}

scenarios = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in {"repaired", "parallel"} else pytest.mark.campaign)
        for name in SCENARIOS
    ],
)


class Moment(Enum):
    """When a process is sent its signal."""

    OPENED = "before it opens the store"
    ASKED = "while a request is under way"
    WRITING = "before an event is written"
    WRITTEN = "after an event was written"


class Strike:
    """Sends this process a signal when something happens for the n-th time."""

    def __init__(self, moment: Moment, count: int, number: signal.Signals) -> None:
        self._moment, self._left, self._number = moment, count, number
        self._lock = threading.Lock()

    def at(self, moment: Moment) -> None:
        """Count a moment, and send the signal if it is the chosen one."""
        with self._lock:
            self._left -= moment is self._moment
            if self._left or moment is not self._moment:
                return
            if self._number is signal.SIGINT:
                os.killpg(os.getpid(), self._number)  # as a terminal does
            else:
                os.kill(os.getpid(), self._number)


class RecordedModel:
    """Answers depend on the request alone; requests are logged to a file that survives a kill."""

    name = "scribe"

    def __init__(
        self, scenario: Scenario, log: Path | None = None, strike: "Strike | None" = None
    ) -> None:
        self.traits = Traits(price=FREE, parallel=scenario.parallel)
        self.asked: list[Digest] = []
        self._scenario = scenario
        self._strike = strike
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def complete(self, request: Request) -> Reply:
        """Log the request and answer it."""
        self.asked.append(request.digest)
        if self._log is not None:
            os.write(self._log, f"{request.digest}\n".encode())
            os.fsync(self._log)
        if self._strike is not None:
            self._strike.at(Moment.ASKED)
        seconds = int(request.digest[:6], 16) / 1e6
        return scripted_answers.answer(request, self._answer_text(request), seconds)

    def _answer_text(self, request: Request) -> str:
        step = scripted_answers.step_of(request)
        if step not in scripted_answers.CODES:
            return scripted_answers.right(request)
        wrong = self._scenario.wrong if step != "again" or self._scenario.stubborn else {}
        if "inner_part" in scripted_answers.asked(request):
            wrong = {}
        code = "\n\n".join(
            scripted_answers.function(header, wrong.get(header.partition("(")[0]))
            for header in scripted_answers.headers(request)
        )
        scoped = "class Basket" in scripted_answers.asked(request)
        return scripted_answers.fenced(scripted_answers.in_class(code) if scoped else code)

    def close(self) -> None:
        if self._log is not None:
            os.close(self._log)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox(read_settings(), lambda _notice: None)
    yield opened
    opened.close()


class Ended(NamedTuple):
    """The result of a run, without times and traces of interruptions."""

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
    reader = EntryReader()
    return [reader.read(body).event for body in store.read(RUN)]


def answers(store: TraceReader) -> Counter[str]:
    """Count the answers on record, by request."""
    recorded = (e for e in events(store) if isinstance(e, ReplyRecorded))
    return Counter(str(e.request) for e in recorded if e.finish != "failed")


def run_uninterrupted(scenario: Scenario, sandbox: Sandbox) -> tuple[Ended, list[Event]]:
    store = SqliteStore(":memory:")
    solution = start(
        RunResources(store, RecordedModel(scenario), sandbox), scenario.task, scenario.options, RUN
    )
    assert solution.passed, solution.trace.finish
    return ended(store, solution), events(store)


def check_record(store: TraceStore, sandbox: Sandbox) -> None:
    """Check that the record of a finished run verifies and replays."""
    report = verify_run(store, RUN)
    assert report.holds, report.findings
    head = store.head(RUN)
    assert replay(store, RUN, None).head == head
    seen = replay(store, RUN, sandbox)
    assert (seen.head, seen.differences) == (head, ())


# Interruptions of a separate process, by a signal.


def work(
    name: str, place: str, log: str, strike: tuple[Moment, int, signal.Signals] | None
) -> None:
    """Start the run or resume it; end quietly when interrupted."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    scenario = SCENARIOS[name]
    striker = Strike(*strike) if strike else Strike(Moment.OPENED, 0, signal.SIGKILL)
    try:
        striker.at(Moment.OPENED)
        sandbox = open_sandbox(read_settings(), lambda _notice: None)
        store = SqliteStore(place)
        model = RecordedModel(scenario, Path(log), striker)
        tools = RunResources(StrikingStore(store, striker), model, sandbox)
        if store.head(RUN).entries:
            resume(tools, RUN)
        else:
            start(tools, scenario.task, scenario.options, RUN)
        sandbox.close()
        store.close()
    except KeyboardInterrupt:
        os._exit(130)
    except BaseException as error:
        Path(f"{log}.error").write_text(f"{type(error).__name__}: {error}")
        raise
    os._exit(0)


def exit_code_of(
    name: str, place: Path, log: Path, strike: tuple[Moment, int, signal.Signals] | None = None
) -> int:
    """Start or resume a run in a process of its own and return the exit code."""
    process = processes.Process(target=work, args=(name, str(place), str(log), strike))
    process.start()
    process.join(HUNG)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
        raise AssertionError("it does not end")
    process.close()
    return code


def logged(log: Path) -> list[str]:
    return log.read_text().split("\n")[:-1] if log.exists() else []


def kill_many(name: str, place: Path, kills: int, sandbox: Sandbox, number: signal.Signals) -> None:
    """Kill processes at random moments of their runs, `kills` times in total."""
    scenario, rng = SCENARIOS[name], random.Random(f"{name}{number}")
    wanted, whole = run_uninterrupted(scenario, sandbox)
    limits = {
        Moment.OPENED: 1,
        Moment.ASKED: wanted.answers.total(),
        Moment.WRITING: len(whole),
        Moment.WRITTEN: len(whole) - 1,
    }
    killed, rounds = 0, 0
    while killed < kills:
        rounds += 1
        store_path, log = place / f"{name}-{rounds}.db", place / f"{name}-{rounds}.log"
        for _ in range(rng.randint(1, 5)):
            before = Counter(logged(log))
            on_record = answers(SqliteStore(store_path)) if store_path.exists() else Counter()
            # The first process of all is killed after it has written; the others at any moment.
            moment = rng.choice(list(Moment)) if killed else Moment.WRITTEN
            count = rng.randint(1, limits[moment])
            code = exit_code_of(name, store_path, log, (moment, count, number))
            error = Path(f"{log}.error")
            assert not error.exists(), error.read_text()
            assert code in {0, -number, 130}
            requested = Counter(logged(log)) - before
            assert not requested + on_record - wanted.answers, "a recorded request was sent again"
            if code == 0:
                break  # it had less left to do than the chosen number
            killed += 1
            store = SqliteStore(store_path)
            lost = (requested - (answers(store) - on_record)).total()
            assert lost <= scenario.parallel
            if store.head(RUN).entries:
                report = verify_run(store, RUN)
                assert report.holds, report.findings
            store.close()
        assert exit_code_of(name, store_path, log) == 0
        store = SqliteStore(store_path)
        assert ended(store, runs.solution(store, RUN)) == wanted
        check_record(store, sandbox)
        store.close()


@sized("kills", RUN_KILLS)
@scenarios
def test_a_killed_run_resumes_to_the_same_result(
    name: str, kills: int, tmp_path: Path, sandbox: Sandbox
) -> None:
    kill_many(name, tmp_path, kills, sandbox, signal.SIGKILL)


@sized("kills", RUN_INTERRUPTS)
@pytest.mark.parametrize("name", ["repaired", "parallel"])
def test_an_interrupted_run_resumes_to_the_same_result(
    name: str, kills: int, tmp_path: Path, sandbox: Sandbox
) -> None:
    kill_many(name, tmp_path, kills, sandbox, signal.SIGINT)


# Interruptions within this process, at every event and at every request.


class DelegatingStore:
    """A store that passes everything on to another."""

    def __init__(self, store: TraceStore) -> None:
        self._store = store

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
        self.before_append()
        self._store.append(run, after, entries, head, blobs)
        self.after_append()

    def before_append(self) -> None:
        """Do nothing before an event is written."""

    def after_append(self) -> None:
        """Do nothing after an event was written."""

    def close(self) -> None:
        """Leave the other store open: its owner closes it."""


class StrikingStore(DelegatingStore):
    """A store whose process may be killed before or after it writes an event."""

    def __init__(self, store: TraceStore, strike: Strike) -> None:
        super().__init__(store)
        self._strike = strike

    def before_append(self) -> None:
        self._strike.at(Moment.WRITING)

    def after_append(self) -> None:
        self._strike.at(Moment.WRITTEN)


class FailingStore(DelegatingStore):
    """A store that fails once, at one append."""

    def __init__(self, store: TraceStore, at: int, error: BaseException) -> None:
        super().__init__(store)
        self._left, self._error = at, error

    def before_append(self) -> None:
        self._left -= 1
        if self._left == 0:
            raise self._error


def resume_and_compare(
    store: TraceStore, scenario: Scenario, sandbox: Sandbox, wanted: Ended
) -> None:
    """Replay an interrupted run, resume it, and compare it with an uninterrupted one."""
    known, head = answers(store), store.head(RUN)
    seen = replay(store, RUN, None)
    assert (seen.head, seen.finished) == (head, False)
    model = RecordedModel(scenario)
    solution = resume(RunResources(store, model, sandbox), RUN)
    assert ended(store, solution) == wanted
    assert not Counter(map(str, model.asked)) + known - wanted.answers
    check_record(store, sandbox)


@sized("cuts", CUTS)
@scenarios
@pytest.mark.parametrize(
    "error", [StoreFull("store.full", "full"), StoreLocked("store.locked", "held")], ids=repr
)
def test_a_run_whose_store_failed_at_any_event_resumes(
    name: str, cuts: int, error: StoreError, sandbox: Sandbox
) -> None:
    scenario = SCENARIOS[name]
    wanted, whole = run_uninterrupted(scenario, sandbox)
    first = 2 if isinstance(error, StoreFull) else 5
    for at in spread(len(whole) + 1, cuts, first):
        store = SqliteStore(":memory:")
        tools = RunResources(FailingStore(store, at, error), RecordedModel(scenario), sandbox)
        with pytest.raises(type(error)):
            start(tools, scenario.task, scenario.options, RUN)
        assert verify_run(store, RUN).holds
        resume_and_compare(store, scenario, sandbox, wanted)
        store.close()


@sized("cuts", CUTS)
@scenarios
def test_a_run_interrupted_twice_resumes_twice(name: str, cuts: int, sandbox: Sandbox) -> None:
    scenario = SCENARIOS[name]
    full = StoreFull("store.full", "full")
    wanted, whole = run_uninterrupted(scenario, sandbox)
    for at in spread(len(whole), max(1, cuts // 2), 2):
        for later in spread(len(whole) - at, max(1, cuts // 4), 1):
            store = SqliteStore(":memory:")
            broken = RunResources(FailingStore(store, at, full), RecordedModel(scenario), sandbox)
            with pytest.raises(StoreFull):
                start(broken, scenario.task, scenario.options, RUN)
            with pytest.raises(StoreFull):
                resume(
                    RunResources(
                        FailingStore(store, later, full), RecordedModel(scenario), sandbox
                    ),
                    RUN,
                )
            resume_and_compare(store, scenario, sandbox, wanted)
            resumed = [e for e in events(store) if isinstance(e, RunResumed)]
            assert len(resumed) in {1, 2}, "a failed resumption leaves no event"
            store.close()


class UnavailableModel(RecordedModel):
    """A model that is unavailable after a number of requests."""

    def __init__(self, scenario: Scenario, after: int) -> None:
        super().__init__(scenario)
        self._after = after

    def complete(self, request: Request) -> Reply:
        if len(self.asked) >= self._after:
            raise ModelUnavailable("model.down", "it is down", billed=self._after % 2 == 0)
        return super().complete(request)


@sized("cuts", CUTS)
@scenarios
def test_a_run_whose_model_was_unavailable_resumes(name: str, cuts: int, sandbox: Sandbox) -> None:
    scenario = SCENARIOS[name]
    wanted, _ = run_uninterrupted(scenario, sandbox)
    for after in spread(wanted.answers.total(), cuts):
        store = SqliteStore(":memory:")
        tools = RunResources(store, UnavailableModel(scenario, after), sandbox, NO_RETRIES)
        with pytest.raises(ModelUnavailable):
            start(tools, scenario.task, scenario.options, RUN)
        for _ in range(2):
            with pytest.raises(ModelUnavailable):
                resume(RunResources(store, UnavailableModel(scenario, 0), sandbox, NO_RETRIES), RUN)
        assert verify_run(store, RUN).holds
        resume_and_compare(store, scenario, sandbox, wanted)
        store.close()


@sized("cuts", CUTS)
@scenarios
def test_a_run_interrupted_at_any_event_resumes(name: str, cuts: int, sandbox: Sandbox) -> None:
    scenario = SCENARIOS[name]
    wanted, whole = run_uninterrupted(scenario, sandbox)

    def interrupt_at(at: int) -> Watch:
        def watch(seq: int, _event: Event) -> None:
            if seq == at:
                raise KeyboardInterrupt

        return watch

    for at in spread(len(whole) - 1, cuts):
        store = SqliteStore(":memory:")
        tools = RunResources(store, RecordedModel(scenario), sandbox)
        with pytest.raises(KeyboardInterrupt):
            start(tools, scenario.task, scenario.options, RUN, interrupt_at(at))
        # Interrupt the resumption, too: during the replay of the record, and where it continues.
        for early in {at // 2, at}:
            before = list(store.read(RUN))
            with pytest.raises(KeyboardInterrupt):
                resume(tools, RUN, interrupt_at(early))
            after = list(store.read(RUN))
            if name == "parallel":  # other threads may record what they had already requested
                after = after[: len(before)]
            assert after == before
        assert verify_run(store, RUN).holds
        resume_and_compare(store, scenario, sandbox, wanted)
        store.close()


def test_only_one_of_two_resumptions_writes_a_run(sandbox: Sandbox) -> None:
    scenario = SCENARIOS["repaired"]
    wanted, _ = run_uninterrupted(scenario, sandbox)
    store = SqliteStore(":memory:")
    with pytest.raises(ModelUnavailable):
        start(
            RunResources(store, UnavailableModel(scenario, 1), sandbox, NO_RETRIES),
            scenario.task,
            scenario.options,
            RUN,
        )

    class OvertakenModel(RecordedModel):
        def complete(self, request: Request) -> Reply:
            resume(RunResources(store, RecordedModel(scenario), sandbox), RUN)
            return super().complete(request)

    with pytest.raises(StoreConflict):
        resume(RunResources(store, OvertakenModel(scenario), sandbox), RUN)
    assert ended(store, runs.solution(store, RUN)) == wanted
    check_record(store, sandbox)


def test_an_interrupt_during_the_replay_of_a_resumption_is_not_swallowed(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The interrupt arrives while a recorded reply is looked up."""
    scenario = SCENARIOS["repaired"]
    wanted, whole = run_uninterrupted(scenario, sandbox)
    store = SqliteStore(":memory:")
    broken = FailingStore(store, len(whole), StoreFull("store.full", "full"))
    with pytest.raises(StoreFull):
        start(
            RunResources(broken, RecordedModel(scenario), sandbox),
            scenario.task,
            scenario.options,
            RUN,
        )
    head = store.head(RUN)

    def raise_interrupt(_replayer: replayer.Replayer, _request: Digest) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(replayer.Replayer, "recall_reply", raise_interrupt)
        with pytest.raises(KeyboardInterrupt):
            resume(RunResources(store, RecordedModel(scenario), sandbox), RUN)
    assert store.head(RUN) == head
    resume_and_compare(store, scenario, sandbox, wanted)


def test_failed_calls_count_against_the_budget_of_later_resumptions(
    sandbox: Sandbox,
) -> None:
    """A failed call may have cost its maximum, so that every resumption adds to the sum."""
    scenario = SCENARIOS["repaired"]
    options = msgspec.structs.replace(scenario.options, budget_tokens=20_000)
    store = SqliteStore(":memory:")
    tools = RunResources(store, UnavailableModel(scenario, 0), sandbox, NO_RETRIES)
    with pytest.raises(ModelUnavailable):
        start(tools, scenario.task, options, RUN)
    for _ in range(10):
        with contextlib.suppress(ModelUnavailable):
            assert resume(tools, RUN).outcome is RunOutcome.STOPPED
            break
    else:
        raise AssertionError("ten calls of more than 4,000 tokens fit into 20,000")
    check_record(store, sandbox)


def test_a_budget_in_dollars_needs_a_known_price(sandbox: Sandbox) -> None:
    scenario = SCENARIOS["repaired"]
    options = msgspec.structs.replace(scenario.options, budget_usd=1.0)
    store, model = SqliteStore(":memory:"), RecordedModel(scenario)
    model.traits = Traits(price=None)
    with pytest.raises(BudgetExceeded):
        start(RunResources(store, model, sandbox), scenario.task, options, RUN)
    assert store.runs() == []


@scenarios
def test_resuming_a_finished_run_does_nothing(name: str, sandbox: Sandbox) -> None:
    scenario = SCENARIOS[name]
    store = SqliteStore(":memory:")
    first = start(
        RunResources(store, RecordedModel(scenario), sandbox), scenario.task, scenario.options, RUN
    )
    head, model = store.head(RUN), RecordedModel(scenario)
    again = resume(RunResources(store, model, sandbox), RUN)
    assert (again.program, again.outcome) == (first.program, first.outcome)
    assert (store.head(RUN), model.asked) == (head, [])


@sized("cuts", CUTS)
@scenarios
def test_a_resumption_with_other_prompts_is_refused_and_writes_nothing(
    name: str, cuts: int, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS[name]
    _, whole = run_uninterrupted(scenario, sandbox)
    first = next(n for n, e in enumerate(whole) if isinstance(e, ReplyRecorded))

    def altered_prompt(role: str) -> Prompt:
        prompt = load(role)
        return prompt._replace(system=f"{prompt.system} Hurry.")

    for at in spread(len(whole) + 1, max(1, cuts // 2), first + 2):
        store = SqliteStore(":memory:")
        broken = FailingStore(store, at, StoreFull("store.full", "full"))
        with pytest.raises(StoreFull):
            start(
                RunResources(broken, RecordedModel(scenario), sandbox),
                scenario.task,
                scenario.options,
                RUN,
            )
        head, model = store.head(RUN), RecordedModel(scenario)
        with monkeypatch.context() as patched:
            patched.setattr(run_context, "load", altered_prompt)
            with pytest.raises(ReplayDiverged) as refused:
                resume(RunResources(store, model, sandbox), RUN)
        assert refused.value.code in {"replay.diverged", "replay.miss"}
        assert (store.head(RUN), model.asked) == (head, [])
        store.close()


def test_a_resumption_with_other_settings_is_refused_and_writes_nothing(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = SCENARIOS["repaired"]
    _, whole = run_uninterrupted(scenario, sandbox)
    others = (sketching(seed=1), sketching(temperature=0.5), sketching(build=Build.NODE))
    for options in others:
        store = SqliteStore(":memory:")
        broken = FailingStore(store, len(whole), StoreFull("store.full", "full"))
        with pytest.raises(StoreFull):
            start(
                RunResources(broken, RecordedModel(scenario), sandbox),
                scenario.task,
                scenario.options,
                RUN,
            )
        head, model = store.head(RUN), RecordedModel(scenario)
        with monkeypatch.context() as patched:
            patched.setattr(runs, "options_of", lambda _manifest, chosen=options: chosen)
            with pytest.raises(ReplayDiverged):
                resume(RunResources(store, model, sandbox), RUN)
        assert (store.head(RUN), model.asked) == (head, [])
        store.close()
