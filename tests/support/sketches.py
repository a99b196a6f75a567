"""Sketches of one small task, and generated ones."""

from hypothesis import strategies as st

from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import ProgramForm, StdioExample, Task
from auditcoder.lifecycle.planning.plan import Plan
from auditcoder.lifecycle.planning.sketch_planner import plan_of
from auditcoder.lifecycle.task_forms import root_of
from tests.support.scripted_runs import stub

TASK = Task(
    title="Add up",
    statement="Read numbers, print their sum.",
    form=ProgramForm(),
    examples=(StdioExample(input="1 2\n", output="3\n"),),
)
READ = stub("read_numbers(data: str) -> list[int]", "Read the numbers.", "kind: string")
ADD = stub(
    "add_up(numbers: list[int]) -> int",
    "Add them up.",
    "kind: two pointers",
    "requires: len(numbers) > 0",
    "requires: they are finite",
    "ensures: result >= min(numbers)",
    "cost: O(n log n) at most",
    "example: add_up([1, 2]) == 3",
    "uses: one",
)
ONE = stub("one(x: int) -> int", "Take one.", "kind: magic")
SOLVE = """\
def solve(data: str) -> str:
    numbers = read_numbers(data)
    return str(add_up(numbers))
"""
SKETCH = '"""Read, then add.\n\nparts: each can be tested\n"""\n' + READ + ADD + ONE + SOLVE


def planned(text: str, task: Task = TASK, allocated: tuple[str, ...] = ("S0",)) -> Plan:
    """Return the plan that a sketch of a task makes."""
    return plan_of(text, task, root_of(task), [NodeId(n) for n in allocated])


NAMES = ("a", "b", "c", "d", "e", "f")


@st.composite
def sketches(draw: st.DrawFn) -> str:
    """Generate sketches with arbitrary calls between their functions."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    stubs = []
    for name in names:
        uses = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        facts = [f"uses: {', '.join(uses)}"] if uses else []
        stubs.append(stub(f"{name}(x: int) -> int", f"Do {name}.", *facts))
    called = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    body = f"return str({' + '.join(f'{n}(1)' for n in called)})" if called else "..."
    return "".join(stubs) + f"def solve(data: str) -> str:\n    {body}\n"
