"""The laws of drafts: the recorder refuses each illegal event, and verification finds it."""

from contextlib import closing
from typing import ClassVar

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.drafts import CheckResult, DraftPart, DraftSlot, Sufficiency
from auditcoder.domain.errors import RecordRefused
from auditcoder.domain.events import (
    BriefCommitted,
    CheckDropped,
    DraftsCommitted,
    DraftWritten,
    GraphCommitted,
    RunFinished,
    RunOutcome,
    RunResumed,
    RunStarted,
    VariantTried,
)
from auditcoder.domain.evidence import Trust, Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws import Law
from auditcoder.domain.laws.draft_laws import MOST_INPUTS, MOST_MIXED, MOST_SLOTS, variant
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.domain.task import CallExample, CodeExample, Example, FunctionForm, Task
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.recorder import Recorder
from tests.support.draft_builders import (
    DRAFTED,
    PROMPT,
    body,
    choice_of,
    chosen_code,
    codes,
    draft_of,
    drafted,
    drafting,
    plan_of,
    planned,
    reply_to,
    request_of,
    trial_of,
    whole,
    write_choice,
    write_draft,
)
from tests.support.histories import (
    accept_repair,
    assert_illegal,
    exception,
    planning,
    retire_s1_1,
    started_at,
    written,
)
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1,
    S1_1,
    S2,
    TASK,
    built,
    check_node,
    check_program,
    code,
    locate,
    plan_check,
    started,
)
from tests.support.records import forge, take

replace = msgspec.structs.replace
GOOD, BAD, CRASH = Verdict.PASSED, Verdict.FAILED, Verdict.CRASH
MIXED = {S1_1: 1, S2: 2, S1: 1}


def two(store: SqliteStore, first: Verdict = BAD, second: Verdict = GOOD) -> Recorder:
    """Return a run with two drafts that were tried; the verdicts are those of one example."""
    recorder = planned(store)
    drafted(recorder, 1, first, outputs=["6", "10"])
    drafted(recorder, 2, second, outputs=["6", "11"])
    return recorder


def stub(node: NodeId, header: str = "x") -> str:
    """Return code that stands in for a node's function."""
    return f"def f_{node}({header}):\n    raise NotImplementedError('it is missing')\n"


class TestLegalDrafts:
    def test_the_chosen_draft_becomes_the_program(self, store: SqliteStore) -> None:
        recorder = two(store)
        recorder.record(trial_of(recorder, MIXED, GOOD, GOOD))
        write_choice(recorder)
        recorder.assemble()
        ledger = recorder.ledger
        assert ledger.working.assembly is not None
        assert drafting(recorder).chosen == drafting(recorder).tried[2]
        assert ledger.working.assembly.program == drafting(recorder).tried[2].program
        assert [ledger.working.code[n].agent for n in DRAFTED] == ["drafter"] * 3
        assert verify_run(store, RUN).holds

    def test_drafts_go_on_after_an_interruption(self, store: SqliteStore) -> None:
        recorder = planned(store)
        drafted(recorder, 1, GOOD)
        recorder = Recorder.resume(store, RUN, lambda: started_at)
        recorder.record(RunResumed())
        drafted(recorder, 2)
        write_choice(recorder)
        assert verify_run(store, RUN).holds

    def test_a_slot_may_stay_without_a_draft(self, store: SqliteStore) -> None:
        recorder = planned(store)
        request = request_of(drafting(recorder).slots[0])
        recorder.record(reply_to(recorder, request, "nothing", rejected="no code"))
        drafted(recorder, 2)
        drafted(recorder, 3)

    def test_a_run_may_stop_before_the_choice(self, store: SqliteStore) -> None:
        recorder = two(store)
        recorder.record(RunFinished(outcome=RunOutcome.STOPPED, program=None))
        assert verify_run(store, RUN).holds

    def test_the_local_evidence_of_other_code_may_be_recorded_between_drafts(
        self, store: SqliteStore
    ) -> None:
        recorder = two(store)
        check_node(recorder, ROOT, GOOD)
        write_choice(recorder)

    def test_a_rollback_restores_a_state_that_drafts_are_no_part_of(
        self, store: SqliteStore
    ) -> None:
        recorder = two(store)
        before = recorder.ledger.working.digest()
        recorder.record(trial_of(recorder, MIXED))
        assert recorder.ledger.working.digest() == before
        write_choice(recorder)
        recorder.assemble()
        for check in ("example-1", "example-2", "loads"):
            check_program(recorder, check, BAD if check == "example-1" else GOOD)
        known = drafting(recorder)
        state = recorder.ledger.working.digest()
        locate(recorder, AtNode(node=S2))
        recorder.open_transaction()
        recorder.write_code(S2, code(S2, "return 0"))
        assert recorder.decide() is Decision.REJECTED
        assert recorder.ledger.working.digest() == state
        assert drafting(recorder) == known
        assert verify_run(store, RUN).holds

    def test_after_the_first_program_the_drafts_bind_nothing(self, store: SqliteStore) -> None:
        recorder = two(store)
        write_choice(recorder)
        recorder.assemble()
        plan_check(recorder, "late")
        for check in recorder.ledger.program_checks():
            check_program(recorder, check, BAD)
        recorder.record(CheckDropped(check=CheckId("late"), reason="it was wrong"))
        locate(recorder, AtNode(node=S1_1))
        recorder.open_transaction()
        assert accept_repair(recorder) is Decision.ACCEPTED
        assert verify_run(store, RUN).holds


class TestThePlanOfDrafts:
    def unplanned(self, store: SqliteStore) -> Recorder:
        recorder = started(store)
        recorder.write_code(ROOT, code(ROOT))
        return recorder

    def test_drafts_need_a_graph(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, lambda: started_at)
        assert_illegal(recorder, plan_of(recorder), Law.OUT_OF_PLACE)

    def test_drafts_are_planned_once(self, store: SqliteStore) -> None:
        recorder = planned(store)
        assert_illegal(recorder, plan_of(recorder), Law.OUT_OF_PLACE)
        drafted(recorder, 1)
        write_choice(recorder)
        assert_illegal(recorder, plan_of(recorder), Law.OUT_OF_PLACE)

    def test_drafts_are_planned_before_the_first_program(self, store: SqliteStore) -> None:
        recorder = built(store)
        recorder.assemble()
        assert_illegal(recorder, plan_of(recorder), Law.OUT_OF_PLACE)

    def test_so_are_those_of_a_node_that_the_program_does_without(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, ROOT):
            recorder.write_code(name, code(name))
        recorder.assemble()
        assert_illegal(recorder, plan_of(recorder, (S1,)), Law.OUT_OF_PLACE)

    def test_drafts_are_of_some_node(self, store: SqliteStore) -> None:
        recorder = built(store)
        assert_illegal(recorder, plan_of(recorder, ()), Law.MISDECLARED)

    @pytest.mark.parametrize("rejected", ["", "no code"])
    def test_drafts_are_planned_before_any_code_is_requested(
        self, store: SqliteStore, rejected: str
    ) -> None:
        recorder = self.unplanned(store)
        slot = DraftSlot(prompt=PROMPT, temperature=0.0)
        event = reply_to(recorder, request_of(slot), code(S1), rejected=rejected)
        recorder.record(event)
        assert_illegal(recorder, plan_of(recorder), Law.WRONG_DRAFT)

    @pytest.mark.parametrize("phase", [Phase.PLANNING, Phase.VERIFICATION])
    def test_a_plan_or_an_opinion_may_come_before_drafts(
        self, store: SqliteStore, phase: Phase
    ) -> None:
        recorder = self.unplanned(store)
        recorder.record(reply_to(recorder, "a plan", "one part", phase))
        recorder.record(plan_of(recorder))

    @pytest.mark.parametrize(
        "nodes", [(), (S1_1, S2, S2), (S1_1, S2, NodeId("S9")), (ROOT, S1_1, S2)]
    )
    def test_drafts_are_of_nodes_below_the_root(
        self, store: SqliteStore, nodes: tuple[NodeId, ...]
    ) -> None:
        recorder = self.unplanned(store)
        assert_illegal(recorder, plan_of(recorder, nodes), Law.MISDECLARED)

    def test_a_node_with_code_is_not_drafted(self, store: SqliteStore) -> None:
        recorder = self.unplanned(store)
        recorder.write_code(S2, code(S2))
        assert_illegal(recorder, plan_of(recorder), Law.OUT_OF_PLACE)

    def test_every_leaf_has_code_or_drafts(self, store: SqliteStore) -> None:
        recorder = self.unplanned(store)
        assert_illegal(recorder, plan_of(recorder, (S1, S2)), Law.MISDECLARED)
        recorder.write_code(S1_1, code(S1_1))
        recorder.record(plan_of(recorder, (S1, S2)))

    @pytest.mark.parametrize("count", [0, MOST_SLOTS + 1])
    def test_the_number_of_slots_is_bounded(self, store: SqliteStore, count: int) -> None:
        recorder = self.unplanned(store)
        assert_illegal(recorder, plan_of(recorder, count=count), Law.MISDECLARED)

    def test_the_highest_numbers_are_legal(self, store: SqliteStore) -> None:
        recorder = self.unplanned(store)
        inputs = [str(n) for n in range(MOST_INPUTS)]
        recorder.record(plan_of(recorder, count=MOST_SLOTS, inputs=inputs))

    @pytest.mark.parametrize(
        "enough", [Sufficiency(examples=0), Sufficiency(agreeing=0), Sufficiency(examples=-1)]
    )
    def test_a_draft_suffices_only_by_an_example_or_agreement(
        self, store: SqliteStore, enough: Sufficiency
    ) -> None:
        recorder = self.unplanned(store)
        assert_illegal(recorder, plan_of(recorder, enough=enough), Law.MISDECLARED)

    @pytest.mark.parametrize(
        "inputs",
        [["1", "1"], [str(n) for n in range(MOST_INPUTS + 1)]],
        ids=["twice the same", "too many"],
    )
    def test_the_inputs_are_different_and_bounded(
        self, store: SqliteStore, inputs: list[str]
    ) -> None:
        recorder = self.unplanned(store)
        assert_illegal(recorder, plan_of(recorder, inputs=inputs), Law.MISDECLARED)

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"null",
            b"{}",
            b"[1]",
            b"[null]",
            b'["\xff"]',
            b'["\\ud800"]',
            b"[" * 100_000,
            b'["' + b"x" * (9 << 20) + b'"]',
            b'[""' + b',""' * (3 << 20) + b"]",
        ],
        ids=lambda content: content[:12].decode("ascii", "replace"),
    )
    def test_inputs_that_are_no_texts_are_refused(self, store: SqliteStore, content: bytes) -> None:
        recorder = self.unplanned(store)
        event = replace(plan_of(recorder), inputs=recorder.put(content))
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize("written_in", [1, 2, 3])
    def test_there_are_no_drafts_before_format_4(self, store: SqliteStore, written_in: int) -> None:
        two(store)
        raw = take(store, RUN)
        start, *events = raw.events()
        assert isinstance(start, RunStarted)
        older = [replace(start, format=written_in), *events]
        for kind in (DraftsCommitted, DraftWritten, VariantTried):
            seq = next(n for n, event in enumerate(older) if isinstance(event, kind))
            (finding,) = forge(raw, older).verify().findings
            assert (finding.code, finding.seq) == ("law.out-of-place", seq)
            older = [event for event in older if not isinstance(event, kind)]


class TestTheReplyOfADraft:
    def test_a_draft_needs_a_plan(self, store: SqliteStore) -> None:
        recorder = planned(store)
        request = request_of(drafting(recorder).slots[0])
        event = draft_of(recorder, 1, codes(1))
        with closing(SqliteStore(":memory:")) as other:
            unplanned = started(other)
            unplanned.write_code(ROOT, code(ROOT))
            seq = unplanned.record(reply_to(unplanned, request, "\n".join(codes(1).values())))
            for source in codes(1).values():
                unplanned.put(source)
            assert_illegal(unplanned, replace(event, reply=seq), Law.OUT_OF_PLACE)

    @pytest.mark.parametrize("slot", [-1, 0, 4])
    def test_the_slot_exists(self, store: SqliteStore, slot: int) -> None:
        recorder = planned(store)
        event = replace(draft_of(recorder, 1, codes(1)), slot=slot)
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    @pytest.mark.parametrize("slot", [1, 2])
    def test_slots_are_filled_in_order_and_once(self, store: SqliteStore, slot: int) -> None:
        recorder = planned(store)
        write_draft(recorder, 2)
        assert_illegal(recorder, draft_of(recorder, slot, codes(3)), Law.WRONG_DRAFT)

    @pytest.mark.parametrize("seq", [-1, 0, 3, 1_000])
    def test_a_draft_names_a_reply(self, store: SqliteStore, seq: int) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1), reply=seq)
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_reply_gives_one_draft(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(ROOT, code(ROOT))
        slot = DraftSlot(prompt=PROMPT, temperature=0.5)
        recorder.record(replace(plan_of(recorder), slots=(slot, slot)))
        seq = write_draft(recorder, 1)
        event = draft_of(recorder, 2, codes(1), reply=seq)
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize(
        ("phase", "rejected"),
        [(Phase.PLANNING, ""), (Phase.VERIFICATION, ""), (Phase.GENERATION, "it is wrong")],
    )
    def test_a_plan_an_opinion_and_a_rejected_reply_are_no_drafts(
        self, store: SqliteStore, phase: Phase, rejected: str
    ) -> None:
        recorder = planned(store)
        request, text = request_of(drafting(recorder).slots[0]), "\n".join(codes(1).values())
        node = S1 if phase is Phase.VERIFICATION else None
        event = reply_to(recorder, request, text, phase, node, rejected)
        seq = recorder.record(event)
        assert_illegal(recorder, draft_of(recorder, 1, codes(1), reply=seq), Law.MISDECLARED)

    def test_a_plan_from_before_is_no_draft(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(ROOT, code(ROOT))
        planned_with = DraftSlot(prompt=PROMPT, temperature=0.0, seed=0)
        text = "\n".join(codes(1).values())
        early = recorder.record(reply_to(recorder, request_of(planned_with), text, Phase.PLANNING))
        recorder.record(plan_of(recorder))
        event = draft_of(recorder, 1, codes(1), reply=early)
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize(
        "changed",
        [{"temperature": 0.7}, {"seed": 2}, {"seed": None}, {"prompt": None}],
        ids=lambda changed: next(iter(changed)),
    )
    def test_a_reply_is_sampled_as_its_slot_was_planned(
        self, store: SqliteStore, changed: dict[str, object]
    ) -> None:
        recorder = planned(store)
        request = replace(request_of(drafting(recorder).slots[1]), **changed)
        seq = recorder.record(reply_to(recorder, request, "\n".join(codes(1).values())))
        assert_illegal(recorder, draft_of(recorder, 2, codes(1), reply=seq), Law.WRONG_DRAFT)

    def test_a_reply_is_not_a_draft_of_another_slot(self, store: SqliteStore) -> None:
        recorder = planned(store)
        request = request_of(drafting(recorder).slots[0])
        seq = recorder.record(reply_to(recorder, request, "\n".join(codes(1).values())))
        assert_illegal(recorder, draft_of(recorder, 2, codes(1), reply=seq), Law.WRONG_DRAFT)

    def test_messages_and_room_may_change_when_it_is_asked_for_again(
        self, store: SqliteStore
    ) -> None:
        recorder = planned(store)
        request = request_of(drafting(recorder).slots[0], "please", "no", "answer again")
        request = replace(request, max_tokens=9_000)
        seq = recorder.record(reply_to(recorder, request, "\n".join(codes(1).values())))
        recorder.record(draft_of(recorder, 1, codes(1), reply=seq))

    @pytest.mark.parametrize(
        "request_text",
        ["", "please", "{}", "[]", "[" * 100_000, '{"messages":' * 50_000],
        ids=lambda text: text[:12] or "empty",
    )
    def test_a_request_that_cannot_be_read_is_of_no_slot(
        self, store: SqliteStore, request_text: str
    ) -> None:
        recorder = planned(store)
        seq = recorder.record(reply_to(recorder, request_text, "\n".join(codes(1).values())))
        assert_illegal(recorder, draft_of(recorder, 1, codes(1), reply=seq), Law.MISDECLARED)

    def test_a_reply_for_one_node_gives_no_code_of_another(self, store: SqliteStore) -> None:
        recorder = planned(store)
        request = request_of(drafting(recorder).slots[0])
        text = "\n".join(codes(1).values())
        seq = recorder.record(reply_to(recorder, request, text, node=S2))
        event = draft_of(recorder, 1, codes(1), reply=seq)
        assert_illegal(recorder, event, Law.BOUNDARY_CROSSED)


class TestThePartsOfADraft:
    @pytest.mark.parametrize("nodes", [(S1_1, S2), (*DRAFTED, NodeId("S9")), (*DRAFTED, S2), ()])
    def test_a_draft_has_code_for_every_drafted_node(
        self, store: SqliteStore, nodes: tuple[NodeId, ...]
    ) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1))
        parts = tuple(
            DraftPart(node=node, code=recorder.put(code(node, body(1)))) for node in nodes
        )
        assert_illegal(recorder, replace(event, parts=parts), Law.MISDECLARED)

    def test_the_code_of_a_draft_is_in_its_reply(self, store: SqliteStore) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1))
        event = draft_of(recorder, 1, codes(2), reply=event.reply)
        assert_illegal(recorder, event, Law.MISDECLARED)

    @pytest.mark.parametrize(
        "content",
        [b"", b"\xff\xfe", b"def f_S2(x):\r\n    return x\n", b"\x00", b"(" * 100_000],
        ids=lambda content: repr(content[:8]),
    )
    def test_code_that_the_laws_of_building_refuse_is_no_draft(
        self, store: SqliteStore, content: bytes
    ) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1))
        other = DraftPart(node=S2, code=recorder.put(content))
        parts = tuple(other if part.node == S2 else part for part in event.parts)
        assert_illegal(recorder, replace(event, parts=parts), Law.MISDECLARED)

    @pytest.mark.parametrize("scope", ["no class", "C.D", "1", "\x00", "class C"])
    def test_the_class_of_a_draft_is_an_identifier(self, store: SqliteStore, scope: str) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1))
        parts = tuple(replace(part, scope=scope) for part in event.parts)
        assert_illegal(recorder, replace(event, parts=parts), Law.MISDECLARED)

    def test_a_name_of_another_node_is_refused(self, store: SqliteStore) -> None:
        recorder = planned(store)
        taken = codes(1) | {S2: code(S2, body(1)) + code(ROOT)}
        assert_illegal(recorder, draft_of(recorder, 1, taken), Law.SECOND_OWNER)

    def test_shared_code_of_the_root_belongs_to_a_draft(self, store: SqliteStore) -> None:
        recorder = planned(store)
        shared = {ROOT: f"LIMIT = 3\n{code(ROOT)}"} | codes(1)
        recorder.record(draft_of(recorder, 1, shared))
        recorder.record(trial_of(recorder, whole(recorder, 1), GOOD))
        write_choice(recorder)
        recorder.assemble()
        assert "LIMIT = 3" in recorder.text(recorder.ledger.working.code[ROOT].digest)

    def test_a_stub_stands_in_for_code_that_the_reply_lacks(self, store: SqliteStore) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1) | {S2: stub(S2)}, stubs=(S2,))
        recorder.record(event)
        recorder.record(trial_of(recorder, whole(recorder, 1)))
        write_choice(recorder)
        written_code = recorder.ledger.working.code[S2]
        assert written_code.agent == "degraded"

    @pytest.mark.parametrize(
        "source",
        [
            code(S2, body(1)),
            f"{stub(S2)}LIMIT = 3\n",
            stub(S2, "x=print()"),
            stub(S2, "x: print()"),
            stub(S2, "*x: print()"),
            stub(S2, "**x: print()"),
            stub(S2, "*, x=print()"),
            f"@print\n{stub(S2)}",
            stub(S2).replace("):", ") -> print():"),
            stub(S2).replace("'it is missing'", "print()"),
            stub(S2) + "    print()\n",
            "(",
        ],
    )
    def test_a_stub_does_nothing_but_say_that_code_is_missing(
        self, store: SqliteStore, source: str
    ) -> None:
        recorder = planned(store)
        event = draft_of(recorder, 1, codes(1) | {S2: source}, stubs=(S2,))
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_draft_is_not_of_stubs_alone(self, store: SqliteStore) -> None:
        recorder = planned(store)
        stubs = {node: stub(node) for node in DRAFTED}
        event = draft_of(recorder, 1, stubs, stubs=DRAFTED)
        assert_illegal(recorder, event, Law.MISDECLARED)


class TestVariants:
    @pytest.mark.parametrize(
        "versions",
        [
            {},
            {S1_1: 1, S2: 1},
            {S1_1: 1, S2: 2},
            {S1_1: 1, S2: 1, S1: 3},
            {S1_1: 0, S2: 0, S1: 0},
            {S1_1: 1, S2: 2, S1: 1, ROOT: 1},
            {S1_1: 1, S2: 2, S1: 1, NodeId("S9"): 1},
        ],
    )
    def test_a_variant_takes_every_node_from_a_draft_that_was_written(
        self, store: SqliteStore, versions: dict[NodeId, int]
    ) -> None:
        recorder = two(store)
        assert variant(recorder.ledger, versions, recorder.read) is None
        event = replace(trial_of(recorder, MIXED), versions=versions)
        assert_illegal(recorder, event, Law.UNFAITHFUL_ASSEMBLY)

    def test_the_program_is_assembled_from_the_drafts(self, store: SqliteStore) -> None:
        recorder = two(store)
        event = trial_of(recorder, MIXED)
        other = recorder.put(recorder.text(event.program) + "print(1)\n")
        assert_illegal(recorder, replace(event, program=other), Law.UNFAITHFUL_ASSEMBLY)
        first = drafting(recorder).tried[0].program
        assert_illegal(recorder, replace(event, program=first), Law.UNFAITHFUL_ASSEMBLY)

    def test_a_variant_runs_once(self, store: SqliteStore) -> None:
        recorder = two(store)
        assert_illegal(
            recorder, trial_of(recorder, whole(recorder, 1), GOOD, GOOD), Law.MISDECLARED
        )

    def test_a_whole_draft_is_not_tried_again_without_its_part_of_the_root(
        self, store: SqliteStore
    ) -> None:
        recorder = planned(store)
        shared = {ROOT: f"LIMIT = 3\n{code(ROOT)}"} | codes(1)
        recorder.record(draft_of(recorder, 1, shared))
        recorder.record(trial_of(recorder, whole(recorder, 1), GOOD))
        twice = dict.fromkeys(DRAFTED, 1)
        assert variant(recorder.ledger, twice, recorder.read) is None
        assert_illegal(recorder, trial_of(recorder, twice), Law.UNFAITHFUL_ASSEMBLY)

    def test_a_combination_may_do_without_a_part_of_the_root(self, store: SqliteStore) -> None:
        recorder = planned(store)
        shared = {ROOT: f"LIMIT = 3\n{code(ROOT)}"} | codes(1)
        recorder.record(draft_of(recorder, 1, shared))
        write_draft(recorder, 2)
        for slot in (1, 2):
            recorder.record(trial_of(recorder, whole(recorder, slot)))
        for versions in (MIXED, MIXED | {ROOT: 1}):
            recorder.record(trial_of(recorder, versions))
        programs = {tried.program for tried in drafting(recorder).tried}
        assert len(programs) == 4

    def test_without_a_plan_there_is_no_variant(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert variant(recorder.ledger, {}, recorder.read) is None

    def test_the_number_of_combinations_is_bounded(self, store: SqliteStore) -> None:
        recorder = two(store)
        tried = drafting(recorder).tried
        many = replace(drafting(recorder), tried=tried * MOST_MIXED)
        full = replace(recorder.ledger, drafting=many)
        assert variant(recorder.ledger, MIXED, recorder.read) is not None
        assert variant(full, MIXED, recorder.read) is None
        assert variant(full, whole(recorder, 1), recorder.read) is not None

    @pytest.mark.parametrize("kept", [(), ("example-1",), ("example-2", "example-3")])
    def test_a_variant_runs_every_check(
        self, store: SqliteStore, kept: tuple[CheckId, ...]
    ) -> None:
        recorder = two(store)
        event = trial_of(recorder, MIXED)
        result = CheckResult(verdict=CRASH)
        event = replace(event, results=dict.fromkeys(kept, result))
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    @pytest.mark.parametrize("more", ["example-3", "loads", "S1.generated"])
    def test_a_variant_runs_no_other_check(self, store: SqliteStore, more: CheckId) -> None:
        recorder = two(store)
        event = trial_of(recorder, MIXED)
        results = event.results | {more: CheckResult(verdict=CRASH)}
        assert_illegal(recorder, replace(event, results=results), Law.WRONG_DRAFT)

    def test_a_variant_runs_planned_checks_that_were_not_dropped(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(ROOT, code(ROOT))
        for name in ("kept", "wrong"):
            plan_check(recorder, name)
        recorder.record(CheckDropped(check=CheckId("wrong"), reason="it was wrong"))
        recorder.record(plan_of(recorder))
        write_draft(recorder, 1)
        event = trial_of(recorder, whole(recorder, 1))
        assert set(event.results) == {"example-1", "example-2", "kept"}
        dropped = event.results | {CheckId("wrong"): CheckResult(verdict=CRASH)}
        assert_illegal(recorder, replace(event, results=dropped), Law.WRONG_DRAFT)
        recorder.record(event)

    @pytest.mark.parametrize(
        ("verdict", "observed", "law"),
        [
            (GOOD, "2", None),
            (GOOD, "2\n", None),
            (GOOD, "3", Law.FALSE_VERDICT),
            (GOOD, None, Law.FALSE_VERDICT),
            (BAD, "3", None),
            (BAD, None, None),
            (BAD, "2", Law.FALSE_VERDICT),
            (CRASH, "2", None),
            (Verdict.TIMEOUT, None, None),
            (Verdict.NOT_RUN, None, Law.FALSE_VERDICT),
            (Verdict.VACUOUS, None, Law.FALSE_VERDICT),
            (Verdict.UNTRIED, None, Law.FALSE_VERDICT),
            (Verdict.UNMEASURABLE, None, Law.FALSE_VERDICT),
        ],
    )
    def test_a_verdict_follows_from_the_result(
        self, store: SqliteStore, verdict: Verdict, observed: str | None, law: Law | None
    ) -> None:
        recorder = two(store)
        event = trial_of(recorder, MIXED)
        seen = None if observed is None else recorder.put(observed)
        results = event.results | {
            CheckId("example-1"): CheckResult(verdict=verdict, observed=seen)
        }
        event = replace(event, results=results)
        if law is None:
            recorder.record(event)
        else:
            assert_illegal(recorder, event, law)

    def test_the_judge_of_a_variant_is_named(self, store: SqliteStore) -> None:
        recorder = two(store)
        event = replace(trial_of(recorder, MIXED), judge="")
        assert_illegal(recorder, event, Law.FALSE_VERDICT)

    def test_no_verdict_on_code_that_does_not_parse_is_clean(self, store: SqliteStore) -> None:
        recorder = planned(store)
        unreadable = codes(1) | {S2: "type X = int\n" + code(S2, body(1))}
        write_draft(recorder, 1, unreadable)
        for verdict in (GOOD, BAD):
            event = trial_of(recorder, whole(recorder, 1), CRASH, verdict)
            assert_illegal(recorder, event, Law.FALSE_VERDICT)
        recorder.record(trial_of(recorder, whole(recorder, 1), CRASH, CRASH))

    @pytest.mark.parametrize("outputs", [[], ["6"], ["6", "10", "1"]])
    def test_a_variant_runs_on_every_input(self, store: SqliteStore, outputs: list[str]) -> None:
        recorder = two(store)
        event = trial_of(recorder, MIXED, outputs=outputs)
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    @pytest.mark.parametrize(
        "content",
        [b"", b"{}", b"[1, 2]", b"[[], []]", b"\xff", b"[" * 100_000, b'["\\ud800", null]'],
        ids=lambda content: repr(content[:8]),
    )
    def test_outputs_that_are_no_texts_are_refused(
        self, store: SqliteStore, content: bytes
    ) -> None:
        recorder = two(store)
        event = replace(trial_of(recorder, MIXED), outputs=recorder.put(content))
        assert_illegal(recorder, event, Law.MISDECLARED)

    def test_a_variant_needs_drafts(self, store: SqliteStore) -> None:
        event = trial_of(two(store), MIXED)
        with closing(SqliteStore(":memory:")) as other:
            recorder = started(other)
            for content in ("[null,null]", "not 2", "not 4"):
                recorder.put(content)
            event = replace(event, program=recorder.put("x"), outputs=recorder.put("[]"))
            results = {c: CheckResult(verdict=CRASH) for c in event.results}
            assert_illegal(recorder, replace(event, results=results), Law.OUT_OF_PLACE)


class TestVariantsOfFunctions:
    """Examples that expect no literal, and test code."""

    EXAMPLES: ClassVar[dict[str, Example]] = {
        "call": CallExample(arguments="1", result="2"),
        "expression": CallExample(arguments="1", result="len([1, 2])"),
        "code": CodeExample(code="assert solve(1) == 2\n"),
    }

    @pytest.mark.parametrize(
        ("example", "verdict", "observed", "legal"),
        [
            ("call", GOOD, "2", True),
            ("call", GOOD, "3", False),
            ("call", BAD, "2", False),
            ("call", Verdict.NOT_RUN, None, False),
            ("expression", GOOD, "2", True),
            ("expression", BAD, "2", True),
            ("expression", Verdict.NOT_RUN, None, True),
            ("expression", Verdict.NOT_RUN, "2", False),
            ("expression", Verdict.VACUOUS, None, False),
            ("code", GOOD, None, True),
            ("code", BAD, None, True),
            ("code", Verdict.VACUOUS, None, True),
            ("code", Verdict.NOT_RUN, None, False),
        ],
    )
    def test_a_verdict_is_derived_where_it_can_be(
        self, store: SqliteStore, example: str, verdict: Verdict, observed: str | None, legal: bool
    ) -> None:
        form = FunctionForm(entry="solve", signature="def solve(x: int) -> int")
        task = Task(
            title="Twice", statement="Twice.", form=form, examples=(self.EXAMPLES[example],)
        )
        recorder = started(store, task=task)
        recorder.write_code(ROOT, code(ROOT))
        recorder.record(plan_of(recorder))
        write_draft(recorder, 1)
        seen = None if observed is None else recorder.put(observed)
        result = CheckResult(verdict=verdict, observed=seen)
        made = variant(recorder.ledger, whole(recorder, 1), recorder.read)
        assert made is not None
        event = VariantTried(
            versions=whole(recorder, 1),
            program=recorder.put(made.text),
            results={CheckId("example-1"): result},
            outputs=recorder.put("[null,null]"),
            judge="test",
        )
        if legal:
            recorder.record(event)
        else:
            assert_illegal(recorder, event, Law.FALSE_VERDICT)


class TestTheChoice:
    def test_the_variant_with_the_highest_rank_is_chosen(self, store: SqliteStore) -> None:
        recorder = two(store)
        assert choice_of(recorder).versions == whole(recorder, 2)
        lower = replace(choice_of(recorder), versions=whole(recorder, 1))
        assert_illegal(recorder, lower, Law.WRONG_DRAFT)
        recorder.record(choice_of(recorder))

    @pytest.mark.parametrize("verdicts", [(BAD, BAD), (GOOD, GOOD), (CRASH, CRASH)])
    def test_of_equal_ranks_the_earliest_is_chosen(
        self, store: SqliteStore, verdicts: tuple[Verdict, Verdict]
    ) -> None:
        recorder = two(store, *verdicts)
        later = replace(choice_of(recorder), versions=whole(recorder, 2))
        assert_illegal(recorder, later, Law.WRONG_DRAFT)
        recorder.record(replace(later, versions=whole(recorder, 1)))

    def test_agreement_decides_between_equal_checks(self, store: SqliteStore) -> None:
        recorder = planned(store)
        drafted(recorder, 1, GOOD, outputs=["6", "0"])
        drafted(recorder, 2, GOOD, outputs=["6", "10"])
        drafted(recorder, 3, GOOD, outputs=["6", "10"])
        first = replace(choice_of(recorder), versions=whole(recorder, 1))
        assert_illegal(recorder, first, Law.WRONG_DRAFT)
        recorder.record(replace(first, versions=whole(recorder, 2)))

    @pytest.mark.parametrize(
        "versions", [{}, {S1_1: 1}, MIXED, {S1_1: 3, S2: 3, S1: 3}, {NodeId("S9"): 2}]
    )
    def test_only_what_was_tried_is_chosen(
        self, store: SqliteStore, versions: dict[NodeId, int]
    ) -> None:
        recorder = two(store)
        event = replace(choice_of(recorder), versions=versions)
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    def test_nothing_is_chosen_before_anything_was_tried(self, store: SqliteStore) -> None:
        recorder = two(store)
        event = choice_of(recorder)
        with closing(SqliteStore(":memory:")) as other:
            assert_illegal(planned(other), event, Law.WRONG_DRAFT)
        with closing(SqliteStore(":memory:")) as other:
            assert_illegal(started(other), event, Law.OUT_OF_PLACE)

    def test_a_draft_that_could_run_is_not_left_out(self, store: SqliteStore) -> None:
        recorder = two(store)
        write_draft(recorder, 3)
        assert_illegal(recorder, choice_of(recorder), Law.WRONG_DRAFT)
        recorder.record(trial_of(recorder, whole(recorder, 3)))
        recorder.record(choice_of(recorder))

    def test_a_draft_that_cannot_be_assembled_is_left_out(self, store: SqliteStore) -> None:
        recorder = two(store)
        write_draft(recorder, 3, clashing(3))
        recorder.record(choice_of(recorder))

    def test_a_combination_can_be_chosen_although_no_whole_draft_has_a_program(
        self, store: SqliteStore
    ) -> None:
        recorder = planned(store)
        for slot in (1, 2):
            write_draft(recorder, slot, clashing(slot) if slot == 1 else clashing(slot, S2))
            assert variant(recorder.ledger, whole(recorder, slot), recorder.read) is None
        for versions in ({S1_1: 2, S2: 1, S1: 1}, {S1_1: 2, S2: 1, S1: 2}):
            recorder.record(trial_of(recorder, versions, GOOD, outputs=["6", "10"]))
        write_choice(recorder)
        recorder.assemble()
        assert drafting(recorder).chosen == drafting(recorder).tried[0]

    def test_a_choice_is_made_once(self, store: SqliteStore) -> None:
        recorder = two(store)
        event = choice_of(recorder)
        recorder.record(event)
        assert_illegal(recorder, event, Law.OUT_OF_PLACE)
        assert_illegal(recorder, trial_of(recorder, MIXED, GOOD, GOOD), Law.OUT_OF_PLACE)
        assert_illegal(recorder, draft_of(recorder, 3, codes(3)), Law.OUT_OF_PLACE)


def clashing(value: int, other: NodeId = S1_1) -> dict[NodeId, str]:
    """Return a draft whose parts are legal, but have no common program."""
    return codes(value) | {
        S1: "from math import floor as size\n" + code(S1, f"return size(x) + {value}"),
        other: "from math import ceil as size\n" + code(other, f"return size(x) + {value}"),
    }


class TestWhatIsFixedWhileDraftsAreCompared:
    @pytest.fixture(params=["planned", "written", "tried"])
    def recorder(self, store: SqliteStore, request: pytest.FixtureRequest) -> Recorder:
        if request.param == "tried":
            return two(store)
        recorder = started(store)
        recorder.write_code(ROOT, code(ROOT))
        plan_check(recorder, "generated")
        recorder.record(plan_of(recorder))
        if request.param == "written":
            write_draft(recorder, 1)
        return recorder

    def test_no_check_is_planned(self, recorder: Recorder) -> None:
        event = BriefCommitted(brief=planning("new", Trust.GENERATED), reason="it was missing")
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    def test_no_check_is_dropped(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(ROOT, code(ROOT))
        plan_check(recorder, "generated")
        recorder.record(plan_of(recorder))
        event = CheckDropped(check=CheckId("generated"), reason="it was wrong")
        assert_illegal(recorder, event, Law.WRONG_DRAFT)
        drafted(recorder, 1)
        assert_illegal(recorder, event, Law.WRONG_DRAFT)
        write_choice(recorder)
        recorder.record(event)

    def test_no_other_code_changes(self, recorder: Recorder) -> None:
        event = written(recorder, ROOT, code(ROOT, "return 7"))
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    def test_no_code_of_a_drafted_node_is_written(self, recorder: Recorder) -> None:
        request = request_of(drafting(recorder).slots[2])
        seq = recorder.record(reply_to(recorder, request, code(S2, body(9))))
        for reply in (None, seq):
            event = written(recorder, S2, code(S2, body(9)), reply=reply)
            assert_illegal(recorder, event, Law.WRONG_DRAFT)

    @pytest.mark.parametrize("tried", [False, True])
    def test_no_stub_stands_in_for_a_draft_that_can_run(
        self, store: SqliteStore, tried: bool
    ) -> None:
        recorder = two(store) if tried else planned(store)
        if not tried:
            write_draft(recorder, 1)
        assert_illegal(recorder, written(recorder, S2, stub(S2)), Law.WRONG_DRAFT)

    def test_another_node_cannot_cause_it_either(self, recorder: Recorder) -> None:
        recorder.record(exception(ROOT, S2))
        event = written(recorder, S2, code(S2, body(9)), cause=ROOT)
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    def test_there_is_no_program_without_a_choice(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, ROOT):
            recorder.write_code(name, code(name))
        recorder.record(plan_of(recorder, (S1,)))
        with pytest.raises(RecordRefused) as refused:
            recorder.assemble()
        assert refused.value.code == "law.wrong-draft"

    def test_the_graph_stays(self, recorder: Recorder) -> None:
        assert_illegal(recorder, GraphCommitted(graph=GRAPH), Law.ID_REPURPOSED)


class TestTheChosenCode:
    def chosen(self, store: SqliteStore) -> Recorder:
        recorder = two(store)
        recorder.record(choice_of(recorder))
        return recorder

    def test_it_is_the_code_of_the_chosen_draft(self, store: SqliteStore) -> None:
        recorder = self.chosen(store)
        draft = drafting(recorder).drafts[1]
        other = recorder.text(draft.parts[S2].code)
        event = written(recorder, S2, other, reply=draft.reply)
        assert_illegal(recorder, replace(event, agent="drafter"), Law.WRONG_DRAFT)

    def test_no_stub_replaces_it(self, store: SqliteStore) -> None:
        recorder = self.chosen(store)
        event = written(recorder, S2, stub(S2))
        assert_illegal(recorder, replace(event, agent="degraded"), Law.WRONG_DRAFT)

    @pytest.mark.parametrize(
        "changed",
        [
            {"scope": "C"},
            {"agent": "somebody"},
            {"reply": None},
            {"losses": ("a constant",)},
            {"note": "as it was"},
            {"units": ()},
        ],
        ids=lambda changed: next(iter(changed)),
    )
    def test_everything_about_it_follows_from_the_draft(
        self, store: SqliteStore, changed: dict[str, object]
    ) -> None:
        recorder = self.chosen(store)
        event = next(chosen_code(recorder))
        assert_illegal(recorder, replace(event, **changed), Law.WRONG_DRAFT)
        recorder.record(event)

    def test_nothing_else_is_written(self, store: SqliteStore) -> None:
        recorder = self.chosen(store)
        event = written(recorder, ROOT, code(ROOT, "return 7"))
        assert_illegal(recorder, event, Law.WRONG_DRAFT)
        recorder.record(exception(S1, S2))
        event = written(recorder, S2, code(S2, body(9)), cause=S1)
        assert_illegal(recorder, event, Law.WRONG_DRAFT)

    def test_it_is_not_replaced_before_the_program(self, store: SqliteStore) -> None:
        recorder = two(store)
        write_choice(recorder)
        event = written(recorder, S2, code(S2, body(9)))
        assert_illegal(recorder, event, Law.WRONG_DRAFT)
        recorder.assemble()

    def test_the_program_is_the_chosen_variant(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S1_1, S2, ROOT):
            recorder.write_code(name, code(name))
        recorder.record(plan_of(recorder, (S1,)))
        write_draft(recorder, 1, codes(1, (S1,)))
        recorder.record(trial_of(recorder, whole(recorder, 1)))
        recorder.record(choice_of(recorder))
        with pytest.raises(RecordRefused) as refused:  # S1 is not a leaf, so it may lack code
            recorder.assemble()
        assert refused.value.code == "law.wrong-draft"
        for event in chosen_code(recorder):
            recorder.record(event)
        recorder.assemble()

    def test_checks_may_change_after_the_choice(self, store: SqliteStore) -> None:
        recorder = self.chosen(store)
        plan_check(recorder, "late")
        recorder.record(CheckDropped(check=CheckId("late"), reason="it was wrong"))
        for event in chosen_code(recorder):
            recorder.record(event)
        recorder.assemble()
        assert verify_run(store, RUN).holds


class TestWithoutAUsableDraft:
    @pytest.fixture(params=["no reply", "no program"])
    def recorder(self, store: SqliteStore, request: pytest.FixtureRequest) -> Recorder:
        recorder = planned(store)
        if request.param == "no program":
            write_draft(recorder, 1, clashing(1))
            assert variant(recorder.ledger, whole(recorder, 1), recorder.read) is None
        return recorder

    def test_every_drafted_node_has_a_stub(self, recorder: Recorder, store: SqliteStore) -> None:
        for node in DRAFTED:
            recorder.record(written(recorder, node, stub(node)))
        recorder.assemble()
        assert verify_run(store, RUN).holds

    def test_nothing_else_is_its_code(self, recorder: Recorder) -> None:
        request = request_of(drafting(recorder).slots[1])
        seq = recorder.record(reply_to(recorder, request, code(S2, body(9)) + stub(S1_1)))
        for first in (None, S1):
            if first is not None:
                recorder.record(written(recorder, first, stub(first)))
            for reply in (None, seq):
                event = written(recorder, S2, code(S2, body(9)), reply=reply)
                assert_illegal(recorder, event, Law.WRONG_DRAFT)
            event = written(recorder, S1_1, stub(S1_1), reply=seq)
            assert_illegal(recorder, event, Law.WRONG_DRAFT)

    def test_nothing_is_fixed_after_the_first_program(self, store: SqliteStore) -> None:
        recorder = started(store)
        for name in (S2, S1, ROOT):
            recorder.write_code(name, code(name))
        recorder.record(plan_of(recorder, (S1_1,)))
        recorder.record(written(recorder, S1_1, stub(S1_1)))
        recorder.assemble()
        for check in ("example-1", "example-2", "loads"):
            check_program(recorder, check, BAD)
        locate(recorder, AtBranch(root=S1))
        recorder.open_transaction()
        recorder.record(retire_s1_1())
        recorder.write_code(S1, code(S1, "return 2 * x"))
        recorder.assemble()
        for check in recorder.ledger.program_checks():
            check_program(recorder, check, GOOD)
        assert recorder.decide() is Decision.ACCEPTED
        plan_check(recorder, "late")

    def test_no_draft_follows_a_stub(self, recorder: Recorder) -> None:
        recorder.record(written(recorder, S2, stub(S2)))
        assert_illegal(recorder, draft_of(recorder, 2, codes(2)), Law.OUT_OF_PLACE)

    def test_other_code_may_change_again(self, recorder: Recorder) -> None:
        recorder.record(written(recorder, S2, stub(S2)))
        recorder.record(written(recorder, ROOT, code(ROOT, "return 7")))
        plan_check(recorder, "late")
