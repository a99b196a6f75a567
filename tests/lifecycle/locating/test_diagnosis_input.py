"""The input of a locator, and the state that is kept between diagnoses."""

import dataclasses
from collections.abc import Iterator

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Level
from auditcoder.domain.events import CheckRan
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtBranch, AtNode
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.locating.diagnosis_input import (
    Clue,
    DiagnosisState,
    SecondOpinion,
    diagnosis_input_of,
    localised,
    most_trusted_failure,
    retargeted,
)
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.root_cause import UNKNOWN_CAUSE
from auditcoder.lifecycle.run_context import RunContext
from tests.support.record_builders import S1, S1_1, S2, check_program, failing, plan_check
from tests.support.run_contexts import open_run


@pytest.fixture
def context(store: SqliteStore) -> Iterator[RunContext]:
    with open_run(failing(store)) as (context, _):
        yield context


def record_clue(
    recorder: Recorder,
    node: NodeId,
    clue: Clue,
    kind: CheckKind,
    verdict: Verdict = Verdict.PASSED,
) -> None:
    recorder.record(
        CheckRan(
            evidence=Evidence(
                check=CheckId(f"{node}.{kind.value}"),
                kind=kind,
                subject=AtNode(node=node),
                trust=Trust.DERIVED,
                verdict=verdict,
                against=recorder.ledger.working.code[node].digest,
                observed=recorder.put(msgspec.json.encode(clue)),
                judge="test",
            )
        )
    )


class TestInput:
    def test_program_checks_and_node_checks_are_kept_apart(self, context: RunContext) -> None:
        case = diagnosis_input_of(context)
        assert [str(c.evidence.check) for c in case.program] == [
            "example-1",
            "example-2",
            "loads",
        ]
        assert [c.evidence.subject for c in case.local] == [AtNode(node=S1_1)]

    def test_given_checks_come_before_derived_and_generated_ones(self, context: RunContext) -> None:
        plan_check(context.recorder, "a-first-by-name")
        check_program(context.recorder, "a-first-by-name", Verdict.FAILED)
        trusts = [check.evidence.trust for check in diagnosis_input_of(context).program]
        assert trusts == [Trust.GIVEN, Trust.GIVEN, Trust.DERIVED, Trust.GENERATED]

    def test_the_most_trusted_failure_is_the_first_that_failed(self, context: RunContext) -> None:
        plan_check(context.recorder, "generated-1")
        check_program(context.recorder, "generated-1", Verdict.FAILED)
        assert most_trusted_failure(context).check == "example-1"

    def test_recorded_clues_are_read_back(self, context: RunContext) -> None:
        clue = Clue(features={"traceback": 1.0}, calls=3)
        record_clue(context.recorder, S2, clue, CheckKind.CLUE)
        record_clue(context.recorder, S1_1, clue, CheckKind.SWAP)
        case = diagnosis_input_of(context)
        assert {node: found for node, (_, found) in case.traced.items()} == {S2: clue}
        assert {node: found for node, (_, found) in case.swapped.items()} == {S1_1: clue}

    @pytest.mark.parametrize("verdict", [Verdict.NOT_RUN, Verdict.UNTRIED])
    def test_an_inconclusive_clue_is_evidence_for_nobody(
        self, context: RunContext, verdict: Verdict
    ) -> None:
        clue = Clue(features={"HEALS": 1.0, "TRIED": 1.0}, hands_badly_to=(S1,), calls=3)
        record_clue(context.recorder, S2, clue, CheckKind.SWAP, verdict)
        ((_, found),) = diagnosis_input_of(context).swapped.values()
        assert found == Clue(features={}, calls=3)

    def test_clues_about_an_earlier_program_are_ignored(self, context: RunContext) -> None:
        record_clue(context.recorder, S2, Clue(features={}), CheckKind.CLUE)
        check_program(context.recorder, "example-1", Verdict.FAILED)
        assert diagnosis_input_of(context).traced == {}

    def test_a_failure_that_passed_when_repeated_is_flaky(self, context: RunContext) -> None:
        assert not diagnosis_input_of(context).flaky
        record_clue(context.recorder, S2, Clue(features={}, passes=True), CheckKind.CLUE)
        assert diagnosis_input_of(context).flaky


class TestDiagnoses:
    def test_a_diagnosis_names_the_authors_of_its_region(self, context: RunContext) -> None:
        case = diagnosis_input_of(context)
        found = localised(case, AtBranch(root=S1), "R3", Level.LOW, (9, 9, 7), "because")
        assert found.evidence == (9, 7)
        assert len(found.agents) == 2

    def test_another_target_keeps_evidence_level_and_probability(self, context: RunContext) -> None:
        case = diagnosis_input_of(context)
        first = localised(case, AtNode(node=S1_1), "R3", Level.LOW, (7,), "because")
        first = msgspec.structs.replace(first, probability=0.75)
        lifted = retargeted(case, first, AtBranch(root=S1), "its repair was rejected")
        assert lifted.target == AtBranch(root=S1)
        assert (lifted.evidence, lifted.level, lifted.probability) == ((7,), Level.LOW, 0.75)
        assert lifted.explanation == "because; its repair was rejected"


class TestState:
    def test_the_state_cannot_be_changed_in_place(self) -> None:
        with pytest.raises(dataclasses.FrozenInstanceError):
            DiagnosisState().rejected = ()  # type: ignore[misc]

    def test_each_step_returns_a_new_state_and_leaves_the_old_one(self) -> None:
        about = (S2, None)
        opinion = SecondOpinion("def f(): ...", 4)
        before = DiagnosisState()
        after = before.with_opinions({about: opinion}).with_cause((7,), UNKNOWN_CAUSE)
        after = after.with_rejected(AtNode(node=S2))
        assert (before.opinions, before.causes, before.rejected) == ({}, {}, ())
        assert after.opinions == {about: opinion}
        assert after.causes == {(7,): UNKNOWN_CAUSE}
        assert after.rejected == (AtNode(node=S2),)
