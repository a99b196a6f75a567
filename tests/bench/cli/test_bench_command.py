"""`bench` runs, judges and reports methods on suites, and `audit` reads their runs."""

import json
from collections.abc import Iterator
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.values import RunId
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.runs import started
from auditcoder_bench.baselines import METHODS
from auditcoder_bench.suites import SUITES
from tests.support.commands import RunCommand, command_runner
from tests.support.fault_server import FaultServer, Handler, completion, serving

ROOT = Path(__file__).parents[3]
ORACLES = ROOT / "src" / "auditcoder_bench" / "suites" / "aerocomm_data" / "oracles"


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> RunCommand:
    monkeypatch.setenv("AUDITCODER_STORE", str(tmp_path / "runs.db"))
    monkeypatch.chdir(tmp_path)
    return command_runner(capsys, monkeypatch)


def answer_one_task(handler: Handler) -> None:
    """Answer one task correctly and the other one wrongly."""
    prompt = handler.server.asked[-1]["messages"][-1]["content"]
    code = (ORACLES / "crc16.py").read_text() if "crc16_ccsds" in prompt else "x = 1"
    handler.say(completion(f"```python\n{code}\n```"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with serving(*[answer_one_task] * 50) as running_server:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running_server.address)
        monkeypatch.setenv("AUDITCODER_MODEL", "server:modest")
        yield running_server


def test_list_prints_suites_and_methods(run: RunCommand) -> None:
    result = run("bench", "list")
    assert result.code == Exit.OK
    assert all(name in result.out for name in (*SUITES, *METHODS))
    found = run("bench", "--json").json
    assert found["methods"] == list(METHODS)


@pytest.mark.parametrize(
    ("arguments", "code", "known"),
    [
        (("bench", "run", "magic"), "suite.unknown", "aerocomm"),
        (("bench", "run", "aerocomm", "--methods", "magic"), "method.unknown", "direct"),
        (("bench", "run", "aerocomm", "--ids", "magic"), "problem.unknown", "vis_viva"),
    ],
)
def test_an_unknown_name_is_reported_with_the_known_ones(
    run: RunCommand, arguments: tuple[str, ...], code: str, known: str
) -> None:
    result = run(*arguments)
    assert result.code == Exit.NOT_FOUND
    assert f"[{code}]" in result.err
    assert known in result.err


def test_runs_are_recorded_judged_reported_and_not_repeated(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    command = ("bench", "run", "aerocomm", "--methods", "direct", "--ids", "crc16,qpsk")
    result = run(*command)
    assert result.code == Exit.OK, result.err
    assert "1 of 2 resolved" in result.out
    assert "aerocomm.crc16.direct.server-modest: passed, resolved" in result.err
    calls = len(server.asked)
    again = run(*command)
    assert "1 of 2 resolved" in again.out
    assert len(server.asked) == calls
    assert run("verify", "aerocomm.crc16.direct.server-modest").code == Exit.OK

    (table, *_) = run("bench", "report", "--json").json["tables"]
    assert table["rows"][0]["cells"][:3] == ["direct", 1, 2]
    assert table["rows"][0]["runs"] == [
        "aerocomm.crc16.direct.server-modest",
        "aerocomm.qpsk.direct.server-modest",
    ]
    assert "| direct | 1 | 2 |" in run("bench", "report", "--as", "markdown").out
    assert run("bench", "report", "--as", "html", "--out", "report.html").code == Exit.OK
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "aerocomm.qpsk.direct" in page
    assert _links(page) == []


def _links(page: str) -> list[str]:
    """Return the addresses of everything that a page would load."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(v for k, v in attrs if k in {"src", "href"} and v)

    Reader().feed(page)
    return found


def test_audit_covers_all_runs_or_the_named_one(run: RunCommand, server: FaultServer) -> None:
    run("bench", "run", "aerocomm", "--methods", "direct,cot", "--ids", "crc16")
    found = run("audit", "--json").json["tables"]
    assert found[0]["title"] == "Audit of 2 runs, 2 of them judged"
    assert "Audit of 1 runs" in run("audit", "aerocomm.crc16.cot.server-modest").out
    rows = {row["cells"][0]: row["cells"] for row in found[0]["rows"]}
    assert rows["chain integrity"][1] == "2/2"
    assert rows["trace coverage, leaves, final"][1] == "0/2"  # such methods have no contracts
    assert "[run.unknown]" in run("audit", "nothing").err


def test_json_prints_one_line_for_each_finished_job(run: RunCommand, server: FaultServer) -> None:
    result = run("bench", "run", "aerocomm", "--methods", "direct", "--ids", "crc16", "--json")
    (line,) = (json.loads(text) for text in result.out.splitlines() if text.startswith("{"))
    assert line["resolved"] is True


def test_a_method_overrides_the_options_that_it_sets_itself(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    flags = ("--max-repairs", "7", "--build", "joint", "--budget-tokens", "1", "--temperature", "1")
    result = run("bench", "run", "aerocomm", "--methods", "task-plan,cot", "--ids", "crc16", *flags)
    assert result.code == Exit.OK, result.err
    with closing(SqliteStore(tmp_path / "runs.db")) as store:
        manifests = {
            name: started(store, RunId(f"aerocomm.crc16.{name}.server-modest")).manifest
            for name in ("task-plan", "cot")
        }
    assert {name: m.settings["max_repairs"] for name, m in manifests.items()} == {
        "task-plan": "0",
        "cot": "7",
    }
    assert manifests["task-plan"].settings["build"] == "node"
    for manifest in manifests.values():
        assert manifest.settings["budget"] == '{"tokens":1}'
        assert manifest.decoding["temperature"] == "1"
