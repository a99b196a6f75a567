"""Tables as text, Markdown, CSV and JSON."""

import csv
import json
from collections.abc import Callable

import pytest

from auditcoder.domain.table import Row, Table
from auditcoder.domain.values import RunId
from auditcoder.exports.table_formats import as_csv, as_json, as_markdown, as_text, shown

TABLE = Table(
    name="results-toys",
    title="Resolved@1, toys",
    columns=("method", "resolved", "rate", "p"),
    rows=(
        Row(cells=("direct", 1234, 0.5, None), runs=(RunId("a"), RunId("b"))),
        Row(cells=("a|b", 7, 1234.5, 0.04)),
    ),
    notes=("of those that both did",),
)


def test_an_unknown_value_is_not_shown_as_zero() -> None:
    assert shown(None) == "n/a"
    assert shown(0) == "0"
    assert shown(0.0) == "0.000"


def test_text_is_aligned_in_columns() -> None:
    assert as_text([TABLE]) == (
        "Resolved@1, toys\n"
        "method  resolved     rate      p\n"
        "direct     1,234    0.500    n/a\n"
        "a|b            7  1,234.5  0.040\n"
        "  of those that both did\n"
    )


def test_markdown_escapes_pipes_in_cells() -> None:
    lines = as_markdown([TABLE]).splitlines()
    assert lines[2:5] == [
        "| method | resolved | rate | p |",
        "| --- | --: | --: | --: |",
        "| direct | 1,234 | 0.500 | n/a |",
    ]
    assert lines[5].startswith("| a\\|b |")


def test_csv_has_plain_numbers_and_empty_cells_for_unknown_values() -> None:
    rows = list(csv.reader(as_csv([TABLE]).splitlines()))
    assert rows[0] == ["table", *TABLE.columns]
    assert rows[1] == ["results-toys", "direct", "1234", "0.5", ""]


def test_json_lists_the_runs_behind_each_row() -> None:
    (table,) = json.loads(as_json([TABLE]))["tables"]
    assert table["rows"][0] == {"cells": ["direct", 1234, 0.5, None], "runs": ["a", "b"]}


HOSTILE = Table(
    name="hostile",
    title="a \x1b[2Jtitle",
    columns=("na\x1bme", "value"),
    rows=(
        *(Row(cells=(text, -1.5)) for text in ("=1+1", "+1", "-1", "@x", "\t=1", "\x1b]0;x\x07")),
        Row(cells=("two\nlines|and <script>\ufdd0\u202e", 2)),
    ),
    notes=("a note\x9b31m",),
)


@pytest.mark.parametrize("write", [as_text, as_markdown, as_csv])
def test_control_characters_and_noncharacters_are_escaped(
    write: Callable[[list[Table]], str],
) -> None:
    text = write([HOSTILE])
    assert all(c.isprintable() or c in "\n\t" for c in text)
    assert "two\\u000alines" in text.replace("\\\\", "\\"), "Markdown escapes the backslash"


def test_json_has_printable_characters_only() -> None:
    text = as_json([HOSTILE])
    assert all(line.isprintable() for line in text.splitlines())
    assert json.loads(text)["tables"][0]["title"] == HOSTILE.title


def test_a_cell_of_text_is_never_a_formula_in_csv() -> None:
    rows = list(csv.reader(as_csv([HOSTILE]).splitlines()))[1:]
    assert [row[1] for row in rows[:5]] == ["'=1+1", "'+1", "'-1", "'@x", "'\t=1"]
    assert {row[2] for row in rows[:5]} == {"-1.5"}, "numbers stay numbers"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("![x](http://evil/)", r"\!\[x\](http\://evil/)"),
        ("[x][1]", r"\[x\]\[1\]"),
        ("`|`", r"\`\|\`"),
        (r"\|<img>", r"\\\|&lt;img>"),
        ("&lt;img&#62;", "&amp;lt;img&amp;#62;"),
        ("see www.evil.org, HTTPS://evil", r"see www\.evil.org, HTTPS\://evil"),
        ("a_name: 1 (50%)", "a_name: 1 (50%)"),
    ],
)
def test_markdown_escapes_markup(text: str, escaped: str) -> None:
    table = Table(name="t", title=text, columns=(text,), rows=(Row(cells=(text,)),), notes=(text,))
    assert as_markdown([table]).splitlines() == [
        f"### {escaped}",
        "",
        f"| {escaped} |",
        "| --- |",
        f"| {escaped} |",
        "",
        f"{escaped}  ",
    ]


def test_markdown_escapes_elements() -> None:
    assert "<script>" not in as_markdown([HOSTILE])
