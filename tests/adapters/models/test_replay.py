"""The replay model answers from a record and conforms to the port."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.replay import ReplayModel
from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import ModelMisconfigured, ModelUnavailable, NotFound
from auditcoder.domain.events import ReplyRecorded
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.budget import Budget, BudgetLedger
from auditcoder.lifecycle.model_client import ModelClient
from auditcoder.lifecycle.ports import Model
from auditcoder.lifecycle.retry_policy import RetryPolicy
from tests.conformance.model import GREETING, HELLO, SKY, ModelConformance, answer
from tests.support.record_builders import RUN, started
from tests.support.records import take


class TestReplayModel(ModelConformance):
    @pytest.fixture
    def model(self) -> Iterator[Model]:
        """A replay of a record that holds the requests of the suite often enough."""
        source = SqliteStore(":memory:")
        client = ModelClient(
            ScriptedModel([answer] * 20), started(source), BudgetLedger(Budget(), None)
        )
        for _ in range(6):
            client.ask(GREETING)
            client.ask(SKY)
        yield ReplayModel(source, RUN)
        source.close()

    def test_replaying_an_unknown_run_is_reported(self) -> None:
        with pytest.raises(NotFound):
            ReplayModel(SqliteStore(":memory:"), RunId("nothing"))

    def test_a_failure_is_replayed_as_a_failure(self) -> None:
        store = SqliteStore(":memory:")
        failing = ScriptedModel([ModelUnavailable("model.timeout", "too slow", billed=True)])
        once = RetryPolicy(attempts=1)
        with pytest.raises(ModelUnavailable):
            ModelClient(failing, started(store), BudgetLedger(Budget(), None), once).ask(GREETING)
        second = SqliteStore(":memory:")
        again = ModelClient(ReplayModel(store, RUN), started(second), BudgetLedger(Budget(), None))
        with pytest.raises(ModelUnavailable) as replayed:
            again.ask(GREETING)
        assert (replayed.value.code, str(replayed.value)) == ("model.timeout", "too slow")
        first, same = (take(kept, RUN).events()[-1] for kept in (store, second))
        assert isinstance(first, ReplyRecorded)
        assert isinstance(same, ReplyRecorded)
        assert (same.attempts, same.usage) == (first.attempts, first.usage)

    def test_a_refusal_is_replayed_as_a_refusal(self) -> None:
        store = SqliteStore(":memory:")
        refusing = ScriptedModel([ModelMisconfigured("model.key", "no key")])
        with pytest.raises(ModelMisconfigured):
            ModelClient(refusing, started(store), BudgetLedger(Budget(), None)).ask(GREETING)
        with pytest.raises(ModelMisconfigured) as replayed:
            ReplayModel(store, RUN).complete(HELLO)
        assert replayed.value.code == "model.key"
