"""What the locator is meant to reach, and by how much the study's tables reach or miss it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.table import Cell, Row, Table


class Goal(NamedTuple):
    """One measure, where it stands in the study's tables, and what it should be."""

    of: str
    measure: str
    table: str
    row: str
    column: str
    goal: float
    at_most: bool = False
    """Whether less is better."""
    sure: str = ""
    """What it is called where it has an interval."""


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
    """Put what a study found beside what was wanted; what it did not look at is left out."""
    known = {table.name: table for table in tables}
    return Table(
        name="goals",
        title="What was wanted, and by how much it is reached or missed",
        columns=("failures", "measure", "goal", "found", "beyond the goal", "from", "to"),
        rows=tuple(_rows(known)),
        labels=2,
        notes=(
            "Below nought: missed by so much. Of a calibration error, less is better.",
            "Precision at a coverage of .90 is wanted; both lines of high confidence belong to it.",
            "From, to: 95 % of 1,000 draws of whole tasks, where that was looked at.",
        ),
    )


def _rows(known: Mapping[str, Table]) -> Iterator[Row]:
    for goal in GOALS:
        found = _cell(known.get(goal.table), goal.row, goal.column)
        if isinstance(found, float | int):
            apart = round(goal.goal - found if goal.at_most else found - goal.goal, 4)
            sure = known.get(_INTERVALS[goal.of]) if goal.sure else None
            ends = (_cell(sure, goal.sure, "from"), _cell(sure, goal.sure, "to"))
            yield Row(cells=(goal.of, goal.measure, goal.goal, float(found), apart, *ends))


def _cell(table: Table | None, row: str, column: str) -> Cell:
    if table is None:
        return None
    (cells,) = (each.cells for each in table.rows if each.cells[0] == row)
    return cells[table.columns.index(column)]
