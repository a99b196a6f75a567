"""Second opinions are blind by default; informed ones see code and failure, on record."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import CodeWritten, ReplyRecorded, RunOutcome, RunStarted
from auditcoder.domain.task import ClassForm, CodeExample, Task
from auditcoder.lifecycle.model_client import INFORMED_OPINION, SECOND_OPINION
from auditcoder.lifecycle.options import LocatorName, SecondOpinions, option_specs
from auditcoder.lifecycle.ports import Sandbox
from tests.support.adder_task import ADD, BAD_ADD, GOOD_ADD, GOOD_READ, READ, ROOT, TASK
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    python,
    run,
    sandboxed,
)
from tests.support.sketched_runs import sketching

UNCHECKED = ADD.replace("    ensures: result == sum(numbers)\n", "")
OPINION = python(GOOD_READ + GOOD_ADD)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def solve(sandbox: Sandbox, view: SecondOpinions, **more: str) -> FinishedRun:
    said: ScriptedReplies = {
        "sketch": python(READ + UNCHECKED + ROOT),
        "joint": python(GOOD_READ + BAD_ADD),
        "repair_node": python(GOOD_ADD),
        **more,
    }
    options = sketching(second_opinions=view)
    return run(sandbox, TASK, said, options, locator=LocatorName.WEIGHED)


def roles(finished: FinishedRun) -> set[str]:
    return {reply.role for reply in finished.all(ReplyRecorded)}


def setting(finished: FinishedRun) -> str:
    return finished.all(RunStarted)[0].manifest.settings["second_opinions"]


def test_a_blind_opinion_sees_neither_code_nor_failure(sandbox: Sandbox) -> None:
    finished = solve(sandbox, SecondOpinions.BLIND, second_opinion=OPINION)
    assert finished.outcome is RunOutcome.PASSED
    text = finished.request("second_opinion")
    assert "sum(numbers[1:])" not in text
    assert "Got:" not in text
    assert setting(finished) == "blind"
    assert SECOND_OPINION in roles(finished)


def test_an_informed_opinion_sees_both_and_is_recorded_as_such(sandbox: Sandbox) -> None:
    finished = solve(sandbox, SecondOpinions.INFORMED, second_opinion_informed=OPINION)
    assert finished.outcome is RunOutcome.PASSED
    text = finished.request("second_opinion_informed")
    assert "sum(numbers[1:])" in text
    assert "Input:\n'1 2 3'\nExpected:\n6\nGot:\n5" in text
    assert setting(finished) == "informed"
    assert INFORMED_OPINION in roles(finished)
    assert SECOND_OPINION not in roles(finished)
    agents = {event.agent for event in finished.all(CodeWritten)}
    assert INFORMED_OPINION in agents, "the code that passed became the repair"


def test_none_are_requested_if_the_user_says_so(sandbox: Sandbox) -> None:
    assert roles(solve(sandbox, SecondOpinions.NONE)).isdisjoint({SECOND_OPINION, INFORMED_OPINION})


def test_an_informed_opinion_on_methods_sees_them(sandbox: Sandbox) -> None:
    skeleton = (
        "class Box:\n"
        "    def __init__(self):\n        self.items = []\n\n"
        '    def put(self, item):\n        """Add an item."""\n\n'
        '    def count(self) -> int:\n        """Count the items."""\n'
    )
    tests = "b = Box()\nb.put(1)\nb.put(2)\nassert b.count() == 2\n"
    task = Task(
        title="Box",
        statement=skeleton,
        form=ClassForm(name="Box", skeleton=skeleton),
        examples=(CodeExample(code=tests),),
    )
    methods = (
        "class Box:\n    def put(self, item):\n        self.items = [item]\n\n"
        "    def count(self):\n        return len(self.items)\n"
    )
    right = methods.replace("self.items = [item]", "self.items.append(item)")
    said: ScriptedReplies = {
        "methods": python(methods),
        "second_opinion_methods_informed": python(right),
        "repair_node": python(right),
    }
    options = sketching(second_opinions=SecondOpinions.INFORMED)
    finished = run(sandbox, task, said, options, locator=LocatorName.WEIGHED)
    assert finished.outcome is RunOutcome.PASSED
    assert "self.items = [item]" in finished.request("second_opinion_methods_informed")


@pytest.mark.parametrize(
    ("earlier", "view"), [("true", SecondOpinions.BLIND), ("false", SecondOpinions.NONE)]
)
def test_the_values_of_earlier_versions_are_read(earlier: str, view: SecondOpinions) -> None:
    spec = next(spec for spec in option_specs() if spec.name == "second_opinions")
    assert spec.convert(earlier) is view
    assert spec.convert(earlier == "true") is view
    assert sketching(second_opinions=earlier == "true").second_opinions is view


def test_no_second_opinions_is_false() -> None:
    assert [bool(view) for view in SecondOpinions] == [True, True, False]
