"""Scripted runs of one small task, reading numbers and adding them up, and what they show."""

from auditcoder.domain.diagnosis import Level, Localised
from auditcoder.domain.ids import NodeId
from auditcoder.domain.repair import Decision
from auditcoder.domain.targets import Target
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from tests.support.scripted_runs import FinishedRun, ScriptedReplies, python, stub
from tests.support.sketched_runs import sketching


def program(*cases: tuple[str, str], seconds: float | None = None) -> Task:
    return Task(
        title="Add up",
        statement="Read numbers, print their sum.",
        form=ProgramForm(),
        examples=tuple(StdioExample(input=i, output=o) for i, o in cases),
        limits=Limits(seconds=seconds),
    )


TASK = program(("1 2 3\n", "6\n"), ("", "0\n"))


READ = stub("read_numbers(data: str) -> list[int]", "Read the numbers.", "kind: string")


ADD = stub("add_up(numbers: list[int]) -> int", "Add them up.", "kind: math")


SOLVE = "def solve(data: str) -> str:\n    return str(add_up(read_numbers(data)))\n"


SKETCH = python('"""Read, then add.\n\nparts: each can be tested alone\n"""\n' + READ + ADD + SOLVE)


READS = "def read_numbers(data):\n    return [int(word) for word in data.split()]\n"


ADDS = "def add_up(numbers):\n    return sum(numbers)\n"


OFF = "def add_up(numbers):\n    return sum(numbers) + 1\n"


OFF_AGAIN = "def add_up(numbers):\n    return sum(numbers) + 2\n"


CRASHES = "def add_up(numbers):\n    return sum(numbers) * len(numbers) // len(numbers)\n"


SILENT = sketching(review=False)


S0, S1, S2 = NodeId("S0"), NodeId("S1"), NodeId("S2")


def promising(*facts: str) -> str:
    """The sketch with promises for `add_up`."""
    add = stub("add_up(numbers: list[int]) -> int", "Add them up.", "kind: math", *facts)
    return python(READ + add + SOLVE)


KNOWN = promising("example: add_up([1, 2]) == 3")


def localised(finished: FinishedRun, number: int = 0) -> Localised:
    diagnosis = finished.diagnoses[number]
    assert isinstance(diagnosis, Localised), diagnosis
    return diagnosis


def placed(diagnosis: Localised) -> tuple[Target, str, Level]:
    return diagnosis.target, diagnosis.rule, diagnosis.level


def targets(finished: FinishedRun) -> list[Target | None]:
    return [d.target if isinstance(d, Localised) else None for d in finished.diagnoses]


def decisions(finished: FinishedRun) -> list[Decision | None]:
    return [t.decision for t in finished.history]


ONE = stub("one(x: int) -> int", "Take one.", "example: one(1) == 1")


ALL = stub("total(xs: list[int]) -> int", "Take all.", "example: total([1]) == 1")


BRANCH_SKETCH = python(
    READ
    + stub("add_up(numbers: list[int]) -> int", "Add them up.", "uses: one, total")
    + ONE
    + ALL
    + SOLVE
)


BRANCH_WRONG = python(
    READS
    + "def one(x):\n    return x + 1\n"
    + "def total(xs):\n    return sum(xs) + 1\n"
    + "def add_up(numbers):\n    return total([one(x) for x in numbers])\n"
)


BRANCH: ScriptedReplies = {
    "sketch": BRANCH_SKETCH,
    "joint": [BRANCH_WRONG],
    "replan_branch": python("def add_up(numbers: list[int]) -> int:\n    ..."),
}


BRANCH_REPLANNED = python(
    ONE
    + stub("fold(xs: list[int]) -> int", "Fold them.")
    + "def add_up(numbers: list[int]) -> int:\n    return fold([one(x) for x in numbers])\n"
)


REJECTED: ScriptedReplies = {
    "sketch": KNOWN,
    "joint": [python(READS + OFF), python("def add_up(numbers):\n    return 8")],
    "repair_node": [python(OFF_AGAIN)],
    "replan_branch": [python("def add_up(numbers: list[int]) -> int:\n    ...")],
}


TAKES = "def take(data):\n    return sum(map(int, data.split()))\n"


ANEW = python(
    stub("take(data: str) -> int", "Take all in.")
    + "def solve(data: str) -> str:\n    return str(take(data))\n"
)


SKELETON = """\
class Tally:
    \"\"\"Counts.\"\"\"

    def __init__(self):
        self.count = 0

    def up(self):
        \"\"\"Count one more and say how many.\"\"\"

"""


CLASS = Task(
    title="Tally",
    statement=SKELETON,
    form=ClassForm(name="Tally", skeleton=SKELETON),
    examples=(CodeExample(code="tally = Tally()\nassert tally.up() == 1\n"),),
)


FUNCTION = Task(
    title="Twice and one",
    statement="Write twice_and_one(x) that returns 2x + 1.",
    form=FunctionForm(entry="twice_and_one", signature="def twice_and_one(x: int) -> int"),
    examples=(CallExample(arguments="2", result="5"), CallExample(arguments="0", result="1")),
)
