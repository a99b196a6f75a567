"""Audit and cost tables: their rows, their notes, and the runs behind each row."""

from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.table import Cell, Row, Table
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import RunId
from auditcoder.exports.audit_tables import audit_tables, cost_tables, with_runs
from auditcoder.metrics.audit_metrics import summarise
from auditcoder.metrics.cost_metrics import CostSummary, add_up, bill
from auditcoder.metrics.run_facts import collect_facts
from tests.support.histories import improved, traced
from tests.support.record_builders import started


def cells(table: Table, label: str) -> tuple[Cell, ...]:
    """Return the cells after the label of one row."""
    (row,) = [row for row in table.rows if row.cells[0] == label]
    return row.cells[1:]


def test_a_rate_shows_its_fraction_and_its_value(store: SqliteStore) -> None:
    improved(store).decide()
    audit = summarise([collect_facts(traced(store), store.blob, intact=True)])
    structure, located = audit_tables(audit)
    assert cells(structure, "graph integrity") == ("1/1", 1.0, None)
    assert cells(structure, "repair region, nodes") == (1, 0.25, 0.25)
    assert cells(structure, "replay fidelity") == ("0/0", None, None)
    assert cells(located, "R3") == (1, 0, 0, 1)


def test_notes_say_what_was_left_out_and_why(store: SqliteStore) -> None:
    improved(store).decide()
    structure, _ = audit_tables(summarise([collect_facts(traced(store), store.blob, intact=True)]))
    assert any(note.startswith("replay fidelity: left out 1 (") for note in structure.notes)


def test_drafts_and_variants_are_rows_of_the_audit(store: SqliteStore) -> None:
    improved(store).decide()
    found = collect_facts(traced(store), store.blob, intact=True)
    structure, _ = audit_tables(summarise([found, replace(found, drafts=4, variants=3)]))
    assert cells(structure, "drafts of the first code") == (1, 4.0, 4.0)
    assert cells(structure, "variants tried to choose it") == (1, 3.0, 3.0)
    assert "drafts: left out 1 (no drafts were planned)" in structure.notes


def test_tables_of_no_runs_show_unknown_values() -> None:
    structure, located = audit_tables(summarise([]))
    assert {row.cells[2] for row in structure.rows} == {None}
    assert located.rows == ()


def cost(store: SqliteStore, *usages: Usage) -> CostSummary:
    """Return the cost of one run with a reply for each usage."""
    recorder = started(store)
    for number, usage in enumerate(usages):
        recorder.record(
            ReplyRecorded(
                role=f"role-{number}",
                scope=Scope.INITIAL,
                phase=Phase.GENERATION,
                request=recorder.put("request"),
                reply=recorder.put("reply"),
                usage=usage,
            )
        )
    return add_up([bill(traced(store))])


def test_cost_tables_add_up_to_the_total(store: SqliteStore) -> None:
    found = cost(
        store,
        Usage(calls=1, prompt_tokens=10, completion_tokens=5),
        Usage(calls=1, prompt_tokens=1, completion_tokens=2),
    )
    tables = {table.name: table for table in cost_tables(found)}
    assert set(tables) == {"cost-scope", "cost-path", "cost-phase", "cost-family", "cost-role"}
    assert cells(tables["cost-scope"], "total")[:4] == (2, 11, 7, 18)
    assert cells(tables["cost-family"], "generation") == (18, 1.0)
    assert cells(tables["cost-role"], "role-0")[:4] == (1, 10, 5, 15)


def test_the_number_of_roles_is_limited(store: SqliteStore) -> None:
    found = cost(store, *(Usage(calls=1, prompt_tokens=n + 1) for n in range(4)))
    assert [row.cells[0] for row in cost_tables(found, 2)[-1].rows] == ["role-3", "role-2"]
    assert len(cost_tables(found, None)[-1].rows) == 4


def test_unmeasured_calls_make_the_total_a_lower_bound(store: SqliteStore) -> None:
    found = cost(store, Usage(calls=1, unmeasured=1))
    assert any("lower bounds" in note for note in cost_tables(found)[0].notes)


def test_a_row_names_the_runs_that_count_in_it() -> None:
    def table(first: Cell, second: Cell) -> Table:
        rows = (Row(cells=("a", first)), Row(cells=("b", second)))
        return Table(name="t", title="T", columns=("x", "n"), rows=rows)

    one, two = RunId("one"), RunId("two")
    (named,) = with_runs([table(3, "2/2")], [(one, [table(1, "0/0")]), (two, [table(2, "2/2")])])
    assert [row.runs for row in named.rows] == [(one, two), (two,)]
