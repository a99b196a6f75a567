"""Goals for the locator, and the margin by which the tables of a study reach or miss them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.table import Cell, Row, Table


class Goal(NamedTuple):
    """One measure: its cell in the tables of the study, and its goal."""

    of: str
    measure: str
    table: str
    row: str
    column: str
    goal: float
    at_most: bool = False
    """Whether lower is better."""
    sure: str = ""
    """The name of the measure in the table of intervals; empty if it has none."""


_REAL, _PROGRAMS = "real failures", "faults put into programs"
_LOCATED, _SURE = "located-real-failures", "by-confidence-real-failures"
_INTERVALS = {_REAL: "intervals-real-failures", _PROGRAMS: "intervals-faults-put-into-programs"}


def _located(
    measure: str, column: str, goal: float, sure: str = "", *, at_most: bool = False
) -> Goal:
    return Goal(_REAL, measure, _LOCATED, "weighed", column, goal, at_most, sure or column)


GOALS = (
    _located("Top-1", "Top-1", 0.95),
    _located("precision of all answers", "precision", 0.97),
    Goal(_REAL, "precision of high confidence", _SURE, "high", "precision", 0.97),
    Goal(_REAL, "coverage of high confidence", _SURE, "high", "coverage", 0.90),
    _located("Top-1 of remote faults", "Top-1 there", 0.80, "Top-1 where remote"),
    _located("several: nothing else is named", "inside", 0.95, "several: inside"),
    _located("several: how much is named", "covered", 0.70, "several: covered"),
    _located("calibration error", "calibration error", 0.05, at_most=True),
    _located("nothing named beyond repair", "abstained", 1.0, "beyond: abstained"),
    Goal(
        *(_PROGRAMS, "Top-1", "located-faults-put-into-programs", "weighed", "Top-1", 0.90),
        sure="Top-1",
    ),
    Goal(
        _PROGRAMS,
        "interfaces named as such",
        "by-place-faults-put-into-programs",
        "interface",
        "as an interface",
        0.70,
    ),
)


def against_goals(tables: Iterable[Table]) -> Table:
    """Compare the measures of a study with their goals; measures without a value are left out."""
    known = {table.name: table for table in tables}
    return Table(
        name="goals",
        title="Goals, and the margins by which they are reached or missed",
        columns=("failures", "measure", "goal", "found", "beyond the goal", "from", "to"),
        rows=tuple(_rows(known)),
        labels=2,
        notes=(
            "A negative margin is a miss. For a calibration error, lower is better.",
            "The two rows of high confidence are one goal: precision at a coverage of 0.90.",
            "From, to: 95 % bootstrap interval, 1,000 resamples of whole tasks, where computed.",
        ),
    )


def _rows(known: Mapping[str, Table]) -> Iterator[Row]:
    for goal in GOALS:
        found = _cell(known.get(goal.table), goal.row, goal.column)
        if isinstance(found, float | int):
            margin = round(goal.goal - found if goal.at_most else found - goal.goal, 4)
            intervals = known.get(_INTERVALS[goal.of]) if goal.sure else None
            ends = (_cell(intervals, goal.sure, "from"), _cell(intervals, goal.sure, "to"))
            yield Row(cells=(goal.of, goal.measure, goal.goal, float(found), margin, *ends))


def _cell(table: Table | None, row: str, column: str) -> Cell:
    if table is None:
        return None
    (cells,) = (each.cells for each in table.rows if each.cells[0] == row)
    return cells[table.columns.index(column)]
