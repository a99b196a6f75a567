"""The runner does each job once, also after an interruption, and keeps every judgement."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from msgspec.structs import replace

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound, RecordRefused
from auditcoder.domain.task import ProgramForm, StdioExample, Task
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources
from auditcoder_bench.engines.threads import LocalEngine
from auditcoder_bench.problem import Problem, StdioTests
from auditcoder_bench.runner import Job, JobResult, choose, jobs, judged, perform
from tests.support.scripted_runs import python, sandboxed
from tests.support.sketched_runs import sketching

TASK = Task(
    title="Add",
    statement="Add.",
    form=ProgramForm(),
    examples=(StdioExample(input="1 2\n", output="3\n"),),
)
PROBLEM = Problem("7", TASK, StdioTests(cases=(StdioExample(input="2 2\n", output="4\n"),)))
RIGHT = python("print(sum(map(int, input().split())))")
NEARLY = python("print(3)")
JOB = Job("toys+", "direct", "7", "server:a/b")


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def perform_job(store: SqliteStore, sandbox: Sandbox, *lines: str) -> JobResult:
    model = ScriptedModel(list(lines))
    return perform(RunResources(store, model, sandbox), store, JOB, PROBLEM, sketching())


def test_all_methods_of_a_problem_are_scheduled_together() -> None:
    assert [(j.problem, j.method) for j in jobs("s", ("a", "b"), ("1", "2"), "m")] == [
        ("1", "a"),
        ("1", "b"),
        ("2", "a"),
        ("2", "b"),
    ]


def test_a_job_determines_its_run_id() -> None:
    assert JOB.run == "toys-plus.7.direct.server-a-b"


def test_unknown_problems_are_named() -> None:
    assert choose([PROBLEM], ()) == [PROBLEM]
    with pytest.raises(NotFound, match="unknown problem in this suite: 8, 9"):
        choose([PROBLEM], ("8", "7", "9"))


def test_a_program_that_passes_its_examples_is_judged_by_hidden_tests(
    store: SqliteStore, sandbox: Sandbox
) -> None:
    done = perform_job(store, sandbox, NEARLY)
    assert (done.outcome, done.resolved) == ("passed", False)
    assert verify_run(store, JOB.run).holds


def test_a_finished_job_is_not_repeated(store: SqliteStore, sandbox: Sandbox) -> None:
    first = perform_job(store, sandbox, RIGHT)
    again = perform_job(store, sandbox)  # the script has no replies
    assert first.resolved
    assert (first.before, again.before) == (False, True)
    assert again._replace(before=False) == first


def test_a_finished_run_without_a_judgement_is_judged(store: SqliteStore, sandbox: Sandbox) -> None:
    perform_job(store, sandbox, RIGHT)
    store._db.execute("DELETE FROM judgements")
    judgement = judged(store, sandbox, JOB, PROBLEM)
    assert [*judgement.results.values()] == [{"case-1": True}]
    assert store.judgements(JOB.run) == [judgement]
    assert judgement.head == store.head(JOB.run).digest


def test_a_judgement_is_kept_once(store: SqliteStore, sandbox: Sandbox) -> None:
    perform_job(store, sandbox, RIGHT)
    (judgement,) = store.judgements(JOB.run)
    store.keep_judgement(judgement)
    assert store.judgements(JOB.run) == [judgement]


def test_a_run_with_other_settings_or_another_task_is_refused(
    store: SqliteStore, sandbox: Sandbox
) -> None:
    perform_job(store, sandbox, RIGHT)
    tools = RunResources(store, ScriptedModel([]), sandbox)
    with pytest.raises(RecordRefused, match="differs in: settings"):
        perform(tools, store, JOB, PROBLEM, sketching(max_repairs=1))
    other = PROBLEM._replace(task=replace(TASK, statement="Subtract."))
    with pytest.raises(RecordRefused, match="differs in: task"):
        perform(tools, store, JOB, other, sketching())


class TestLocalEngine:
    def test_every_item_is_processed_once(self) -> None:
        assert sorted(LocalEngine(3).each(lambda x: x * x, range(20))) == [n * n for n in range(20)]

    def test_an_exception_stops_the_items_that_have_not_started(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        started = []
        cancelled = threading.Event()
        shutdown = ThreadPoolExecutor.shutdown

        def note_cancellation(pool: ThreadPoolExecutor, **options: bool) -> None:
            shutdown(pool, **(options | {"wait": False}))
            cancelled.set()
            shutdown(pool)

        def work(number: int) -> int:
            started.append(number)
            if number > 2:  # it starts before the exception is noticed, or not at all
                assert cancelled.wait(60)
            return 1 // (number - 2)

        monkeypatch.setattr(ThreadPoolExecutor, "shutdown", note_cancellation)
        with pytest.raises(ZeroDivisionError):
            list(LocalEngine(1).each(work, range(50)))
        assert started in ([0, 1, 2], [0, 1, 2, 3])
