"""The lines of the live view while drafts are requested, tried and combined."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.drafts import CheckResult
from auditcoder.domain.events import DraftChosen, DraftsCommitted, VariantTried
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.values import CheckId, Digest
from auditcoder.interfaces.cli.draft_progress import DraftProgress
from auditcoder.interfaces.cli.live_view import RunState
from auditcoder.lifecycle.ports import Sandbox
from tests.support.draft_runs import class_run, function_run, program_run
from tests.support.scripted_runs import FinishedRun, sandboxed

S1, S2 = NodeId("S1"), NodeId("S2")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def said(finished: FinishedRun) -> list[tuple[str, str]]:
    """Return each printed line about drafts, and what a terminal shows after the event."""
    state, kinds = RunState(), (DraftsCommitted, VariantTried, DraftChosen)
    lines = [(event, state.take(event), state.last) for event in finished.raw.events()]
    return [(line, last) for event, line, last in lines if isinstance(event, kinds)]


def test_each_draft_is_a_line_with_its_examples(sandbox: Sandbox) -> None:
    *lines, chosen = [line for line, _ in said(function_run(sandbox))]
    assert lines == [
        "at most 4 drafts of S1",
        "draft 1 of at most 4: 1 of 3 examples pass",
        "draft 3 of at most 4: 2 of 3 examples pass",
        "draft 4 of at most 4: 3 of 3 examples pass",
    ]
    assert chosen.startswith("chosen: draft 4, best of 3 tried: ")


def test_other_checks_are_counted_apart(sandbox: Sandbox) -> None:
    lines = [line for line, _ in said(program_run(sandbox))]
    assert lines[1] == "draft 1 of at most 4: 1 of 2 examples pass, 1 of 1 other checks pass"


def test_combinations_update_one_line_and_are_printed_if_better(sandbox: Sandbox) -> None:
    *_, first, second, _ = said(class_run(sandbox))
    assert first == ("", "1 combination of drafts tried, best so far: 1 of 2 examples pass")
    better = "2 combinations of drafts tried, best so far: 2 of 2 examples pass"
    assert second == (better, better)


def test_nodes_are_drafting_until_their_code_is_chosen(sandbox: Sandbox) -> None:
    state, seen = RunState(), []
    for event in function_run(sandbox).raw.events():
        state.take(event)
        seen.append(state.state.get(S1, ""))
    assert list(dict.fromkeys(seen)) == ["", "planned", "drafting", "built", "verified"]


def tried(versions: dict[NodeId, int], **verdicts: Verdict) -> VariantTried:
    results = {CheckId(c): CheckResult(verdict=verdict) for c, verdict in verdicts.items()}
    return VariantTried(
        versions=versions, program=Digest(""), results=results, outputs=Digest(""), judge="test"
    )


def test_a_variant_without_checks_ran() -> None:
    assert DraftProgress().take(tried({S1: 1})) == ("draft 1: it ran", True)


@given(st.lists(st.booleans(), max_size=30))
def test_only_a_better_combination_is_news(passes: list[bool]) -> None:
    progress, best = DraftProgress(), False
    progress.take(tried({S1: 1, S2: 1}, other=Verdict.FAILED))
    for number, passed in enumerate(passes, start=1):
        verdict = Verdict.PASSED if passed else Verdict.CRASH
        line, is_news = progress.take(tried({S1: 1, S2: 2}, other=verdict))
        assert is_news == (passed and not best)
        best = best or passed
        assert line.startswith(f"{number} combination")
        assert line.endswith(f"best so far: {int(best)} of 1 other checks pass")


@given(st.text())
def test_the_reason_is_one_line(text: str) -> None:
    line, _ = DraftProgress().take(DraftChosen(versions={S1: 1}, reason=f"a\n{text}\rb"))
    assert "\n" not in line
    assert "\r" not in line
