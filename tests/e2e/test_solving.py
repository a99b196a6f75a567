"""Whatever a model says, a run comes to its end, proves itself, and comes out the same again."""

import gc
import os
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.binding import parse
from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import CheckKind, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import FREE, Reply, Request, Traits
from auditcoder.domain.task import Task
from auditcoder.domain.values import RunId
from auditcoder.interfaces.opening import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.drafts import split
from auditcoder.lifecycle.patience import Patience
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.transfer import verify_run
from auditcoder.lifecycle.workshop import Build, Options, Planner
from auditcoder.methods.solving import Solution, Tools, replay, start
from auditcoder.metrics import records
from tests.support.solvers import (
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
)

RUN = RunId("a-run")
EXAMPLES = int(os.environ.get("AUDITCODER_EXAMPLES", "60"))
IMPATIENT = Patience(attempts=1)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox(read_settings(), lambda _said: None)
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
    budget=st.one_of(
        st.just(Budget()), st.builds(Budget, tokens=st.sampled_from([100, 6_000, 20_000, 60_000]))
    ),
)


def lived(
    sandbox: Sandbox, task: Task, how: Options, model: Improviser, *, replayed: bool = True
) -> Solution | None:
    """Solve, and hold the record to everything that a record promises; None if nobody answered."""
    store = SqliteStore(":memory:")
    solution = None
    with suppress(Down):
        solution = start(Tools(store, model, sandbox, IMPATIENT), task, how, RUN)
    report = verify_run(store, RUN)
    assert report.holds, report.findings
    if solution is not None:
        measure(store, solution)
        if replayed:
            again(store, sandbox)
    store.close()
    return solution


def measure(store: SqliteStore, solution: Solution) -> None:
    trace = solution.trace
    for share in (
        records.trace_coverage(trace, store.blob),
        records.initial_trace_coverage(trace, store.blob),
        records.signature_consistency(trace, store.blob),
        records.frozen_intact(trace),
    ):
        assert 0 <= share.part <= share.whole
    assert records.frozen_intact(trace).rate in {None, 1.0}
    records.graph_integrity(trace)
    records.localisation(trace)
    records.spent(trace)


def again(store: SqliteStore, sandbox: Sandbox) -> None:
    """Believing the evidence, the same events come out; running every check, the same results."""
    head = store.head(RUN)
    believed = replay(store, RUN, None)
    assert (believed.head, believed.finished) == (head, True)
    seen = replay(store, RUN, sandbox)
    assert (seen.head, seen.differences) == (head, ())
    assert store.head(RUN) == head


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    task=st.sampled_from(TASKS),
    how=options,
    script=scripts,
    parallel=st.sampled_from([1, 1, 3]),
    down_after=st.one_of(st.none(), st.none(), st.integers(0, 12)),
)
def test_every_run_ends_and_proves_itself(
    sandbox: Sandbox,
    task: Task,
    how: Options,
    script: dict[str, list[tuple[str, int]]],
    parallel: int,
    down_after: int | None,
) -> None:
    traits = Traits(price=FREE, parallel=parallel)
    lived(sandbox, task, how, Improviser(script, traits, down_after))


# What was found this way, each as small as it could be made.

QUIETLY = Options(max_repairs=0)
_DEEP = "+".join(["1"] * 600)
_PARTS = '''\
def a(x: int) -> int:
    """Do it.

    uses: b"""


def b(x: int) -> int:
    """Do the rest."""
'''


def said(sandbox: Sandbox, task: Task, how: Options = QUIETLY, **words: str) -> Solution:
    """Solve with a model that says these very words at its first turn of each step."""
    script = {step: [fenced(text), fenced(text)] for step, text in words.items()}
    solution = lived(sandbox, task, how, Improviser(script))
    assert solution is not None
    return solution


def test_code_that_the_laws_refuse_is_refused_again_in_a_replay(sandbox: Sandbox) -> None:
    said(
        sandbox,
        SIGNED,
        sketch="def squares(numbers: list[int]) -> int:\n    ...\n",
        joint="def squares(numbers):\n    global len\n    len = None\n    return 0\n",
    )


def test_a_part_that_is_named_like_an_import_of_the_main_block(sandbox: Sandbox) -> None:
    sketch = "def sys(x): ...\n\n\ndef solve(data: str) -> str:\n    return sys(1)\n"
    said(sandbox, PROGRAM, sketch=sketch)


def test_an_inner_part_whose_import_clashes_with_the_roots(sandbox: Sandbox) -> None:
    root = "def squares(numbers: list[int]) -> int:\n    return helper(a(1))\n"
    said(
        sandbox,
        SIGNED,
        sketch=f"from math import sqrt as helper\n\n\n{_PARTS}\n\n{root}",
        joint="from cmath import sqrt as helper\n\n\n"
        "def a(x):\n    return helper(b(x))\n\n\ndef b(x):\n    return x\n",
    )


def test_a_statement_too_deep_to_be_written_out(sandbox: Sandbox) -> None:
    said(sandbox, SIGNED, joint=f"print({_DEEP})\n\n\ndef square(number):\n    return 1\n")


def test_an_annotation_too_deep_to_be_written_out(sandbox: Sandbox) -> None:
    deep = "+".join(["int"] * 600)
    root = "def squares(numbers):\n    return a(1)\n"
    said(sandbox, SIGNED, sketch=f"def a(x: {deep}): ...\n\n\n{root}")


def test_an_expression_too_deep_to_be_compared(sandbox: Sandbox) -> None:
    deep = f"def square(number):\n    return number * number + 0 * ({_DEEP})\n"
    wrong = "def sum_squares(numbers):\n    return -1\n"
    both = "def sum_squares(numbers):\n    return 14\n\n\ndef square(number):\n    return 1\n"
    script = {"node": [fenced(deep), fenced(wrong)], "again": [fenced(both), fenced(both)]}
    how = Options(build=Build.NODE, max_repairs=1)
    assert lived(sandbox, SIGNED, how, Improviser(script)) is not None


def test_a_type_of_keys_that_no_table_can_hold(sandbox: Sandbox) -> None:
    stub = (
        "def a(x: dict[list[int], int]) -> int:\n"
        '    """Do it.\n\n    ensures: result == len(x)\n    """\n'
    )
    root = "def squares(numbers: list[int]) -> int:\n    return a({})\n"
    said(sandbox, SIGNED, sketch=f"{stub}\n\n{root}", joint="def a(x):\n    return 0\n")


def test_a_promise_with_a_comment_is_kept_or_broken_like_any_other(sandbox: Sandbox) -> None:
    stub = (
        "def a(x: int) -> int:\n"
        '    """Do it.\n\n    ensures: result > 100  # it is large\n    """\n'
    )
    root = "def squares(numbers: list[int]) -> int:\n    return a(1)\n"
    sketch = f"{stub}\n\n{root}"
    solution = said(sandbox, SIGNED, sketch=sketch, joint="def a(x):\n    return 1\n")
    standing = solution.trace.working.evidence.values()
    promises = [s.verdict for s in standing if s.kind is CheckKind.CONTRACT]
    assert promises == [Verdict.FAILED]


def test_half_a_character_in_a_docstring(sandbox: Sandbox) -> None:
    root = "def squares(numbers: list[int]) -> int:\n    return a(1)\n"
    said(sandbox, SIGNED, sketch=f'def a(x):\n    """\\ud800"""\n\n\n{root}')


def test_half_a_character_in_an_example_of_the_program(sandbox: Sandbox) -> None:
    example = r'example: solve("\\ud800") == "0"'
    sketch = f'def solve(data: str) -> str:\n    """Answer.\n\n    {example}\n    """\n'
    said(sandbox, PROGRAM, sketch=sketch)


def test_a_result_with_more_digits_than_can_be_written(sandbox: Sandbox) -> None:
    for value in ("10 ** 5000", "[10 ** 5000]", "-(10 ** 5000)"):
        said(
            sandbox,
            SIGNED,
            sketch="def squares(numbers: list[int]) -> int:\n    ...\n",
            joint=f"def squares(numbers):\n    return {value}\n",
        )


def test_a_budget_ends_a_run_of_several_requests_at_once_where_it_ended_it_before(
    sandbox: Sandbox,
) -> None:
    class Slow(Improviser):
        def complete(self, request: Request) -> Reply:
            time.sleep(0.1)  # so that all of them are under way when the last one is to be paid
            return super().complete(request)

    how = Options(build=Build.NODE, budget=Budget(tokens=12_000), max_repairs=0)
    lived(sandbox, PROGRAM, how, Slow({}, Traits(price=FREE, parallel=3)))


def test_code_is_read_in_several_threads_at_once() -> None:
    """Python 3.11.7 counts the depth of all threads together; a collector lets them alternate."""
    source = "\n".join(
        f"def f{n}(a):\n    return [x for x in range(a) if x + {n}]" for n in range(60)
    )

    def often() -> None:
        for _ in range(25):
            parse(source)

    def callback(_phase: str, _info: dict[str, int]) -> None:
        sum(range(200))

    interval = sys.getswitchinterval()
    gc.callbacks.append(callback)
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(max_workers=4) as pool:
            for done in [pool.submit(often) for _ in range(4)]:
                done.result()
    finally:
        sys.setswitchinterval(interval)
        gc.callbacks.remove(callback)


def test_a_reply_of_many_lines_is_split_in_time() -> None:
    def seconds(lines: int) -> float:
        constants = "".join(f"x{n} = {n}\n" for n in range(lines))
        begun = time.process_time()
        split(f"{constants}\n\ndef a():\n    return 1\n", {NodeId("S1"): Contract(name="a")}, {})
        return time.process_time() - begun

    assert seconds(2000) < 20, "once it took time that grew with the square"
