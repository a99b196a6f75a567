"""A plan: its brief, a single-node plan, the execution order and the agents of given code."""

import pytest

from auditcoder.domain.brief import Approach
from auditcoder.domain.contract import Contract, Param
from auditcoder.domain.evidence import Trust
from auditcoder.domain.graph import FromTask, Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    Example,
    Form,
    FunctionForm,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.lifecycle.planning.class_planner import plan as plan_class
from auditcoder.lifecycle.planning.plan import (
    GIVEN_BY,
    PlanRefused,
    brief_for,
    checked,
    ordered,
    root_node,
    single,
)
from auditcoder.lifecycle.task_forms import root_of
from tests.support.sketches import SKETCH, planned

CONTRACT = Contract(name="f", params=(Param(name="x", type="int"),), returns="str")


def task(form: Form | None = None, *examples: Example, title: str = "T") -> Task:
    return Task(title=title, statement="Do it.", form=form or ProgramForm(), examples=examples)


def node(name: str, parent: str | None = "S0", *dependencies: str) -> Node:
    return Node(
        id=NodeId(name),
        goal=f"Do {name}",
        kind=NodeKind.GENERAL,
        parent=None if parent is None else NodeId(parent),
        dependencies=tuple(NodeId(d) for d in dependencies),
    )


class TestBrief:
    def test_a_brief_holds_the_facts_of_the_task_and_the_approach(self) -> None:
        example = StdioExample(input="1\n", output="2\n")
        approach = Approach(strategy="count")
        brief = brief_for(task(None, example), approach)
        assert (brief.parsed.title, brief.parsed.samples) == ("T", (example,))
        assert brief.approach == approach

    def test_a_program_is_also_checked_without_the_last_line_ending(self) -> None:
        first = StdioExample(input="1\n\n", output="2\n")
        second = StdioExample(input="3\n", output="4\n")
        (check,) = brief_for(task(None, first, second), Approach()).requirements.checks
        assert (check.id, check.trust) == ("derived-1", Trust.DERIVED)
        assert check.example == StdioExample(input="1", output="2\n")

    @pytest.mark.parametrize(
        ("form", "example"),
        [
            (ProgramForm(), StdioExample(input="1", output="2\n")),
            (ProgramForm(), StdioExample(input=" \n", output="2\n")),
            (FunctionForm(entry="f"), CallExample(arguments="1", result="2")),
        ],
    )
    def test_an_example_without_a_last_line_ending_derives_no_check(
        self, form: Form, example: Example
    ) -> None:
        assert brief_for(task(form, example), Approach()).requirements.checks == ()

    def test_generated_checks_are_numbered_after_the_derived_ones(self) -> None:
        given = StdioExample(input="1\n", output="2\n")
        generated = (
            (StdioExample(input="5\n", output="6\n"), "five"),
            (StdioExample(input="7\n", output="8\n"), "seven"),
        )
        checks = brief_for(task(None, given), Approach(), generated).requirements.checks
        assert [(c.id, c.trust, c.description) for c in checks[1:]] == [
            ("generated-2", Trust.GENERATED, "five"),
            ("generated-3", Trust.GENERATED, "seven"),
        ]

    def test_a_generated_check_that_repeats_a_given_example_is_left_out(self) -> None:
        given = CallExample(arguments="1", result="2", explanation="as stated")
        repeated = (CallExample(arguments="1", result="2", explanation="again"), "planned")
        contradicting = (CallExample(arguments="1", result="3"), "planned")
        brief = brief_for(
            task(FunctionForm(entry="f"), given), Approach(), (repeated, contradicting)
        )
        assert [c.example for c in brief.requirements.checks] == [contradicting[0]]


class TestSingleNode:
    def test_one_node_has_the_contract_and_the_root_only_starts_it(self) -> None:
        form = task(title="")
        made = single(form, root_of(form), "because", "sketch")
        top, only = made.graph.nodes
        assert (top.contract, top.dependencies) == (None, ("S1",))
        assert (only.id, only.parent, only.goal) == ("S1", ROOT, "Do what the task asks")
        assert only.contract == root_of(form).contract
        assert only.provenance() == {"data": FromTask()}
        assert (made.planner, made.granularity) == ("sketch", "because")
        assert checked(made.graph) == made.graph

    def test_one_node_takes_another_contract_goal_and_a_fresh_id(self) -> None:
        form = task()
        allocated = [ROOT, NodeId("S1"), NodeId("S2")]
        made = single(form, root_of(form), "", "sketch", CONTRACT, allocated, "Count")
        only = made.graph.nodes[1]
        assert (only.id, only.contract, only.goal) == ("S3", CONTRACT, "Count")

    def test_the_main_block_is_given_to_the_root_of_a_program(self) -> None:
        form = task()
        given = single(form, root_of(form), "", "sketch").given[ROOT]
        assert (given.agent, given.reply) == ("form", None)
        assert "__main__" in given.source

    def test_a_function_without_surrounding_code_gives_the_root_nothing(self) -> None:
        form = task(FunctionForm(entry="f", signature="def f(x: int) -> int"))
        assert single(form, root_of(form), "", "sketch").given == {}


class TestOrder:
    def test_leaves_follow_what_they_depend_on(self) -> None:
        nodes = (node("S0", None), node("S1", "S0", "S2"), node("S2"), node("S2_1", "S2"))
        assert ordered(nodes) == ("S2_1", "S1")

    def test_dependencies_in_a_circle_are_refused(self) -> None:
        nodes = (node("S0", None), node("S1", "S0", "S2"), node("S2", "S0", "S1"))
        with pytest.raises(PlanRefused, match="in a circle"):
            ordered(nodes)


def test_an_invalid_graph_is_refused_with_its_faults() -> None:
    graph = TaskGraph(nodes=(root_node(CONTRACT, ()), node("S1", "S9")), order=(NodeId("S1"),))
    with pytest.raises(PlanRefused, match="S9"):
        checked(graph)


def test_the_root_takes_its_inputs_from_the_task() -> None:
    root = root_node(CONTRACT, (NodeId("S1"),))
    assert root.provenance() == {"x": FromTask()}
    assert (root.kind, root.outputs[0].type) == (NodeKind.ORCHESTRATION, "str")


def test_every_planner_names_an_agent_of_given_code() -> None:
    program = task()
    skeleton = ClassForm(name="C", skeleton="class C:\n    def f(self):\n        return 1\n")
    plans = (
        planned(SKETCH),
        single(program, root_of(program), "", "sketch"),
        plan_class(task(skeleton), skeleton),
    )
    agents = {given.agent for plan in plans for given in plan.given.values()}
    assert agents == {"form", "sketch", "skeleton"}
    assert agents <= GIVEN_BY
