"""Observing published failures: the tests of each view, and other answers as opinions."""

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
    """Build two failures, one of which fails only the tests of its own method."""
    publish_invented_answers(monkeypatch, tmp_path)
    run = command_runner(capsys, monkeypatch)
    build(run)
    return run


def observe(run: RunCommand, *more: str) -> dict[str, FailureEvidence]:
    result = run("faults", "observe", "out.jsonl", "seen.jsonl", "--data", "data", *more)
    assert result.code == Exit.OK, result.err
    return {observed.id: observed for observed in read_lines(Path("seen.jsonl"), FailureEvidence)}


def record(name: str) -> FaultRecord:
    return next(r for r in read_lines(Path("out.jsonl"), FaultRecord) if r.id == name)


def test_by_default_only_integration_tests_are_observed(built: RunCommand) -> None:
    found = observe(built)
    assert found[CARELESS].kind == "unseen"
    hopeless = found[HOPELESS]
    assert (hopeless.kind, hopeless.truth, hopeless.view) == ("single", ("add",), "program")
    assert "ANSWERED_FIRST" in hopeless.features["add"]
    assert hopeless.counts["add"].all_failed == 1
    assert hopeless.counts["add"].all_passed == 0
    assert not hopeless.remote
    assert hopeless.rules is not None


def test_with_view_all_every_test_is_observed(built: RunCommand) -> None:
    found = observe(built, "--view", "all")
    careless, hopeless = found[CARELESS], found[HOPELESS]
    assert (careless.truth, hopeless.truth) == (("mean",), ("add", "mean"))
    assert not careless.remote
    assert hopeless.remote  # two methods are at fault, and one of them was called last
    assert careless.counts["add"].all_passed == 3
    assert careless.rules is None


def test_flaky_failures_are_not_observed(built: RunCommand) -> None:
    rows = [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    Path("out.jsonl").write_text("".join(json.dumps({**row, "flaky": True}) + "\n" for row in rows))
    assert {observed.kind for observed in observe(built).values()} == {"unseen"}


def test_a_failure_with_a_broken_skeleton_is_still_observed(built: RunCommand) -> None:
    rows = [json.loads(line) for line in Path("out.jsonl").read_bytes().splitlines()]
    broken = "".join(json.dumps({**row, "skeleton": "class ("}) + "\n" for row in rows)
    Path("out.jsonl").write_text(broken)
    assert observe(built)[HOPELESS].truth == ("add",)


def test_other_answers_are_substituted_one_method_at_a_time(built: RunCommand) -> None:
    failing = record(HOPELESS)
    others = [REFERENCE, REFERENCE.replace("len(self.seen)\n", "self.seen.index(number) + 1\n", 1)]
    (first, second) = alternatives(failing, [*others, REFERENCE], {"add"})
    assert first.node == "Tally.add"
    assert "return len(self.seen)" in first.program  # the most common implementation comes first
    assert "math.ceil" in first.program  # the other method is unchanged
    assert "index(number)" in second.program
    assert not list(alternatives(failing, others, set()))


def test_a_limited_number_of_opinions_is_drawn_deterministically(built: RunCommand) -> None:
    failing = record(HOPELESS)
    others = [REFERENCE.replace("len(self.seen)\n", f"{n} + len(self.seen)\n", 1) for n in range(9)]
    (drawn,) = alternatives(failing, others, {"add"}, opinions=1)
    assert list(alternatives(failing, others, {"add"}, opinions=1)) == [drawn]
    assert len(list(alternatives(failing, others, {"add"}, opinions=4))) == 4


def test_different_numbers_of_opinions_do_not_share_a_file(built: RunCommand) -> None:
    tried = observe(built, "--opinions", "1")[HOPELESS]
    assert tried.opinions == 1
    assert tried.swaps is not None
    assert tried.swaps["add"].healed == 1
    result = built("faults", "observe", "out.jsonl", "seen.jsonl", "--data", "data")
    assert "[faults.view]" in result.err
