"""A table as a value: what reports are made of, however they are shown."""

from typing import TypeAlias

from auditcoder.domain.values import RunId, Value

Cell: TypeAlias = str | int | float | None
"""None is what nobody knows, or what there is nothing to count for."""


class Row(Value):
    """One line of a table, and the runs behind its numbers."""

    cells: tuple[Cell, ...]
    runs: tuple[RunId, ...] = ()


class Table(Value):
    """A table."""

    name: str
    """Short, for files and links: `results-apps`."""
    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    labels: int = 1
    """How many columns say what a line is about; the next says how much there was to count."""
    notes: tuple[str, ...] = ()
    """Denominators, exclusions, and whatever else must be read with it."""
