"""Runs that an earlier version recorded: the current code reads them, and says why none replays."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import BundleFile, write_bundle
from auditcoder.domain.errors import ReplayDiverged
from auditcoder.domain.values import RunId
from auditcoder.interfaces.factories import open_sandbox
from auditcoder.interfaces.settings import read_settings
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import replay
from tests.support.commands import RunCommand, command_runner

RECORDS = {
    "class": (30, "e462b4d9ad1fd8790079aeeb1c2ee346d26913e237526a511bf84d2e2c714c41"),
    "repair": (64, "c64b937c50ffc44c75b05939f8c577493dde87b66fa900b46673c645444f3280"),
    "staged": (113, "842786bcab7c9040b0f10352b00283cb2926738506c9609b96780b9c598e1ccf"),
}
"""The number of events and the last digest of each, as the earlier version printed them."""


@pytest.fixture(params=RECORDS)
def record(request: pytest.FixtureRequest) -> Path:
    return Path(__file__).parents[1] / "data" / "runs" / f"{request.param}.acb"


@pytest.fixture
def bundle(record: Path) -> Iterator[BundleFile]:
    with closing(BundleFile(record)) as opened:
        yield opened


@pytest.fixture
def run_id(bundle: BundleFile) -> RunId:
    (run,) = bundle.runs()
    return run


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    opened = open_sandbox(read_settings(), lambda _notice: None)
    yield opened
    opened.close()


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    return command_runner(capsys, monkeypatch)


def test_an_earlier_record_verifies(record: Path, bundle: BundleFile, run_id: RunId) -> None:
    report = verify_run(bundle, run_id)
    assert report.holds, report.findings
    head = bundle.head(run_id)
    assert (head.entries, head.digest) == RECORDS[record.stem]


@pytest.mark.parametrize("trusting", [False, True], ids=["checks again", "trusting evidence"])
def test_a_replay_of_an_earlier_record_names_the_changed_prompts(
    bundle: BundleFile, run_id: RunId, sandbox: Sandbox, trusting: bool
) -> None:
    with pytest.raises(ReplayDiverged, match=r"with other prompts: .*handbook, joint") as refused:
        replay(bundle, run_id, None if trusting else sandbox)
    assert refused.value.code == "replay.prompts"


def test_the_export_of_an_earlier_record_is_the_same_file(
    record: Path, bundle: BundleFile, run_id: RunId, tmp_path: Path
) -> None:
    write_bundle(bundle, run_id, tmp_path / "again.acb")
    assert (tmp_path / "again.acb").read_bytes() == record.read_bytes()


def test_every_reading_command_accepts_an_earlier_record(
    record: Path, run_id: RunId, command: RunCommand, tmp_path: Path
) -> None:
    assert command("verify", record).code == 0
    assert command("replay", record).code == 1
    assert command("replay", record, "--trust-evidence").code == 1
    shown = command("show", record)
    assert (shown.code, run_id in shown.out) == (0, True)
    lines = command("blame", record, "--json").json["lines"]
    assert {line["node"] for line in lines} >= {None, "S1"}
    for line in lines[:: max(1, len(lines) // 10)]:
        assert command("blame", record, line["line"]).code == 0
    assert command("export", record, "--out", tmp_path / "out.acb").code == 0
    assert (tmp_path / "out.acb").read_bytes() == record.read_bytes()
