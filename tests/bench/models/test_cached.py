"""Recalling: what a store's runs were answered is not asked again; everything else is."""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import ModelError
from auditcoder.domain.values import RunId
from auditcoder.lifecycle.options import LocatorName, Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, start
from auditcoder_bench.models.cached import CachedModel
from tests.support.adder_task import BAD_ADD, GOOD_READ, ROOT, TASK, script
from tests.support.scripted_runs import Script, opinions, python, sandboxed, stub


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def test_two_locators_go_on_from_the_very_same_program(sandbox: Sandbox) -> None:
    store, rules, again = SqliteStore(":memory:"), RunId("rules"), RunId("again")
    # Of parts that promise nothing, somebody is asked for a second opinion.
    parts = stub("read(text: str) -> list[int]", "R."), stub("add(numbers: list[int]) -> int", "A.")
    said = script(GOOD_READ, BAD_ADD, sketch=python("".join(parts) + ROOT), verdict=opinions())
    answers = [Script(said)] * 40
    by_rules = Options(locator=LocatorName.PAPER_RULES)
    first = start(RunResources(store, ScriptedModel(answers), sandbox), TASK, by_rules, rules)
    live = ScriptedModel(answers)
    recalling = CachedModel(live, store)
    assert (recalling.name, recalling.traits) == (live.name, live.traits)
    second = start(RunResources(store, recalling, sandbox), TASK, Options(), again)
    assert first.trace.programs[0].program == second.trace.programs[0].program
    assert second.passed
    asked = [answer.reply.role for answer in second.trace.replies]
    assert 0 < len(live.asked) < len(asked)
    recalling.close()


def test_what_nobody_was_asked_is_asked(sandbox: Sandbox) -> None:
    empty = SqliteStore(":memory:")
    with pytest.raises(ModelError):
        start(
            RunResources(empty, CachedModel(ScriptedModel(()), empty), sandbox),
            TASK,
            Options(),
            RunId("r"),
        )
