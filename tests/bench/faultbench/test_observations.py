"""Gathering: a view shows its own tests alone; what others wrote stands in for opinions."""

import json
from pathlib import Path

import pytest

from auditcoder.interfaces.cli.exit_codes import Exit
from auditcoder_bench.faultbench.failure_records import FaultRecord
from auditcoder_bench.faultbench.line_file import read_lines
from auditcoder_bench.faultbench.observations import FailureEvidence, alternatives
from tests.support.commands import RunCommand, command_runner
from tests.support.faultbench import REFERENCE, build, publish_invented_answers

CARELESS, HOPELESS = "careless|class_H|ClassEval_7", "hopeless|class_H|ClassEval_7"


@pytest.fixture(name="built")
def _built(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> RunCommand:
    """Build two failures, of which one is wrong only where its own method is tested."""
    publish_invented_answers(monkeypatch, tmp_path)
    run = command_runner(capsys, monkeypatch)
    build(run)
    return run


def look(run: RunCommand, *more: str) -> dict[str, FailureEvidence]:
    said = run("faults", "observe", "out.jsonl", "seen.jsonl", "--data", "data", *more)
    assert said.code == Exit.OK, said.err
    return {noticed.id: noticed for noticed in read_lines(Path("seen.jsonl"), FailureEvidence)}


def record(name: str) -> FaultRecord:
    return next(r for r in read_lines(Path("out.jsonl"), FaultRecord) if r.id == name)


def test_only_the_tests_of_the_whole_are_seen_as_in_use(built: RunCommand) -> None:
    found = look(built)
    assert found[CARELESS].kind == "unseen"
    hopeless = found[HOPELESS]
    assert (hopeless.kind, hopeless.truth, hopeless.view) == ("single", ("add",), "program")
    assert "ANSWERED_FIRST" in hopeless.signs["add"]
    assert hopeless.counts["add"].all_failed == 1
    assert hopeless.counts["add"].all_passed == 0
    assert not hopeless.remote
    assert hopeless.rules is not None


def test_or_all_of_them(built: RunCommand) -> None:
    found = look(built, "--view", "all")
    careless, hopeless = found[CARELESS], found[HOPELESS]
    assert (careless.truth, hopeless.truth) == (("mean",), ("add", "mean"))
    assert not careless.remote
    assert hopeless.remote  # of two that are at fault, it called one last
    assert careless.counts["add"].all_passed == 3
    assert careless.rules is None


def test_what_chance_decides_is_not_looked_at(built: RunCommand) -> None:
    rows = [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    Path("out.jsonl").write_text("".join(json.dumps({**row, "flaky": True}) + "\n" for row in rows))
    assert {noticed.kind for noticed in look(built).values()} == {"unseen"}


def test_a_skeleton_that_was_published_broken_only_promises_nothing(built: RunCommand) -> None:
    rows = [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    broken = "".join(json.dumps({**row, "skeleton": "class ("}) + "\n" for row in rows)
    Path("out.jsonl").write_text(broken)
    assert look(built)[HOPELESS].truth == ("add",)


def test_what_others_wrote_is_tried_one_method_at_a_time(built: RunCommand) -> None:
    failing = record(HOPELESS)
    others = [REFERENCE, REFERENCE.replace("len(self.seen)\n", "self.seen.index(number) + 1\n", 1)]
    (first, second) = alternatives(failing, [*others, REFERENCE], {"add"})
    assert first.node == "Tally.add"
    assert "return len(self.seen)" in first.program  # what most agree on comes first
    assert "math.ceil" in first.program  # the other method stays as it is
    assert "index(number)" in second.program
    assert not list(alternatives(failing, others, set()))


def test_or_as_many_as_chance_draws_the_same_each_time(built: RunCommand) -> None:
    failing = record(HOPELESS)
    others = [REFERENCE.replace("len(self.seen)\n", f"{n} + len(self.seen)\n", 1) for n in range(9)]
    (drawn,) = alternatives(failing, others, {"add"}, opinions=1)
    assert list(alternatives(failing, others, {"add"}, opinions=1)) == [drawn]
    assert len(list(alternatives(failing, others, {"add"}, opinions=4))) == 4


def test_another_number_of_opinions_has_a_file_of_its_own(built: RunCommand) -> None:
    tried = look(built, "--opinions", "1")[HOPELESS]
    assert tried.opinions == 1
    assert tried.swaps is not None
    assert tried.swaps["add"].healed == 1
    said = built("faults", "observe", "out.jsonl", "seen.jsonl", "--data", "data")
    assert "[faults.view]" in said.err
