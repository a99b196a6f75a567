"""What the locator is meant to reach, and by how much the study's tables reach or miss it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from auditcoder.domain.tables import Cell, Row, Table


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


_REAL, _PROGRAMS = "real failures", "faults put into programs"
_LOCATED, _SURE = "located-real-failures", "by-confidence-real-failures"
GOALS = (
    Goal(_REAL, "Top-1", _LOCATED, "weighed", "Top-1", 0.95),
    Goal(_REAL, "precision of all answers", _LOCATED, "weighed", "precision", 0.97),
    Goal(_REAL, "precision of high confidence", _SURE, "high", "precision", 0.97),
    Goal(_REAL, "coverage of high confidence", _SURE, "high", "coverage", 0.90),
    Goal(_REAL, "Top-1 of remote faults", _LOCATED, "weighed", "Top-1 there", 0.80),
    Goal(_REAL, "several: nothing else is named", _LOCATED, "weighed", "inside", 0.95),
    Goal(_REAL, "several: how much is named", _LOCATED, "weighed", "covered", 0.70),
    Goal(_REAL, "calibration error", _LOCATED, "weighed", "calibration error", 0.05, at_most=True),
    Goal(_REAL, "nothing named beyond repair", _LOCATED, "weighed", "abstained", 1.0),
    Goal(_PROGRAMS, "Top-1", "located-faults-put-into-programs", "weighed", "Top-1", 0.90),
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
        columns=("failures", "measure", "goal", "found", "beyond the goal"),
        rows=tuple(_rows(known)),
        labels=2,
        notes=(
            "Below nought: missed by so much. Of a calibration error, less is better.",
            "Precision at a coverage of .90 is wanted; both lines of high confidence belong to it.",
        ),
    )


def _rows(known: Mapping[str, Table]) -> Iterator[Row]:
    for goal in GOALS:
        found = _cell(known.get(goal.table), goal.row, goal.column)
        if isinstance(found, float | int):
            apart = round(goal.goal - found if goal.at_most else found - goal.goal, 3)
            yield Row(cells=(goal.of, goal.measure, goal.goal, float(found), apart))


def _cell(table: Table | None, row: str, column: str) -> Cell:
    if table is None:
        return None
    (cells,) = (each.cells for each in table.rows if each.cells[0] == row)
    return cells[table.columns.index(column)]
