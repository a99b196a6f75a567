"""Repair runs begin with an injected fault, as if a model had written it."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import ModelMisconfigured, NotFound
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.request import Request
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import is_run_id
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, Solution, start
from auditcoder_bench.faultbench.injected_failures import (
    BETWEEN,
    CHECK,
    GRAPH,
    NODE,
    TWO,
    InjectedFailure,
)
from auditcoder_bench.faultbench.injection_targets import SolvedProgram, program, programs
from auditcoder_bench.faultbench.repair_runs import opening, run_of, some_of
from auditcoder_bench.models.seeded import SeededModel
from tests.support.faultbench import TEXT
from tests.support.scripted_runs import sandboxed
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def fault(
    codes: dict[NodeId, str], name: str = "sums", where: str = NODE, more: str = ""
) -> InjectedFailure:
    return InjectedFailure(
        id=f"{name}.{where}{more}",
        solved=name,
        where=where,
        faults=("off by one",),
        nodes=tuple(codes),
        codes=codes,
        said="",
    )


def run_with_fault(sandbox: Sandbox, solved: SolvedProgram, codes: dict[NodeId, str]) -> Solution:
    model = SeededModel(ScriptedModel(()), opening(solved, fault(codes)))
    tools = RunResources(SqliteStore(":memory:"), model, sandbox)
    return start(tools, solved.task, sketching(max_repairs=0))


def test_a_solved_program_passes_with_its_own_plan(sandbox: Sandbox) -> None:
    for solved in list(programs())[::12]:
        found = run_with_fault(sandbox, solved, {})
        assert found.passed, solved.name
        assert found.trace.working.graph == solved.plan.graph


def test_a_fault_in_any_node_is_in_the_first_program(sandbox: Sandbox) -> None:
    solved = program("sums", TEXT)
    for node in (NodeId("S2"), ROOT):
        wrong = solved.codes[node].replace("return ", "return None and ", 1)
        found = run_with_fault(sandbox, solved, {node: wrong})
        assert not found.passed
        assert "return None and" in (found.program or "")


def test_seeded_replies_are_free_and_later_requests_reach_the_model() -> None:
    live = ScriptedModel(["mine"])
    model = SeededModel(live, ["one", "two"])
    request = Request(messages=(), max_tokens=1, temperature=0)
    assert [model.complete(request).text for _ in range(3)] == ["one", "two", "mine"]
    assert len(live.asked) == 1
    assert SeededModel(live, ["one"]).complete(request).usage == Usage(calls=1)
    with pytest.raises(ModelMisconfigured):
        model.complete(request)


def test_a_fixed_number_of_faults_per_program_is_chosen_deterministically() -> None:
    known = {name: program(name, TEXT) for name in "ab"}
    faults = [
        fault({}, name, where, str(number))
        for name in known
        for where in (NODE, TWO, BETWEEN)
        for number in range(5)
    ]
    chosen, unfit = some_of(faults, known, 2)
    assert [one.solved for one in chosen] == ["a", "a", "b", "b"]
    assert unfit == 0
    assert some_of(reversed(faults), known, 2) == (chosen, 0)
    others = [fault({}, "a", GRAPH), fault({}, "a", CHECK), fault({}, "model|class")]
    assert some_of(others, known, 2) == ([], 0)
    with pytest.raises(NotFound) as gone:
        some_of([fault({}, "gone")], known, 2)
    assert gone.value.code == "faults.program"


def test_a_root_whose_code_changes_the_plan_is_not_chosen() -> None:
    solved = program("sums", TEXT)
    header = next(line for line in solved.codes[ROOT].split("\n") if line.startswith("def "))
    alone = f"{header}\n    return ''\n"  # it calls no other function, so there is one node
    assert some_of([fault({ROOT: alone})], {"sums": solved}, 1) == ([], 1)
    none = "def other():\n    return 1\n"  # a plan without its root is refused
    assert some_of([fault({ROOT: none})], {"sums": solved}, 1) == ([], 1)


def test_every_fault_has_its_own_valid_run_id() -> None:
    pair = fault({}, more="+S2.off_by_one")
    assert is_run_id(run_of(pair))
    assert run_of(pair) != run_of(fault({}))
