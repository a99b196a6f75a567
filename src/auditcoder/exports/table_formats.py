"""Formats tables as text, Markdown, CSV and JSON."""

import csv
import io
import re
from collections.abc import Iterable

import msgspec

from auditcoder.domain.table import Cell, Table
from auditcoder.domain.values import printable, printable_json

UNKNOWN = "n/a"

_ENTITIES = {"<": "&lt;", "&": "&amp;"}
_MARKUP = re.compile(r"[\\`|\[\]!<&]|:(?=//)|(?<=www)\.", re.IGNORECASE)
"""Characters of links, images, code, HTML and cells. GitHub makes links of bare addresses, too."""


def shown(cell: Cell) -> str:
    """Format a cell for display."""
    match cell:
        case None:
            return UNKNOWN
        case bool():
            return "yes" if cell else "no"
        case int():
            return f"{cell:,}"
        case float():
            return f"{cell:,.1f}" if abs(cell) >= 100 else f"{cell:.3f}"
        case _:
            return printable(cell)


def as_text(tables: Iterable[Table]) -> str:
    """Format tables as plain text in columns, with numbers aligned to the right."""
    return "\n\n".join(map(_text, tables)) + "\n"


def _text(table: Table) -> str:
    lines = [
        tuple(map(printable, table.columns)),
        *(tuple(map(shown, row.cells)) for row in table.rows),
    ]
    widths = [max(len(line[n]) for line in lines) for n in range(len(table.columns))]
    left = [_is_text(table, n) for n in range(len(table.columns))]
    formatted = [
        "  ".join(
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(line, widths, left, strict=True)
        ).rstrip()
        for line in lines
    ]
    notes = (f"  {printable(note)}" for note in table.notes)
    return "\n".join([printable(table.title), *formatted, *notes])


def _is_text(table: Table, column: int) -> bool:
    return any(isinstance(row.cells[column], str) for row in table.rows)


def as_markdown(tables: Iterable[Table]) -> str:
    """Format tables as Markdown."""
    return "\n\n".join(map(_markdown, tables)) + "\n"


def _markdown(table: Table) -> str:
    lines = [f"### {_in_markdown(table.title)}", "", _line(map(_in_markdown, table.columns))]
    lines.append(_line("---" if _is_text(table, n) else "--:" for n in range(len(table.columns))))
    lines += [_line(_in_markdown(shown(cell)) for cell in row.cells) for row in table.rows]
    if table.notes:
        lines += ["", *(f"{_in_markdown(note)}  " for note in table.notes)]
    return "\n".join(lines)


def _in_markdown(text: str) -> str:
    """Escape text so that it cannot insert a link, an image, code or HTML, or end a cell."""
    return _MARKUP.sub(lambda found: _ENTITIES.get(found[0], rf"\{found[0]}"), printable(text))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def as_csv(tables: Iterable[Table]) -> str:
    """Format tables as CSV, one after another; the first field of a row is the table's name."""
    page = io.StringIO()
    writer = csv.writer(page, lineterminator="\n")
    for table in tables:
        writer.writerow(("table", *map(_in_csv, table.columns)))
        for row in table.rows:
            writer.writerow(map(_in_csv, (table.name, *row.cells)))
    return page.getvalue()


def _in_csv(cell: Cell) -> Cell:
    """Return a cell for CSV; text that a spreadsheet would take for a formula gets a quote."""
    if not isinstance(cell, str):
        return "" if cell is None else cell
    text = printable(cell)
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t")) else text


def as_json(tables: Iterable[Table]) -> str:
    """Format tables as JSON, with the contributing runs of every row."""
    text = msgspec.json.encode({"tables": list(tables)})
    return printable_json(msgspec.json.format(text, indent=1).decode()) + "\n"
