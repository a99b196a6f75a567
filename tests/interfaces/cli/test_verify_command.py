"""`verify` checks the chain, the blobs, the laws and the head of a record."""

import subprocess
import sys
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import write_bundle
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.altered_stores import alter
from tests.support.bundles import deflated, pack_streams, parts
from tests.support.commands import RunCommand
from tests.support.record_builders import RUN, failing, repairing


def test_a_good_record_verifies(run: RunCommand, example: Path) -> None:
    result = run("verify", "helpful-currents", "--store", example)
    assert result.code == Exit.OK
    assert result.out.count("holds") == 4
    assert "against itself only" in result.out


def test_a_known_head_is_compared(run: RunCommand, example: Path) -> None:
    head = run("export", "helpful-currents", "--as", "head", "--store", example).out.strip()
    result = run("verify", "helpful-currents", "--head", head, "--store", example)
    assert result.code == Exit.OK
    assert "the last" in result.out
    other = run("verify", "helpful-currents", "--head", "0" * 64, "--store", example)
    assert other.code == Exit.DOES_NOT_HOLD
    assert "head.unknown" in other.out


def test_an_earlier_head_is_found_in_the_grown_record(run: RunCommand, tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s.db")
    recorder = repairing(store)
    head = recorder.head.digest
    recorder.decide()
    store.close()
    result = run("verify", RUN, "--head", f"sha256:{head}", "--store", tmp_path / "s.db")
    assert result.code == Exit.OK
    assert "2 events came later" in result.out


@pytest.mark.parametrize("head", ["", "zz", "0" * 63, "g" * 64])
def test_an_invalid_digest_is_a_usage_error(run: RunCommand, example: Path, head: str) -> None:
    result = run("verify", "helpful-currents", "--head", head, "--store", example)
    assert result.code == Exit.USAGE


def test_verify_writes_json(run: RunCommand, example: Path) -> None:
    assert run("verify", "help", "--store", example, "--json").json["verified"] is True


def test_an_altered_store_does_not_verify(run: RunCommand, tmp_path: Path, example: Path) -> None:
    altered = tmp_path / "runs.db"
    altered.write_bytes(example.read_bytes())
    alter(
        altered,
        "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'failed', 'passed') AS BLOB)"
        " WHERE seq = 11",
    )
    result = run("verify", "helpful-currents", "--store", altered)
    assert result.code == Exit.DOES_NOT_HOLD
    assert "chain." in result.out
    alter(altered, "DELETE FROM events WHERE seq = 32")
    assert "head.mismatch" in run("verify", "helpful-currents", "--store", altered).out


def test_an_empty_name_is_a_usage_error(run: RunCommand, example: Path) -> None:
    assert run("verify", "", "--store", example).code == Exit.USAGE
    assert run("verify", " ", "--store", example).code == Exit.USAGE


def test_a_zip_bomb_is_inflated_only_to_its_declared_size(tmp_path: Path) -> None:
    """The central directory claims 4 KiB for a part that holds 600 MiB of zeros."""
    path = tmp_path / "bomb.acb"
    store = SqliteStore(":memory:")
    failing(store)
    write_bundle(store, RUN, path)
    store.close()
    bomb = tmp_path / "bomb.zip"
    content = parts(path)
    manifest = deflated(content["manifest.json"] + b" " * (600 << 20))
    pack_streams(bomb, content, {"manifest.json": manifest})
    limited = f"ulimit -v 400000; exec {sys.executable} -m auditcoder verify {bomb}"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode in {Exit.OK, Exit.UNREADABLE, Exit.DOES_NOT_HOLD}, done.stderr
