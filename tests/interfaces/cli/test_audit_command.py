"""`audit` reports the metrics and the cost of stored runs, in several formats."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.recorder import Recorder
from tests.support.commands import RunCommand
from tests.support.record_builders import TASK, ticking


@pytest.fixture
def two_runs(tmp_path: Path) -> Path:
    """A store with two runs that have just begun."""
    path = tmp_path / "two.db"
    store = SqliteStore(path)
    for name in ("first", "second"):
        Recorder.start(store, RunId(name), TASK, ticking())
    store.close()
    return path


def _runs_counted(report: dict[str, Any]) -> set[str]:
    return {
        run for table in report["tables"] for row in table["rows"] for run in row.get("runs", ())
    }


def test_audit_reports_all_runs_by_default(run: RunCommand, two_runs: Path) -> None:
    report = run("audit", "--store", two_runs, "--json").json
    assert _runs_counted(report) == {"first", "second"}


def test_audit_reports_the_named_runs_only(run: RunCommand, two_runs: Path) -> None:
    report = run("audit", "fir", "--store", two_runs, "--json").json
    assert _runs_counted(report) == {"first"}


def test_audit_rejects_an_unknown_run(run: RunCommand, two_runs: Path) -> None:
    failed = run("audit", "first", "third", "--store", two_runs)
    assert (failed.code, failed.out) == (Exit.NOT_FOUND, "")
    assert "[run.unknown]" in failed.err


def test_audit_prints_text_tables_by_default(run: RunCommand, example: Path) -> None:
    done = run("audit", "--store", example)
    assert done.code == Exit.OK
    assert "graph integrity" in done.out
    assert run("audit", "--store", example, "--as", "text").out == done.out


def test_audit_writes_every_format(run: RunCommand, example: Path) -> None:
    report = {
        form: run("audit", "--store", example, "--as", form).out
        for form in ("markdown", "csv", "html")
    }
    assert "| graph integrity |" in report["markdown"]
    assert any("graph integrity" in line for line in csv.reader(io.StringIO(report["csv"])))
    assert report["html"].lower().startswith("<!doctype html>")
    assert "<svg" in report["html"]


def test_json_overrides_the_chosen_format(run: RunCommand, example: Path) -> None:
    chosen = run("audit", "--store", example, "--as", "csv", "--json")
    assert chosen.json == run("audit", "--store", example, "--as", "json").json


def test_audit_rejects_an_unknown_format(run: RunCommand, example: Path) -> None:
    assert run("audit", "--store", example, "--as", "xml").code == Exit.USAGE


def test_audit_writes_to_a_file(run: RunCommand, example: Path, tmp_path: Path) -> None:
    printed = run("audit", "--store", example, "--out", "-").out
    file = tmp_path / "report.txt"
    done = run("audit", "--store", example, "--out", file)
    assert (done.code, done.out) == (Exit.OK, "")
    assert file.read_text(encoding="utf-8").rstrip("\n") == printed.rstrip("\n")


def test_a_file_that_cannot_be_written_is_reported(
    run: RunCommand, example: Path, tmp_path: Path
) -> None:
    failed = run("audit", "--store", example, "--out", tmp_path / "missing" / "report.txt")
    assert failed.code == Exit.STORE
    assert "missing" in failed.err
