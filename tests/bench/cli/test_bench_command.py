"""`bench` and `audit` as a user meets them."""

import json
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
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


def answering(handler: Handler) -> None:
    """Know the answer to one task, and not to the other."""
    asked = handler.server.asked[-1]["messages"][-1]["content"]
    code = (ORACLES / "crc16.py").read_text() if "crc16_ccsds" in asked else "x = 1"
    handler.say(completion(f"```python\n{code}\n```"))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with serving(*[answering] * 50) as running_server:
        monkeypatch.setenv("AUDITCODER_BASE_URL", running_server.address)
        monkeypatch.setenv("AUDITCODER_MODEL", "server:modest")
        yield running_server


def test_lists_what_there_is(run: RunCommand) -> None:
    said = run("bench", "list")
    assert said.code == Exit.OK
    assert all(name in said.out for name in (*SUITES, *METHODS))
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
def test_what_is_unknown_is_answered_with_what_is_known(
    run: RunCommand, arguments: tuple[str, ...], code: str, known: str
) -> None:
    said = run(*arguments)
    assert said.code == Exit.NOT_FOUND
    assert f"[{code}]" in said.err
    assert known in said.err


def test_runs_are_recorded_judged_reported_and_not_done_twice(
    run: RunCommand, server: FaultServer, tmp_path: Path
) -> None:
    asked = ("bench", "run", "aerocomm", "--methods", "direct", "--ids", "crc16,qpsk")
    said = run(*asked)
    assert said.code == Exit.OK, said.err
    assert "1 of 2 resolved" in said.out
    assert "aerocomm.crc16.direct.server-modest: passed, resolved" in said.err
    calls = len(server.asked)
    again = run(*asked)
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
    """Return whatever a page would fetch from elsewhere."""
    found: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.extend(v for k, v in attrs if k in {"src", "href"} and v)

    Reader().feed(page)
    return found


def test_an_audit_of_all_runs_and_of_some(run: RunCommand, server: FaultServer) -> None:
    run("bench", "run", "aerocomm", "--methods", "direct,cot", "--ids", "crc16")
    found = run("audit", "--json").json["tables"]
    assert found[0]["title"] == "Audit of 2 runs, 2 of them judged"
    assert "Audit of 1 runs" in run("audit", "aerocomm.crc16.cot.server-modest").out
    rows = {row["cells"][0]: row["cells"] for row in found[0]["rows"]}
    assert rows["chain integrity"][1] == "2/2"
    assert rows["trace coverage, leaves, final"][1] == "0/2"  # such methods promise nothing
    assert "[run.unknown]" in run("audit", "nothing").err


def test_json_events_while_it_runs(run: RunCommand, server: FaultServer) -> None:
    said = run("bench", "run", "aerocomm", "--methods", "direct", "--ids", "crc16", "--json")
    (line,) = (json.loads(text) for text in said.out.splitlines() if text.startswith("{"))
    assert line["resolved"] is True
