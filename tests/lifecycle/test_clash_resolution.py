"""A clash between the code of several nodes costs as little of it as possible."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.request import Request
from auditcoder.lifecycle.options import Build
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import ADDS, READ, READS, SOLVE, TASK
from tests.support.scripted_runs import python, run, sandboxed, stub
from tests.support.sketched_runs import sketching

IMPORT = "from collections.abc import Iterable\n"
ADD = stub("add_up(numbers: Iterable[int]) -> int", "Add them up.")
TYPED = ADDS.replace("(numbers):", "(numbers: Iterable[int]) -> int:")
ONES = "def one(x):\n    return x\n"
SKETCH = python(
    IMPORT
    + READ
    + ADD
    + stub("one(x: int) -> int", "One.")
    + SOLVE.replace("add_up(read_numbers(data))", "one(add_up(read_numbers(data)))")
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_reply_need_not_repeat_an_import_of_the_sketch(sandbox: Sandbox) -> None:
    finished = run(sandbox, TASK, {"sketch": SKETCH, "joint": python(READS + TYPED + ONES)})
    assert finished.outcome is RunOutcome.PASSED
    assert finished.solution.trace.losses == ()
    assert finished.program.count("import Iterable") == 1


def test_only_the_node_that_clashes_is_replaced_by_a_stub(sandbox: Sandbox) -> None:
    other = "from typing import Iterable\n\n"
    replies = {"sketch": SKETCH, "joint": python(other + READS + TYPED + ONES)}
    finished = run(sandbox, TASK, replies, sketching(max_repairs=0))
    assert finished.outcome is RunOutcome.FAILED
    agents = {node: finished.written(node)[-1].agent for node in ("S1", "S2", "S3")}
    assert agents == {"S1": "joint", "S2": "degraded", "S3": "joint"}
    ((_, loss),) = finished.solution.trace.losses
    assert loss.startswith("its code, because Iterable is imported by")


def test_several_nodes_are_replaced_if_no_single_stub_ends_the_clash(sandbox: Sandbox) -> None:
    def node(request: Request) -> str:
        text = request.messages[-1].text
        if "Write `read_numbers" in text:
            read = READS.replace("(data):", "(data: Iterable[str]):")
            return python("from typing import Iterable\n\n" + read)
        if "Write `add_up" in text:
            return python("import numbers as Iterable\n\n" + ADDS + "    Iterable\n")
        return python(ONES)

    options = sketching(build=Build.NODE, max_repairs=0)
    finished = run(sandbox, TASK, {"sketch": SKETCH, "node": node}, options)
    assert finished.outcome is RunOutcome.FAILED
    assert finished.solution.program is not None
    agents = [finished.written(node)[-1].agent for node in ("S0", "S1", "S2", "S3")]
    assert agents == ["sketch", "degraded", "degraded", "degraded"]
    assert len(finished.solution.trace.losses) == 3
