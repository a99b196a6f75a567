"""`auditcoder faults`: inject faults, observe them, and study the observations."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.locating.scoring import FittedModels
from auditcoder.lifecycle.runs import RunResources, start, started
from auditcoder_bench.faultbench import locator_study, repair_runs
from auditcoder_bench.faultbench.injected_failures import InjectedFailure
from auditcoder_bench.faultbench.injection_targets import program
from auditcoder_bench.faultbench.observations import FailureEvidence, not_reproduced
from tests.support.adder_task import BAD_ADD, GOOD_ADD, GOOD_READ, TASK, script
from tests.support.commands import RunCommand, command_runner
from tests.support.fault_server import FaultServer, Handler, completion, serving
from tests.support.faultbench import AGAIN, TEXT, cases
from tests.support.scripted_runs import Script, ScriptedReplies, python, sandboxed
from tests.support.sketched_runs import sketching


@pytest.fixture(name="run")
def _run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    return command_runner(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def _one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use one program: all of them would take minutes."""
    for module in (locator_study, repair_runs):
        monkeypatch.setattr(module, "programs", lambda: iter([program("totals", TEXT, AGAIN)]))


def test_faults_are_injected_observed_and_studied(run: RunCommand, tmp_path: Path) -> None:
    faults, observed, weights = tmp_path / "f.jsonl", tmp_path / "s.jsonl", tmp_path / "w.json"
    result = run("faults", "inject", str(faults), "--json")
    injected = json.loads(result.out)
    assert injected["failures"] == len(faults.read_bytes().splitlines()) > 10
    assert set(injected["where"]) == {"node", "two nodes", "interface", "graph", "check"}
    again = json.loads(run("faults", "inject", str(tmp_path / "g.jsonl"), "--json").out)
    assert again == injected
    assert injected["not as pinned"] == ["totals"]
    summary = json.loads(run("faults", "observe", str(faults), str(observed), "--json").out)
    assert summary["failures"] == injected["failures"]
    before = observed.read_bytes()
    run("faults", "observe", str(faults), str(observed))
    assert observed.read_bytes() == before
    study = run("faults", "study", str(observed), "--as", "markdown", "--weights", str(weights))
    assert "Locators on faults put into programs" in study.out
    assert msgspec.json.decode(weights.read_bytes(), type=FittedModels).programs.traced.cases > 10
    assert "fitted weights on held-out" not in study.out
    held = run("faults", "study", str(observed), "--held-out", str(faults))
    assert "fitted weights on held-out" in held.out, "the table does not need --weights"
    judged = run("faults", "judge", str(observed), "--json")
    tables = {table["name"]: table for table in judged.json["tables"]}
    assert tables["cost"]["rows"][0]["cells"][1] == injected["failures"]
    assert "nothing was fitted" in tables["located-faults-put-into-programs"]["notes"][-1]
    measures = {row["cells"][0] for row in tables["intervals-faults-put-into-programs"]["rows"]}
    assert {"Top-1", "Brier", "calibration error"} <= measures


@pytest.mark.campaign
def test_faults_are_injected_into_passed_runs_of_a_store(run: RunCommand, tmp_path: Path) -> None:
    store, faults, observed = (tmp_path / name for name in ("runs.db", "f.jsonl", "s.jsonl"))
    whole = "def total(text: str) -> int:\n"
    alone: ScriptedReplies = {
        "sketch": python(f"{whole}    ..."),
        "joint": python(f"{whole}    return sum(map(int, text.split()))"),
    }
    scripts = {
        "right": script(GOOD_READ, GOOD_ADD),
        "repaired": script(GOOD_READ, BAD_ADD),
        "alone": alone,
    }
    for sandbox in sandboxed():
        kept = SqliteStore(store)
        for name, replies in scripts.items():
            model = ScriptedModel([Script(replies)] * 20)
            done = start(RunResources(kept, model, sandbox), TASK, sketching(), RunId(name))
            assert done.outcome is RunOutcome.PASSED
        kept.close()
    output = run("faults", "inject", str(faults), "--runs", str(store), "--json")
    assert output.json["not as pinned"] == ["totals"], "faults in runs are not pinned"
    injected = [
        msgspec.json.decode(line, type=InjectedFailure) for line in faults.read_bytes().splitlines()
    ]
    assert {fault.solved for fault in injected} == {"totals", "run:right", "run:repaired"}
    lost = run("faults", "observe", str(faults), str(observed))
    assert (lost.code, observed.exists()) == (Exit.NOT_FOUND, False)
    assert "--runs" in lost.err
    summary = run("faults", "observe", str(faults), str(observed), "--runs", str(store), "--json")
    assert summary.json["failures"] == len(injected)
    tables = run("faults", "judge", str(observed), "--json").json["tables"]
    own = next(t for t in tables if t["title"] == "Locators on faults put into our own runs")
    assert [row["cells"][0] for row in own["rows"]][-2:] == ["weighed, nothing tried", "weighed"]
    assert locator_study.own_runs(str(store))["run:repaired"].others == {"S2": (BAD_ADD,)}, (
        "what it had before"
    )


@pytest.fixture(name="server")
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """Serve a model that never answers usefully, and name a store for its runs."""
    monkeypatch.setenv("AUDITCODER_STORE", str(tmp_path / "runs.db"))
    with serving(*[answer_uselessly] * 50) as running_server:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running_server.address)
        monkeypatch.setenv("AUDITCODER_MODEL", "server:modest")
        yield running_server


def answer_uselessly(handler: Handler) -> None:
    handler.say(completion("Nothing comes to mind."))


@pytest.mark.campaign
def test_repair_runs_start_with_a_fault_and_are_not_repeated(
    run: RunCommand, tmp_path: Path, server: FaultServer
) -> None:
    faults = tmp_path / "f.jsonl"
    run("faults", "inject", str(faults))
    repaired = ("faults", "repair", str(faults), "--each", "2", "--json")
    result = run(*repaired)
    assert result.code == Exit.OK, result.err
    assert result.json["failures"] == 2
    assert "passed" not in result.json["outcomes"]
    calls = len(server.asked)
    assert run(*repaired).json == result.json
    assert len(server.asked) == calls
    for other in (("--locator", "paper-rules"), ("--second-opinions", "none")):
        assert "bench.differs" in run(*repaired, *other).err
    faults.write_bytes(b"")
    assert "faults.none" in run(*repaired).err
    runs = run("runs", "--json").json["runs"]
    assert all(run("replay", one["run"]).code == Exit.OK for one in runs)


def test_repair_runs_can_use_another_model_for_second_opinions(
    run: RunCommand, tmp_path: Path, server: FaultServer
) -> None:
    faults = str(tmp_path / "f.jsonl")
    run("faults", "inject", faults)
    result = run("faults", "repair", faults, "--second-opinions-by", "server:other")
    assert result.code == Exit.OK, result.err
    step = "# Your step: a second opinion"
    requests = [
        (r["model"], any(step in m["content"] for m in r["messages"])) for r in server.asked
    ]
    assert {model for model, opinion in requests if opinion} == {"other"}
    assert {model for model, opinion in requests if not opinion} == {"modest"}


def test_repair_runs_keep_the_options_that_their_prepared_replies_need(
    run: RunCommand, tmp_path: Path, server: FaultServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run("faults", "repair", "f.jsonl", "--build", "node").code == Exit.USAGE
    faults, store = str(tmp_path / "f.jsonl"), SqliteStore(tmp_path / "runs.db")
    run("faults", "inject", faults)
    monkeypatch.setenv("AUDITCODER_PLANNER", "staged")
    monkeypatch.setenv("AUDITCODER_BUILD", "node")
    result = run("faults", "repair", faults, "--max-repairs", "0")
    assert result.code == Exit.OK, result.err
    (name,) = store.runs()
    settings = started(store, name).manifest.settings
    store.close()
    assert (settings["planner"], settings["build"]) == ("sketch", "joint")
    assert settings["max_repairs"] == "0"
    assert server.asked == [], "the first replies are prepared"


def test_an_interrupted_observation_resumes(run: RunCommand, tmp_path: Path) -> None:
    faults, observed = tmp_path / "f.jsonl", tmp_path / "s.jsonl"
    run("faults", "inject", str(faults))
    faults.write_bytes(b"".join(faults.read_bytes().splitlines(keepends=True)[:7]))
    run("faults", "observe", str(faults), str(observed))
    whole = observed.read_bytes()
    kept = whole.splitlines(keepends=True)
    observed.write_bytes(b"".join(kept[:4]) + kept[4][:50])
    run("faults", "observe", str(faults), str(observed))
    assert ids(observed.read_bytes()) == ids(whole)


def test_two_views_do_not_share_a_file(run: RunCommand, tmp_path: Path) -> None:
    faults, observed = tmp_path / "f.jsonl", tmp_path / "s.jsonl"
    faults.write_bytes(b"")
    observed.write_bytes(msgspec.json.encode(cases(1, told=1.0)[0]) + b"\n")
    result = run("faults", "observe", faults, observed, "--view", "all")
    assert "[faults.view]" in result.err


def test_spoiled_opinions_do_not_share_a_file_with_others(run: RunCommand, tmp_path: Path) -> None:
    faults, observed = tmp_path / "f.jsonl", tmp_path / "s.jsonl"
    faults.write_bytes(b"")
    spoiled = replace(cases(1, told=1.0)[0], fault="off by one", rooted=True, spoiled=0.4)
    observed.write_bytes(msgspec.json.encode(spoiled) + b"\n")
    assert "[faults.view]" in run("faults", "observe", faults, observed).err
    assert run("faults", "observe", faults, observed, "--spoiled", "0.4").code == Exit.OK


def ids(content: bytes) -> list[str]:
    return [msgspec.json.decode(line, type=FailureEvidence).id for line in content.splitlines()]


def test_failures_that_were_not_reproduced_are_not_studied(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    evidence = [*cases(3, told=1.0), not_reproduced("gone")]
    path.write_bytes(b"".join(msgspec.json.encode(case) + b"\n" for case in evidence))
    assert [case.id for case in locator_study.read_observations([path])] == ["0", "1", "2"]


def test_a_failure_observed_twice_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = cases(1, told=1.0)[0]
    later = replace(first, runs=7)
    path.write_bytes(b"".join(msgspec.json.encode(case) + b"\n" for case in (first, later)))
    assert list(locator_study.read_observations([path])) == [later]


def test_an_empty_held_out_file_is_reported(run: RunCommand, tmp_path: Path) -> None:
    observed, other = tmp_path / "s.jsonl", tmp_path / "other.jsonl"
    observed.write_bytes(b"".join(msgspec.json.encode(c) + b"\n" for c in cases(30, told=1.0)))
    other.write_bytes(b"")
    result = run("faults", "study", observed, "--held-out", other)
    assert (result.code, result.out) == (Exit.NOT_FOUND, "")
    assert "nothing is held out" in result.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("observe", "missing.jsonl", "out.jsonl"), "faults.missing"),
        (("study", "missing.jsonl"), "faults.missing"),
        (("study", "empty.jsonl"), "faults.missing"),
        (("study", "other.jsonl"), "faults.unreadable"),
        (("observe", "folder.jsonl", "out.jsonl"), "faults.unreadable"),
        (("judge", "empty.jsonl"), "faults.missing"),
    ],
)
def test_a_missing_or_invalid_file_is_reported(
    run: RunCommand, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "other.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / "folder.jsonl").mkdir()
    named = [str(tmp_path / a) if a.endswith("jsonl") else a for a in arguments]
    result = run("faults", *named, "--json")
    assert json.loads(result.err)["error"]["code"] == code
