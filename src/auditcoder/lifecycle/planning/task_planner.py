"""The task planner: the interface that the task gives is the plan, without a model call.

A function, a program or a file program is one responsibility; a class has one for each method.
"""

from msgspec.structs import replace

from auditcoder.domain.brief import Approach
from auditcoder.domain.contract import RESULT
from auditcoder.domain.graph import FromTask, Node, NodeKind, Slot, TaskGraph
from auditcoder.domain.ids import ROOT, child_of
from auditcoder.domain.task import ClassForm, FilesForm, FunctionForm, ProgramForm, Task
from auditcoder.lifecycle.planning import class_planner
from auditcoder.lifecycle.planning.plan import Plan, brief_for, single
from auditcoder.lifecycle.task_forms import root_of

PLANNER = "task"
_REASON = "one node: the task names one {}, and nothing was asked"


def plan(task: Task) -> Plan:
    """Return the plan that follows from the form of the task."""
    match task.form:
        case ClassForm():
            return class_planner.plan(task, task.form, stated=True)
        case FunctionForm():
            root = root_of(task)
            contract = replace(root.contract, any_params=not root.fixed)
            return single(task, root, _REASON.format("function"), PLANNER, contract)
        case _:
            return whole(task)


def whole(task: Task) -> Plan:
    """Return a plan with one node for everything, also for the methods of a class."""
    match task.form:
        case FunctionForm():
            return plan(task)
        case ClassForm(name=name):
            return _program(task, (), (name,))
        case ProgramForm():
            stdin, stdout = Slot(name="stdin", type="str", source=FromTask()), ("stdout",)
            return _program(task, (stdin,), stdout)
        case FilesForm(inputs=inputs, artefacts=artefacts):
            read = (Slot(name=name, type="file", source=FromTask()) for name in inputs)
            return _program(task, tuple(read), artefacts)


def _program(task: Task, inputs: tuple[Slot, ...], outputs: tuple[str, ...]) -> Plan:
    """Return a plan whose node is a whole program; no function is its interface."""
    only = child_of(ROOT, {ROOT})
    node = Node(
        id=only,
        goal=task.title or "Do what the task asks",
        kind=NodeKind.GENERAL,
        parent=ROOT,
        inputs=inputs,
        outputs=tuple(Slot(name=name) for name in outputs) or (Slot(name=RESULT),),
        validation=("the task's examples",),
    )
    top = Node(id=ROOT, goal="Answer the task", kind=NodeKind.ORCHESTRATION, dependencies=(only,))
    return Plan(
        brief=brief_for(task, Approach(strategy="one responsibility"), stated=True),
        graph=TaskGraph(nodes=(top, node), order=(only,)),
        planner=PLANNER,
        granularity=_REASON.format("program"),
        given={},
    )
