"""`replay` repeats a run without a model and compares every event."""

from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY
from auditcoder.domain.events import RunStarted
from auditcoder.domain.replay_result import ReplayResult
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from tests.support.commands import RunCommand
from tests.support.fault_server import FaultServer, Handler, completion, serving
from tests.support.modest_model import DOUBLE, TASK, answer_request
from tests.support.records import forge, take


def test_another_version_of_a_prompt_is_refused(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # Stop the server first: a replay waits for replies while other threads are running.
    with serving(*[answer_request] * 20) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        assert run("solve", DOUBLE, "--model", "server:x", "--run-id", "d").code == Exit.OK
    from auditcoder import prompts

    real = prompts._text
    prompts.load.cache_clear()
    monkeypatch.setattr(prompts, "_text", lambda *name: real(*name) + "\nBe brief.")
    before = (tmp_path / "runs.db").read_bytes()
    result = run("replay", "d")
    prompts.load.cache_clear()
    assert result.code == Exit.DOES_NOT_HOLD
    assert "was recorded with other prompts: " in result.err
    assert "[replay.prompts]" in result.err
    assert (tmp_path / "runs.db").read_bytes() == before


def test_replay_reproduces_every_event(run: RunCommand, server: FaultServer) -> None:
    run("solve", TASK, "--run-id", "sum")
    result = run("replay", "sum", "--json")
    assert result.code == Exit.OK
    found = result.json
    assert found["same"] is True
    assert run("replay", "sum", "--trust-evidence").code == Exit.OK


def test_a_bundle_can_be_replayed(run: RunCommand, server: FaultServer, tmp_path: Path) -> None:
    run("solve", TASK, "--run-id", "sum")
    run("export", "sum", "--out", "sum.acb")
    assert run("replay", "sum.acb").code == Exit.OK


def test_replay_reports_a_program_that_is_not_deterministic(
    run: RunCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer_with_the_time(handler: Handler) -> None:
        prompt = handler.server.asked[-1]["messages"][-1]["content"]
        if "# Your step: the sketch" in prompt:
            handler.say(completion("```python\ndef double(x: int) -> int:\n    ...\n```"))
        else:
            code = "import time\ndef double(x: int) -> int:\n    return time.time_ns()"
            handler.say(completion(f"```python\n{code}\n```"))

    with serving(*[answer_with_the_time] * 9) as running:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running.address)
        run("solve", DOUBLE, "--model", "server:x", "--run-id", "d", "--max-repairs", "0")
    result = run("replay", "d")
    assert result.code == Exit.DOES_NOT_HOLD
    assert "different output" in result.out


def test_a_record_of_another_origin_is_refused(run: RunCommand, tmp_path: Path) -> None:
    from tests.support.record_builders import repairing

    store = SqliteStore(tmp_path / "runs.db")
    repairing(store)
    store.close()
    result = run("replay", "a-run")
    assert result.code == Exit.UNREADABLE
    assert "[record.not-solved]" in result.err


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("parallel", text) for text in ("x", "", "0", "-1", "1.5", "9" * 5000)),
        *(("price", text) for text in ("garbage", "[[[", '{"prompt":-1}', '{"prompt":1e999}')),
        *((name, "[" * 100_000) for name in ("price", "budget")),
        *((name, "nonsense") for name in ("budget", "locator", "max_repairs")),
        ("max_repairs", "9" * 5000),
    ],
)
def test_unreadable_settings_of_a_record_are_refused(
    run: RunCommand, tmp_path: Path, name: str, value: str
) -> None:
    with closing(BundleFile(Path(__file__).parents[2] / "data" / "runs" / "class.acb")) as bundle:
        record = take(bundle, bundle.manifest.run)
    begun, *others = record.events()
    assert isinstance(begun, RunStarted)
    settings = begun.manifest.settings | {name: value}
    manifest = msgspec.structs.replace(begun.manifest, settings=settings)
    unfinished = [msgspec.structs.replace(begun, manifest=manifest), *others[:-1]]
    forged = forge(record, unfinished)
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        store.append(forged.run, EMPTY, forged.bodies, forged.head, forged.blobs)
    for words in (["replay", "--trust-evidence"], ["resume", "--model", f"manual:{tmp_path}"]):
        result = run(*words, forged.run)
        assert result.code == Exit.UNREADABLE, result.err
        assert "[record.not-solved]" in result.err
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        assert store.head(forged.run) == forged.head


def _replays(path: Path, name: str) -> list[ReplayResult]:
    with closing(SqliteStore(path)) as store:
        return store.replays(RunId(name))


def test_the_result_of_a_replay_is_kept_beside_the_record(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    run("solve", TASK, "--run-id", "sum")
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        before = take(store, RunId("sum"))
    assert run("replay", "sum", "--json").json["kept"] is True
    run("replay", "sum", "--trust-evidence")
    first, second = _replays(tmp_path / "runs.db", "sum")
    assert (first.same, first.repeated, second.repeated) == (True, True, False)
    assert first.head == before.head.digest
    assert first.events == before.head.entries
    assert set(first.versions) == {"auditcoder", "python"}
    assert first.sandbox
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        assert take(store, RunId("sum")) == before
    run("export", "sum", "--out", "sum.acb")
    assert run("replay", "sum.acb", "--json").json["kept"] is False
    assert len(_replays(tmp_path / "runs.db", "sum")) == 2


def test_audit_reports_which_runs_were_replayed(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        run("solve", TASK, "--run-id", name)
    assert "not replayed                       2" in run("audit").out
    run("replay", "one")
    (replayed,) = _replays(tmp_path / "runs.db", "one")
    day = f"{replayed.at:%Y-%m-%d}"
    tables = {table["name"]: table for table in run("audit", "--json").json["tables"]}
    rows = {row["cells"][0]: row for row in tables["replays"]["rows"]}
    assert rows["same, checks repeated"]["runs"] == ["one"]
    assert rows["same, checks repeated"]["cells"][3].startswith(day)
    assert rows["not replayed"]["runs"] == ["two"]
    fidelity = [
        r["cells"][1] for r in tables["audit"]["rows"] if r["cells"][0] == "replay fidelity"
    ]
    assert fidelity == ["1/1"]


def test_a_replay_that_differs_or_diverges_is_kept_as_different(
    run: RunCommand, tmp_path: Path
) -> None:
    with closing(BundleFile(Path(__file__).parents[2] / "data" / "runs" / "repair.acb")) as bundle:
        record = take(bundle, bundle.manifest.run)
    begun, *others = record.events()
    assert isinstance(begun, RunStarted)
    settings = begun.manifest.settings | {"planner": "staged"}
    manifest = msgspec.structs.replace(begun.manifest, settings=settings, prompts={})
    forged = forge(record, [msgspec.structs.replace(begun, manifest=manifest), *others])
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        store.append(forged.run, EMPTY, forged.bodies, forged.head, forged.blobs)
    result = run("replay", "--trust-evidence", forged.run)
    assert result.code == Exit.DOES_NOT_HOLD
    assert "[replay." in result.err
    (kept,) = _replays(tmp_path / "runs.db", forged.run)
    assert not kept.same
    assert kept.differences[0].startswith("replay.")
    assert f"{forged.run} differed on {kept.at:%Y-%m-%d}" in run("audit").out
