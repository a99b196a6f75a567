"""A replay with a sandbox runs every variant again and reports another verdict."""

from collections.abc import Iterator

import msgspec
import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.events import VariantTried
from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.domain.request import FREE, Traits
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, replay, start
from tests.support.doubling_drafts import FUNCTION, doubling, options
from tests.support.record_builders import RUN
from tests.support.records import take
from tests.support.scripted_runs import sandboxed


class OtherPrograms:
    """A sandbox that runs another program than it is given."""

    def __init__(self, sandbox: Sandbox, right: str, other: str) -> None:
        self._sandbox, self._right, self._other = sandbox, right, other
        self.kind = sandbox.kind

    def run(self, execution: Execution) -> ExecutionOutcome:
        source = execution.source.replace(self._right, self._other)
        return self._sandbox.run(msgspec.structs.replace(execution, source=source))

    def close(self) -> None:
        """Leave the other sandbox open: its owner closes it."""


def recorded(store: SqliteStore, sandbox: Sandbox, *replies: str) -> None:
    """Record a run with these drafts."""
    model = ScriptedModel(list(replies), Traits(price=FREE))
    start(RunResources(store, model, sandbox), FUNCTION, options(len(replies)), RUN)
    assert verify_run(store, RUN).holds


def test_another_verdict_on_a_draft_is_reported(store: SqliteStore, sandbox: Sandbox) -> None:
    lying = OtherPrograms(sandbox, "2 * x", "3 * x")
    recorded(store, lying, doubling(), doubling("x"))
    seen = replay(store, RUN, sandbox)
    of_drafts = [each for each in seen.differences if "of a draft" in each]
    assert of_drafts == [
        "example-1 of a draft: failed in the record, passed now",
        "example-2 of a draft: failed in the record, passed now",
    ]
    assert seen.head == store.head(RUN)


@pytest.mark.parametrize("trusting", [False, True])
def test_the_same_verdicts_are_no_difference(
    store: SqliteStore, sandbox: Sandbox, trusting: bool
) -> None:
    recorded(store, sandbox, doubling("x"), doubling())
    seen = replay(store, RUN, None if trusting else sandbox)
    assert (seen.differences, seen.finished) == ((), True)


def test_the_record_names_the_sandbox(store: SqliteStore, sandbox: Sandbox) -> None:
    recorded(store, sandbox, doubling())
    (tried,) = [e for e in take(store, RUN).events() if isinstance(e, VariantTried)]
    assert tried.judge == sandbox.kind


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()
