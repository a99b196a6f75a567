"""`runs` lists the runs of a store."""

from pathlib import Path

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand


def test_runs_are_listed_with_their_outcome(run: RunCommand, example: Path) -> None:
    result = run("runs", "--store", example)
    assert result.code == Exit.OK
    assert "helpful-currents" in result.out
    assert "passed" in result.out
    (line,) = run("runs", "--store", example, "--json").json["runs"]
    assert line["outcome"] == "passed"
    assert len(line["head"]["digest"]) == 64


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
