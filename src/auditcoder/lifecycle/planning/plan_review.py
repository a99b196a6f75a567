"""The nine checks of a staged plan, and the role that is asked again if one fails."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from auditcoder.domain.brief import Parsed
from auditcoder.domain.contract import CostBudget
from auditcoder.lifecycle.planning.planner_roles import PlanOpinion, Role

_LONGEST = 300
"""Maximum number of characters of one finding or objection."""


class ReviewCheck(Enum):
    """The nine checks of a staged plan."""

    PROBLEM = "problem information"
    COST = "cost within the budget"
    TREE = "tree structure"
    DEPENDENCIES = "dependencies"
    LEAVES = "complete interfaces"
    FLOW = "data flow"
    ORDER = "execution order"
    TESTS = "test coverage"
    REASONING = "reasoning chain"


CORRECTED_BY: dict[ReviewCheck, Role | None] = {
    ReviewCheck.PROBLEM: None,  # no role can add information that the statement lacks
    ReviewCheck.COST: Role.ALGORITHM_SELECTOR,
    ReviewCheck.TREE: Role.TASK_DECOMPOSER,
    ReviewCheck.DEPENDENCIES: Role.TASK_DECOMPOSER,
    ReviewCheck.LEAVES: Role.INTERFACE_DESIGNER,
    ReviewCheck.FLOW: Role.TASK_DECOMPOSER,
    ReviewCheck.ORDER: Role.TASK_DECOMPOSER,
    ReviewCheck.TESTS: Role.TEST_CASE_ANALYZER,
    ReviewCheck.REASONING: Role.ALGORITHM_SELECTOR,
}


ALSO_TOLD: Mapping[ReviewCheck, Role] = {ReviewCheck.COST: Role.TASK_DECOMPOSER}
"""A later role that is told of a finding, too: it states the costs of the parts."""


class ReviewFinding(NamedTuple):
    """A check that failed, why, and the role that could correct it."""

    check: ReviewCheck
    text: str
    role: Role | None


def finding(check: ReviewCheck, text: str) -> ReviewFinding:
    """Return a finding for the role that corrects failures of this check."""
    return ReviewFinding(check, text[:_LONGEST], CORRECTED_BY[check])


class Objection(NamedTuple):
    """The objections to a plan, and the role to restart from; None if no role could correct it."""

    texts: tuple[str, ...] = ()
    target: Role | None = None
    told: Mapping[Role, tuple[str, ...]] = {}
    """The objections for each role that is asked again."""


def objection(findings: Iterable[ReviewFinding], opinion: PlanOpinion) -> Objection:
    """Combine findings and the reviewer's opinion; findings choose the target if there are any."""
    findings = tuple(findings)
    by_role: dict[Role, tuple[str, ...]] = {}
    for failed in findings:
        if failed.role is not None:
            for role in (failed.role, ALSO_TOLD.get(failed.check, failed.role)):
                told = by_role.get(role, ())
                by_role[role] = told if failed.text in told else (*told, failed.text)
    issues = _reviewer_issues(opinion)
    target = next((role for role in Role if role in by_role), None)
    if target is None and issues and opinion.retry_target:
        target = Role(opinion.retry_target)
    if target is not None:
        by_role[target] = by_role.get(target, ()) + issues
    return Objection(tuple(f.text for f in findings) + issues, target, by_role)


def _reviewer_issues(opinion: PlanOpinion) -> tuple[str, ...]:
    if opinion.status == "pass":
        return ()
    issues = [i.strip()[:_LONGEST] for i in (*opinion.issues, opinion.reason) if i.strip()]
    return tuple(dict.fromkeys(issues)) or ("the reviewer gave no reason",)


def problem_findings(parsed: Parsed) -> list[ReviewFinding]:
    """Return a finding if information about the problem is missing."""
    facts = {
        "title": parsed.title.strip(),
        "limits and data ranges": parsed.ranges or parsed.limits.seconds or parsed.limits.memory_mb,
        "samples": parsed.samples,
    }
    missing = [name for name, known in facts.items() if not known]
    if not missing:
        return []
    return [finding(ReviewCheck.PROBLEM, f"unknown of the problem: {', '.join(missing)}")]


def cost_findings(overall: CostBudget, leaves: Mapping[str, CostBudget]) -> list[ReviewFinding]:
    """Return a finding for each leaf whose cost exceeds the whole; skip unknown costs."""
    most = _growth_rank(overall.time)
    return [
        finding(
            ReviewCheck.COST,
            f"`cost` of {name} is {cost.time}; expected at most {overall.time}, that of the whole",
        )
        for name, cost in leaves.items()
        if most is not None and (_growth_rank(cost.time) or 0) > most
    ]


_GROWTHS = ("1", "logn", "n", "nlogn", "n^2", "n^3", "2^n", "n!")
"""Growth rates in ascending order."""


def _growth_rank(text: str) -> int | None:
    """Return the rank of a growth rate; None if it is unknown."""
    plain = text.lower().replace("**", "^").replace("²", "^2").replace("³", "^3")
    plain = re.sub(r"[\s*·()]", "", plain).removeprefix("o").replace("lgn", "logn")
    return _GROWTHS.index(plain) if plain in _GROWTHS else None


def coverage_findings(samples: int, edges: int) -> list[ReviewFinding]:
    """Return findings for missing samples, which no role can add, and too few edge cases."""
    findings = []
    if not samples:
        findings.append(ReviewFinding(ReviewCheck.TESTS, "there is no sample to test with", None))
    if edges < 2:
        findings.append(
            finding(
                ReviewCheck.TESTS,
                f"`edge_cases` has {edges} usable cases; expected at least 3, each with an input"
                " and an expected output",
            )
        )
    return findings


def reasoning_findings(chain: Iterable[str]) -> list[ReviewFinding]:
    """Return a finding if there is no reasoning; the reviewer judges its quality."""
    if any(step.strip() for step in chain):
        return []
    return [
        finding(
            ReviewCheck.REASONING,
            "`reasoning` is empty; expected the steps from the observations to the choice",
        )
    ]
