"""Renders a report as one HTML page: charts, tables, and the runs behind every number.

The page is one file that loads nothing and has no script: the lists of runs are popovers of the
browser. In browsers without popovers, and in print, the lists are at the end of the page.
"""

from collections.abc import Iterable
from html import escape
from typing import TypeAlias

from auditcoder.domain.table import Cell, Row, Table
from auditcoder.domain.values import RunId
from auditcoder.exports.table_formats import shown

_STYLE = """
:root {
  color-scheme: light dark;
  --paper: #fff; --ink: #1c1f22; --faint: #565d64; --rule: #d9dcdf; --mark: #eef1f4;
}
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #15171a; --ink: #e6e8ea; --faint: #a3abb3; --rule: #363b41; --mark: #23272c; }
}
html { background: var(--paper); color: var(--ink); }
body {
  font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere;
  max-width: 64rem; margin: 2rem auto; padding: 0 1rem;
}
h1 { font-size: 1.5rem; line-height: 1.25; margin-bottom: .25rem; }
h2 { font-size: 1.1rem; line-height: 1.3; margin: 2.5rem 0 .6rem; }
h3 { font-size: 1rem; margin: 0; }
.note { color: var(--faint); font-size: .9em; margin: .3rem 0; }
.wide { overflow-x: auto; overflow-wrap: normal; }
.wide svg { display: block; width: 100%; min-width: 34rem; max-width: 44rem; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .6rem; text-align: right; border-bottom: 1px solid var(--rule); }
thead th { font-weight: 600; vertical-align: bottom; border-bottom-color: var(--faint); }
td { white-space: nowrap; }
td.long, td.long button { white-space: normal; overflow-wrap: anywhere; text-align: left; }
td.long { min-width: 28rem; }
th[scope=row], th.label { text-align: left; font-weight: inherit; }
th.label { font-weight: 600; }
th:first-child { position: sticky; left: 0; background: var(--paper); padding-left: 0; }
tbody tr:hover > * { background: var(--mark); }
.none { color: var(--faint); }
button { font: inherit; color: inherit; cursor: pointer; }
td button { background: none; border: 0; margin: 0; padding: 0; }
td button:hover, td:last-child button { text-decoration: underline dotted; }
:focus-visible { outline: 2px solid; outline-offset: 2px; }
[popover] {
  background: var(--paper); color: var(--ink); border: 1px solid var(--faint);
  border-radius: .3rem; padding: 1rem; box-sizing: border-box;
  width: 40rem; max-width: calc(100vw - 2rem); max-height: calc(100vh - 4rem); overflow: auto;
}
[popover]::backdrop { background: #0006; }
[popover] button {
  float: right; background: var(--mark); border: 1px solid var(--faint);
  border-radius: .3rem; padding: .1rem .6rem;
}
[popover] ul { padding: 0; margin: .8rem 0 0; list-style: none; columns: 16rem; }
code { font-size: .85em; }
@media (max-width: 40rem) { th:first-child { max-width: 9rem; overflow-wrap: break-word; } }
@media print {
  body { font-size: 9pt; max-width: none; margin: 0; padding: 0; }
  .wide { overflow: visible; }
  .wide svg { min-width: 0; max-width: 32rem; }
  table { font-size: 8pt; }
  th, td { padding: .15rem .35rem; }
  td button:hover, td:last-child button { text-decoration: none; }
  svg, tr, li { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
  [popover] {
    display: block; position: static; width: auto; max-width: none; max-height: none;
    border: 0; padding: 0; margin: 1.5rem 0 0; overflow: visible;
  }
  [popover] button { display: none; }
}
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""The browser refuses to load or run anything, should the page ever contain it."""

_MAX_NUMBER_CHARS = 40
"""A cell with more characters is text, and may take several lines."""

_RowsByRuns: TypeAlias = dict[tuple[RunId, ...], dict[str, list[str]]]
"""Each distinct set of runs, with the titles of tables and their rows that it contributes to."""


def page(title: str, about: str, tables: Iterable[Table], charts: Iterable[tuple[str, str]]) -> str:
    """Return the page; `charts` are pairs of a title and an SVG drawing."""
    tables = list(tables)
    rows_by_runs = _rows_by_runs(tables)
    numbers = {runs: number for number, runs in enumerate(rows_by_runs, 1)}
    body = [f'<h1>{escape(title)}</h1><p class="note">{escape(about)}</p>']
    body += [f"<h2>{escape(name)}</h2>{_box(name, drawing)}" for name, drawing in charts if drawing]
    body += [_table(table, numbers) for table in tables]
    body += [_runs(numbers[runs], runs, lines) for runs, lines in rows_by_runs.items()]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><main>{''.join(body)}</main></body></html>\n"
    )


def _rows_by_runs(tables: list[Table]) -> _RowsByRuns:
    rows: _RowsByRuns = {}
    for table in tables:
        for row in table.rows:
            if row.runs:
                labels = rows.setdefault(row.runs, {}).setdefault(table.title, [])
                labels.append(_row_label(table, row))
    return rows


def _row_label(table: Table, row: Row) -> str:
    return ", ".join(map(shown, row.cells[: table.labels]))


def _box(name: str, content: str) -> str:
    """Wrap wide content in a box that scrolls on its own, also with the keyboard."""
    label = escape(name, quote=True)
    return f'<div class="wide" role="region" aria-label="{label}" tabindex="0">{content}</div>'


def _table(table: Table, numbers: dict[tuple[RunId, ...], int]) -> str:
    traced = any(row.runs for row in table.rows)
    head = "".join(
        f'<th scope="col"{_label(number < table.labels)}>{escape(column)}</th>'
        for number, column in enumerate(table.columns)
    )
    if traced:
        head += '<th scope="col">source runs</th>'
    rows = "".join(f"<tr>{_line(table, row, numbers, traced)}</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    drawn = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return (
        f'<h2 id="{escape(table.name, quote=True)}">{escape(table.title)}</h2>'
        f"{_box(table.title, drawn)}{notes}"
    )


def _label(is_label: bool) -> str:
    return ' class="label"' if is_label else ""


def _line(table: Table, row: Row, numbers: dict[tuple[RunId, ...], int], traced: bool) -> str:
    number = numbers.get(row.runs)
    labels = [f'<th scope="row">{escape(shown(cell))}</th>' for cell in row.cells[: table.labels]]
    cells = [_cell(cell, number) for cell in row.cells[table.labels :]]
    return "".join(labels + cells) + (_count(table, row, number) if traced else "")


def _cell(cell: Cell, number: int | None) -> str:
    text = escape(shown(cell))
    if cell is None:
        return f'<td class="none">{text}</td>'
    return _td(number, text, 'tabindex="-1"', long=len(text) > _MAX_NUMBER_CHARS)


def _count(table: Table, row: Row, number: int | None) -> str:
    """Return the cell with the number of runs; its button is the row's only keyboard stop."""
    count = _run_count(row.runs)
    name = escape(f"{count} behind {_row_label(table, row)}", quote=True)
    return _td(number, count, f'aria-label="{name}"')


def _run_count(runs: tuple[RunId, ...]) -> str:
    return f"{len(runs):,} run{'s' if len(runs) != 1 else ''}"


def _td(number: int | None, text: str, attribute: str, *, long: bool = False) -> str:
    """Return a cell, with a button that opens its list of runs if it has one."""
    cell = '<td class="long">' if long else "<td>"
    if number is None:
        return f"{cell}{text}</td>"
    opens = f'popovertarget="runs-{number}"'
    return f'{cell}<button type="button" {opens} {attribute}>{text}</button></td>'


def _runs(number: int, runs: tuple[RunId, ...], lines: dict[str, list[str]]) -> str:
    name = f"runs-{number}"
    close = (
        f'<button type="button" popovertarget="{name}" popovertargetaction="hide">Close</button>'
    )
    about = "".join(
        f'<p class="note">{escape(title)}: {escape("; ".join(labels))}</p>'
        for title, labels in lines.items()
    )
    listed = "".join(f"<li><code>{escape(run)}</code></li>" for run in runs)
    return (
        f'<section id="{name}" popover role="dialog" aria-labelledby="{name}-title">{close}'
        f'<h3 id="{name}-title">{_run_count(runs)} behind these rows</h3>{about}'
        f"<ul>{listed}</ul></section>"
    )
