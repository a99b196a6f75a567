"""A solved program is recorded as a run that has just been validated, without a model."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.planning.plan import GIVEN_BY
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources
from auditcoder_bench.faultbench.injection_targets import program
from auditcoder_bench.faultbench.prepared_run import prepare_assembled_run, prepare_validated_run
from tests.support.scripted_runs import sandboxed

TEXT = '''
"""Double a number."""


def double(x: int) -> int:
    """Double it."""
    return 2 * x


def show(x: int) -> int:
    """Return it."""
    return x


def answer(x: int) -> int:
    """Double and show."""
    return show(double(x))


EXAMPLES = (("2", "4"), ("3", "6"), ("0", "0"))
'''.strip()


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def tools(sandbox: Sandbox) -> RunResources:
    return RunResources(SqliteStore(":memory:"), ScriptedModel([]), sandbox)


def test_the_code_of_a_prepared_run_is_marked_as_given(sandbox: Sandbox) -> None:
    """Locators must not substitute it, as they substitute code that a model wrote."""
    recorder = prepare_assembled_run(tools(sandbox), program("doubles", TEXT)).recorder
    nodes = recorder.ledger.graph.ids
    agents = {v.agent for node in nodes for v in recorder.history.versions(node)}
    assert agents == {"author"}
    assert agents <= GIVEN_BY


def test_a_validated_run_has_the_evidence_of_its_examples(sandbox: Sandbox) -> None:
    recorder = prepare_validated_run(tools(sandbox), program("doubles", TEXT)).recorder
    evidence = recorder.ledger.working.evidence
    for number in (1, 2, 3):
        assert evidence[CheckId(f"example-{number}")].verdict is Verdict.PASSED
