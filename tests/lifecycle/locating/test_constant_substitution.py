"""A wrong shared constant is found by the numbers that the task states, without a request."""

from collections.abc import Iterator
from contextlib import closing

import msgspec
import pytest
from msgspec.structs import replace

from auditcoder.adapters.models.scripted import ScriptedModel
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.diagnosis import Abstained, Level, Localised
from auditcoder.domain.events import RunOutcome
from auditcoder.domain.evidence import Evidence, Verdict
from auditcoder.domain.execution import Execution, ExecutionOutcome
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import CallExample, FunctionForm, Task
from auditcoder.domain.values import NO_DIGEST, RunId
from auditcoder.lifecycle.locating.constant_substitution import constants, stated_numbers
from auditcoder.lifecycle.locating.diagnosis_input import Clue
from auditcoder.lifecycle.options import LocatorName
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.runs import RunResources, start
from tests.support.scripted_runs import (
    FinishedRun,
    Script,
    ScriptedReplies,
    python,
    run,
    sandboxed,
    stub,
)
from tests.support.sketched_runs import sketching

TASK = Task(
    title="Parking",
    statement="An hour costs 3 euros, but a day costs 25 at most. Return the price of a text of"
    " hours, one number for each day.",
    form=FunctionForm(entry="price", signature="def price(text: str) -> int"),
    examples=(
        CallExample(arguments="'1 2'", result="9"),
        CallExample(arguments="'10 1'", result="28"),
        CallExample(arguments="''", result="0"),
    ),
)
SKETCH = (
    "HOUR = 3\nDAY_CAP = {}  # gr\u00f6\u00dfter Preis\n\n\n"
    + stub("hours(text: str) -> list[int]", "Read the hours.")
    + stub("of_day(hours: int) -> int", "Return the price of a day, by HOUR and DAY_CAP.")
    + "def price(text: str) -> int:\n    return sum(of_day(each) for each in hours(text))\n"
)
HOURS = "def hours(text):\n    return [int(word) for word in text.split()]\n"
OF_DAY = "def of_day(hours):\n    return min(HOUR * hours, DAY_CAP)\n"
DEFINITIONS = "HOUR = 3\nDAY_CAP = 25\n"


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def solve(sandbox: Sandbox, cap: int, of_day: str = OF_DAY, **more: str) -> FinishedRun:
    said: ScriptedReplies = {
        "sketch": python(SKETCH.format(cap)),
        "joint": python(HOURS + of_day),
        "second_opinion": python(HOURS + of_day),
        "repair_node": python(of_day),
        "replan_branch": "I see no other way.",
        "repair_definitions": python(DEFINITIONS),
        **more,
    }
    return run(sandbox, TASK, said, sketching(), locator=LocatorName.WEIGHED)


def substitutions(finished: FinishedRun) -> list[Evidence]:
    return finished.checks("S1.swapped")


def test_a_wrong_constant_is_named_and_repaired_first(sandbox: Sandbox) -> None:
    finished = solve(sandbox, 20)
    assert finished.outcome is RunOutcome.PASSED
    (found,) = finished.diagnoses
    assert isinstance(found, Localised)
    assert (found.rule, found.level, found.probability) == ("definitions", Level.MEDIUM, None)
    assert found.target == AtNode(node=NodeId("S1"))
    assert found.explanation == (
        "the task does not state 20, the value of DAY_CAP; with 25, which it states, everything"
        " passes"
    )
    (seen,) = substitutions(finished)
    assert (seen.verdict, seen.observed is not None) == (Verdict.FAILED, True)
    clue = msgspec.json.decode(finished.raw.blob(seen.observed or NO_DIGEST), type=Clue)
    assert clue.runs == 5, "one of the program as it is, one with 3 and three with 25"
    assert finished.prompts == ["sketch", "joint", "repair_definitions"]
    assert found.explanation in finished.request("repair_definitions")
    assert "DAY_CAP = 25" in finished.program


def test_a_constant_whose_repair_was_rejected_is_not_named_again(sandbox: Sandbox) -> None:
    finished = solve(sandbox, 20, repair_definitions=python(DEFINITIONS.replace("25", "21")))
    assert finished.outcome is not RunOutcome.PASSED
    targets = [d.target for d in finished.diagnoses if isinstance(d, Localised)]
    assert targets.count(AtNode(node=NodeId("S1"))) == 1
    assert len(finished.diagnoses) > 1


def test_a_constant_that_the_task_states_is_not_replaced(sandbox: Sandbox) -> None:
    wrong = OF_DAY.replace("HOUR * hours", "HOUR * hours + 1")
    finished = solve(sandbox, 25, wrong, repair_node=python(OF_DAY))
    assert finished.outcome is RunOutcome.PASSED
    assert substitutions(finished) == []
    first = finished.diagnoses[0]
    assert isinstance(first, Localised)
    assert first.target == AtNode(node=NodeId("S3"))
    assert "S3 reads DAY_CAP, HOUR, defined in S1" in first.explanation
    request = finished.request("repair_node")
    assert "DAY_CAP = 25" in request


def test_an_abstention_names_the_definitions_that_the_suspects_read(sandbox: Sandbox) -> None:
    finished = solve(sandbox, 20, OF_DAY.replace("DAY_CAP", "DAY_CAP - 1"))
    assert finished.outcome is not RunOutcome.PASSED
    assert [e.verdict for e in substitutions(finished)] == [Verdict.PASSED]
    assert "S3 reads DAY_CAP, HOUR, defined in S1" in finished.reason


class FlakySandbox:
    """The real sandbox, in which a fault of the program is gone after its checks have run."""

    def __init__(self, real: Sandbox) -> None:
        self._real, self._faulty = real, True
        self.kind = real.kind

    def run(self, execution: Execution) -> ExecutionOutcome:
        again = "def price" in execution.source and execution.owned is None
        self._faulty &= execution.watch or not again
        source = execution.source
        source = source.replace("min(", "1 + min(") if self._faulty else source
        return self._real.run(replace(execution, source=source))

    def close(self) -> None:
        """Leave the real sandbox to its owner."""


def test_a_flaky_failure_blames_no_constant(sandbox: Sandbox) -> None:
    said = {"sketch": python(SKETCH.format(26)), "joint": python(HOURS + OF_DAY)}
    task = replace(TASK, examples=(CallExample(arguments="'1 2'", result="9"),))
    store, model = SqliteStore(":memory:"), ScriptedModel([Script(said)] * 5)
    with closing(store):
        solution = start(
            RunResources(store, model, FlakySandbox(sandbox)), task, sketching(), RunId("r")
        )
    (located,) = solution.trace.diagnoses
    assert isinstance(located.diagnosis, Abstained)
    assert located.diagnosis.flaky
    seen = [w.evidence for w in solution.trace.evidence if w.evidence.check == "S1.swapped"]
    assert [(e.verdict, e.message) for e in seen] == [
        (Verdict.UNTRIED, "what failed passed when it was run again")
    ]


@pytest.mark.parametrize(
    ("statement", "numbers"),
    [
        ("at most 25, or 1,000 of them.", ["25", "1000"]),
        ("a fee of 2.5% and 7 percent", ["2.5", repr(2.5 / 100), "7", repr(7 / 100)]),
        ("version v2, x1, 3d, 1.2.3 and 007", ["7"]),
        ("a seed of 12345678901234567890", []),
        ("", []),
    ],
)
def test_the_numbers_of_a_text_are_found(statement: str, numbers: list[str]) -> None:
    assert list(stated_numbers(statement)) == numbers


def test_constants_are_numbers_with_a_name() -> None:
    source = (
        "A = 1\nB: float = -2.5  # \u00e4\n\u00c4 = 3; C = 4\nD = True\nE = 'x'\nF = A + 1\n"
        "G: int\nclass H:\n    I = 5\nJ = K = 6\n"
    )
    found = list(constants(source))
    assert [(c.name, c.value) for c in found] == [("A", 1), ("B", -2.5), ("\u00c4", 3), ("C", 4)]
    assert all(f"{c.before}{c.value}{c.after}" == source for c in found)
    assert list(constants("A = (")) == []
