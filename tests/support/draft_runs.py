"""Scripted runs whose first code is chosen among drafts: a function, a class and a program."""

from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    CodeExample,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.options import Options, Planner
from auditcoder.lifecycle.ports import Sandbox
from tests.support.scripted_runs import FinishedRun, python, run

FUNCTION = Task(
    title="Twice and one",
    statement="Write twice_and_one(x) that returns 2x + 1.",
    form=FunctionForm(entry="twice_and_one", signature="def twice_and_one(x: int) -> int"),
    examples=(
        CallExample(arguments="2", result="5"),
        CallExample(arguments="0", result="1"),
        CallExample(arguments="-1", result="-1"),
    ),
)
WRONG = "def twice_and_one(x):\n    return x + 1\n"
NEARLY = "def twice_and_one(x):\n    return 2 * abs(x) + 1\n"
RIGHT = "def twice_and_one(x):\n    return 2 * x + 1\n"

SKELETON = '''\
class Tally:
    """Counts."""

    def __init__(self):
        self.count = 0

    def up(self):
        """Count one more and say how many."""

    def down(self):
        """Count one less and say how many."""

'''
CLASS = Task(
    title="Tally",
    statement=SKELETON,
    form=ClassForm(name="Tally", skeleton=SKELETON),
    examples=(
        CodeExample(code="tally = Tally()\nassert tally.up() == 1\n"),
        CodeExample(code="tally = Tally()\nassert tally.down() == -1\n"),
    ),
)


def tally(up: str, down: str) -> str:
    """Return a draft of the class: what each method adds to the count."""
    return (
        "class Tally:\n"
        "    def __init__(self):\n        self.count = 0\n\n"
        f"    def up(self):\n        self.count += {up}\n        return self.count\n\n"
        f"    def down(self):\n        self.count += {down}\n        return self.count\n"
    )


PROGRAM = Task(
    title="Add up",
    statement="Read numbers, print their sum.",
    form=ProgramForm(),
    examples=(
        StdioExample(input="1 2 3\n", output="6\n"),
        StdioExample(input="", output="0\n"),
    ),
)
SUMS = "print(sum(map(int, input().split())))\n"
READS_ALL = "import sys\n\nprint(sum(map(int, sys.stdin.read().split())))\n"


def drafted(sandbox: Sandbox, task: Task, *drafts: str, most: int = 4) -> FinishedRun:
    """Solve a task with these drafts; a text that is no code is a reply without a draft."""
    replies = [python(draft) if "\n" in draft else draft for draft in drafts]
    options = Options(planner=Planner.TASK, drafts=most, max_repairs=0)
    return run(sandbox, task, {"draft": replies, "joint": replies, "repair_node": []}, options)


def function_run(sandbox: Sandbox) -> FinishedRun:
    """Return a run whose third draft passes, and whose second is no code."""
    return drafted(sandbox, FUNCTION, WRONG, "I cannot.", "Nor now.", NEARLY, RIGHT)


def repaired_run(sandbox: Sandbox) -> FinishedRun:
    """Return a run whose only draft fails, and whose code a repair replaced."""
    said = {"draft": python(WRONG), "repair_node": python(RIGHT)}
    options = Options(planner=Planner.TASK, drafts=1, fallback=False)
    return run(sandbox, FUNCTION, said, options)


def class_run(sandbox: Sandbox) -> FinishedRun:
    """Return a run in which a method of each of two drafts is right."""
    return drafted(sandbox, CLASS, tally("1", "1"), tally("2", "-1"), most=2)


def program_run(sandbox: Sandbox) -> FinishedRun:
    """Return a run of a program whose second draft passes."""
    return drafted(sandbox, PROGRAM, SUMS, READS_ALL)


def unfixed_run(sandbox: Sandbox) -> FinishedRun:
    """Return a run of a function of which the task names no parameters."""
    task = Task(
        title="Twice",
        statement="Write twice(x) that returns 2x.",
        form=FunctionForm(entry="twice"),
        examples=(CallExample(arguments="2", result="4"),),
    )
    return drafted(sandbox, task, "def twice(x):\n    return 2 * x\n")


HOSTILE = "\x1b]0;owned\x07\u202egnirts\u200b"
"""Sets the title of a terminal and reverses what follows."""


def hostile_run(sandbox: Sandbox) -> FinishedRun:
    """Return a run whose drafts return, raise and contain control characters."""
    task = Task(
        title="Say",
        statement="Write say(x) that returns x twice.",
        form=FunctionForm(entry="say", signature="def say(x: str) -> str"),
        examples=(CallExample(arguments="'a'", result="'aa'"),),
    )
    first = f"def say(x):\n    return x + '{HOSTILE}'  # {HOSTILE}\n"
    second = f"def say(x):\n    raise ValueError('{HOSTILE}')\n"
    return drafted(sandbox, task, first, second, f"{HOSTILE} no code", HOSTILE, first)
