"""What the roles of the staged planner find out reaches those who write and test the code."""

import json
from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.request import FREE, GENEROUS, Traits
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.options import Build, Planner, SecondOpinions
from auditcoder.lifecycle.planning.planner_roles import Role
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, start
from tests.support.scripted_runs import (
    FinishedRun,
    Script,
    ScriptedReplies,
    python,
    run,
    sandboxed,
)
from tests.support.sketched_runs import sketching
from tests.support.staged_plans import GOOD, TASK

CODE = python(
    "def read_values(data):\n    return 1 // 0\n\n"
    "def mean_of(values):\n    return 1\n\n"
    "def count_above(values):\n    return mean_of(values)\n\n"
    "def solve(data):\n    return str(count_above(read_values(data)))\n"
)
SAID: ScriptedReplies = {
    **{role.value: json.dumps(answer) for role, answer in GOOD.items()},
    "joint": CODE,
    "node": CODE,
    "repair_node": CODE,
}
PRODUCTS = {
    "strategy": "Parse, then count above the mean.",
    "trap": "pairs (too slow)",
    "assumption": "empty counts as 0",
    "insight": "the mean is one pass",
    "observation": "a set is enough",
    "feature": "small",
    "range": "1 <= n <= 1000",
    "hint": "use a set",
    "condition": "result is the mean",
    "cost": "O(n)",
}


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module", params=Build)
def finished(sandbox: Sandbox, request: pytest.FixtureRequest) -> FinishedRun:
    options = sketching(planner=Planner.STAGED, build=request.param, max_repairs=1, review=False)
    return run(sandbox, TASK, SAID, options)


@pytest.mark.parametrize("product", PRODUCTS)
def test_a_product_reaches_the_writers(finished: FinishedRun, product: str) -> None:
    requests = [
        message.text
        for name, request in finished.asked
        if name in {"joint", "node"}
        for message in request.messages
    ]
    assert any(PRODUCTS[product] in text for text in requests)


def test_every_edge_case_is_tested(finished: FinishedRun) -> None:
    tested = {finished.text_of(e.input) for e in finished.checks("") if e.input}
    for case in GOOD[Role.TEST_CASE_ANALYZER]["edge_cases"]:
        assert f"{case['input']}\n" in tested


def test_a_repair_by_a_large_model_sees_the_plan(sandbox: Sandbox) -> None:
    script = Script(SAID)
    model = ScriptedModel([script] * 100, Traits(price=FREE, limits=GENEROUS))
    options = sketching(planner=Planner.STAGED, max_repairs=1, second_opinions=SecondOpinions.NONE)
    start(RunResources(SqliteStore(":memory:"), model, sandbox), TASK, options, RunId("run"))
    repair = next(request for name, request in script.asked if name == "repair_node")
    text = repair.messages[1].text
    for product in ("strategy", "trap", "assumption"):
        assert PRODUCTS[product] in text
