"""`show` prints a run as a tree, or one responsibility in full."""

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.request import Request
from auditcoder.exports.responsibility_record import FIELDS
from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder.interfaces.cli.show_command import show_node, show_run
from auditcoder.lifecycle.options import AutoSwitch
from auditcoder.lifecycle.ports import Sandbox
from tests.support import adder_task, addition_runs
from tests.support.commands import RunCommand
from tests.support.histories import accept_repair, traced
from tests.support.record_builders import (
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    check_node,
    failing,
    observe_node,
    repairing,
    ticking,
)
from tests.support.scripted_runs import ScriptedReplies, python, sandboxed, stub
from tests.support.scripted_runs import run as run_script
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_a_run_is_shown_as_a_tree(run: RunCommand, example: Path) -> None:
    result = run("show", "helpful-currents", "--store", example)
    assert result.code == Exit.OK
    for expected in ("├─ S1 ", "│  └─ S1_2", "count_routes(grid: list[str]", "R3 points to"):
        assert expected in result.out
    assert "frozen        S0, S2" in result.out


def test_the_beginning_of_an_id_names_a_run(run: RunCommand, example: Path) -> None:
    assert run("show", "help", "--store", example).code == Exit.OK


def test_a_responsibility_is_shown_in_full(run: RunCommand, example: Path) -> None:
    result = run("show", "helpful-currents", "S1_2", "--store", example)
    for expected in (
        "id committed at event 2",
        "requires",
        "from S1_1.grid",
        "MODULUS",
        "History",
    ):
        assert expected in result.out
    assert "no longer stands" in result.out


def test_the_record_has_the_papers_twelve_fields(run: RunCommand, example: Path) -> None:
    record = run("show", "helpful-currents", "S1_2", "--store", example, "--json").json
    assert tuple(record) == FIELDS
    assert record["owned_code"]["source"].startswith("MODULUS")
    whole = run("show", "helpful-currents", "--store", example, "--json").json
    assert [node["id"] for node in whole["nodes"]] == ["S0", "S1", "S1_1", "S1_2", "S2"]


@pytest.mark.parametrize("node", ["S9", "", "s1", "../x", "\x1b[2J"])
def test_an_unknown_node_is_reported_with_the_known_ones(
    run: RunCommand, example: Path, node: str
) -> None:
    result = run("show", "helpful-currents", node, "--store", example)
    assert result.code == Exit.NOT_FOUND
    assert "S1_1" in result.err, "the message lists the known ones"
    assert "\x1b" not in result.err


def test_a_run_without_a_plan_is_shown(run: RunCommand, tmp_path: Path) -> None:
    from auditcoder.lifecycle.recorder import Recorder

    store = SqliteStore(tmp_path / "s.db")
    Recorder.start(store, RUN, TASK, ticking())
    store.close()
    assert "no responsibilities" in run("show", RUN, "--store", tmp_path / "s.db").out
    result = run("blame", RUN, "--store", tmp_path / "s.db")
    assert result.code == Exit.NOT_FOUND
    assert "[program.none]" in result.err


def test_control_characters_of_a_record_do_not_reach_the_terminal(
    run: RunCommand, tmp_path: Path
) -> None:
    evil = "\x1b]0;owned\x07\x1b[8mhidden\u202egnirts\u200b\nnext"
    from auditcoder.lifecycle.recorder import Recorder

    store = SqliteStore(tmp_path / "s.db")
    task = msgspec.structs.replace(TASK, title=evil, statement=evil, source=evil)
    Recorder.start(store, RUN, task, ticking())
    store.close()
    for command in (["runs"], ["show", RUN], ["verify", RUN]):
        out = run(*command, "--store", tmp_path / "s.db").out
        assert not set(out) & set("\x1b\x07\u202e\u200b")


def test_checks_that_decided_nothing_are_counted_apart(
    store: SqliteStore, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = failing(store)
    for verdict in (Verdict.PASSED, Verdict.UNMEASURABLE):
        check_node(recorder, S2, verdict)
    check_node(recorder, S1_1, Verdict.VACUOUS)
    check_node(recorder, S1, Verdict.NOT_RUN)
    observe_node(recorder, S2, Verdict.FAILED)
    show_run(traced(store), store.blob)
    shown = capsys.readouterr().out
    statuses = [line.strip(" │") for line in shown.splitlines() if " code from event " in line]
    assert [status.partition(", ")[2] for status in statuses] == [
        "no evidence of its own",
        "1 check inconclusive",
        "1 of 1 check fail, 1 check inconclusive",
        "1 check passed, 1 check inconclusive",
    ]


def test_an_inconclusive_check_is_shown_in_words(
    store: SqliteStore, capsys: pytest.CaptureFixture[str]
) -> None:
    recorder = failing(store)
    for verdict in (Verdict.VACUOUS, Verdict.UNMEASURABLE):
        check_node(recorder, S2, verdict)
    show_node(traced(store), S2, store.blob)
    shown = capsys.readouterr().out
    assert "  vacuous  S2.contract  (contract, derived, " in shown
    assert "  not measured  S2.probe  (probe, derived, " in shown


def test_a_failure_that_no_longer_stands_is_not_red(
    store: SqliteStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    recorder = repairing(store)
    show_node(traced(store), S1_1, store.blob)
    assert "\033[31mfailed\033[0m  S1_1.generated" in capsys.readouterr().out
    accept_repair(recorder)
    show_node(traced(store), S1_1, store.blob)
    assert "\033[2mfailed\033[0m  S1_1.generated" in capsys.readouterr().out


def test_a_ruling_on_a_dropped_case_shows_its_input_and_results(
    sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    solve = stub("solve(data: str) -> str", "Solve.", "example: solve('4 5') == '10'")
    body = "return str(add_up(read_numbers(data)))"
    parts = addition_runs.READ + addition_runs.ADD + solve.replace("...", body)
    right = "def solve(data):\n    return str(sum(int(word) for word in data.split()))\n"

    def nine(request: Request) -> str:
        side = "A" if "Result A:\n9\n" in request.messages[-1].text else "B"
        return json.dumps({"derivation": "added by hand", "right": side})

    replies: ScriptedReplies = {
        "sketch": python(parts),
        "joint": python(addition_runs.READS + addition_runs.ADDS),
        "independent": python(right),
        "adjudicator": nine,
    }
    options = sketching(adjudication=AutoSwitch.ON, review=False)
    finished = run_script(sandbox, addition_runs.TASK, replies, options)
    show_run(finished.solution.trace, finished.raw.blobs.__getitem__)
    shown = capsys.readouterr().out
    ruling = shown[shown.index("Ruling at event") :].splitlines()
    assert [line.split() for line in ruling[1:4]] == [
        ["input", "4", "5"],
        ["expected", "10"],
        ["got", "9"],
    ]
    assert "the independent implementation gives the result of the program" in ruling[4]


def test_a_node_shows_what_the_plan_notes_and_requires_without_claiming_a_check(
    sandbox: Sandbox, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = (
        "ensures: result == sum(numbers)",
        "cost: O(n)",
        "trap: an empty text",
        "limits: n < 9",
    )
    add = stub("add(numbers: list[int]) -> int", "Add them up.", *facts, "assumes: n < 9")
    replies = adder_task.script(
        adder_task.GOOD_READ,
        adder_task.GOOD_ADD,
        sketch=python(adder_task.READ + add + adder_task.ROOT),
    )
    finished = run_script(sandbox, adder_task.TASK, replies, sketching(review=False))
    show_node(finished.solution.trace, S2, finished.raw.blobs.__getitem__)
    shown = capsys.readouterr().out
    assert "  to validate: its cost grows no faster than O(n)\n" in shown
    assert "validated " not in shown
    for noted in ("trap: an empty text", "assumes: n < 9"):
        assert f"  context    {noted}\n" in shown
