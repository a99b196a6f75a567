"""Definitions that are at fault are located by what they do, and written again."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import RunOutcome
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import ProgramForm, StdioExample, Task
from auditcoder.lifecycle.definitions_repair import definitions_of
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.response_formats import FormatMismatch
from tests.support.addition_runs import decisions, targets
from tests.support.scripted_runs import caused, python, run, sandboxed, stub

TASK = Task(
    title="Lengths",
    statement="Print the sum of the lengths of all words, twice that of short ones.",
    form=ProgramForm(),
    examples=(StdioExample(input="a bbbb\n", output="6\n"),),
)
DEFINITIONS = """\
SHORT = 1


class Word:
    def __init__(self, text):
        self.text = text

    def weight(self):
        return len(self.word) * (2 if len(self.text) <= SHORT else 1)

"""
MENDED = DEFINITIONS.replace("self.word", "self.text")
SKETCH = python(
    DEFINITIONS
    + stub("read_words(data: str) -> list[Word]", "Read the words.")
    + stub("weigh(words: list[Word]) -> int", "Add their weights.")
    + "def solve(data: str) -> str:\n    return str(weigh(read_words(data)))\n"
)
CODE = python(
    "def read_words(data):\n    return [Word(text) for text in data.split()]\n"
    "def weigh(words):\n    return sum(word.weight() for word in words)\n"
)


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


@pytest.mark.parametrize("locator", [LocatorName.WEIGHED, LocatorName.PAPER_RULES])
def test_a_class_that_crashes_is_located_and_written_again(
    sandbox: Sandbox, locator: LocatorName
) -> None:
    replies = {
        "sketch": SKETCH,
        "joint": CODE,
        "repair_definitions": caused("implementation", "the attribute is text", MENDED),
    }
    finished = run(sandbox, TASK, replies, locator=locator)
    assert targets(finished) == [AtNode(node=NodeId("S1"))]
    assert decisions(finished) == [Decision.ACCEPTED]
    assert finished.outcome is RunOutcome.PASSED
    asked = finished.request("repair_definitions")
    assert "write no function of the sketch" in asked
    assert "`SHORT`, `Word`" in asked
    assert "# Why this code is suspected" in asked
    assert finished.graph.by_id[NodeId("S1")].context.endswith("found: the attribute is text")


def test_definitions_that_stay_wrong_end_the_run(sandbox: Sandbox) -> None:
    replies = {
        "sketch": SKETCH,
        "joint": CODE,
        "repair_definitions": [python(DEFINITIONS), python("SHORT = 2"), "nothing", "nothing"],
    }
    finished = run(sandbox, TASK, replies)
    assert finished.outcome is not RunOutcome.PASSED
    assert Decision.ACCEPTED not in decisions(finished)


def test_every_name_must_be_defined_again() -> None:
    with pytest.raises(FormatMismatch, match="does not define B"):
        definitions_of("A = 1\n", ["A", "B"], frozenset())


def test_functions_of_other_nodes_are_left_out_and_noted() -> None:
    piece = definitions_of("A = deque()\ndef f(): ...\nprint(A)\n", ["A"], frozenset({"f"}))
    assert piece.source == "from collections import deque\nA = deque()\n"
    assert piece.losses == ("`def f():`, which another part owns",)
