"""Repair choice: the planned repair depends on which substitution made every check pass."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import CheckKind, Trust, Verdict
from auditcoder.domain.execution import Ending, ExecutionOutcome
from auditcoder.domain.targets import AtNode
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.locating.diagnosis_input import DiagnosisState, SecondOpinion
from auditcoder.lifecycle.locating.evidence_model import EvidenceLocator
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.repair_choice import choose
from auditcoder.lifecycle.repair_transaction import PlannedRepair
from auditcoder.lifecycle.root_cause import PASSED_WITH_SUBSTITUTE
from auditcoder.lifecycle.runs import RunResources
from auditcoder.lifecycle.validation.check_recorder import CheckObservation, CheckSpec, record
from auditcoder_bench.faultbench.injection_targets import program
from auditcoder_bench.faultbench.prepared_run import prepare_validated_run
from tests.support.scripted_runs import finding, sandboxed

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


@pytest.mark.parametrize(("opinion", "taken"), [(RIGHT, True), (USELESS, False)])
def test_a_second_opinion_becomes_the_repair_only_if_every_check_passed_with_it(
    sandbox: Sandbox, opinion: str, taken: bool
) -> None:
    """A slow reference that passes selects the node but never becomes its code."""
    tools = RunResources(SqliteStore(":memory:"), ScriptedModel([finding()]), sandbox)
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
    assert (chosen.finding == PASSED_WITH_SUBSTITUTE) is taken
