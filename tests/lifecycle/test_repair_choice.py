"""Repair choice: the planned repair depends on which substitution made every check pass."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtNode
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.locating.diagnosis_input import DiagnosisState, PlanFault, SecondOpinion
from auditcoder.lifecycle.locating.evidence_model import EvidenceLocator
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.repair_choice import after_repair, choose
from auditcoder.lifecycle.repair_transaction import PlannedRepair, RepairResult
from auditcoder.lifecycle.root_cause import PASSED_WITH_SUBSTITUTE, RootCause, StatedCause
from auditcoder.lifecycle.runs import RunResources
from auditcoder.lifecycle.validation.check_recorder import CheckObservation, CheckSpec, record
from auditcoder_bench.faultbench.injection_targets import program
from auditcoder_bench.faultbench.prepared_run import prepare_validated_run
from tests.support.record_builders import S1_1, failing, localised, standing_failures
from tests.support.scripted_runs import sandboxed

TEXT = '''
"""Add up the numbers of a text."""


def read(text: str) -> list[int]:
    """Read the numbers."""
    return [int(word) for word in text.split()]


def add(numbers: list[int]) -> int:
    """Add them up."""
    return sum(numbers[1:])


def total(text: str) -> int:
    """Add up."""
    return add(read(text))


EXAMPLES = (("'1 2 3'", "6"), ("'4'", "4"), ("''", "0"))
'''.strip()
RIGHT = "def add(numbers: list[int]) -> int:\n    return sum(numbers)\n"
USELESS = "def add(numbers: list[int]) -> int:\n    return 0\n"


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def planned(store: SqliteStore) -> PlannedRepair:
    recorder = failing(store)
    diagnosis = localised(recorder, AtNode(node=S1_1), evidence=standing_failures(recorder))
    return PlannedRepair(diagnosis, recorder.history.evidence(standing_failures(recorder)[-1]))


def test_after_a_rejected_repair_its_cause_is_known_and_its_target_is_not_tried_again(
    store: SqliteStore,
) -> None:
    chosen, stated = planned(store), StatedCause(RootCause.ALGORITHM, "it sums")
    after = after_repair(DiagnosisState(), chosen, RepairResult(Decision.REJECTED, stated))
    assert after.rejected == (chosen.target,)
    assert after.causes == {chosen.diagnosis.evidence: stated}
    assert after.plan_fault is None


def test_a_fault_of_the_plan_stands_until_another_repair_or_program(store: SqliteStore) -> None:
    chosen, stated = planned(store), StatedCause(RootCause.GLOBAL, "the units differ")
    result = RepairResult(Decision.REJECTED, stated, plan_fault=True)
    after = after_repair(DiagnosisState(), chosen, result)
    assert after.plan_fault == PlanFault(chosen.diagnosis, stated)
    assert after_repair(after, chosen, RepairResult(Decision.REJECTED)).plan_fault is None
    accepted = after_repair(after, chosen, RepairResult(Decision.ACCEPTED))
    assert (accepted.plan_fault, accepted.rejected) == (None, ())


@pytest.mark.parametrize(("opinion", "taken"), [(RIGHT, True), (USELESS, False)])
def test_a_second_opinion_becomes_the_repair_only_if_every_check_passed_with_it(
    sandbox: Sandbox, opinion: str, taken: bool
) -> None:
    """A slow reference that passes selects the node but never becomes its code."""
    tools = RunResources(SqliteStore(":memory:"), ScriptedModel([]), sandbox)
    context = prepare_validated_run(tools, program("totals", TEXT))
    graph = context.recorder.ledger.graph
    node = graph.promises["add"]
    about = (node, graph.by_id[node].contract)
    reference = RIGHT.replace("sum(numbers)", "sum(sorted(numbers))")
    compared = CheckSpec(
        CheckId(f"{node}.differential-1"),
        AtNode(node=node),
        CheckKind.DIFFERENTIAL,
        Trust.GENERATED,
        "it agrees with a slow reference",
        reference,
    )
    outcome = ExecutionOutcome(ending=Ending.OK, sandbox="test", exit_code=0)
    record(context, compared, lambda: CheckObservation(Verdict.PASSED, outcome=outcome, tried=20))
    state = DiagnosisState(opinions={about: SecondOpinion(opinion, seq=1)})
    chosen, state = choose(context, EvidenceLocator(), state)
    assert isinstance(chosen, PlannedRepair)
    assert chosen.target == AtNode(node=node)
    assert chosen.known == (state.opinions[about] if taken else None)
    assert (chosen.cause == PASSED_WITH_SUBSTITUTE) is taken
