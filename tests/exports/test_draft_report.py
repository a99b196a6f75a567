"""The drafts of a run in numbers, and the drafts of a node with their differences."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.trace import fold
from auditcoder.exports.code_history import code_history
from auditcoder.exports.draft_report import (
    DraftSummary,
    NodeDraft,
    draft_summary,
    drafted_nodes,
    node_drafts,
)
from auditcoder.exports.responsibility_record import responsibility_record, responsibility_records
from auditcoder.lifecycle.ports import Sandbox
from tests.support.draft_runs import (
    FUNCTION,
    NEARLY,
    RIGHT,
    WRONG,
    class_run,
    drafted,
    function_run,
    program_run,
)
from tests.support.scripted_runs import FinishedRun, sandboxed

S0, S1, S2, S3 = (NodeId(f"S{number}") for number in range(4))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module")
def function(sandbox: Sandbox) -> FinishedRun:
    return function_run(sandbox)


@pytest.fixture(scope="module")
def of_class(sandbox: Sandbox) -> FinishedRun:
    return class_run(sandbox)


def summary(finished: FinishedRun) -> DraftSummary:
    found = draft_summary(finished.solution.trace)
    assert found is not None
    return found


def drafts(finished: FinishedRun, node: NodeId = S1) -> tuple[NodeDraft, ...]:
    return node_drafts(finished.solution.trace, node, finished.raw.blob)


def test_the_summary_counts_requests_drafts_and_variants(function: FinishedRun) -> None:
    found = summary(function)
    assert (found.slots, found.requested, found.written) == (4, 4, 3)
    assert (found.variants, found.combined, found.inputs) == (3, 0, 6)
    assert found.chosen is not None
    assert found.chosen.versions == {S1: 4}
    assert found.chosen.reason.startswith("draft 4, best of 3 tried: 3 of 3 given checks pass")
    assert set(found.chosen.verdicts.values()) == {Verdict.PASSED}


def test_combinations_are_counted_apart(of_class: FinishedRun) -> None:
    found = summary(of_class)
    assert (found.variants, found.combined) == (4, 2)
    assert found.chosen is not None
    assert found.chosen.versions == {S2: 1, S3: 2}


def test_slots_that_were_not_needed_are_not_requested(sandbox: Sandbox) -> None:
    found = summary(program_run(sandbox))
    assert (found.slots, found.requested) == (4, 2)


def test_a_record_that_ends_before_the_choice_has_none(function: FinishedRun) -> None:
    trace = fold(function.raw.bodies[:12], function.raw.blob)
    found = draft_summary(trace)
    assert found is not None
    assert (found.requested, found.chosen) == (3, None)
    first, second, third = node_drafts(trace, S1, function.raw.blob)
    assert (first.source, second.source, third.source) == (WRONG, None, NEARLY)
    assert (first.diff, third.diff, first.chosen) == ("", "", False)


def test_each_draft_has_its_sampling_checks_votes_and_difference(function: FinishedRun) -> None:
    first, second, third, fourth = drafts(function)
    assert (first.prompt, first.temperature, first.seed) == ("draft", 0.0, None)
    assert [v.value for v in (first.verdicts or {}).values()] == ["failed", "passed", "failed"]
    assert first.diff.endswith("-    return 2 * x + 1\n+    return x + 1")
    assert (second.event, second.code, second.verdicts, second.votes) == (None,) * 4
    assert (second.seed, len(second.rejected), second.usage.calls) == (1, 2, 2)
    assert (third.chosen, third.diff.count("\n+"), third.source) == (False, 2, NEARLY)
    assert (fourth.chosen, fourth.diff, fourth.source) == (True, "", RIGHT)
    assert first.votes is not None
    assert third.votes is not None
    assert first.votes < third.votes


def test_only_the_nodes_of_drafts_have_any(of_class: FinishedRun) -> None:
    assert drafted_nodes(of_class.solution.trace) == (S2, S3)
    assert {draft.code for draft in drafts(of_class, S0)} == {None}
    assert [draft.chosen for draft in drafts(of_class, S3)] == [False, True]


def test_identical_code_refers_to_the_chosen_draft_or_else_to_the_first(sandbox: Sandbox) -> None:
    finished = drafted(sandbox, FUNCTION, NEARLY, WRONG, WRONG, NEARLY)
    assert [draft.chosen for draft in drafts(finished)] == [True, False, False, False]
    assert [draft.same_as for draft in drafts(finished)] == [None, None, 2, 1]


def test_a_run_without_drafts_has_no_report(sandbox: Sandbox) -> None:
    finished = drafted(sandbox, FUNCTION, RIGHT, most=0)
    trace = finished.solution.trace
    assert (draft_summary(trace), drafted_nodes(trace), drafts(finished)) == (None, (), ())
    assert responsibility_records(trace, finished.raw.blob)["drafting"] is None


def test_the_responsibility_record_names_the_draft_of_its_code(of_class: FinishedRun) -> None:
    trace, read = of_class.solution.trace, of_class.raw.blob
    codes = [responsibility_record(trace, node, read)["owned_code"] for node in (S1, S2, S3)]
    assert [code["draft"] for code in codes] == [None, 1, 2]
    assert [version["draft"] for code in codes for version in code["versions"]] == [None, 1, 2]
    assert responsibility_records(trace, read)["drafting"]["combined"] == 2


def test_the_history_of_code_names_its_draft(function: FinishedRun) -> None:
    (only,) = code_history(function.solution.trace, S1, function.raw.blob)
    assert (only.draft, only.why, only.fate) == (4, "draft 4, chosen by execution", "current")
