"""`auditcoder faults`: put faults in, look at them, and study what was noticed."""

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
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.runs import RunResources, start
from auditcoder_bench.faultbench import locator_study, repair_runs
from auditcoder_bench.faultbench.injected_failures import InjectedFailure
from auditcoder_bench.faultbench.injection_targets import program
from auditcoder_bench.faultbench.observations import FailureEvidence, not_reproduced
from tests.support.adder_task import BAD_ADD, GOOD_ADD, GOOD_READ, TASK, script
from tests.support.commands import RunCommand, command_runner
from tests.support.fault_server import FaultServer, Handler, completion, serving
from tests.support.faultbench import AGAIN, TEXT, cases
from tests.support.scripted_runs import Script, ScriptedReplies, python, sandboxed


@pytest.fixture(name="run")
def _run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> RunCommand:
    return command_runner(capsys, monkeypatch)


@pytest.fixture(autouse=True)
def _one_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """All programs take minutes; one goes the same way."""
    for module in (locator_study, repair_runs):
        monkeypatch.setattr(module, "programs", lambda: iter([program("totals", TEXT, AGAIN)]))


def test_faults_are_put_in_looked_at_and_studied(run: RunCommand, tmp_path: Path) -> None:
    faults, seen, weights = tmp_path / "f.jsonl", tmp_path / "s.jsonl", tmp_path / "w.json"
    said = run("faults", "inject", str(faults), "--json")
    made = json.loads(said.out)
    assert made["failures"] == len(faults.read_bytes().splitlines()) > 10
    assert set(made["where"]) == {"node", "two nodes", "interface", "graph", "check"}
    again = json.loads(run("faults", "inject", str(tmp_path / "g.jsonl"), "--json").out)
    assert again == made
    assert made["not as pinned"] == ["totals"]
    looked = json.loads(run("faults", "observe", str(faults), str(seen), "--json").out)
    assert looked["failures"] == made["failures"]
    before = seen.read_bytes()
    run("faults", "observe", str(faults), str(seen))
    assert seen.read_bytes() == before
    study = run("faults", "study", str(seen), "--as", "markdown", "--weights", str(weights))
    assert "Locators on faults put into programs" in study.out
    assert msgspec.json.decode(weights.read_bytes(), type=FittedModels).programs.looked.cases > 10
    assert "fitted weights on held-out" not in study.out
    held = run("faults", "study", str(seen), "--held-out", str(faults))
    assert "fitted weights on held-out" in held.out, "also where they are not written"
    judged = run("faults", "judge", str(seen), "--json")
    tables = {table["name"]: table for table in judged.json["tables"]}
    assert tables["cost"]["rows"][0]["cells"][1] == made["failures"]
    assert "nothing was fitted" in tables["located-faults-put-into-programs"]["notes"][-1]
    measures = {row["cells"][0] for row in tables["intervals-faults-put-into-programs"]["rows"]}
    assert {"Top-1", "Brier", "calibration error"} <= measures


@pytest.mark.campaign
def test_faults_are_put_into_runs_of_our_own_that_ended_well(
    run: RunCommand, tmp_path: Path
) -> None:
    store, faults, seen = (tmp_path / name for name in ("runs.db", "f.jsonl", "s.jsonl"))
    whole = "def total(text: str) -> int:\n"
    alone: ScriptedReplies = {
        "sketch": python(f"{whole}    ..."),
        "joint": python(f"{whole}    return sum(map(int, text.split()))"),
    }
    lives = {
        "right": script(GOOD_READ, GOOD_ADD),
        "repaired": script(GOOD_READ, BAD_ADD),
        "alone": alone,
    }
    for sandbox in sandboxed():
        kept = SqliteStore(store)
        for name, said in lives.items():
            model = ScriptedModel([Script(said)] * 20)
            done = start(RunResources(kept, model, sandbox), TASK, Options(), RunId(name))
            assert done.outcome is RunOutcome.PASSED
        kept.close()
    told = run("faults", "inject", str(faults), "--runs", str(store), "--json")
    assert told.json["not as pinned"] == ["totals"], "of runs nothing was published"
    made = [
        msgspec.json.decode(line, type=InjectedFailure) for line in faults.read_bytes().splitlines()
    ]
    assert {fault.solved for fault in made} == {"totals", "run:right", "run:repaired"}
    lost = run("faults", "observe", str(faults), str(seen))
    assert (lost.code, seen.exists()) == (Exit.NOT_FOUND, False)
    assert "--runs" in lost.err
    looked = run("faults", "observe", str(faults), str(seen), "--runs", str(store), "--json")
    assert looked.json["failures"] == len(made)
    tables = run("faults", "judge", str(seen), "--json").json["tables"]
    own = next(t for t in tables if t["title"] == "Locators on faults put into our own runs")
    assert [row["cells"][0] for row in own["rows"]][-2:] == ["weighed, nothing tried", "weighed"]
    assert locator_study.own_runs(str(store))["run:repaired"].others == {"S2": (BAD_ADD,)}, (
        "what it had before"
    )


@pytest.fixture(name="server")
def _server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    """A model that is at a loss, and a store for what comes of it."""
    monkeypatch.setenv("AUDITCODER_STORE", str(tmp_path / "runs.db"))
    with serving(*[at_a_loss] * 50) as running_server:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running_server.address)
        monkeypatch.setenv("AUDITCODER_MODEL", "server:modest")
        yield running_server


def at_a_loss(handler: Handler) -> None:
    handler.say(completion("Nothing comes to mind."))


def test_runs_begin_with_a_fault_and_are_repaired_once(
    run: RunCommand, tmp_path: Path, server: FaultServer
) -> None:
    faults = tmp_path / "f.jsonl"
    run("faults", "inject", str(faults))
    repaired = ("faults", "repair", str(faults), "--each", "2", "--json")
    said = run(*repaired)
    assert said.code == Exit.OK, said.err
    assert said.json["failures"] == 2
    assert "passed" not in said.json["outcomes"]
    asked = len(server.asked)
    assert run(*repaired).json == said.json
    assert len(server.asked) == asked
    for other in (("--locator", "paper-rules"), ("--no-second-opinions",)):
        assert "bench.differs" in run(*repaired, *other).err
    faults.write_bytes(b"")
    assert "faults.none" in run(*repaired).err
    runs = run("runs", "--json").json["runs"]
    assert all(run("replay", one["run"]).code == Exit.OK for one in runs)


def test_second_opinions_in_many_runs_can_come_from_another_model(
    run: RunCommand, tmp_path: Path, server: FaultServer
) -> None:
    faults = str(tmp_path / "f.jsonl")
    run("faults", "inject", faults)
    said = run("faults", "repair", faults, "--second-opinions-by", "server:other")
    assert said.code == Exit.OK, said.err
    step = "# Your step: a second opinion"
    asked = [(r["model"], any(step in m["content"] for m in r["messages"])) for r in server.asked]
    assert {model for model, opinion in asked if opinion} == {"other"}
    assert {model for model, opinion in asked if not opinion} == {"modest"}


def test_looking_goes_on_where_it_was_cut_off(run: RunCommand, tmp_path: Path) -> None:
    faults, seen = tmp_path / "f.jsonl", tmp_path / "s.jsonl"
    run("faults", "inject", str(faults))
    faults.write_bytes(b"".join(faults.read_bytes().splitlines(keepends=True)[:7]))
    run("faults", "observe", str(faults), str(seen))
    whole = seen.read_bytes()
    kept = whole.splitlines(keepends=True)
    seen.write_bytes(b"".join(kept[:4]) + kept[4][:50])
    run("faults", "observe", str(faults), str(seen))
    assert ids(seen.read_bytes()) == ids(whole)


def test_two_views_do_not_share_a_file(run: RunCommand, tmp_path: Path) -> None:
    faults, seen = tmp_path / "f.jsonl", tmp_path / "s.jsonl"
    faults.write_bytes(b"")
    seen.write_bytes(msgspec.json.encode(cases(1, told=1.0)[0]) + b"\n")
    said = run("faults", "observe", faults, seen, "--view", "all")
    assert "[faults.view]" in said.err


def test_spoiled_opinions_do_not_share_a_file_with_others(run: RunCommand, tmp_path: Path) -> None:
    faults, seen = tmp_path / "f.jsonl", tmp_path / "s.jsonl"
    faults.write_bytes(b"")
    spoiled = replace(cases(1, told=1.0)[0], fault="off by one", rooted=True, spoiled=0.4)
    seen.write_bytes(msgspec.json.encode(spoiled) + b"\n")
    assert "[faults.view]" in run("faults", "observe", faults, seen).err
    assert run("faults", "observe", faults, seen, "--spoiled", "0.4").code == Exit.OK


def ids(content: bytes) -> list[str]:
    return [msgspec.json.decode(line, type=FailureEvidence).id for line in content.splitlines()]


def test_what_was_looked_for_in_vain_is_not_studied(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    made = [*cases(3, told=1.0), not_reproduced("gone")]
    path.write_bytes(b"".join(msgspec.json.encode(case) + b"\n" for case in made))
    assert [case.id for case in locator_study.read_noticed([path])] == ["0", "1", "2"]


def test_who_was_cut_off_while_looking_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = cases(1, told=1.0)[0]
    more = replace(first, runs=7)
    path.write_bytes(b"".join(msgspec.json.encode(case) + b"\n" for case in (first, more)))
    assert list(locator_study.read_noticed([path])) == [more]


def test_what_holds_nothing_out_is_said(run: RunCommand, tmp_path: Path) -> None:
    seen, other = tmp_path / "s.jsonl", tmp_path / "other.jsonl"
    seen.write_bytes(b"".join(msgspec.json.encode(c) + b"\n" for c in cases(30, told=1.0)))
    other.write_bytes(b"")
    said = run("faults", "study", seen, "--held-out", other)
    assert (said.code, said.out) == (Exit.NOT_FOUND, "")
    assert "nothing is held out" in said.err


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
def test_a_file_that_is_not_there_or_something_else_is_said(
    run: RunCommand, tmp_path: Path, arguments: tuple[str, ...], code: str
) -> None:
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "other.jsonl").write_bytes(b'{"a": 1}\n')
    (tmp_path / "folder.jsonl").mkdir()
    named = [str(tmp_path / a) if a.endswith("jsonl") else a for a in arguments]
    said = run("faults", *named, "--json")
    assert json.loads(said.err)["error"]["code"] == code
