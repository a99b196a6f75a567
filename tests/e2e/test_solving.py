"""Whatever a model replies, a run ends, its record verifies, and its replay is identical."""

import gc
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.python_names import parse
from auditcoder.domain.request import FREE, Reply, Request, Traits
from auditcoder.domain.task import Task
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.options import Build, Options, Planner
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.reply_splitter import split
from auditcoder.lifecycle.retry_policy import RetryPolicy
from auditcoder.lifecycle.runs import RunResources, Solution, replay, start
from auditcoder.metrics import trace_metrics
from tests.support.campaigns import SOLVED_RUNS, sized
from tests.support.scripted_answers import (
    CODES,
    PROGRAM,
    SIGNED,
    SKETCHES,
    STEPS,
    TASKS,
    Down,
    Improviser,
    fenced,
    moves_for,
    step_of,
)
from tests.support.sketched_runs import sketching

RUN = RunId("a-run")
NO_RETRIES = RetryPolicy(attempts=1)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox(read_settings(), lambda _notice: None)
    yield opened
    opened.close()


def moves(step: str) -> st.SearchStrategy[list[tuple[str, int]]]:
    most = 4 if step in CODES | SKETCHES else 6
    one = st.tuples(st.sampled_from(sorted(moves_for(step))), st.integers(0, 80))
    return st.lists(one, max_size=most)


scripts: st.SearchStrategy[dict[str, list[tuple[str, int]]]] = st.fixed_dictionaries(
    {step: moves(step) for step in sorted({*STEPS.values(), "staged"})}
)
options = st.builds(
    Options,
    planner=st.sampled_from([Planner.SKETCH, Planner.SKETCH, Planner.STAGED]),
    build=st.sampled_from(Build),
    max_repairs=st.integers(0, 3),
    fallback=st.booleans(),
    differential=st.booleans(),
    review=st.booleans(),
    budget_tokens=st.sampled_from([None, 100, 6_000, 20_000, 60_000]),
)


def checked_run(
    sandbox: Sandbox, task: Task, how: Options, model: Improviser, *, replayed: bool = True
) -> Solution | None:
    """Solve a task and check its record; return None if the model was unavailable."""
    store = SqliteStore(":memory:")
    solution = None
    with suppress(Down):
        solution = start(RunResources(store, model, sandbox, NO_RETRIES), task, how, RUN)
    report = verify_run(store, RUN)
    assert report.holds, report.findings
    if solution is not None:
        measure(store, solution)
        if replayed:
            assert_replays_identically(store, sandbox)
    store.close()
    return solution


def measure(store: SqliteStore, solution: Solution) -> None:
    trace = solution.trace
    for share in (
        trace_metrics.trace_coverage(trace, store.blob),
        trace_metrics.initial_trace_coverage(trace, store.blob),
        trace_metrics.signature_consistency(trace, store.blob),
        trace_metrics.frozen_intact(trace),
    ):
        assert 0 <= share.part <= share.whole
    assert trace_metrics.frozen_intact(trace).rate in {None, 1.0}
    trace_metrics.graph_integrity(trace)
    trace_metrics.localisation(trace)
    trace_metrics.token_use(trace)


def assert_replays_identically(store: SqliteStore, sandbox: Sandbox) -> None:
    """Assert that both kinds of replay give the same events and results."""
    head = store.head(RUN)
    believed = replay(store, RUN, None)
    assert (believed.head, believed.finished) == (head, True)
    seen = replay(store, RUN, sandbox)
    assert (seen.head, seen.differences) == (head, ())
    assert store.head(RUN) == head


@sized("examples", SOLVED_RUNS)
def test_every_run_ends_verifies_and_replays(examples: int, sandbox: Sandbox) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(
        task=st.sampled_from(TASKS),
        how=options,
        script=scripts,
        parallel=st.sampled_from([1, 1, 3]),
        down_after=st.one_of(st.none(), st.none(), st.integers(0, 12)),
    )
    def check(
        task: Task,
        how: Options,
        script: dict[str, list[tuple[str, int]]],
        parallel: int,
        down_after: int | None,
    ) -> None:
        traits = Traits(price=FREE, parallel=parallel)
        checked_run(sandbox, task, how, Improviser(script, traits, down_after))

    check()


# Failures that the test above found, each reduced to a minimal case.

NO_REPAIRS = sketching(max_repairs=0)
_DEEP = "+".join(["1"] * 600)
_PARTS = '''\
def a(x: int) -> int:
    """Do it.

    uses: b"""


def b(x: int) -> int:
    """Do the rest."""
'''


def solve_with(sandbox: Sandbox, task: Task, how: Options = NO_REPAIRS, **texts: str) -> Solution:
    """Solve with a model that gives these texts as its first replies in each step."""
    script = {step: [fenced(text), fenced(text)] for step, text in texts.items()}
    solution = checked_run(sandbox, task, how, Improviser(script))
    assert solution is not None
    return solution


def test_code_that_the_laws_refuse_is_refused_again_in_a_replay(sandbox: Sandbox) -> None:
    solve_with(
        sandbox,
        SIGNED,
        sketch="def squares(numbers: list[int]) -> int:\n    ...\n",
        joint="def squares(numbers):\n    global len\n    len = None\n    return 0\n",
    )


def test_a_node_named_like_an_import_of_the_main_block_does_not_stop_a_run(
    sandbox: Sandbox,
) -> None:
    sketch = "def sys(x): ...\n\n\ndef solve(data: str) -> str:\n    return sys(1)\n"
    solve_with(sandbox, PROGRAM, sketch=sketch)


def test_an_inner_node_whose_import_clashes_with_the_root_does_not_stop_a_run(
    sandbox: Sandbox,
) -> None:
    root = "def squares(numbers: list[int]) -> int:\n    return helper(a(1))\n"
    solve_with(
        sandbox,
        SIGNED,
        sketch=f"from math import sqrt as helper\n\n\n{_PARTS}\n\n{root}",
        joint="from cmath import sqrt as helper\n\n\n"
        "def a(x):\n    return helper(b(x))\n\n\ndef b(x):\n    return x\n",
    )


def test_a_statement_too_deep_to_unparse_does_not_stop_a_run(sandbox: Sandbox) -> None:
    solve_with(sandbox, SIGNED, joint=f"print({_DEEP})\n\n\ndef square(number):\n    return 1\n")


def test_an_annotation_too_deep_to_unparse_does_not_stop_a_run(sandbox: Sandbox) -> None:
    deep = "+".join(["int"] * 600)
    root = "def squares(numbers):\n    return a(1)\n"
    solve_with(sandbox, SIGNED, sketch=f"def a(x: {deep}): ...\n\n\n{root}")


def test_an_expression_too_deep_to_compare_does_not_stop_a_run(sandbox: Sandbox) -> None:
    deep = f"def square(number):\n    return number * number + 0 * ({_DEEP})\n"
    wrong = "def sum_squares(numbers):\n    return -1\n"
    both = "def sum_squares(numbers):\n    return 14\n\n\ndef square(number):\n    return 1\n"
    script = {"node": [fenced(deep), fenced(wrong)], "again": [fenced(both), fenced(both)]}
    how = sketching(build=Build.NODE, max_repairs=1)
    assert checked_run(sandbox, SIGNED, how, Improviser(script)) is not None


def test_a_dictionary_type_with_unhashable_keys_does_not_stop_a_run(sandbox: Sandbox) -> None:
    stub = (
        "def a(x: dict[list[int], int]) -> int:\n"
        '    """Do it.\n\n    ensures: result == len(x)\n    """\n'
    )
    root = "def squares(numbers: list[int]) -> int:\n    return a({})\n"
    solve_with(sandbox, SIGNED, sketch=f"{stub}\n\n{root}", joint="def a(x):\n    return 0\n")


def test_a_promise_with_a_comment_is_evaluated(sandbox: Sandbox) -> None:
    stub = (
        "def a(x: int) -> int:\n"
        '    """Do it.\n\n    ensures: result > 100  # it is large\n    """\n'
    )
    root = "def squares(numbers: list[int]) -> int:\n    return a(1)\n"
    sketch = f"{stub}\n\n{root}"
    solution = solve_with(sandbox, SIGNED, sketch=sketch, joint="def a(x):\n    return 1\n")
    standing = solution.trace.working.evidence.values()
    promises = [s.verdict for s in standing if s.kind is CheckKind.CONTRACT]
    assert promises == [Verdict.FAILED]


def test_an_unpaired_surrogate_in_a_docstring_does_not_stop_a_run(sandbox: Sandbox) -> None:
    root = "def squares(numbers: list[int]) -> int:\n    return a(1)\n"
    solve_with(sandbox, SIGNED, sketch=f'def a(x):\n    """\\ud800"""\n\n\n{root}')


def test_an_unpaired_surrogate_in_an_example_does_not_stop_a_run(sandbox: Sandbox) -> None:
    example = r'example: solve("\\ud800") == "0"'
    sketch = f'def solve(data: str) -> str:\n    """Answer.\n\n    {example}\n    """\n'
    solve_with(sandbox, PROGRAM, sketch=sketch)


def test_an_integer_result_too_long_to_print_does_not_stop_a_run(sandbox: Sandbox) -> None:
    for value in ("10 ** 5000", "[10 ** 5000]", "-(10 ** 5000)"):
        solve_with(
            sandbox,
            SIGNED,
            sketch="def squares(numbers: list[int]) -> int:\n    ...\n",
            joint=f"def squares(numbers):\n    return {value}\n",
        )


def test_a_run_that_a_budget_ends_during_parallel_requests_replays(
    sandbox: Sandbox,
) -> None:
    class SimultaneousModel(Improviser):
        """A model that replies to the requests of three threads only when all have arrived."""

        _all = threading.Barrier(3)

        def complete(self, request: Request) -> Reply:
            if step_of(request) == "node":
                with suppress(threading.BrokenBarrierError):
                    self._all.wait(0.5)  # the last group may be smaller
            return super().complete(request)

    how = sketching(build=Build.NODE, budget_tokens=12_000, max_repairs=0)
    checked_run(sandbox, PROGRAM, how, SimultaneousModel({}, Traits(price=FREE, parallel=3)))


def test_code_can_be_parsed_in_several_threads_at_once() -> None:
    """Python 3.11.7 shares one depth counter; garbage collection makes the threads alternate."""
    source = "\n".join(
        f"def f{n}(a):\n    return [x for x in range(a) if x + {n}]" for n in range(60)
    )

    def parse_repeatedly() -> None:
        for _ in range(25):
            parse(source)

    def callback(_phase: str, _info: dict[str, int]) -> None:
        sum(range(200))

    interval = sys.getswitchinterval()
    gc.callbacks.append(callback)
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(max_workers=4) as pool:
            for done in [pool.submit(parse_repeatedly) for _ in range(4)]:
                done.result()
    finally:
        sys.setswitchinterval(interval)
        gc.callbacks.remove(callback)


def test_a_reply_of_many_lines_is_split() -> None:
    """The splitter once took quadratic time in the number of lines and did not finish."""
    constants = "".join(f"x{n} = {n}\n" for n in range(5000))
    split(f"{constants}\n\ndef a():\n    return 1\n", {NodeId("S1"): Contract(name="a")}, {})
