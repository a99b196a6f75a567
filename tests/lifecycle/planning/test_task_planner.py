"""The task planner: the interface that the task gives is the plan."""

import pytest

from auditcoder.domain.brief import PlannedCheck
from auditcoder.domain.evidence import Trust
from auditcoder.domain.graph import FromTask, TaskGraph, graph_faults, order_faults
from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    FilesForm,
    Form,
    FunctionForm,
    ProgramForm,
    Task,
)
from auditcoder.lifecycle.planning import task_planner

S1 = NodeId("S1")
SKELETON = '''\
class Counter:
    def up(self):
        """Count.

        >>> Counter().up()
        1
        """

    def down(self):
        """Count down."""
'''
FORMS: dict[str, Form] = {
    "function": FunctionForm(entry="double", signature="def double(x: int) -> int"),
    "bare function": FunctionForm(entry="double"),
    "program": ProgramForm(),
    "files": FilesForm(inputs=("a.txt",), artefacts=("b.txt", "c.txt")),
    "class": ClassForm(name="Counter", skeleton=SKELETON),
}


def task(form: Form) -> Task:
    given = (CallExample(arguments="2", result="4"),) if isinstance(form, FunctionForm) else ()
    return Task(title="It", statement="Do it.", form=form, examples=given)


def graph(form: str) -> TaskGraph:
    return task_planner.plan(task(FORMS[form])).graph


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_a_valid_graph_without_a_request(form: str) -> None:
    plan = task_planner.plan(task(FORMS[form]))
    assert graph_faults(plan.graph) + order_faults(plan.graph) == ()
    assert "nothing was asked" in plan.granularity
    assert plan.losses == ()


def test_a_function_is_one_node_with_the_header_of_the_task() -> None:
    contract = graph("function").by_id[S1].contract
    assert contract is not None
    assert contract.header() == "double(x: int) -> int"


def test_a_function_that_the_task_only_names_may_have_any_parameters() -> None:
    contract = graph("bare function").by_id[S1].contract
    assert contract is not None
    assert (contract.header(), contract.any_params) == ("double(...)", True)


def test_a_program_is_one_node_that_promises_no_function() -> None:
    planned = graph("program")
    node = planned.by_id[S1]
    assert (planned.whole, node.contract) == (S1, None)
    assert [(slot.name, slot.source) for slot in node.inputs] == [("stdin", FromTask())]
    assert [slot.name for slot in node.outputs] == ["stdout"]


def test_the_files_of_a_task_are_the_inputs_and_outputs_of_its_program() -> None:
    node = graph("files").by_id[S1]
    assert [slot.name for slot in node.inputs] == ["a.txt"]
    assert [slot.name for slot in node.outputs] == ["b.txt", "c.txt"]


def test_a_class_has_a_node_for_each_method_and_its_docstrings_state_checks() -> None:
    plan = task_planner.plan(task(FORMS["class"]))
    promised = [n.contract.name for n in plan.graph.nodes if n.contract]
    assert promised == ["up", "down"]
    (check,) = plan.brief.requirements.checks
    assert isinstance(check, PlannedCheck)
    assert (check.id, check.trust) == ("stated-1", Trust.STATED)


def test_a_whole_class_is_one_node_with_the_same_checks() -> None:
    plan = task_planner.whole(task(FORMS["class"]))
    assert plan.graph.whole == S1
    assert [c.id for c in plan.brief.requirements.checks] == ["stated-1"]
    assert plan.given == {}
