"""The cached model repeats recorded replies and forwards all other requests."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import ModelError
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, start
from auditcoder_bench.models.cached import CachedModel
from tests.support.adder_task import BAD_ADD, GOOD_READ, ROOT, TASK, script
from tests.support.scripted_runs import Script, opinions, python, sandboxed, stub
from tests.support.sketched_runs import sketching


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_two_locators_start_from_the_same_program(sandbox: Sandbox) -> None:
    store, rules, again = SqliteStore(":memory:"), RunId("rules"), RunId("again")
    # Nodes without contracts make the locator request second opinions.
    parts = stub("read(text: str) -> list[int]", "R."), stub("add(numbers: list[int]) -> int", "A.")
    replies = script(GOOD_READ, BAD_ADD, sketch=python("".join(parts) + ROOT), verdict=opinions())
    answers = [Script(replies)] * 40
    by_rules = sketching(locator=LocatorName.PAPER_RULES)
    first = start(RunResources(store, ScriptedModel(answers), sandbox), TASK, by_rules, rules)
    live = ScriptedModel(answers)
    cached = CachedModel(live, store)
    assert (cached.name, cached.traits) == (live.name, live.traits)
    second = start(RunResources(store, cached, sandbox), TASK, sketching(), again)
    assert first.trace.programs[0].program == second.trace.programs[0].program
    assert second.passed
    roles = [answer.reply.role for answer in second.trace.replies]
    assert 0 < len(live.asked) < len(roles)
    cached.close()


def test_a_request_without_a_recorded_reply_reaches_the_model(sandbox: Sandbox) -> None:
    empty = SqliteStore(":memory:")
    with pytest.raises(ModelError):
        start(
            RunResources(empty, CachedModel(ScriptedModel(()), empty), sandbox),
            TASK,
            sketching(),
            RunId("r"),
        )
