"""The staged planner: whatever the roles answer, the resulting plan can be committed."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditcoder.domain.contract import Clause
from auditcoder.domain.errors import BudgetExceeded
from auditcoder.domain.evidence import Trust
from auditcoder.domain.graph import (
    FromLocal,
    FromNode,
    FromTask,
    NodeKind,
)
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import (
    CallExample,
    FilesForm,
    FunctionForm,
    Limits,
    ProgramForm,
    StdioExample,
    Task,
)
from auditcoder.domain.values import encode
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.planning.planner_roles import Role
from auditcoder.lifecycle.planning.staged_planner import plan
from tests.support.staged_plans import (
    ALL,
    FUNCTION,
    GOOD,
    INTERFACES,
    PARTS,
    TASK,
    Answer,
    PlanningSession,
    case,
    interface,
    once,
    part,
    planned,
    size,
    value,
)


class TestPassingPlan:
    def test_the_eight_roles_are_asked_once_each_in_order(self) -> None:
        session = PlanningSession()
        result = session.plan()
        assert session.asked == ALL
        assert result.planner == "staged"
        assert result.granularity == "3 nodes: each can be tested alone"
        assert result.given == {}

    def test_ids_are_allocated_in_the_order_of_the_parts(self) -> None:
        graph = planned().graph
        assert [n.id for n in graph.nodes] == ["S0", "S1", "S2", "S2_1"]
        assert graph.order == ("S1", "S2_1")
        root, read, count, mean = graph.nodes
        assert root.kind is NodeKind.ORCHESTRATION
        assert root.contract is not None
        assert root.contract.header() == "solve(data: str) -> str"
        assert root.dependencies == ("S1", "S2")
        assert (read.kind, count.dependencies, mean.parent) == (
            NodeKind.STRING,
            ("S1", "S2_1"),
            "S2",
        )
        assert count.hints == ("use a set",)

    def test_every_input_has_its_provenance(self) -> None:
        _, read, count, mean = planned().graph.nodes
        assert read.provenance() == {"data": FromTask()}
        assert count.provenance() == {"values": FromNode(node=NodeId("S1"), slot="out")}
        assert mean.provenance() == {"values": FromLocal()}

    def test_conditions_that_are_expressions_become_executable_clauses(self) -> None:
        _, read, _, mean = planned().graph.nodes
        assert mean.contract is not None
        assert mean.contract.ensures == (
            Clause(text="result is the mean"),
            Clause(expression="result >= values"),
        )
        assert read.contract is not None
        assert read.contract.examples == (CallExample(arguments="1", result="1"),)
        assert read.contract.cost.time == "O(n)"

    def test_the_brief_prefers_the_facts_of_the_task(self) -> None:
        brief = planned().brief
        assert brief.parsed.title == TASK.title
        assert brief.parsed.limits == Limits(seconds=20.0, memory_mb=256)
        assert brief.parsed.samples == TASK.examples
        assert brief.parsed.ranges[0].maximum == 1000
        approach = brief.approach
        assert approach.strategy == PARTS["strategy"]
        assert approach.reasoning == ("n is small", "a mean", "a set")
        assert (approach.cost.time, approach.cost.space) == ("O(n log n)", "O(n)")
        assert approach.assumptions == ("empty counts as 0",)
        assert approach.traps
        assert approach.choices

    def test_each_edge_case_becomes_a_generated_check(self) -> None:
        requirements = planned().brief.requirements
        generated = [c for c in requirements.checks if c.trust is Trust.GENERATED]
        assert [c.description for c in generated] == ["one", "equal", "sign"]
        assert generated[0].example == StdioExample(input="1\n", output="0\n")

    def test_each_role_sees_the_earlier_answers_as_a_common_prefix(self) -> None:
        session = PlanningSession()
        session.plan()
        shared = session.last_request(Role.TASK_DECOMPOSER).split("# Your step")[0]
        assert session.last_request(Role.INTERFACE_DESIGNER).startswith(shared)
        assert "# The algorithms" in shared
        systems = {r.messages[0].text for r in session.model.asked}
        assert len(systems) == 1

    def test_the_test_case_analyzer_does_not_see_the_plan(self) -> None:
        session = PlanningSession()
        session.plan()
        assert "# The parts" not in session.last_request(Role.TEST_CASE_ANALYZER)
        assert "# Limits and ranges" in session.last_request(Role.TEST_CASE_ANALYZER)

    def test_a_part_may_have_the_name_of_the_root_as_its_label(self) -> None:
        parts = [part("solve"), part("count", "solve"), part("mean", "solve")]
        named = [interface(n, f"do_{n}") for n in ("solve", "count", "mean")]
        result = planned(task_decomposer={"parts": parts}, interface_designer={"interfaces": named})
        assert [n.id for n in result.graph.nodes] == ["S0", "S1", "S1_1", "S1_2"]

    def test_a_root_that_the_decomposer_lists_is_not_a_part(self) -> None:
        listed = [{**part("S0"), "kind": "orchestration"}]
        parts = [{**p, "parent": p["parent"] or "S0"} for p in PARTS["parts"]]
        result = planned(task_decomposer={**PARTS, "parts": listed + parts})
        assert size(result) == 3


class TestOnePart:
    ONE = {"why": "one idea decides", "parts": [part("all", kind="dp", hints=["think"])]}

    def test_one_part_becomes_one_node_with_the_contract_of_the_root(self) -> None:
        result = planned(task_decomposer=self.ONE, interface_designer={"interfaces": []})
        root, node = result.graph.nodes
        assert root.contract is None
        assert node.contract is not None
        assert node.contract.header() == "solve(data: str) -> str"
        assert (node.kind, node.hints) == (NodeKind.DP, ("think",))
        assert result.granularity == "one node: one idea decides"
        assert result.brief.approach.choices[0].agent == "agent_math"
        assert ROOT in result.given

    def test_one_part_keeps_the_promises_of_its_interface(self) -> None:
        reply = {"interfaces": [interface("all", "anything", "data", ensures=["len(result) > 0"])]}
        result = planned(task_decomposer=self.ONE, interface_designer=reply)
        contract = result.graph.nodes[1].contract
        assert contract is not None
        assert contract.ensures == (Clause(expression="len(result) > 0"),)


class TestFunctionTask:
    CASES = {
        "edge_cases": [
            case("[1, 2]", "1"),
            case("above([])", "0"),
            case("values=[3]", "0"),
            case("[1] * 1000", "0"),
            case("[1, ...]", "0"),
            case("[1]", "none of them"),
            case("[" * 150 + "]" * 150, "0"),
            case("[0x" + "f" * 9000 + "]", "0"),
        ]
    }

    def test_only_literal_cases_become_checks(self) -> None:
        result = planned(FUNCTION, test_case_analyzer=self.CASES)
        found = [c.example for c in result.brief.requirements.checks]
        assert found[:3] == [
            CallExample(arguments="[1, 2]", result="1"),
            CallExample(arguments="[]", result="0"),
            CallExample(arguments="values=[3]", result="0"),
        ]
        assert len(found) <= 4

    def test_a_missing_signature_is_taken_from_the_interface_designer(self) -> None:
        task = Task(title="t", statement="s", form=FunctionForm(entry="above"))
        reply = {"interfaces": [*INTERFACES["interfaces"], interface("root", "whatever", "values")]}
        session = PlanningSession(task, {Role.INTERFACE_DESIGNER: reply})
        root = session.plan().graph.nodes[0]
        assert root.contract is not None
        assert root.contract.header() == "above(values: int) -> int"
        assert "labelled `root`" in session.last_request(Role.INTERFACE_DESIGNER)

    def test_a_function_without_any_signature_becomes_one_node(self) -> None:
        task = Task(title="t", statement="s", form=FunctionForm(entry="above"))
        result = planned(task)
        assert size(result) == 1
        assert "above, has no usable interface" in result.granularity

    def test_a_part_cannot_take_a_name_of_the_given_code(self) -> None:
        statement = "import math\ndef helper(x):\n    return x\ndef above(values):\n    ...\n"
        task = Task(title="t", statement=statement, form=FUNCTION.form)
        names = {"interfaces": [interface(n, "helper") for n in ("read", "count", "mean")]}
        session = PlanningSession(task, {Role.INTERFACE_DESIGNER: names})
        assert size(session.plan()) == 1
        assert "none of: above, helper, math." in session.last_request(Role.INTERFACE_DESIGNER)


def test_a_task_about_files_is_planned_without_generated_checks() -> None:
    task = Task(title="t", statement="s", form=FilesForm(inputs=("a.txt",), artefacts=("b.txt",)))
    session = PlanningSession(task)
    result = session.plan()
    assert session.asked == ALL
    assert result.brief.requirements.checks == ()
    assert size(result) == 3


OTHER: dict[str, dict[str, Any]] = {
    "constraint_analyzer": {**GOOD[Role.CONSTRAINT_ANALYZER], "features": ["large"]},
    "algorithm_selector": {**GOOD[Role.ALGORITHM_SELECTOR], "observations": ["a list"]},
    "task_decomposer": {**PARTS, "strategy": "Sort first."},
    "interface_designer": {
        "interfaces": [interface("read", returns_description="all"), *INTERFACES["interfaces"]]
    },
}
"""Other answers of the roles to which a plan can be sent back."""


def again(target: str) -> list[str]:
    """Return the roles that are asked after a plan was sent back and the target changed it.

    The test-case analyzer does not see the plan: its request would be the same.
    """
    return [role for role in ALL[ALL.index(target) :] if role != "test_case_analyzer"]


class TestFailedReview:
    @pytest.mark.parametrize(
        "target",
        ["constraint_analyzer", "algorithm_selector", "task_decomposer", "interface_designer"],
    )
    def test_planning_returns_to_the_role_that_the_reviewer_names(self, target: str) -> None:
        fail = {"status": "fail", "issues": ["it is wrong"], "retry_target": target}
        session = PlanningSession(
            answers={
                Role.PLAN_REVIEWER: once({"status": "pass"}, fail),
                Role(target): once(GOOD[Role(target)], OTHER[target]),
            }
        )
        result = session.plan()
        assert session.asked == ALL + again(target)
        assert "- it is wrong" in session.last_request(Role(target))
        assert "Your last answer was" in session.last_request(Role(target))
        assert "objected" not in result.granularity

    @pytest.mark.parametrize(
        ("role", "bad", "target", "issue"),
        [
            (
                Role.ALGORITHM_SELECTOR,
                {**GOOD[Role.ALGORITHM_SELECTOR], "reasoning": []},
                "algorithm_selector",
                "`reasoning` is empty",
            ),
            (
                Role.TASK_DECOMPOSER,
                {"parts": [part("read", cost="O(n^2)"), part("count"), part("mean", "count")]},
                "algorithm_selector",
                "`cost` of read is O(n^2)",
            ),
            (
                Role.TASK_DECOMPOSER,
                {"parts": [part("read"), part("count", dependencies=["nobody"])]},
                "task_decomposer",
                "count depends on nobody",
            ),
            (
                Role.TASK_DECOMPOSER,
                {"parts": [part("read"), part("count", inputs=[value("x", "read.nothing")])]},
                "task_decomposer",
                "count takes x from read.nothing",
            ),
            (
                Role.TASK_DECOMPOSER,
                {"parts": [part("read", kind=""), part("count"), part("mean")]},
                "task_decomposer",
                "read has no kind",
            ),
            (
                Role.INTERFACE_DESIGNER,
                {"interfaces": INTERFACES["interfaces"][:2]},
                "interface_designer",
                "mean has no interface",
            ),
            (
                Role.INTERFACE_DESIGNER,
                {"interfaces": [*INTERFACES["interfaces"][:2], interface("mean", ensures=[])]},
                "interface_designer",
                "do_mean lacks ensures",
            ),
        ],
    )
    def test_planning_returns_to_the_role_that_can_correct_the_finding(
        self, role: Role, bad: Answer, target: str, issue: str
    ) -> None:
        session = PlanningSession(answers={role: once(GOOD[role], bad)})
        result = session.plan()
        assert session.asked == ALL + again(target)
        assert issue in session.last_request(Role(target))
        assert result.granularity == "3 nodes: each can be tested alone"

    def test_planning_restarts_from_the_earliest_role_with_a_finding(self) -> None:
        session = PlanningSession(
            answers={
                Role.TASK_DECOMPOSER: once(PARTS, {"parts": [part("read"), part("read")]}),
                Role.PLAN_REVIEWER: once(
                    {"status": "pass"},
                    {"status": "fail", "issues": ["no"], "retry_target": "interface_designer"},
                ),
            }
        )
        session.plan()
        assert session.asked == ALL + again("task_decomposer")
        assert "- no" in session.last_request(Role.TASK_DECOMPOSER)

    def test_a_plan_is_sent_back_at_most_twice_and_then_keeps_the_objection(self) -> None:
        fail = {"status": "fail", "reason": "bad taste", "retry_target": "interface_designer"}
        others = [
            {
                "interfaces": [
                    interface("read", returns_description=str(n)),
                    *INTERFACES["interfaces"],
                ]
            }
            for n in range(5)
        ]
        session = PlanningSession(
            answers={Role.PLAN_REVIEWER: fail, Role.INTERFACE_DESIGNER: list(others)}
        )
        result = session.plan()
        assert session.asked == ALL + 2 * again("interface_designer")
        assert size(result) == 3
        assert result.granularity.endswith("; the reviewer still objected: bad taste")

    def test_a_plan_that_no_role_changes_is_not_reviewed_again(self) -> None:
        fail = {"status": "fail", "reason": "bad taste", "retry_target": "interface_designer"}
        session = PlanningSession(answers={Role.PLAN_REVIEWER: fail})
        assert session.plan().granularity.endswith("; the reviewer still objected: bad taste")
        assert session.asked == [*ALL, "interface_designer"]

    def test_planning_ends_with_one_node_if_there_is_never_a_graph(self) -> None:
        session = PlanningSession(answers={Role.TASK_DECOMPOSER: {"parts": [part("a"), part("a")]}})
        result = session.plan()
        assert session.asked == [*ALL, "task_decomposer"]
        assert size(result) == 1
        assert "two parts have the label a" in result.granularity
        assert result.brief.approach.choices[0].agent == "agent_math"

    def test_a_usable_plan_is_not_replaced_by_a_later_unusable_one(self) -> None:
        fail = {"status": "fail", "issues": ["no"], "retry_target": "task_decomposer"}
        result = planned(plan_reviewer=fail, task_decomposer=[PARTS, {"parts": []}, {"parts": []}])
        assert size(result) == 3

    def test_a_failed_review_without_a_target_is_kept_as_an_objection(self) -> None:
        session = PlanningSession(
            answers={Role.PLAN_REVIEWER: {"status": "fail", "issues": ["hm"]}}
        )
        assert session.plan().granularity.endswith("still objected: hm")
        assert session.asked == ALL

    def test_a_plan_is_not_sent_back_for_information_that_the_task_lacks(self) -> None:
        task = Task(title="t", statement="s", form=ProgramForm())
        session = PlanningSession(
            task, {Role.PARSER: {}, Role.TEST_CASE_ANALYZER: {**GOOD[Role.TEST_CASE_ANALYZER]}}
        )
        result = session.plan()
        assert session.asked == ALL
        assert "unknown of the problem: limits and data ranges" in result.granularity


class TestEdgeCases:
    FEW = {"edge_cases": [case("1", "0")]}

    def test_too_few_edge_cases_are_requested_once_more(self) -> None:
        good = GOOD[Role.TEST_CASE_ANALYZER]
        session = PlanningSession(answers={Role.TEST_CASE_ANALYZER: once(good, self.FEW)})
        assert len(session.plan().brief.requirements.checks) == 4
        assert session.asked == [*ALL[:7], *ALL[6:]]

    @pytest.mark.parametrize("second", [FEW, "nothing at all"])
    def test_edge_cases_that_remain_too_few_are_accepted(self, second: Answer) -> None:
        session = PlanningSession(answers={Role.TEST_CASE_ANALYZER: [self.FEW, second]})
        result = session.plan()
        assert [c.description for c in result.brief.requirements.checks] == [
            "the last line of the input need not be ended",
            "an edge",
        ]
        assert size(result) == 3
        assert "has 1 usable cases" in result.granularity


class TestUnusableAnswers:
    @pytest.mark.parametrize("role", Role)
    @pytest.mark.parametrize("answer", ["no json", '{"parts": 3}', "```json\n[]\n```", ""])
    def test_an_unusable_answer_never_stops_planning(self, role: Role, answer: str) -> None:
        result = PlanningSession(answers={role: answer}).plan()
        needed = role in {Role.TASK_DECOMPOSER, Role.INTERFACE_DESIGNER}
        assert size(result) == (1 if needed else 3)
        assert ("no plan could be used" in result.granularity) == needed

    @pytest.mark.parametrize("task", [TASK, FUNCTION])
    def test_unusable_answers_of_every_role_give_one_node(self, task: Task) -> None:
        result = PlanningSession(task, dict.fromkeys(Role, "no")).plan()
        assert size(result) == 1

    def test_an_unusable_answer_leaves_the_earlier_one_in_place(self) -> None:
        fail = {"status": "fail", "issues": ["no"], "retry_target": "task_decomposer"}
        result = planned(plan_reviewer=fail, task_decomposer=[PARTS, "no", "no", "no", "no"])
        assert size(result) == 3

    def test_an_exceeded_budget_is_raised(self) -> None:
        session = PlanningSession(budget=Budget(tokens=10))
        with pytest.raises(BudgetExceeded):
            plan(session.context)


LABELS = st.sampled_from(["", "S0", "S1", "a", "b", "c", "d", "a.b", "root", "solve"])
SOURCES = st.one_of(st.none(), LABELS, st.builds("{}.{}".format, LABELS, LABELS))
SLOTS = st.fixed_dictionaries({"name": LABELS}, optional={"type": LABELS, "source": SOURCES})
RANDOM_PART = st.fixed_dictionaries(
    {"label": LABELS, "goal": st.text(max_size=5)},
    optional={
        "kind": st.sampled_from(["dp", "orchestration", "", "no"]),
        "parent": st.one_of(st.none(), LABELS),
        "dependencies": st.lists(LABELS, max_size=3),
        "inputs": st.lists(SLOTS, max_size=3),
        "outputs": st.lists(SLOTS, max_size=2),
        "cost": st.sampled_from(["O(n)", "O(n!)", "?"]),
    },
)
RANDOM_PARTS = st.one_of(
    st.lists(RANDOM_PART, max_size=7),
    st.lists(RANDOM_PART, min_size=2, max_size=5, unique_by=lambda p: str(p["label"])),
)
RANDOM_INTERFACES = st.lists(
    st.builds(
        lambda label, name, params: interface(label, name, *params),
        LABELS,
        st.sampled_from(["f", "g", "h", "k", "sum", "1"]),
        st.lists(st.sampled_from(["x", "y", "in"]), max_size=2),
    ),
    max_size=7,
)


ANSWERS: dict[Role, list[Answer]] = {
    role: [GOOD[role], OTHER.get(role.value, {}), {}, "no json"] for role in Role
}
ANSWERS[Role.PLAN_REVIEWER] = [
    {"status": "pass"},
    *({"status": "fail", "issues": ["no"], "retry_target": target} for target in OTHER),
    {"status": "fail", "issues": ["other"], "retry_target": "task_decomposer"},
]


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries(
        {r: st.lists(st.sampled_from(known), min_size=1) for r, known in ANSWERS.items()}
    ),
    st.sampled_from([TASK, FUNCTION]),
)
def test_no_request_is_ever_repeated(answers: dict[Role, list[Answer]], task: Task) -> None:
    session = PlanningSession(task, {**answers})
    session.plan()
    requests = [request.digest for request in session.model.asked]
    assert len(set(requests)) == len(requests)


@settings(max_examples=60, deadline=None)
@given(RANDOM_PARTS, st.one_of(st.none(), RANDOM_INTERFACES), st.sampled_from([TASK, FUNCTION]))
def test_whatever_the_parts_are_the_plan_can_be_committed(
    parts: list[dict[str, Any]], interfaces: list[dict[str, Any]] | None, task: Task
) -> None:
    if interfaces is None:
        interfaces = [interface(p["label"], f"f{n}", "x") for n, p in enumerate(parts)]
    result = planned(
        task, task_decomposer={"parts": parts}, interface_designer={"interfaces": interfaces}
    )
    assert encode(result.brief)
    assert result.planner == "staged"
