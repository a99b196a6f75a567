"""`show --event` prints one event whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.lifecycle.ports import Sandbox
from tests.support.commands import RunCommand
from tests.support.draft_runs import function_run
from tests.support.record_builders import RUN
from tests.support.scripted_runs import copied_to, sandboxed

BUNDLE = Path(__file__).parents[2] / "data" / "runs" / "staged.acb"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_reply_is_shown_with_its_whole_request(run: RunCommand) -> None:
    shown = run("show", BUNDLE, "--event", "3").out
    assert shown.startswith("Event 3  reply_recorded, 2026-11-18 11:25:59 UTC\n")
    assert "\n  [system]\n  You are one specialist" in shown
    assert "\n  [settings]\n" in shown
    assert '  "time": "O(n^2)"' in shown[shown.index("reply  ") :]


def test_inputs_and_outputs_of_drafts_are_numbered(
    run: RunCommand, sandbox: Sandbox, tmp_path: Path
) -> None:
    copied_to(tmp_path / "drafts.db", function_run(sandbox)).close()
    words = ("show", RUN, "--store", tmp_path / "drafts.db", "--event")
    assert run(*words, 3).out.endswith(
        '     1  "1"\n     2  "-2"\n     3  "3"\n     4  "4"\n     5  "-3"\n     6  "9"\n'
    )
    assert run(*words, 6).out.endswith(
        '     1  "2"\n     2  "-1"\n     3  "4"\n     4  "5"\n     5  "-2"\n     6  "10"\n'
    )


def test_json_has_the_content_as_stored(run: RunCommand) -> None:
    event = run("show", BUNDLE, "--event", "49", "--json").json
    assert (event["event"], event["kind"]) == (49, "check_ran")
    texts = {c["name"]: c["text"] for c in event["content"]}
    assert texts["evidence.observed"] == "'ADAKINGLOVELACE'"


def test_an_unknown_event_is_not_found(run: RunCommand) -> None:
    failed = run("show", BUNDLE, "--event", "9999")
    assert failed.code == Exit.NOT_FOUND
    assert "[event.unknown]" in failed.err
    assert "from 0 to 112" in failed.err


def test_an_invalid_number_or_a_node_beside_it_is_a_usage_error(run: RunCommand) -> None:
    for words in (["--event", "-1"], ["--event", "x"], ["S1", "--event", "3"]):
        assert run("show", BUNDLE, *words).code == Exit.USAGE
