"""`export` writes a run, or a part of it, to a file or standard output."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.ports import Sandbox
from tests.support.bundles import pack, parts
from tests.support.commands import RunCommand
from tests.support.draft_runs import class_run
from tests.support.record_builders import RUN
from tests.support.records import take
from tests.support.scripted_runs import copied_to, sandboxed


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_export_writes_the_repair_log(run: RunCommand, example: Path, tmp_path: Path) -> None:
    log = run("export", "help", "--as", "repairs", "--store", example).json
    (case,) = log["cases"]
    assert case["failure_type"] == "wrong_answer"
    assert case["selected_unit"] == {"type": "branch", "root": "S1"}
    assert case["RRS_nodes"] == pytest.approx(3 / 5)
    assert case["repair_success"] is None, "the run was not judged"
    assert log["denominators"]["accepted"] == 1
    run("export", "help", "--as", "repairs", "--out", tmp_path / "r.json", "--store", example)
    assert json.loads((tmp_path / "r.json").read_text()) == log


def test_export_writes_the_responsibility_records(run: RunCommand, example: Path) -> None:
    record = run("export", "help", "--as", "record", "--store", example).json
    assert record["execution_order"] == ["S1_1", "S1_2", "S2"]


def test_an_altered_bundle_is_refused_everywhere(
    run: RunCommand, example: Path, tmp_path: Path
) -> None:
    bundle = tmp_path / "run.acb"
    run("export", "help", "--out", bundle, "--store", example)
    content = parts(bundle)
    blob = next(name for name in content if name.startswith("blobs/"))
    pack(bundle, content | {blob: content[blob] + b"x"})
    assert run("verify", bundle).code == Exit.DOES_NOT_HOLD
    assert run("import", bundle, "--store", tmp_path / "s.db").code == Exit.UNREADABLE
    for form in ("bundle", "head", "record", "repairs"):
        result = run("export", bundle, "--as", form, "--out", tmp_path / "out")
        assert result.code == Exit.UNREADABLE, form
        assert not (tmp_path / "out").exists()


def test_a_file_is_replaced_completely_or_not_at_all(
    run: RunCommand, example: Path, tmp_path: Path
) -> None:
    real, link, pipe = tmp_path / "real.acb", tmp_path / "link.acb", tmp_path / "pipe"
    real.write_text("old")
    link.symlink_to(real)
    assert run("export", "help", "--out", link, "--store", example).code == Exit.OK
    assert link.is_symlink()
    assert run("verify", real).code == Exit.OK
    os.mkfifo(pipe)
    for target in (pipe, tmp_path, tmp_path / "no" / "folder"):
        for form in ("bundle", "record"):
            result = run("export", "help", "--as", form, "--out", target, "--store", example)
            assert result.code == Exit.STORE
            assert "[file.unwritable]" in result.err
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_bundle_holds_everything_that_drafts_refer_to(
    run: RunCommand, sandbox: Sandbox, tmp_path: Path
) -> None:
    record = class_run(sandbox)
    copied_to(tmp_path / "drafts.db", record).close()
    bundle = tmp_path / "drafts.acb"
    assert run("export", RUN, "--out", bundle, "--store", tmp_path / "drafts.db").code == Exit.OK
    assert run("verify", bundle).code == Exit.OK
    with closing(BundleFile(bundle)) as opened:
        assert take(opened, RUN) == record.raw
    shown = run("show", bundle, "--drafts", "--json").json
    assert shown == run("show", RUN, "--drafts", "--json", "--store", tmp_path / "drafts.db").json
