"""Examples with values of a sketch's own classes are run, or recorded as not run."""

from collections.abc import Iterator

import pytest

from auditcoder.domain.events import Adjudicated, Ruling, RunFinished, RunOutcome
from auditcoder.domain.evidence import Evidence, Trust, Verdict
from auditcoder.domain.request import Request
from auditcoder.domain.task import CallExample, FunctionForm, ProgramForm, StdioExample, Task
from auditcoder.lifecycle.options import AutoSwitch
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import FinishedRun, python, run, sandboxed, stub
from tests.support.sketched_runs import sketching

TASK = Task(
    title="Rectangles",
    statement="Print the area of a rectangle.",
    form=ProgramForm(),
    examples=(StdioExample(input="2 3\n", output="6\n"),),
)
DEFINITIONS = """\
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

UNIT = 2


class Color(Enum):
    RED = 1
    BLUE = 2


class Size(NamedTuple):
    w: int
    h: int


class Box:
    def __init__(self, w: int) -> None:
        self.w = w


@dataclass
class Rect:
    w: int
    h: int


@dataclass
class Point:
    x: float
    y: float
    note: str = field(default="", repr=False)


"""
CODE = {
    "area": "def area(rect):\n    return rect.w * rect.h\n",
    "center": "def center(rect):\n    return Point(rect.w / 10 + 0.2, rect.h / 2)\n",
    "color": "def color(rect):\n    return Color.RED if rect.w == UNIT else Color.BLUE\n",
    "size": "def size(rect):\n    return Size(rect.w, rect.h)\n",
    "box": "def box(rect):\n    return Box(rect.w)\n",
}
RETURNS = {"area": "int", "center": "Point", "color": "Color", "size": "Size", "box": "Box"}


@pytest.fixture(scope="module", name="sandbox")
def _sandbox() -> Iterator[Sandbox]:
    yield from sandboxed()


def finished_run(
    sandbox: Sandbox, name: str, example: str, code: str = "", **more: object
) -> FinishedRun:
    """Run a sketch in which the function `name` has an example."""
    sketch = (
        DEFINITIONS
        + stub(f"{name}(rect: Rect) -> {RETURNS[name]}", "Do it.", f"example: {example}")
        + stub("read(data: str) -> Rect", "Read the Rect.")
        + "def solve(data: str) -> str:\n"
        + f"    rect = read(data)\n    {name}(rect)\n    return str(rect.w * rect.h)\n"
    )
    read = "def read(data):\n    return Rect(*map(int, data.split()))\n"
    replies = {"sketch": python(sketch), "joint": python(read + (code or CODE[name])), **more}
    options = sketching(adjudication=AutoSwitch.ON if more else AutoSwitch.OFF)
    return run(sandbox, TASK, replies, options)  # type: ignore[arg-type]


def check_of(sandbox: Sandbox, name: str, example: str, code: str = "") -> Evidence:
    finished = finished_run(sandbox, name, example, code)
    assert finished.outcome is RunOutcome.PASSED
    (seen,) = finished.checks("S2.example")
    assert seen.trust is Trust.GENERATED
    return seen


@pytest.mark.parametrize(
    ("name", "example", "verdict"),
    [
        ("area", "area(Rect(2, 3)) == 6", Verdict.PASSED),
        ("area", "area(Rect(w=UNIT, h=3)) == UNIT * 3", Verdict.PASSED),
        ("area", "area(Rect(2, 3)) == 5", Verdict.FAILED),
        ("center", "center(Rect(1, 2)) -> Point(0.3, 1)", Verdict.PASSED),
        ("center", "center(Rect(1, 2)) -> Point(0.4, 1)", Verdict.FAILED),
        ("center", "center(Rect(1, 2)) -> Point(0.3, 1, 'unseen')", Verdict.FAILED),
        ("center", "center(Rect(1, 2)) == Rect(0.3, 1)", Verdict.FAILED),
        ("color", "color(Rect(2, 3)) == Color.RED", Verdict.PASSED),
        ("color", "color(Rect(2, 3)) == Color.BLUE", Verdict.FAILED),
        ("size", "size(Rect(2, 3)) == Size(2, 3)", Verdict.PASSED),
        ("size", "size(Rect(2, 3)) == Size(3, 2)", Verdict.FAILED),
    ],
)
def test_an_example_is_compared_by_the_fields_of_its_values(
    sandbox: Sandbox, name: str, example: str, verdict: Verdict
) -> None:
    assert check_of(sandbox, name, example).verdict is verdict


@pytest.mark.parametrize(
    ("name", "example", "message"),
    [
        ("box", "box(Rect(2, 3)) == Box(2)", "objects of Box cannot be compared"),
        ("box", "box(Rect(2, 3)) == [Box(2)]", "objects of Box cannot be compared"),
        ("area", "area(Rect(2)) == 6", "the arguments of the example have no values: TypeError"),
        ("center", "center(Rect(2, 3)) == Point(1)", "the expected result cannot be evaluated"),
        ("area", "area(r) == r.w * r.h", "it is no call with a result"),
        ("area", "area(read('2 3')) == 6", "it is no call with a result"),
    ],
)
def test_an_example_that_cannot_be_run_is_recorded_as_not_run(
    sandbox: Sandbox, name: str, example: str, message: str
) -> None:
    seen = check_of(sandbox, name, example)
    assert seen.verdict is Verdict.NOT_RUN
    assert seen.message.startswith(message)
    assert seen.observed is None


def test_a_result_that_equals_everything_does_not_pass(sandbox: Sandbox) -> None:
    code = (
        "class Same(Point):\n    def __eq__(self, other):\n        return True\n\n"
        "    def __repr__(self):\n        return 'Point(x=0.3, y=1)'\n\n\n"
        "def center(rect):\n    return Same(5.0, 5.0)\n"
    )
    assert check_of(sandbox, "center", "center(Rect(1, 2)) == Point(0.3, 1)", code).verdict is (
        Verdict.FAILED
    )


def test_a_wrong_example_of_a_class_is_ruled_on_like_another(sandbox: Sandbox) -> None:
    def independent(request: Request) -> str:
        assert "class Point:" in request.messages[-1].text
        return python(CODE["center"])

    finished = finished_run(
        sandbox,
        "center",
        "center(Rect(1, 2)) == Point(0.4, 1)",
        independent=independent,
        adjudicator=lambda request: _preferring("Point(x=0.3", request),
    )
    assert finished.outcome is RunOutcome.PASSED
    assert [event.ruling for event in finished.all(Adjudicated)] == [Ruling.CHECK_WRONG]
    assert finished.all(RunFinished)[-1].doubts == ()


def _preferring(result: str, request: Request) -> str:
    text = request.messages[-1].text
    first = text.index(result) < text.index("Point(0.4, 1)")
    return f'```json\n{{"derivation": "by hand", "right": "{"A" if first else "B"}"}}\n```'


def test_an_example_of_the_task_is_not_judged_by_the_programs_own_classes(
    sandbox: Sandbox,
) -> None:
    task = Task(
        title="Point",
        statement="Return a Point.",
        form=FunctionForm(entry="make", signature="def make(x: int)"),
        examples=(CallExample(arguments="1", result="Point(9)"),),
    )
    sketch = (
        "from dataclasses import dataclass, field\n\n\n@dataclass\nclass Point:\n"
        "    x: int = field(compare=False)\n\n\n"
        + stub("double(x: int) -> Point", "Double it.", "example: double(1) == Point(2)")
        + "def make(x: int) -> Point:\n    return double(x)\n"
    )
    replies = {"sketch": python(sketch), "joint": python("def double(x):\n    return Point(2)\n")}
    finished = run(sandbox, task, replies, sketching(max_repairs=0))
    assert finished.outcome is RunOutcome.FAILED
    assert [e.verdict for e in finished.checks("example-")] == [Verdict.NOT_RUN]
    assert [e.verdict for e in finished.checks("S2.example")] == [Verdict.PASSED]


def test_a_sketch_of_one_function_keeps_such_an_example_as_a_sentence(sandbox: Sandbox) -> None:
    sketch = (
        "from dataclasses import dataclass\n\n\n@dataclass\nclass Pair:\n    x: int\n\n\n"
        + stub(
            "double(x: int) -> int",
            "Double.",
            "example: double(Pair(1)) == 2",
            "example: double(2) == 4",
        )
    )
    task = Task(
        title="Double",
        statement="Double a number.",
        form=FunctionForm(entry="double", signature="def double(x: int) -> int"),
        examples=(CallExample(arguments="1", result="2"),),
    )
    reply = python("def double(x):\n    return 2 * x\n")
    finished = run(sandbox, task, {"sketch": python(sketch), "joint": reply})
    assert finished.outcome is RunOutcome.PASSED
    (unread,) = (e for e in finished.checks("S1.example"))
    assert (unread.verdict, unread.requirement) == (Verdict.NOT_RUN, "double(Pair(1)) == 2")
    assert [e.verdict for e in finished.checks("generated-")] == [Verdict.PASSED]
