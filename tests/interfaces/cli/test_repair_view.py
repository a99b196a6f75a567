"""`show` prints what each repair was about, and cuts long texts with a way to see all of them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision
from auditcoder.domain.values import CheckId, RunId, digest
from auditcoder.exports.repair_report import CodeChange, FailedCheck, RepairReport
from auditcoder.interfaces.cli.repair_view import cut, own_text, show_repair
from tests.support.commands import RunCommand

RUN = RunId("sum")
STAGED = Path(__file__).parents[2] / "data" / "runs" / "staged.acb"


def test_show_prints_failure_cause_diff_and_decision_of_every_repair(
    run: RunCommand, example: Path
) -> None:
    shown = run("show", "helpful-currents", "--store", example).out
    repair = shown[shown.index("Repair 1") :]
    places = [repair.index(word) for word in ("failed  ", "cause ", "diff ", "decision ")]
    assert places == sorted(places)
    assert "    expected    2\n    got         1\n" in repair
    assert "example-1  failed -> passed" in repair
    assert any(line.startswith("    +") for line in repair.splitlines())


def test_json_has_the_same_report(run: RunCommand, example: Path) -> None:
    (report,) = run("show", "helpful-currents", "--store", example, "--json").json["repairs"]
    assert report["decision"] == "accepted"
    assert report["cause"].endswith("was accepted.")
    assert report["failures"][0]["expected"] == "2"
    assert report["changes"][0]["diff"].startswith("--- before")


def test_a_run_that_did_not_pass_shows_what_its_program_fails(run: RunCommand) -> None:
    shown = run("show", STAGED).out
    last = shown[shown.index("What the program fails") :]
    assert "failed        failed  example-1  (given, event 49)" in last
    assert "    expected    " in last
    (failed, *_) = run("show", STAGED, "--json").json["failing"]
    assert (failed["event"], failed["expected"]) == (49, '"AKL"')


def test_a_run_that_passed_shows_no_failure(run: RunCommand, example: Path) -> None:
    assert "What the program fails" not in run("show", "helpful-currents", "--store", example).out


def report(given: str, diff: str) -> RepairReport:
    failed = FailedCheck(
        event=7,
        check=CheckId("example-1"),
        kind=CheckKind.EXAMPLE,
        verdict=Verdict.CRASH,
        trust=Trust.GIVEN,
        input=given,
        message="ValueError: no",
    )
    change = CodeChange(
        node=NodeId("S1"),
        name="add",
        before=digest(b"a"),
        after=digest(b"b"),
        removed=0,
        added=diff.count("\n") - 1,
        diff=diff,
    )
    return RepairReport(
        transaction=1,
        decision=Decision.REJECTED,
        rolled_back=True,
        cause="It was.",
        failures=(failed,),
        changes=(change,),
        verdicts=(),
        checked=False,
    )


def test_long_texts_are_cut_with_the_command_that_shows_all(
    capsys: pytest.CaptureFixture[str],
) -> None:
    diff = "--- before\n+++ after\n" + "\n".join(f"+line {n}" for n in range(100))
    show_repair(RUN, report("".join(f"{n}\n" for n in range(500)), diff))
    shown = capsys.readouterr().out
    assert "more characters: `auditcoder show sum --event 7` shows all" in shown
    assert "… 40 more lines: `auditcoder show sum S1 --history` shows all" in shown
    assert "message     ValueError: no" in shown
    assert len(shown.splitlines()) < 90


def test_a_repair_that_nothing_was_checked_of_shows_no_verdicts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    show_repair(RUN, report("1", "--- before\n+++ after\n"))
    shown = capsys.readouterr().out
    assert "no check ran" in shown
    assert "changed its verdict" not in shown


def test_a_failed_test_is_shown_from_its_own_text_on() -> None:
    code = "import unittest\n" * 50 + "class A:\n    def test_a(self):\n        self.fail()\n"
    (failed,) = report(code, "").failures
    test = replace(failed, kind=CheckKind.TEST, requirement="A.test_a: It fails.")
    assert own_text(test) == "def test_a(self):\n    self.fail()\n"
    assert own_text(replace(test, requirement="A.test_b")) == code
    assert own_text(replace(test, requirement="")) == code


def test_a_short_text_is_not_cut() -> None:
    assert cut("a\nb", 2, 3) == ("a\nb", "")
    assert cut("a\nb", 1, 3) == ("a", "2 more characters")
    assert cut("abcd", 9, 3) == ("abc", "1 more character")
