"""The drafts of a run as folded from its events: requests, drafts, variants, the choice."""

from collections.abc import Iterator

import pytest
from msgspec.json import encode

from auditcoder.domain.drafting_record import DraftingRecord, with_event
from auditcoder.domain.drafts import DraftPart, DraftSlot
from auditcoder.domain.events import (
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    Event,
    ReplyRecorded,
)
from auditcoder.domain.ids import NodeId
from auditcoder.domain.ledger import Drafting, Ledger
from auditcoder.domain.request import Request
from auditcoder.domain.trace import Trace, fold
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import Digest, digest
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import TASK
from tests.support.draft_runs import CLASS, RIGHT, class_run, drafted, function_run
from tests.support.scripted_runs import FinishedRun, run, sandboxed

S1, S2, S3 = NodeId("S1"), NodeId("S2"), NodeId("S3")


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.fixture(scope="module")
def function(sandbox: Sandbox) -> FinishedRun:
    return function_run(sandbox)


@pytest.fixture(scope="module")
def of_class(sandbox: Sandbox) -> FinishedRun:
    return class_run(sandbox)


def drafting(finished: FinishedRun) -> DraftingRecord:
    record = finished.solution.trace.drafting
    assert record is not None
    return record


def test_every_request_is_filed_under_its_slot(function: FinishedRun) -> None:
    record = drafting(function)
    assert {slot: draft.replies for slot, draft in record.requested.items()} == {
        1: (4,),
        2: (7, 8),
        3: (9,),
        4: (12,),
    }
    assert [draft.seq for draft in record.requested.values()] == [5, None, 10, 13]
    assert len(record.requested[2].rejected) == 2
    assert (record.written, len(record.slots), record.compared) == (3, 4, 6)


def test_the_code_of_a_draft_is_kept_by_node(function: FinishedRun) -> None:
    part = drafting(function).requested[4].parts[S1]
    assert function.text_of(part.code) == RIGHT


def test_the_cost_of_a_draft_includes_rejected_replies(function: FinishedRun) -> None:
    trace = function.solution.trace
    usage = [trace.draft_usage(slot) for slot in range(1, 6)]
    assert [each.calls for each in usage] == [1, 2, 1, 1, 0]
    assert sum(u.tokens for u in usage) == sum(b.reply.usage.tokens for b in trace.replies)


def test_variants_are_ranked_among_all_that_ran(function: FinishedRun) -> None:
    record = drafting(function)
    assert [variant.tried.slot for variant in record.variants] == [1, 3, 4]
    assert [rank.checks.external_passes for rank in record.ranks] == [1, 2, 3]
    assert record.ranks[0].votes < record.ranks[2].votes
    assert record.chosen == record.whole(4) == 2
    assert record.whole(2) is None


def test_a_combination_is_no_whole_draft(of_class: FinishedRun) -> None:
    record = drafting(of_class)
    assert [variant.tried.slot for variant in record.variants] == [1, 2, None, None]
    assert record.choice is not None
    assert record.choice.versions == {S2: 1, S3: 2}
    assert record.chosen == 3


def test_a_version_of_code_knows_the_draft_that_it_is(of_class: FinishedRun) -> None:
    trace = of_class.solution.trace
    assert [(v.node, v.draft) for v in trace.versions] == [
        ("S0", None),
        ("S1", None),
        ("S2", 1),
        ("S3", 2),
    ]
    assert (trace.draft_of(S1), trace.draft_of(S3)) == (None, 2)


def test_a_record_that_ends_early_has_the_drafts_so_far(function: FinishedRun) -> None:
    def until(entries: int) -> Trace:
        return fold(function.raw.bodies[:entries], function.raw.blob)

    assert until(3).drafting is None
    record = until(9).drafting
    assert record is not None
    assert (list(record.requested), record.choice, record.chosen) == ([1, 2], None, None)
    assert len(record.variants) == 1


def test_a_run_without_drafts_has_no_record_of_them(sandbox: Sandbox) -> None:
    sums = "def solve(data):\n    return str(sum(map(int, data.split())))\n"
    sketch = f"```python\n{sums}```"
    trace = run(sandbox, TASK, {"sketch": sketch, "joint": sketch}).solution.trace
    assert (trace.drafting, trace.draft_usage(1).calls) == (None, 0)
    assert {version.draft for version in trace.versions} == {None}


def test_a_stub_is_the_draft_that_lacks_the_code(sandbox: Sandbox) -> None:
    half = "class Tally:\n    def __init__(self):\n        self.count = 0\n\n"
    half += "    def up(self):\n        self.count += 1\n        return self.count\n"
    finished = drafted(sandbox, CLASS, half, half, most=1)
    trace = finished.solution.trace
    assert [v.agent for v in trace.versions_of(S3)] == ["degraded"]
    assert (trace.draft_of(S2), trace.draft_of(S3)) == (1, 1)


class TestSlotsWithTheSameSettings:
    """Nothing forbids them; then only the draft itself says which slot its reply is for."""

    SLOT = DraftSlot(prompt=digest(b"prompt"), temperature=0.5)

    def after(self, *events: DraftsCommitted | ReplyRecorded | DraftWritten) -> DraftingRecord:
        request = Request(messages=(), max_tokens=1, temperature=0.5, prompt=self.SLOT.prompt)
        sent = encode(request)
        plan = Drafting(nodes=frozenset({S1}), slots=(self.SLOT,) * 2, inputs=0, enough=_ENOUGH)
        record = None
        for seq, event in enumerate(events):
            ledger = Ledger(seq=seq + 1, drafting=plan)
            record = with_event(record, event, ledger, lambda _: sent)
        assert record is not None
        return record

    def committed(self) -> DraftsCommitted:
        return DraftsCommitted(nodes=(S1,), slots=(self.SLOT,) * 2, inputs=digest(b"[]"))

    def reply(self, rejected: str = "") -> ReplyRecorded:
        return ReplyRecorded(
            role="drafter",
            scope=Scope.INITIAL,
            phase=Phase.GENERATION,
            request=Digest(""),
            reply=Digest(""),
            rejected=rejected,
        )

    def test_a_reply_belongs_to_the_slot_of_its_draft(self) -> None:
        written = DraftWritten(slot=2, reply=2, parts=(DraftPart(node=S1, code=Digest("c")),))
        record = self.after(self.committed(), self.reply(), self.reply(), written)
        assert {slot: draft.replies for slot, draft in record.requested.items()} == {
            1: (1,),
            2: (2,),
        }

    def test_other_replies_belong_to_the_next_slot_without_a_draft(self) -> None:
        written = DraftWritten(slot=1, reply=1, parts=(DraftPart(node=S1, code=Digest("c")),))
        record = self.after(self.committed(), self.reply(), written, self.reply("no code"))
        assert record.requested[2].rejected == ("no code",)


_ENOUGH = DraftsCommitted(nodes=(), slots=(), inputs=Digest("")).enough


def test_a_reply_with_other_settings_is_no_request_for_a_draft() -> None:
    plan = Drafting(nodes=frozenset({S1}), slots=(), inputs=0, enough=_ENOUGH)
    committed = DraftsCommitted(nodes=(S1,), slots=(), inputs=digest(b"[]"))
    record = with_event(None, committed, Ledger(seq=1, drafting=plan), lambda _: b"")
    assert record is not None
    other = TestSlotsWithTheSameSettings().reply()
    for sent in (b"not JSON", encode(Request(messages=(), max_tokens=1, temperature=0.0))):
        ledger = Ledger(seq=2, drafting=plan)
        assert with_event(record, other, ledger, lambda _, sent=sent: sent) == record  # type: ignore[misc]


def test_code_is_no_draft_before_the_choice() -> None:
    plan = Drafting(nodes=frozenset({S1}), slots=(), inputs=0, enough=_ENOUGH)
    committed = DraftsCommitted(nodes=(S1,), slots=(), inputs=digest(b"[]"))
    part = DraftPart(node=S1, code=Digest("c"))
    events: tuple[Event, ...] = (committed, DraftWritten(slot=1, reply=0, parts=(part,)))
    record = None
    for seq, event in enumerate(events):
        record = with_event(record, event, Ledger(seq=seq + 1, drafting=plan), lambda _: b"")
    assert record is not None
    assert record.slot_of(S1, Digest("c"), 0) is None
    chosen = DraftChosen(versions={S1: 1}, reason="")
    record = with_event(record, chosen, Ledger(seq=3, drafting=plan), lambda _: b"")
    assert record is not None
    assert record.slot_of(S1, Digest("c"), 0) == 1
    assert record.slot_of(S1, Digest("c"), 5) is None
    assert record.slot_of(S1, Digest("other"), 0) is None
