"""`import` copies the run of a bundle into the store, if it verifies."""

import os
from pathlib import Path

from auditcoder.adapters.stores.bundle import write_bundle
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, seal
from auditcoder.domain.events import RunStarted
from auditcoder.domain.values import RunId, encode
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.bundles import pack
from tests.support.commands import RunCommand
from tests.support.record_builders import RUN, TASK, failing, repairing, ticking


def test_an_exported_run_is_imported_unchanged(
    run: RunCommand, example: Path, tmp_path: Path
) -> None:
    bundle, store = tmp_path / "run.acb", tmp_path / "other.db"
    assert run("export", "help", "--out", bundle, "--store", example).code == Exit.OK
    assert "copied" in run("import", bundle, "--store", store).out
    assert "already there" in run("import", bundle, "--store", store).out
    for command in ("show", "blame", "verify"):
        here = run(command, "helpful-currents", "--store", example)
        assert run(command, "helpful-currents", "--store", store).out == here.out
        assert run(command, bundle).out == here.out


def test_a_run_passes_through_postgresql_unchanged(
    run: RunCommand, example: Path, tmp_path: Path, postgres_url: str
) -> None:
    bundle, back = tmp_path / "run.acb", tmp_path / "back.acb"
    run("export", "help", "--out", bundle, "--store", example)
    assert "copied" in run("import", bundle, "--store", postgres_url).out
    for command in ("runs", "show", "blame", "verify"):
        names = [] if command == "runs" else ["help"]
        here = run(command, *names, "--store", example)
        assert run(command, *names, "--store", postgres_url).out == here.out
    run("export", "help", "--out", back, "--store", postgres_url)
    assert back.read_bytes() == bundle.read_bytes()


def test_a_bundle_of_another_history_is_refused(run: RunCommand, tmp_path: Path) -> None:
    paths = []
    for number, life in enumerate((failing, repairing)):
        store = SqliteStore(":memory:")
        recorder = life(store)
        if number == 0:
            from tests.support.record_builders import locate

            locate(recorder, None)
        paths.append(tmp_path / f"{number}.acb")
        write_bundle(store, RUN, paths[-1])
        store.close()
    assert run("import", paths[0], "--store", tmp_path / "s.db").code == Exit.OK
    result = run("import", paths[1], "--store", tmp_path / "s.db")
    assert result.code == Exit.REFUSED
    assert "[store.conflict]" in result.err


def test_special_files_are_refused_as_bundles(run: RunCommand, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", "/dev/null", tmp_path):
        assert run("import", path, "--store", tmp_path / "s.db").code == Exit.UNREADABLE
        assert run("verify", path).code == Exit.UNREADABLE


def test_a_bundle_with_an_invalid_run_id_is_refused(run: RunCommand, tmp_path: Path) -> None:
    event = RunStarted(format=1, run=RunId("../../evil"), task=TASK)
    _, body, head = seal(EMPTY, event, ticking()())
    manifest = {"bundle": 1, "run": "../../evil", "entries": 1, "head": head.digest}
    path = tmp_path / "evil.acb"
    pack(path, {"manifest.json": encode(manifest), "events.jsonl": body + b"\n"})
    for command in (["export"], ["verify"], ["import", "--store", tmp_path / "s.db"]):
        assert run(*command, path).code == Exit.UNREADABLE
    assert {p.name for p in tmp_path.iterdir()} == {"evil.acb"}
