"""Tables of a report, independent of the output format."""

from typing import TypeAlias

from auditcoder.domain.values import RunId, Value

Cell: TypeAlias = str | int | float | None
"""The content of a cell; None if it is unknown or not applicable."""


class Row(Value):
    """One row of a table, and the runs that its numbers come from."""

    cells: tuple[Cell, ...]
    runs: tuple[RunId, ...] = ()


class Table(Value):
    """A table with its title and notes."""

    name: str
    """Short identifier for files and links: `results-apps`."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    labels: int = 1
    """Number of label columns; the column after them is the sample size."""
    notes: tuple[str, ...] = ()
    """Denominators, exclusions and other remarks."""
