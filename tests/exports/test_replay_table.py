"""The table of replays counts runs by the last replay of their present head."""

from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.table import Cell
from auditcoder.domain.values import RunId, digest
from auditcoder.exports.replay_table import Status, replay_table, replayed_run
from tests.support.record_builders import RUN, failing, replayed


def test_the_last_replay_of_the_present_head_counts(store: SqliteStore) -> None:
    failing(store)
    head = store.head(RUN).digest
    first, second = replayed(store), replayed(store, hour=4, same=False)
    assert replayed_run(RUN, head, []).status is Status.NOT_REPLAYED
    assert replayed_run(RUN, head, [first]).status is Status.SAME
    assert replayed_run(RUN, head, [replace(first, repeated=False)]).status is Status.TRUSTED
    assert replayed_run(RUN, head, [first, second]).status is Status.DIFFERED
    moved = replayed_run(RUN, digest(b"later"), [first, second])
    assert (moved.status, moved.earlier) == (Status.NOT_REPLAYED, True)


def test_the_table_has_dates_runs_and_differences(store: SqliteStore) -> None:
    failing(store)
    head = store.head(RUN).digest
    results = [replayed(store), replayed(store, hour=4), replayed(store, hour=5, same=False)]
    runs = [replayed_run(RunId(f"r{n}"), head, [each]) for n, each in enumerate(results)]
    table = replay_table([*runs, replayed_run(RunId("r3"), digest(b"x"), results)])
    cells: dict[Cell, tuple[Cell, ...]] = {row.cells[0]: row.cells[1:] for row in table.rows}
    assert cells == {
        "same, checks repeated": (2, "2026-01-03 03:00 UTC", "2026-01-03 04:00 UTC"),
        "same, recorded results trusted": (0, None, None),
        "differed": (1, "2026-01-03 05:00 UTC", "2026-01-03 05:00 UTC"),
        "not replayed": (1, None, None),
    }
    assert [row.runs for row in table.rows] == [("r0", "r1"), (), ("r2",), ("r3",)]
    assert table.notes == (
        "r2 differed on 2026-01-03 with auditcoder 1.0: example-1: different output",
        "r3 was replayed at an earlier head only",
    )


def test_only_some_differences_are_listed(store: SqliteStore) -> None:
    failing(store)
    head, result = store.head(RUN).digest, replayed(store, same=False)
    table = replay_table(replayed_run(RunId(f"r{n}"), head, [result]) for n in range(30))
    assert len(table.notes) == 21
    assert table.notes[-1] == "and 10 more runs"
