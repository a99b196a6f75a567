"""A class skeleton becomes a plan without a model: one node for each method."""

import pytest

from auditcoder.domain.graph import FromSelf, FromTask, NodeKind, graph_faults, order_faults
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import ClassForm, Task
from auditcoder.lifecycle.planning.class_planner import contracts, plan
from auditcoder.lifecycle.planning.plan import Plan

SKELETON = '''\
import math
from os import *

LIMIT = 3


class Stack(list):
    """A bounded
    stack.

    More about it.
    """

    size = 0

    def __init__(self, limit: int = LIMIT):
        super().__init__()
        self.limit = limit

    def push(self, item: int) -> bool:
        """Add an item.
        :param item: the item
        """

    def peek(self):
        ...


if __name__ == "__main__":
    print(Stack())
'''


def planned(skeleton: str = SKELETON, name: str = "Stack") -> Plan:
    form = ClassForm(name=name, skeleton=skeleton)
    return plan(Task(title="T", statement="S", form=form), form)


def test_each_method_is_a_node_in_the_order_of_the_skeleton() -> None:
    graph = planned().graph
    assert graph_faults(graph) == order_faults(graph) == ()
    assert [n.contract.name for n in graph.nodes if n.contract] == ["__init__", "push", "peek"]
    assert graph.order == ("S1", "S2", "S3")
    assert graph.nodes[0].dependencies == graph.order


def test_goals_are_the_first_paragraphs_of_the_docstrings() -> None:
    goals = [n.goal for n in planned().graph.nodes]
    assert goals == [
        "A bounded stack.",
        "Do what __init__ says",
        "Add an item.",
        "Do what peek says",
    ]


def test_parameters_come_from_the_object_and_from_the_caller() -> None:
    push = planned().graph.by_id[NodeId("S2")]
    assert push.provenance() == {"self": FromSelf(), "item": FromTask()}
    assert (push.kind, push.outputs[0].type) == (NodeKind.GENERAL, "bool")


def test_methods_that_are_complete_are_given_code_with_the_scope_of_the_class() -> None:
    given = planned().given
    assert set(given) == {ROOT, "S1"}
    init = given[NodeId("S1")]
    assert (init.agent, init.scope) == ("skeleton", "Stack")
    assert init.source.startswith("def __init__(self, limit: int = LIMIT):\n    super()")


def test_the_root_is_given_the_class_statement_without_its_methods() -> None:
    source = planned().given[ROOT].source
    assert "import math" in source
    assert "LIMIT = 3" in source
    assert "class Stack(list):" in source
    assert "size = 0" in source
    for left_out in ("def ", "__main__", "import *"):
        assert left_out not in source


def test_a_class_of_methods_only_is_given_an_empty_body() -> None:
    made = planned("class C:\n    def f(self): ...\n", "C")
    assert made.given[ROOT].source == "class C:\n    pass\n"
    assert made.graph.nodes[0].goal == "Be the class C"


def test_overloads_of_one_method_are_one_node() -> None:
    skeleton = (
        "class C:\n    @property\n    def x(self):\n        return self._x\n"
        "    @x.setter\n    def x(self, value):\n        self._x = value\n"
    )
    made = planned(skeleton, "C")
    assert made.graph.order == ("S1",)
    source = made.given[NodeId("S1")].source
    assert source.startswith("@property\ndef x(self):")
    assert "\n\n@x.setter\ndef x(self, value):" in source


@pytest.mark.parametrize(("name", "methods"), [("A", ["f"]), ("B", ["g", "h"])])
def test_contracts_are_those_of_the_named_class(name: str, methods: list[str]) -> None:
    skeleton = (
        "class A:\n    def f(self): ...\nclass B:\n"
        "    def g(self, x: int) -> int: ...\n    def h(self): ...\n"
    )
    found = contracts(ClassForm(name=name, skeleton=skeleton))
    assert [c.name for c in found] == methods


def test_the_plan_says_that_no_model_was_asked() -> None:
    made = planned()
    assert made.planner == "skeleton"
    assert made.granularity == "3 nodes: the skeleton's methods, one each; nothing was asked"
