"""A sketch becomes a plan: its brief, its graph and the root's code."""

import re

from auditcoder.domain.contract import Clause, CostBudget
from auditcoder.domain.graph import (
    FromLocal,
    FromNode,
    FromTask,
    NodeKind,
)
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.python_names import literal_value
from auditcoder.domain.task import CallExample, StdioExample
from auditcoder.lifecycle.planning.sketch_writer import sketch_text
from auditcoder.prompts import load
from tests.support.scripted_runs import stub
from tests.support.sketches import ADD, ONE, READ, SKETCH, SOLVE, planned


class TestPlan:
    def test_functions_are_arranged_by_their_callers(self) -> None:
        graph = planned(SKETCH).graph
        assert [(n.id, n.parent) for n in graph.nodes] == [
            ("S0", None),
            ("S1", "S0"),
            ("S2", "S0"),
            ("S2_1", "S2"),
        ]
        assert graph.order == ("S1", "S2_1")

    def test_a_function_with_several_callers_is_placed_under_the_root(self) -> None:
        read = stub("read_numbers(data: str) -> list[int]", "Read.", "uses: one")
        graph = planned(read + ADD + ONE + SOLVE).graph
        assert graph.by_id[NodeId("S3")].parent == ROOT

    def test_every_input_has_its_provenance(self) -> None:
        _, read, add, one = planned(SKETCH).graph.nodes
        assert read.provenance() == {"data": FromTask()}
        assert add.provenance() == {"numbers": FromNode(node=NodeId("S1"), slot="result")}
        assert one.provenance() == {"x": FromLocal()}
        assert set(add.dependencies) == {"S1", "S2_1"}

    def test_a_contract_is_read_from_a_docstring(self) -> None:
        _, read, add, one = planned(SKETCH).graph.nodes
        contract = add.contract
        assert contract is not None
        assert contract.requires == (
            Clause(expression="len(numbers) > 0"),
            Clause(text="they are finite"),
        )
        assert contract.ensures == (Clause(expression="result >= min(numbers)"),)
        assert contract.cost == CostBudget(time="O(n log n)")
        assert contract.examples == (CallExample(arguments="[1, 2]", result="3"),)
        assert (read.kind, add.kind, one.kind) == (
            NodeKind.STRING,
            NodeKind("two_pointer"),
            NodeKind.GENERAL,
        )
        assert (add.goal, one.goal) == ("Add them up.", "Take one.")

    def test_the_body_of_the_root_is_given_with_a_main_block(self) -> None:
        code = planned(SKETCH).given[ROOT].source
        assert "str(add_up(numbers))" in code
        assert code.rstrip().endswith('print(solve(sys.stdin.read().removesuffix("\\n")))')

    def test_missing_imports_of_the_root_are_added(self) -> None:
        solve = SOLVE.replace("str(add_up(numbers))", "str(math.floor(add_up(numbers)))")
        assert "import math\n" in planned(READ + ADD + ONE + solve).given[ROOT].source

    def test_a_root_with_other_parameters_is_not_taken_from_the_sketch(self) -> None:
        assert (
            planned(SKETCH.replace("(data: str) -> str:\n    n", "(text) -> str:\n    n")).given
            == {}
        )

    def test_a_sketch_of_only_the_root_becomes_one_node(self) -> None:
        plan = planned('"""Sum.\n\nparts: none needed\n"""\ndef solve(data): ...')
        assert plan.graph.order == ("S1",)
        assert plan.granularity.endswith("(it says: none needed)")
        assert plan.graph.by_id[ROOT].contract is None

    def test_allocated_ids_are_not_reused(self) -> None:
        graph = planned(SKETCH, allocated=("S0", "S1", "S2", "S2_1", "S3")).graph
        assert [n.id for n in graph.nodes] == ["S0", "S4", "S5", "S5_1"]

    def test_a_check_is_derived_from_the_first_example(self) -> None:
        checks = planned(SKETCH).brief.requirements.checks
        assert [c.example for c in checks] == [StdioExample(input="1 2", output="3\n")]

    def test_examples_of_the_root_become_generated_checks(self) -> None:
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('5') == '5'")
        checks = planned(solve).brief.requirements.checks
        assert checks[-1].example == StdioExample(input="5", output="5")


class TestNothingIsLost:
    def test_an_example_with_an_escape_survives(self) -> None:
        escaped = stub(
            "read_numbers(data: str) -> list[int]",
            "Read.",
            r'example: read_numbers("1\n2") == [1, 2]',
        )
        contract = planned(escaped + ADD + ONE + SOLVE).graph.by_id[NodeId("S1")].contract
        assert contract is not None
        (kept,) = contract.examples
        assert isinstance(kept, CallExample)
        assert literal_value(kept.arguments) == "1\n2"

    def test_the_example_of_the_planning_prompt_survives(self) -> None:
        shown = re.findall(r"```python\n(.*?)```", load("sketch").system, re.DOTALL)[1]
        nodes = planned(shown).graph.nodes
        promises = [c for n in nodes if n.contract for c in n.contract.ensures]
        assert [c.expression for c in promises] == [
            r'len(result) <= len(data.split("\n"))',
            "len(result) <= len(pairs)",
        ]
        assert all(n.contract and n.contract.examples for n in nodes if n.id != "S0")

    def test_what_no_contract_holds_reaches_the_writer_with_its_label(self) -> None:
        rich = stub(
            "read_numbers(data: str) -> list[int]",
            "Read the numbers. One a line.",
            "Lines may be empty.",
            "",
            "param data: the whole input",
            "returns: the numbers in order",
            "assumes: no number is negative",
            "trap: a line may end with a blank",
            "example: read_numbers(huge) is fast",
        )
        graph = planned(rich + ADD + ONE + SOLVE).graph
        shown = sketch_text(graph)
        for text in (
            "Read the numbers. One a line.",
            "Lines may be empty.",
            "param data: the whole input",
            "returns: the numbers in order",
            "assumes: no number is negative",
            "trap: a line may end with a blank",
            "example: read_numbers(huge) is fast",
        ):
            assert text in shown
