"""A small task, adding up the numbers of a text, with good and bad code for its two parts."""

from auditcoder.adapters.models.scripted import Line
from auditcoder.domain.request import Request
from auditcoder.domain.task import CallExample, FunctionForm, Task
from tests.support.scripted_runs import ScriptedReplies, python, stub

TASK = Task(
    title="Sum",
    statement="Add up the numbers in a text.",
    form=FunctionForm(entry="total", signature="def total(text: str) -> int"),
    examples=(
        CallExample(arguments="'1 2 3'", result="6"),
        CallExample(arguments="'4'", result="4"),
        CallExample(arguments="'-2 7'", result="5"),
    ),
)
READ = stub("read(text: str) -> list[int]", "Read the numbers.", "example: read('1 2') == [1, 2]")
ADD = stub(
    "add(numbers: list[int]) -> int",
    "Add them up.",
    "requires: all(isinstance(n, int) for n in numbers)",
    "ensures: result == sum(numbers)",
)
ROOT = "def total(text: str) -> int:\n    return add(read(text))\n"
GOOD_READ = "def read(text):\n    return [int(word) for word in text.split()]\n"
GOOD_ADD = "def add(numbers):\n    return sum(numbers)\n"
BAD_ADD = "def add(numbers):\n    return sum(numbers[1:])\n"


def script(*joint: str, **more: Line) -> ScriptedReplies:
    return {
        "sketch": python(READ + ADD + ROOT),
        "joint": python("\n".join(joint)),
        "second_opinion": python(GOOD_READ + GOOD_ADD),
        "repair_node": lambda request: repaired(request, GOOD_READ, GOOD_ADD),
        **more,
    }


def repaired(request: Request, *known: str) -> str:
    """Return the requested function below a cause."""
    return f"cause: implementation, because it is off\n\n{function(request, *known)}"


def function(request: Request, *known: str) -> str:
    """Return the requested function."""
    asked = request.messages[-1].text.rpartition("rite `")[2]
    return python(next(code for code in known if code.split("(")[0][4:] == asked.split("(")[0]))
