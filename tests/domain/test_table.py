"""Tables as values: cells keep their types, and a row names the runs behind it."""

import msgspec
import pytest

from auditcoder.domain.table import Cell, Row, Table
from auditcoder.domain.values import RunId, encode


@pytest.mark.parametrize("cell", ["text", 3, 0.5, None, "", 0])
def test_a_cell_keeps_its_value_and_type(cell: Cell) -> None:
    (read,) = msgspec.json.decode(encode(Row(cells=(cell,))), type=Row).cells
    assert read == cell
    assert type(read) is type(cell)


def test_a_table_is_read_back_whole() -> None:
    table = Table(
        name="results",
        title="Results",
        columns=("method", "n", "ratio"),
        rows=(Row(cells=("a", 2, None), runs=(RunId("r1"), RunId("r2"))),),
        labels=1,
        notes=("two runs",),
    )
    assert msgspec.json.decode(encode(table), type=Table) == table
