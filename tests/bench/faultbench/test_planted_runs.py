"""Planted bugs are located and repaired, or named as doubts; right programs stay as they are."""

from collections.abc import Iterator

import pytest

from auditcoder.lifecycle.options import AutoSwitch
from auditcoder.lifecycle.ports import Sandbox
from auditcoder_bench.faultbench.planted_bugs import BUGS, PlantedBug
from auditcoder_bench.faultbench.planted_runs import (
    PlantedResult,
    Setting,
    planted_program,
    run_planted,
)
from tests.support.scripted_runs import sandboxed
from tests.support.sketched_runs import sketching

FEW = tuple(b for b in BUGS if b.program in {"meeting_rooms", "invoice_totals"})


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def by_program(bug: PlantedBug) -> str:
    return bug.program


def test_there_are_twenty_programs_of_several_parts() -> None:
    assert len({bug.program for bug in BUGS}) == len(BUGS) == 20
    for bug in BUGS:
        assert len(planted_program(bug).solved.plan.graph.nodes) > 3


@pytest.mark.parametrize("bug", BUGS, ids=by_program)
def test_a_bug_is_an_edit_of_its_function_alone(bug: PlantedBug) -> None:
    planted = planted_program(bug)
    changed = [name for name, code in planted.written.items() if code != planted.sources[name]]
    assert changed == [bug.function]
    assert bug.wrong in planted.faulty
    assert planted.faulty != planted.text


@pytest.mark.parametrize("bug", FEW, ids=by_program)
def test_a_bug_that_a_given_example_shows_is_repaired_in_one_transaction(
    sandbox: Sandbox, bug: PlantedBug
) -> None:
    result = run_planted(bug, Setting.GIVEN, sandbox)
    assert result.replays
    assert (result.outcome, result.right, result.exact) == ("passed", True, True)
    assert result.accepted == result.transactions == 1


@pytest.mark.parametrize("bug", FEW, ids=by_program)
def test_a_bug_that_only_a_generated_case_shows_is_repaired(
    sandbox: Sandbox, bug: PlantedBug
) -> None:
    result = run_planted(bug, Setting.GENERATED, sandbox)
    assert result.replays
    assert result.rulings == ("program_wrong",)
    assert (result.right, result.exact, result.accepted) == (True, True, 1)


@pytest.mark.parametrize("bug", FEW, ids=by_program)
def test_a_wrong_case_is_dropped_and_the_right_program_stays(
    sandbox: Sandbox, bug: PlantedBug
) -> None:
    result = run_planted(bug, Setting.WRONG_CASE, sandbox)
    assert result.replays
    assert result.rulings == ("check_wrong",)
    assert (result.right, result.changed, result.named) == (True, False, False)


def test_without_adjudication_the_case_is_an_open_doubt(sandbox: Sandbox) -> None:
    options = sketching(adjudication=AutoSwitch.OFF)
    result = run_planted(FEW[0], Setting.GENERATED, sandbox, options)
    assert (result.outcome, result.right, result.named, result.silent) == (
        "passed",
        False,
        True,
        False,
    )


def test_without_edge_cases_the_bug_passes_in_silence(sandbox: Sandbox) -> None:
    options = sketching(edge_cases=AutoSwitch.OFF)
    assert run_planted(FEW[0], Setting.GENERATED, sandbox, options).silent


@pytest.mark.campaign
def test_the_goals_for_planted_bugs_are_met(sandbox: Sandbox) -> None:
    results: dict[Setting, list[PlantedResult]] = {
        setting: [run_planted(bug, setting, sandbox) for bug in BUGS] for setting in Setting
    }
    assert all(result.replays for each in results.values() for result in each)
    assert sum(r.exact for r in results[Setting.GIVEN]) >= 19
    repaired = [r for r in results[Setting.GIVEN] if r.right and r.accepted == 1]
    assert len(repaired) >= 19
    assert sum(not r.silent for r in results[Setting.GENERATED]) >= 15
    assert sum(r.changed for r in results[Setting.WRONG_CASE]) <= 2
