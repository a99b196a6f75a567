"""Parts and interfaces become a valid graph, or findings that say why not."""

from typing import Any

import msgspec
import pytest

from auditcoder.domain.contract import CostBudget
from auditcoder.domain.task import FunctionForm, Task
from auditcoder.lifecycle.planning.plan_review import ReviewCheck
from auditcoder.lifecycle.planning.planner_roles import Decomposition, Interfaces
from auditcoder.lifecycle.planning.staged_graph import Outline, names_around, outlined
from auditcoder.lifecycle.task_forms import root_of
from tests.support.staged_plans import (
    INTERFACES,
    PARTS,
    TASK,
    interface,
    part,
    planned,
    size,
    value,
)


class TestInvalidDecompositions:
    @pytest.mark.parametrize(
        "parts",
        [
            [part("a", "b"), part("b", "a")],
            [part("a", "a")],
            [part("a", "nobody"), part("b")],
            [part(f"p{n}") for n in range(9)],
            [part("a"), part("b", "a"), part("c", "b"), part("d", "c")],
            [part("a", dependencies=["b"]), part("b", dependencies=["a"])],
            [part("a", inputs=[value("x", "b.out")]), part("b", inputs=[value("y", "a.out")])],
            [],
            [part("S0"), part("Root")],
        ],
    )
    def test_an_invalid_decomposition_is_replaced_by_one_node(
        self, parts: list[dict[str, Any]]
    ) -> None:
        named = {"interfaces": [interface(p["label"], "", "x") for p in parts]}
        result = planned(task_decomposer={"parts": parts}, interface_designer=named)
        assert size(result) == 1
        assert "no plan could be used" in result.granularity

    @pytest.mark.parametrize(
        "parts",
        [
            [part("a", dependencies=["a", "nobody", "S0"]), part("b")],
            [part("a"), part("b", "a", dependencies=["a"]), part("c", "a")],
            [part("a", inputs=[value("x", "a.out"), value("y", "z"), value("z", "..")]), part("b")],
            [part("a", inputs=[value("x", "S0.data")]), part("b", inputs=[value("x", "a")])],
            [part("a.b", outputs=[]), part("b", inputs=[value("x", "a.b"), value("y", "a.b.q")])],
            [part("", goal=""), part(" ")],
        ],
    )
    def test_a_decomposition_with_wrong_details_is_still_used(
        self, parts: list[dict[str, Any]]
    ) -> None:
        labels = [p["label"].strip() or f"part {n}" for n, p in enumerate(parts, start=1)]
        named = {"interfaces": [interface(x, f"f{n}", "x") for n, x in enumerate(labels)]}
        result = planned(task_decomposer={"parts": parts}, interface_designer=named)
        assert size(result) == len(parts)

    @pytest.mark.parametrize(
        "name", ["sum", "solve", "sys", "class", "two words", "", "__init__", "read_values", "ﬁ"]
    )
    def test_an_unavailable_function_name_is_refused(self, name: str) -> None:
        reply = {"interfaces": [*INTERFACES["interfaces"][:2], interface("mean", name or " ")]}
        assert size(planned(interface_designer=reply)) == 1

    @pytest.mark.parametrize("params", [["x", "x"], ["a b"], ["x=1"], ["lambda"], [""]])
    def test_invalid_parameter_names_are_refused(self, params: list[str]) -> None:
        reply = {"interfaces": [*INTERFACES["interfaces"][:2], interface("mean", "", *params)]}
        assert size(planned(interface_designer=reply)) == 1

    @pytest.mark.parametrize(
        ("reply", "kept"),
        [
            ("list[int]", "list[int]"),
            ("int | None", "int | None"),
            ("int, str", "(int, str)"),
            ("list[\n    int]", "list[int]"),
            ("list of ints", ""),
            ("integer", ""),
            ("int = 3", ""),
            ("print(1)", ""),
            ("(" * 30 + "int" + ")" * 30, "int"),
            ("list[" * 150 + "int" + "]" * 150, None),
        ],
    )
    def test_only_valid_annotations_are_kept(self, reply: str, kept: str | None) -> None:
        mean = {**interface("mean"), "params": [{"name": "x", "type": reply}], "returns": reply}
        result = planned(interface_designer={"interfaces": [*INTERFACES["interfaces"][:2], mean]})
        contract = result.graph.nodes[-1].contract
        assert contract is not None
        if kept is not None:
            assert (contract.params[0].type, contract.returns) == (kept, kept)


def outline(parts: list[dict[str, Any]], interfaces: list[dict[str, Any]]) -> Outline:
    return outlined(
        root_of(TASK),
        msgspec.convert({"parts": parts}, Decomposition),
        msgspec.convert({"interfaces": interfaces}, Interfaces),
        CostBudget(time="O(n)"),
    )


class TestOutline:
    def test_a_sound_decomposition_has_a_graph_and_no_finding(self) -> None:
        result = outline(PARTS["parts"], INTERFACES["interfaces"])
        assert result.findings == ()
        assert result.usable
        assert result.graph is not None
        assert list(result.parts) == ["S1", "S2", "S2_1"]
        assert result.root is not None
        assert result.root.cost == CostBudget(time="O(n)")

    def test_costs_are_those_of_the_leaves(self) -> None:
        result = outline(PARTS["parts"], INTERFACES["interfaces"])
        assert result.costs == {"read": CostBudget(time="O(n)"), "mean": CostBudget(time="O(n)")}

    def test_one_part_is_usable_without_a_graph_and_without_an_interface(self) -> None:
        result = outline([part("all")], [])
        assert (result.graph, result.usable) == (None, True)
        assert result.only is not None
        assert result.only.label == "all"

    @pytest.mark.parametrize(
        ("parts", "check", "text"),
        [
            ([], ReviewCheck.TREE, "there are no parts"),
            ([part("a"), part("a")], ReviewCheck.TREE, "two parts have the label a"),
            ([part("a", "x")], ReviewCheck.TREE, "a has the parent x, which is no part"),
            (
                [part("a", "b"), part("b", "a")],
                ReviewCheck.TREE,
                "a, b are each other's parents in a circle",
            ),
            (
                [part("a", dependencies=["b"]), part("b", dependencies=["a"])],
                ReviewCheck.DEPENDENCIES,
                "the parts need each other in a circle",
            ),
            (
                [part("a"), part("b", "a", dependencies=["a"])],
                ReviewCheck.DEPENDENCIES,
                "b depends on a, of which it is a part",
            ),
        ],
    )
    def test_a_fault_of_the_parts_is_a_finding(
        self, parts: list[dict[str, Any]], check: ReviewCheck, text: str
    ) -> None:
        result = outline(parts, [interface(p["label"], f"do_{p['label']}", "x") for p in parts])
        assert (check, text) in [(f.check, f.text) for f in result.findings]


def test_names_around_the_root_are_those_of_the_given_code_and_the_main_block() -> None:
    statement = "import math\ndef helper(x):\n    return x\ndef f(x):\n    ...\n"
    form = FunctionForm(entry="f", signature="def f(x)")
    task = Task(title="T", statement=statement, form=form)
    assert names_around(root_of(task)) >= {"math", "helper"}
    assert "sys" in names_around(root_of(TASK))


def test_an_output_that_is_listed_twice_is_kept_once() -> None:
    outputs = [{"name": "out", "type": "int"}, {"name": "out", "type": "str"}]
    parts = [part("a", outputs=outputs), part("b")]
    designed = [interface("a", "f", "x"), interface("b", "g", "x")]
    result = planned(task_decomposer={"parts": parts}, interface_designer={"interfaces": designed})
    assert [slot.name for slot in result.graph.nodes[1].outputs] == ["out"]
