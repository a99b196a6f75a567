"""A function that doubles a number: the task, drafts of it, and options of its runs."""

from auditcoder.domain.task import CallExample, FunctionForm, Task
from auditcoder.lifecycle.options import Options, Planner
from tests.support.scripted_runs import python

FUNCTION = Task(
    title="Double",
    statement="Write double(x), which returns twice the number x.",
    form=FunctionForm(entry="double", signature="def double(x: int) -> int"),
    examples=(CallExample(arguments="2", result="4"), CallExample(arguments="3", result="6")),
)


def doubling(expression: str = "2 * x") -> str:
    """Return a reply with the function, which returns this."""
    return python(f"def double(x: int) -> int:\n    return {expression}")


def options(drafts: int = 3, **others: object) -> Options:
    """Return options that draft and do not repair, unless they say otherwise."""
    return Options(planner=Planner.TASK, drafts=drafts, max_repairs=0, **others)  # type: ignore[arg-type]
