"""The report of a repair says what failed, which nodes were named, what changed and the result."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.python_names import parsed
from auditcoder.domain.repair import Decision
from auditcoder.exports.repair_report import RepairReport, repair_reports, text_of
from auditcoder.lifecycle.export_import import verified_trace
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from tests.support import adder_task, addition_runs
from tests.support.addition_runs import ANEW, OFF, READS, SKETCH, TAKES
from tests.support.scripted_runs import FinishedRun, caused, python, run, sandboxed
from tests.support.sketched_runs import sketching

BUNDLES = Path(__file__).parents[1] / "data" / "runs"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def reports(finished: FinishedRun) -> tuple[RepairReport, ...]:
    return repair_reports(finished.solution.trace, finished.raw.blobs.__getitem__)


def test_an_accepted_repair_tells_the_failure_its_cause_the_change_and_the_result(
    sandbox: Sandbox,
) -> None:
    replies = adder_task.script(adder_task.GOOD_READ, adder_task.BAD_ADD)
    finished = run(sandbox, adder_task.TASK, replies, locator=LocatorName.WEIGHED)
    (report,) = reports(finished)
    failed = report.failures[0]
    assert (failed.check, failed.input, failed.expected, failed.got) == (
        "example-1",
        "'1 2 3'",
        "6",
        "5",
    )
    assert [f.check for f in report.failures] == ["example-1", "example-2", "example-3"]
    (change,) = report.changes
    assert (change.node, change.name, change.removed, change.added) == ("S2", "add", 1, 1)
    assert "-    return sum(numbers[1:])\n+    return sum(numbers)" in change.diff
    assert report.decision is Decision.ACCEPTED
    assert {(v.check, v.before, v.after) for v in report.verdicts} == {
        (f"example-{n}", Verdict.FAILED, Verdict.PASSED) for n in (1, 2, 3)
    }
    assert report.cause.startswith("`add` (S2) was named (high confidence, 0.96) because")
    assert "in the failing case it returned what it promises not to" in report.cause
    assert report.cause.endswith("made example-1, example-2 and example-3 pass and was accepted.")


def test_a_rejected_repair_confirms_no_cause(sandbox: Sandbox) -> None:
    finished = run(sandbox, addition_runs.TASK, addition_runs.REJECTED)
    first, second = reports(finished)
    for report in (first, second):
        assert report.rolled_back
        assert not report.verdicts
        assert report.cause.endswith("was rejected, so this attribution is not confirmed.")
        assert "`add_up([1, 2]) == 3` failed (it is 4) (event 12)" in report.cause
    assert "+    return sum(numbers) + 2" in first.changes[0].diff
    assert "+    return 8" in second.changes[0].diff


def test_a_repair_of_the_whole_program_names_no_part(sandbox: Sandbox) -> None:
    joint = [python(READS + OFF), python(TAKES)]
    replies = {"sketch": SKETCH, "redo": ANEW, "joint": joint}
    options = sketching(review=False, fallback=True)
    (report,) = reports(run(sandbox, addition_runs.TASK, replies, options))
    assert report.cause.startswith("No part was named, because ")
    assert {c.node: (c.before is None, c.after is None) for c in report.changes} == {
        "S0": (False, False),
        "S1": (False, True),
        "S2": (False, True),
        "S3": (True, False),
    }


@pytest.mark.parametrize("path", sorted(BUNDLES.glob("*.acb")), ids=lambda path: path.stem)
def test_every_event_and_check_that_a_report_names_is_on_record(path: Path) -> None:
    with closing(BundleFile(path)) as bundle:
        trace = verified_trace(bundle, bundle.manifest.run)
        evidence = {w.when.seq: w.evidence for w in trace.evidence}
        for t, report in zip(trace.history, repair_reports(trace, bundle.blob), strict=True):
            for failed in report.failures:
                seen = evidence[failed.event]
                assert failed.event < t.opened
                assert seen.against == t.program_before
                assert (seen.check, seen.verdict) == (failed.check, failed.verdict)
                assert seen.verdict.failing
            for change in report.changes:
                assert change.after is None or parsed(bundle.blob(change.after).decode())


def test_an_answer_that_the_fault_is_elsewhere_reports_no_change_and_no_verdicts(
    sandbox: Sandbox,
) -> None:
    """All examples fail before, and `loads` passes; neither ran after the answer."""
    bad_read = "def read(text):\n    return [word for word in text.split()]\n"
    claim = "the fault is elsewhere: read, because `int` is missing; words are left"
    replies = adder_task.script(
        bad_read,
        adder_task.GOOD_ADD,
        replan_branch="I see no other way.",
        repair_node=lambda request: (
            python(adder_task.GOOD_READ)
            if "write `read(" in request.messages[-1].text.rpartition("# Your step")[2]
            else claim
        ),
    )
    finished = run(sandbox, adder_task.TASK, replies, sketching(review=False))
    first, *_, second = reports(finished)
    assert (first.verdicts, first.changes, first.checked) == ((), (), False)
    assert first.cause.endswith(
        "; the author of the repair answered that the fault is elsewhere (S1 (`read`), because"
        " `int` is missing; words are left); nothing was changed or checked,"
        " so this attribution is not confirmed."
    )
    assert second.cause.startswith(
        "`read` (S1) was named (low confidence) because the author of another repair blames"
        " S1 (`read`): `int` is missing; words are left (event "
    )


def test_an_answer_that_the_plan_is_at_fault_reports_no_change(sandbox: Sandbox) -> None:
    replies = {**addition_runs.REJECTED, "repair_node": caused("global", "the units; differ")}
    (report,) = reports(run(sandbox, addition_runs.TASK, replies))
    assert (report.verdicts, report.changes, report.checked) == ((), (), False)
    assert report.cause.endswith(
        "; the author of the repair answered that the plan is at fault (no single part can be right"
        " alone, because the units; differ); nothing was changed or checked,"
        " so this attribution is not confirmed."
    )


def test_bytes_that_are_not_text_are_described() -> None:
    assert text_of(b"\xff\xfe") == "(2 bytes that are not text, beginning with ff fe)"
    assert text_of("ü".encode()) == "ü"
