"""Goals: the measured value beside each goal, and the difference."""

import pytest

from auditcoder.domain.table import Cell, Row, Table
from auditcoder_bench.faultbench.goals import GOALS, against_goals
from auditcoder_bench.faultbench.study_tables import study
from tests.support.faultbench import cases


def locator_table(**cells: Cell) -> Table:
    return Table(
        name="located-real-failures",
        title="",
        columns=("locator", *cells),
        rows=(
            Row(cells=("traceback", *[0.0] * len(cells))),
            Row(cells=("weighed", *cells.values())),
        ),
    )


GIVEN = {
    "Top-1": 0.958,
    "precision": 0.958,
    "Top-1 there": 0.79,
    "inside": None,
    "covered": 0.7,
    "calibration error": 0.02,
    "abstained": 0.0,
}


def test_a_missed_goal_shows_the_difference() -> None:
    found = {row.cells[1]: row.cells[2:5] for row in against_goals([locator_table(**GIVEN)]).rows}
    assert found["Top-1"] == (0.95, 0.958, 0.008)
    assert found["precision of all answers"] == (0.97, 0.958, -0.012)
    assert found["Top-1 of remote faults"] == (0.8, 0.79, -0.01)
    assert found["several: how much is named"] == (0.7, 0.7, 0.0)


def test_a_lower_error_is_better() -> None:
    found = {row.cells[1]: row.cells[2:5] for row in against_goals([locator_table(**GIVEN)]).rows}
    assert found["calibration error"] == (0.05, 0.02, 0.03)


def test_a_goal_without_a_measurement_is_not_listed() -> None:
    found = {row.cells[:2] for row in against_goals([locator_table(**GIVEN)]).rows}
    assert ("real failures", "several: nothing else is named") not in found, "there was none"
    assert not any(of == "faults put into programs" for of, _ in found)


def test_every_goal_refers_to_a_table_of_the_study() -> None:
    pytest.importorskip("numpy")
    known = {table.name: table for table in study(cases(60, told=1.0))}
    real = [goal for goal in GOALS if goal.of == "real failures"]
    assert {goal.table for goal in real} <= set(known)
    assert all(goal.column in known[goal.table].columns for goal in real)
    sure = {row.cells[0] for row in known["intervals-real-failures"].rows}
    assert {goal.sure for goal in real if goal.sure} <= sure
    reached = {row.cells[1]: row.cells[3:] for row in known["goals"].rows}
    found, _, low, high = reached["Top-1"]
    assert isinstance(found, float)
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low <= found <= high


def test_a_value_just_below_its_goal_does_not_reach_it() -> None:
    just = {**GIVEN, "Top-1": 0.9499}
    found = {row.cells[1]: row.cells for row in against_goals([locator_table(**just)]).rows}
    assert found["Top-1"][4] == -0.0001
