"""A report as one page: charts, tables, and the runs behind every line."""

from collections.abc import Iterable
from html import escape

from auditcoder.domain.tables import Row, Table
from auditcoder.exports.tables import shown

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.1rem; margin-top: 2.5rem; }
svg { width: 100%; max-width: 44rem; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th { font-weight: 600; vertical-align: bottom; }
.words { text-align: left; }
.note { opacity: .75; font-size: .9em; margin: .3rem 0; }
details summary { cursor: pointer; opacity: .6; }
details { text-align: left; }
code { font-size: .85em; }
"""


def page(title: str, about: str, tables: Iterable[Table], charts: Iterable[tuple[str, str]]) -> str:
    """Write the page; `charts` are titles and drawings."""
    body = [f"<h1>{escape(title)}</h1>", f'<p class="note">{escape(about)}</p>']
    body += [f"<h2>{escape(name)}</h2>{drawing}" for name, drawing in charts if drawing]
    body += [_table(table) for table in tables]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _table(table: Table) -> str:
    behind = any(row.runs for row in table.rows)
    words = [
        any(isinstance(row.cells[n], str) for row in table.rows) for n in range(len(table.columns))
    ]
    head = "".join(
        f'<th scope="col"{_class(is_word)}>{escape(column)}</th>'
        for column, is_word in zip(table.columns, words, strict=True)
    )
    if behind:
        head += '<th scope="col" class="words">runs</th>'
    rows = "".join(
        f"<tr>{_cells(row, words)}{_runs(row) if behind else ''}</tr>" for row in table.rows
    )
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in table.notes)
    return (
        f'<h2 id="{escape(table.name, quote=True)}">{escape(table.title)}</h2>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{notes}"
    )


def _class(is_word: bool) -> str:
    return ' class="words"' if is_word else ""


def _cells(row: Row, words: list[bool]) -> str:
    return "".join(
        f"<td{_class(is_word)}>{escape(shown(cell))}</td>"
        for cell, is_word in zip(row.cells, words, strict=True)
    )


def _runs(row: Row) -> str:
    listed = "<br>".join(f"<code>{escape(run)}</code>" for run in row.runs)
    return f"<td><details><summary>{len(row.runs)}</summary>{listed}</details></td>"
