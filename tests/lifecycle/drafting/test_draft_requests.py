"""Requests for drafts: their prompts, and the code that is taken from their replies."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import DraftsCommitted, DraftWritten
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FunctionForm,
    Task,
)
from auditcoder.lifecycle.options import Options, Planner
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.prompts import load
from tests.support.scripted_runs import FinishedRun, python, run, sandboxed

DOUBLE = Task(
    title="Double",
    statement="Write double(x), which returns twice the number x.",
    form=FunctionForm(entry="double", signature="def double(x: int) -> int"),
    examples=(CallExample(arguments="2", result="4"),),
)
COUNTER = Task(
    title="Counter",
    statement="Write the class Counter.",
    form=ClassForm(
        name="Counter",
        skeleton=(
            "class Counter:\n    def up(self):\n        ...\n\n    def down(self):\n        ...\n"
        ),
    ),
    examples=(CodeExample(code="assert Counter().up() == 1\n"),),
)
WRONG = python("def double(x):\n    return x")


def solve(sandbox: Sandbox, task: Task, drafts: int, **replies: object) -> FinishedRun:
    options = Options(planner=Planner.TASK, drafts=drafts, max_repairs=0)
    return run(sandbox, task, replies, options)  # type: ignore[arg-type]


def test_the_last_slots_of_a_whole_program_have_another_prompt(sandbox: Sandbox) -> None:
    finished = solve(sandbox, DOUBLE, 8, draft=WRONG, draft_reasoned=WRONG)
    assert finished.prompts == ["draft"] * 6 + ["draft_reasoned"] * 2
    (planned,) = finished.all(DraftsCommitted)
    reasoned = load("draft_reasoned").digest
    assert [slot.prompt == reasoned for slot in planned.slots] == [False] * 6 + [True] * 2


def test_only_the_first_draft_is_sampled_as_the_options_say(sandbox: Sandbox) -> None:
    options = Options(planner=Planner.TASK, drafts=3, max_repairs=0, seed=7, draft_temperature=0.9)
    finished = run(sandbox, DOUBLE, {"draft": WRONG}, options)
    sampled = [(request.temperature, request.seed) for _, request in finished.asked]
    assert sampled == [(0.0, 7), (0.9, 8), (0.9, 9)]


def test_a_whole_draft_is_taken_as_it_is(sandbox: Sandbox) -> None:
    code = "TWO = 2\n\ndef double(x):\n    return helper(x)\n\ndef helper(x):\n    return TWO * x\n"
    finished = solve(sandbox, DOUBLE, 1, draft=python(f"{code}\nprint(double(1))"))
    assert finished.program == f"{code}\nprint(double(1))\n"


def test_a_method_that_a_draft_lacks_is_a_stub_and_what_nobody_owns_a_loss(
    sandbox: Sandbox,
) -> None:
    reply = python("class Counter:\n    def up(self):\n        return 1\n\nprint(Counter().up())")
    finished = solve(sandbox, COUNTER, 1, draft=reply)
    (written,) = finished.all(DraftWritten)
    assert {part.node: part.is_stub for part in written.parts} == {"S1": False, "S2": True}
    assert "raise NotImplementedError" in finished.program


def test_helpers_beside_a_class_are_part_of_the_root(sandbox: Sandbox) -> None:
    reply = python(
        "def first():\n    return 1\n\n"
        "class Counter:\n    def up(self):\n        return first()\n\n"
        "    def down(self):\n        return -first()"
    )
    finished = solve(sandbox, COUNTER, 1, draft=reply)
    (written,) = finished.all(DraftWritten)
    assert [part.node for part in written.parts] == ["S0", "S1", "S2"]
    assert finished.program.startswith("def first():")


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()
