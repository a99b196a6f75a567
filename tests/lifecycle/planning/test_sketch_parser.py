"""Python stubs become nodes with allocated ids, or are refused with the reason."""

import pytest
from hypothesis import given

from auditcoder.domain.graph import (
    graph_faults,
    order_faults,
)
from auditcoder.domain.task import FunctionForm, Task
from auditcoder.lifecycle.planning.plan import PlanRefused
from auditcoder.lifecycle.task_forms import given_code
from tests.support.scripted_runs import stub
from tests.support.sketches import ONE, READ, SOLVE, planned, sketches


class TestRefusedSketch:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("def solve(:", "is not Python"),
            ("def other(): ...", "no root function solve"),
            (READ * 2 + SOLVE, "names read_numbers twice"),
            (
                "class A:\n    def f(self): ...\n" + SOLVE,
                "the class A has methods without a body: f",
            ),
            (stub("print(x: int) -> int", "P.") + SOLVE, "Python's own name"),
            ("def solve(data):\n    return f(data)\n" + READ, "calls f, which has no stub"),
            (
                "".join(stub(f"f{i}(x: int) -> int", "Do.") for i in range(6))
                + "def solve(data): ...",
                "6 functions on one level",
            ),
            (
                stub("a(x: int) -> int", "A.", "uses: b")
                + stub("b(x: int) -> int", "B.", "uses: c")
                + stub("c(x: int) -> int", "C.", "uses: d")
                + stub("d(x: int) -> int", "D.")
                + "def solve(data): ...",
                "levels deep",
            ),
            (
                stub("a(x: int) -> int", "A.", "uses: b")
                + stub("b(x: int) -> int", "B.", "uses: a")
                + "def solve(data): ...",
                "in a circle",
            ),
        ],
    )
    def test_a_sketch_is_refused_with_the_reason(self, text: str, why: str) -> None:
        with pytest.raises(PlanRefused, match=why):
            planned(text)

    def test_given_functions_need_no_stubs(self) -> None:
        statement = "def poly(x):\n    return x * x\n\ndef f(x):\n    ...\n"
        assert "def poly" in given_code(statement, "f")
        task = Task(
            title="F", statement=statement, form=FunctionForm(entry="f", signature="def f(x)")
        )
        planned(ONE + "def f(x):\n    return one(poly(x))\n", task)

    def test_stubs_of_given_functions_are_refused_or_dropped(self) -> None:
        statement = "def poly(x):\n    return x * x\n\ndef f(x):\n    ...\n"
        task = Task(
            title="F", statement=statement, form=FunctionForm(entry="f", signature="def f(x)")
        )
        poly = stub("poly(x: int) -> int", "Square.")
        try:
            plan = planned(poly + ONE + "def f(x):\n    return one(poly(x))\n", task)
        except PlanRefused:
            return
        assert "poly" not in {n.contract.name for n in plan.graph.nodes if n.contract}


@given(sketches())
def test_every_sketch_is_refused_or_makes_a_valid_graph(text: str) -> None:
    try:
        graph = planned(text).graph
    except PlanRefused:
        return
    assert graph_faults(graph) == order_faults(graph) == ()
    assert all(len(kids) <= 5 for kids in graph.children.values())
    assert all(len(graph.path(n)) <= 4 for n in graph.ids)
