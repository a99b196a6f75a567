"""Sketches: Python stubs become a graph whose ids are ours, or are refused with the reason."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditcoder.domain.contract import Clause, Cost
from auditcoder.domain.graph import (
    FromLocal,
    FromNode,
    FromTask,
    Kind,
    TaskGraph,
    apply,
    graph_faults,
    order_faults,
)
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import CallExample, FunctionForm, ProgramForm, StdioExample, Task
from auditcoder.lifecycle.forms import given_code, root_of
from auditcoder.lifecycle.planning.grafting import graft
from auditcoder.lifecycle.planning.plan import Plan, PlanRefused
from auditcoder.lifecycle.planning.promises import call_example, read_clause
from auditcoder.lifecycle.planning.rendering import docstring, sketch_text
from auditcoder.lifecycle.planning.sketch import plan_of
from auditcoder.lifecycle.planning.stubs import read_sketch
from tests.support.scripts import stub

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
    return plan_of(text, task, root_of(task), [NodeId(n) for n in allocated])


class TestAPlan:
    def test_arranges_functions_by_who_calls_them(self) -> None:
        graph = planned(SKETCH).graph
        assert [(n.id, n.parent) for n in graph.nodes] == [
            ("S0", None),
            ("S1", "S0"),
            ("S2", "S0"),
            ("S2_1", "S2"),
        ]
        assert graph.order == ("S1", "S2_1")

    def test_puts_what_several_call_under_the_root(self) -> None:
        read = stub("read_numbers(data: str) -> list[int]", "Read.", "uses: one")
        graph = planned(read + ADD + ONE + SOLVE).graph
        assert graph.by_id[NodeId("S3")].parent == ROOT

    def test_knows_where_values_come_from(self) -> None:
        _, read, add, one = planned(SKETCH).graph.nodes
        assert read.provenance() == {"data": FromTask()}
        assert add.provenance() == {"numbers": FromNode(node=NodeId("S1"), slot="result")}
        assert one.provenance() == {"x": FromLocal()}
        assert set(add.dependencies) == {"S1", "S2_1"}

    def test_reads_a_contract_out_of_a_docstring(self) -> None:
        _, read, add, one = planned(SKETCH).graph.nodes
        contract = add.contract
        assert contract is not None
        assert contract.requires == (
            Clause(expression="len(numbers) > 0"),
            Clause(text="they are finite"),
        )
        assert contract.ensures == (Clause(expression="result >= min(numbers)"),)
        assert contract.cost == Cost(time="O(n log n)")
        assert contract.examples == (CallExample(arguments="[1, 2]", result="3"),)
        assert (read.kind, add.kind, one.kind) == (Kind.STRING, Kind("two_pointer"), Kind.GENERAL)
        assert (add.goal, one.goal) == ("Add them up.", "Take one.")

    def test_gives_the_roots_body_with_its_main_block(self) -> None:
        code = planned(SKETCH).given[ROOT].source
        assert "str(add_up(numbers))" in code
        assert code.rstrip().endswith('print(solve(sys.stdin.read().removesuffix("\\n")))')

    def test_completes_the_roots_imports(self) -> None:
        solve = SOLVE.replace("str(add_up(numbers))", "str(math.floor(add_up(numbers)))")
        assert "import math\n" in planned(READ + ADD + ONE + solve).given[ROOT].source

    def test_asks_for_the_root_where_its_parameters_are_others(self) -> None:
        assert (
            planned(SKETCH.replace("(data: str) -> str:\n    n", "(text) -> str:\n    n")).given
            == {}
        )

    def test_is_one_node_where_there_is_only_the_root(self) -> None:
        plan = planned('"""Sum.\n\nparts: none needed\n"""\ndef solve(data): ...')
        assert plan.graph.order == ("S1",)
        assert plan.granularity.endswith("(it says: none needed)")
        assert plan.graph.by_id[ROOT].contract is None

    def test_uses_no_id_that_was_ever_given(self) -> None:
        graph = planned(SKETCH, allocated=("S0", "S1", "S2", "S2_1", "S3")).graph
        assert [n.id for n in graph.nodes] == ["S0", "S4", "S5", "S5_1"]

    def test_derives_a_check_from_the_first_example(self) -> None:
        checks = planned(SKETCH).brief.requirements.checks
        assert [c.example for c in checks] == [StdioExample(input="1 2", output="3\n")]

    def test_takes_examples_of_the_root_as_hypotheses(self) -> None:
        solve = stub("solve(data: str) -> str", "Solve.", "example: solve('5') == '5'")
        checks = planned(solve).brief.requirements.checks
        assert checks[-1].example == StdioExample(input="5", output="5")


class TestARefusedSketch:
    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("def solve(:", "is not Python"),
            ("def other(): ...", "no root function solve"),
            (READ * 2 + SOLVE, "names read_numbers twice"),
            ("class A: ...\n" + SOLVE, "no classes"),
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
    def test_says_why(self, text: str, why: str) -> None:
        with pytest.raises(PlanRefused, match=why):
            planned(text)

    def test_does_not_miss_stubs_for_what_is_given(self) -> None:
        statement = "def poly(x):\n    return x * x\n\ndef f(x):\n    ...\n"
        assert "def poly" in given_code(statement, "f")
        task = Task(
            title="F", statement=statement, form=FunctionForm(entry="f", signature="def f(x)")
        )
        planned(ONE + "def f(x):\n    return one(poly(x))\n", task)

    def test_refuses_or_drops_stubs_for_what_is_given(self) -> None:
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


NAMES = ("a", "b", "c", "d", "e", "f")


@st.composite
def sketches(draw: st.DrawFn) -> str:
    """Sketches in which functions use each other in any way."""
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=6))
    stubs = []
    for name in names:
        uses = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3))
        facts = [f"uses: {', '.join(uses)}"] if uses else []
        stubs.append(stub(f"{name}(x: int) -> int", f"Do {name}.", *facts))
    called = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    body = f"return str({' + '.join(f'{n}(1)' for n in called)})" if called else "..."
    return "".join(stubs) + f"def solve(data: str) -> str:\n    {body}\n"


@given(sketches())
def test_every_sketch_is_refused_or_makes_a_valid_graph(text: str) -> None:
    try:
        graph = planned(text).graph
    except PlanRefused:
        return
    assert graph_faults(graph) == order_faults(graph) == ()
    assert all(len(kids) <= 5 for kids in graph.children.values())
    assert all(len(graph.path(n)) <= 4 for n in graph.ids)


@given(sketches())
def test_a_graph_is_shown_as_the_sketch_that_it_came_from(text: str) -> None:
    try:
        graph = planned(text).graph
    except PlanRefused:
        return
    known = {n.contract.name: n.contract for n in graph.nodes if n.contract}
    again = read_sketch(sketch_text(graph), "solve")
    shown = {name: s.contract for name, s in again.stubs.items()} | {"solve": again.root.contract}
    assert {n: c.signature for n, c in shown.items()} == {n: c.signature for n, c in known.items()}


class TestClauses:
    @pytest.mark.parametrize(
        ("text", "executable"),
        [
            ("result > 0", True),
            ("all(x > y for y in numbers)", True),
            ("`len(numbers) > 0`", True),
            ("sorted(numbers, key=lambda k: -k) == numbers", True),
            ("the result is positive", False),
            ("result > limit", False),
            ("True", False),
            ("", False),
        ],
    )
    def test_are_executable_over_what_is_known(self, text: str, executable: bool) -> None:
        clause = read_clause(text, {"x", "numbers", "result"})
        assert bool(clause.expression) is executable

    @pytest.mark.parametrize(
        ("text", "example"),
        [
            ("f(1, [2]) == 3", CallExample(arguments="1, [2]", result="3")),
            ("f(1) -> 'a'", CallExample(arguments="1", result="'a'")),
            ("f(x) == 3", None),
            ("f(1)", None),
            ("g(1) == 3", None),
            ("f(a=1) == 3", None),
            ("f(1) == 3 and so on", None),
        ],
    )
    def test_examples_are_plain_values(self, text: str, example: CallExample | None) -> None:
        assert call_example(text, "f") == example

    @given(st.text())
    def test_any_text_is_a_clause(self, text: str) -> None:
        clause = read_clause(text, {"result"})
        assert not (clause.text and clause.expression)


class TestAGraft:
    GRAPH = planned(SKETCH).graph
    ALLOCATED = tuple(GRAPH.ids)
    TOP = NodeId("S2")
    BODY = "def add_up(numbers: list[int]) -> int:\n    return {}\n"

    def grafted(self, text: str) -> TaskGraph:
        delta, _ = graft(text, self.GRAPH, self.TOP, self.ALLOCATED)
        return apply(self.GRAPH, delta)

    def test_keeps_what_survives_under_its_id(self) -> None:
        new = stub("two(x: int) -> int", "Take two.")
        delta, _ = graft(
            ONE + new + self.BODY.format("one(two(1))"), self.GRAPH, self.TOP, self.ALLOCATED
        )
        assert delta.retired == ()
        assert [n.contract.name for n in delta.added if n.contract] == ["two"]
        after = apply(self.GRAPH, delta)
        assert {n.id for n in after.nodes} >= self.GRAPH.ids

    def test_gives_another_goal_another_id(self) -> None:
        other = ONE.replace("Take one.", "Take one, but well.")
        delta, _ = graft(other + self.BODY.format("one(1)"), self.GRAPH, self.TOP, self.ALLOCATED)
        assert delta.retired == ("S2_1",)
        assert [n.id for n in delta.added] == ["S2_2"]

    def test_may_make_a_leaf_of_a_branch(self) -> None:
        after = self.grafted(self.BODY.format("0").replace("return 0", "..."))
        assert after.order == ("S1", "S2")

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            ("def add_up(xs): ...", "must stay"),
            (READ + BODY.format("read_numbers('')"), "a name of the rest"),
            (
                stub("a(x: int) -> int", "A.", "uses: b")
                + stub("b(x: int) -> int", "B.", "uses: c")
                + stub("c(x: int) -> int", "C.")
                + BODY.format("a(1)"),
                "deep",
            ),
        ],
    )
    def test_that_does_not_fit_is_refused(self, text: str, why: str) -> None:
        with pytest.raises(PlanRefused, match=why):
            self.grafted(text)

    @given(sketches())
    def test_leaves_the_rest_as_it_is(self, text: str) -> None:
        inner = text.replace("def solve(data: str) -> str", "def add_up(numbers: list[int]) -> int")
        try:
            after = self.grafted(inner)
        except PlanRefused:
            return
        assert graph_faults(after) == order_faults(after) == ()
        frozen = self.GRAPH.ids - self.GRAPH.subtree(self.TOP)
        for node in frozen:
            assert after.by_id[node] == self.GRAPH.by_id[node]
        fresh = after.ids - self.GRAPH.ids
        assert not fresh & set(self.ALLOCATED)
        assert all(n.startswith("S2_") for n in fresh)


def test_a_docstring_never_ends_its_own_string() -> None:
    graph = planned(SKETCH.replace("Add them up.", "Say ''' and \\\\ twice.")).graph
    text = f'"""{docstring(graph.by_id[NodeId("S2")])}"""'
    assert compile(text, "docstring", "eval")
