"""The nine checks of a staged plan, and the role that must correct each failure."""

import msgspec
import pytest

from auditcoder.domain.brief import DataRange, Parsed
from auditcoder.domain.contract import CostBudget
from auditcoder.domain.task import Limits, StdioExample
from auditcoder.lifecycle.planning.plan_review import (
    Objection,
    ReviewCheck,
    ReviewFinding,
    cost_findings,
    coverage_findings,
    finding,
    objection,
    problem_findings,
    reasoning_findings,
)
from auditcoder.lifecycle.planning.planner_roles import PlanOpinion, Role


@pytest.mark.parametrize(
    ("overall", "leaf", "over"),
    [
        ("O(n)", "O(n log n)", True),
        ("O(n log n)", "O(n*log(n))", False),
        ("O(n^2)", "O(n**3)", True),
        ("O(n²)", "O(n^2)", False),
        ("O(2^n)", "O(n!)", True),
        ("O(1)", "O(log n)", True),
        ("O(n)", "O(n * m)", False),
        ("", "O(n!)", False),
        ("O(n)", "", False),
    ],
)
def test_costs_are_compared_where_both_are_known(overall: str, leaf: str, over: bool) -> None:
    assert bool(cost_findings(CostBudget(time=overall), {"a": CostBudget(time=leaf)})) == over


def test_a_cost_above_the_budget_is_sent_to_the_algorithm_selector() -> None:
    (found,) = cost_findings(CostBudget(time="O(n)"), {"a": CostBudget(time="O(n^2)")})
    assert found == ReviewFinding(
        ReviewCheck.COST,
        "`cost` of a is O(n^2); expected at most O(n), that of the whole",
        Role.ALGORITHM_SELECTOR,
    )


class TestProblemInformation:
    COMPLETE = Parsed(
        title="T",
        description="D",
        input_format="I",
        output_format="O",
        limits=Limits(seconds=1.0),
        samples=(StdioExample(input="1", output="2"),),
    )

    def test_a_complete_problem_has_no_finding(self) -> None:
        assert problem_findings(self.COMPLETE) == []
        ranges = (DataRange(variable="n", minimum=1, maximum=2),)
        without_limits = msgspec.structs.replace(self.COMPLETE, limits=Limits(), ranges=ranges)
        assert problem_findings(without_limits) == []

    def test_missing_information_is_listed_and_no_role_is_asked_again(self) -> None:
        (found,) = problem_findings(Parsed(title="T"))
        assert found.text == "unknown of the problem: limits and data ranges, samples"
        assert found.role is None


@pytest.mark.parametrize(
    ("samples", "edges", "roles"),
    [
        (1, 2, []),
        (0, 3, [None]),
        (1, 1, [Role.TEST_CASE_ANALYZER]),
        (0, 0, [None, Role.TEST_CASE_ANALYZER]),
    ],
)
def test_too_few_tests_are_found(samples: int, edges: int, roles: list[Role | None]) -> None:
    assert [f.role for f in coverage_findings(samples, edges)] == roles


@pytest.mark.parametrize(("chain", "found"), [(("a step",), 0), ((), 1), ((" ", ""), 1)])
def test_an_empty_reasoning_chain_is_found(chain: tuple[str, ...], found: int) -> None:
    findings = reasoning_findings(chain)
    assert [f.role for f in findings] == [Role.ALGORITHM_SELECTOR] * found


def test_the_text_of_a_finding_is_bounded() -> None:
    assert len(finding(ReviewCheck.TREE, "x" * 1000).text) == 300


class TestObjection:
    TREE = finding(ReviewCheck.TREE, "no tree")
    LEAVES = finding(ReviewCheck.LEAVES, "no interface")
    OPPOSED = PlanOpinion(status="fail", issues=("bad", " bad "), reason="worse")

    def test_a_plan_without_findings_that_the_reviewer_passes_has_no_objection(self) -> None:
        opinion = PlanOpinion(issues=("ignored",), retry_target="task_decomposer")
        assert objection((), opinion) == Objection()

    def test_the_earliest_role_with_a_finding_is_the_target(self) -> None:
        held = objection((self.LEAVES, self.TREE), PlanOpinion())
        assert held.target is Role.TASK_DECOMPOSER
        assert held.texts == ("no interface", "no tree")
        assert held.told == {
            Role.INTERFACE_DESIGNER: ("no interface",),
            Role.TASK_DECOMPOSER: ("no tree",),
        }

    def test_findings_overrule_the_target_of_the_reviewer(self) -> None:
        opinion = msgspec.structs.replace(self.OPPOSED, retry_target="constraint_analyzer")
        held = objection((self.TREE,), opinion)
        assert held.target is Role.TASK_DECOMPOSER
        assert held.told == {Role.TASK_DECOMPOSER: ("no tree", "bad", "worse")}

    def test_without_findings_the_reviewer_chooses_the_target(self) -> None:
        opinion = msgspec.structs.replace(self.OPPOSED, retry_target="constraint_analyzer")
        held = objection((), opinion)
        assert held.told == {Role.CONSTRAINT_ANALYZER: ("bad", "worse")}

    def test_a_finding_that_no_role_can_correct_has_no_target(self) -> None:
        held = objection(problem_findings(Parsed(title="T")), self.OPPOSED)
        assert held.target is None
        assert held.texts[1:] == ("bad", "worse")

    def test_a_rejection_without_a_reason_is_stated(self) -> None:
        held = objection((), PlanOpinion(status="fail"))
        assert held.texts == ("the reviewer gave no reason",)
