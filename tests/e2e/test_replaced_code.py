"""Whole runs in which one node replaces the code of another at run time."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import ClassForm, CodeExample, Task
from auditcoder.lifecycle.ports import Sandbox
from tests.support.addition_runs import (
    ADDS,
    KNOWN,
    OFF,
    READS,
    S1,
    SILENT,
    TASK,
    decisions,
    localised,
)
from tests.support.scripted_runs import (
    FinishedRun,
    ScriptedReplies,
    python,
    run,
    sandboxed,
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


SUM = "lambda numbers: sum(numbers)"
WAYS = {
    "globals": f"globals()['add_up'] = {SUM}",
    "setattr": f"setattr(__import__('sys').modules[__name__], 'add' + '_up', {SUM})",
    "exec": "exec('def add_up(numbers): return sum(numbers)', globals())",
    "code": f"setattr(globals()['add_up'], '__co' + 'de__', ({SUM}).__code__)",
}


def reader(does: str) -> str:
    """Return `read_numbers`, which reads the numbers and does something else, too."""
    return f"def read_numbers(data):\n    {does}\n    return [int(w) for w in data.split()]\n"


def failed(finished: FinishedRun, number: int = 0) -> str:
    """Return the message of a run of the first example that crashed in S1."""
    seen = finished.checks("example-1")[number]
    assert seen.verdict is Verdict.CRASH
    assert {frame.node for frame in seen.frames} == {"S1"}
    return seen.message


@pytest.mark.parametrize("way", WAYS)
def test_a_node_that_replaces_another_is_found_and_repaired(sandbox: Sandbox, way: str) -> None:
    replies: ScriptedReplies = {
        "sketch": KNOWN,
        "joint": python(reader(WAYS[way]) + OFF),
        "repair_node": [python(READS), python(ADDS)],
    }
    finished = run(sandbox, TASK, replies, SILENT)
    assert "the code of `add_up` (S2) was replaced at run time by S1" in failed(finished)
    assert localised(finished).target == AtNode(node=S1)
    assert localised(finished).rule == "R1"
    assert decisions(finished) == [Decision.ACCEPTED] * 2
    assert finished.outcome is RunOutcome.PASSED
    assert finished.code("S1") == READS


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_keeps_the_replacement_does_not_pass(sandbox: Sandbox, way: str) -> None:
    replies: ScriptedReplies = {
        "sketch": KNOWN,
        "joint": python(reader(WAYS[way]) + OFF),
        "repair_node": python(reader(f"{WAYS[way]}  # again")),
        "replan_branch": "No.",
    }
    finished = run(sandbox, TASK, replies, SILENT)
    assert finished.outcome is not RunOutcome.PASSED
    assert Decision.ACCEPTED not in decisions(finished)


@pytest.mark.parametrize("way", WAYS)
def test_a_repair_cannot_change_a_frozen_node_at_run_time(sandbox: Sandbox, way: str) -> None:
    """S1 is repaired while S2, which is wrong, is frozen; the candidate would pass every check."""
    replies: ScriptedReplies = {
        "sketch": KNOWN,
        "joint": python(reader("assert len(data) > 99") + OFF),
        "repair_node": python(reader(WAYS[way])),
        "replan_branch": "No.",
    }
    finished = run(sandbox, TASK, replies, SILENT)
    first = finished.history[0]
    assert first.region == ("S1",)
    assert first.decision is Decision.REJECTED
    assert "was replaced at run time by S1" in failed(finished, 1)
    assert finished.outcome is not RunOutcome.PASSED


SKELETON = '''\
class Tally:
    """Counts."""

    def up(self):
        """Count one more and say how many."""

    def down(self):
        """Count one less and say how many."""

'''
DOWN = "lambda self: 0"


def tally(does: str) -> str:
    """Return the class, with a wrong `down`, and an `up` that does something else, too."""
    return (
        "class Tally:\n    def up(self):\n        self.count = getattr(self, 'count', 0) + 1\n"
        f"        {does}\n        return self.count\n\n    def down(self):\n        return None\n"
    )


@pytest.mark.parametrize(
    "does",
    [
        f"setattr(type(self), 'do' + 'wn', {DOWN})",
        f"vars(type(self))['down'].__setattr__('__co' + 'de__', ({DOWN}).__code__)",
        f"type.__setattr__(globals()['Tally'], 'down', {DOWN})",
    ],
)
@pytest.mark.parametrize(
    "code",
    [
        "tally = Tally()\nassert tally.up() == 1\nassert tally.down() == 0\n",
        (
            "import unittest\n\nclass T(unittest.TestCase):\n    def test_it(self):\n"
            "        tally = Tally()\n        self.assertEqual(tally.up(), 1)\n"
            "        self.assertEqual(tally.down(), 0)\n"
        ),
    ],
)
def test_a_method_that_replaces_another_does_not_pass(
    sandbox: Sandbox, does: str, code: str
) -> None:
    task = Task(
        title="Tally",
        statement=SKELETON,
        form=ClassForm(name="Tally", skeleton=SKELETON),
        examples=(CodeExample(code=code),),
    )
    replies: ScriptedReplies = {
        "methods": python(tally(does)),
        "repair_node": python(tally(f"{does}  # again")),
        "replan_branch": "No.",
    }
    finished = run(sandbox, task, replies, SILENT)
    assert "the code of `Tally.down` (S2) was replaced at run time by S1" in failed(finished)
    assert localised(finished).target == AtNode(node=S1)
    assert finished.outcome is not RunOutcome.PASSED
