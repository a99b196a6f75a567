"""`runs` lists the runs of a store."""

from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.altered_stores import alter
from tests.support.commands import RunCommand
from tests.support.record_builders import RUN, failing
from tests.support.records import take


def test_runs_are_listed_with_their_outcome(run: RunCommand, example: Path) -> None:
    result = run("runs", "--store", example)
    assert result.code == Exit.OK
    assert "helpful-currents" in result.out
    assert "passed" in result.out
    (line,) = run("runs", "--store", example, "--json").json["runs"]
    assert line["outcome"] == "passed"
    assert len(line["head"]["digest"]) == 64


def test_a_run_whose_last_entry_is_not_its_head_is_not_described(
    run: RunCommand, tmp_path: Path, store: SqliteStore
) -> None:
    failing(store)
    raw = take(store, RUN)
    forged = SqliteStore(tmp_path / "s.db")
    forged.append(RUN, EMPTY, [*raw.bodies[:-1], raw.bodies[-2]], raw.head)
    forged.append(RunId("renamed"), EMPTY, raw.bodies, raw.head)
    forged.close()
    lines = run("runs", "--store", tmp_path / "s.db", "--json").json["runs"]
    assert [line["outcome"] for line in lines] == ["unreadable", "unreadable"]


def test_an_empty_store_is_reported(run: RunCommand, tmp_path: Path) -> None:
    SqliteStore(tmp_path / "s.db").close()
    assert "no runs" in run("runs", "--store", tmp_path / "s.db").out


def test_a_missing_store_is_not_created(run: RunCommand, tmp_path: Path) -> None:
    result = run("runs", "--store", tmp_path / "none.db")
    assert result.code == Exit.NOT_FOUND
    assert "[store.missing]" in result.err
    (tmp_path / "empty.db").touch()
    assert run("runs", "--store", tmp_path / "empty.db").code == Exit.NOT_FOUND
    assert (tmp_path / "empty.db").stat().st_size == 0


@pytest.mark.parametrize("entries", [-(1 << 63), -1, 0])
@pytest.mark.parametrize("command", ["runs", "verify", "show", "export", "audit"])
def test_an_impossible_number_of_entries_is_reported_as_damage(
    run: RunCommand, tmp_path: Path, command: str, entries: int
) -> None:
    path = tmp_path / "damaged.db"
    failing(damaged := SqliteStore(path))
    damaged.close()
    alter(path, f"UPDATE runs SET entries = {entries}")
    named = [] if command in {"runs", "audit"} else [RUN]
    result = run(command, *named, "--store", path)
    assert result.code == Exit.STORE
    assert "[store.damaged]" in result.err
