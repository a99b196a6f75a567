"""The nine checks that a staged plan must pass, and who is asked again where one does not hold."""

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import NamedTuple

from auditcoder.domain.brief import Parsed
from auditcoder.domain.contract import Cost
from auditcoder.lifecycle.planning.roles import Opinion, Role

_LONGEST = 300
"""How much is told of one objection: what models write into it has no end of its own."""


class Check(Enum):
    """What is looked at."""

    PROBLEM = "problem information"
    COST = "cost within the budget"
    TREE = "tree structure"
    DEPENDENCIES = "dependencies"
    LEAVES = "complete interfaces"
    FLOW = "data flow"
    ORDER = "execution order"
    TESTS = "test coverage"
    REASONING = "reasoning chain"


MENDED_BY: dict[Check, Role | None] = {
    Check.PROBLEM: None,  # what a statement does not say, no role finds by being asked again
    Check.COST: Role.ALGORITHM_SELECTOR,
    Check.TREE: Role.TASK_DECOMPOSER,
    Check.DEPENDENCIES: Role.TASK_DECOMPOSER,
    Check.LEAVES: Role.INTERFACE_DESIGNER,
    Check.FLOW: Role.TASK_DECOMPOSER,
    Check.ORDER: Role.TASK_DECOMPOSER,
    Check.TESTS: Role.TEST_CASE_ANALYZER,
    Check.REASONING: Role.ALGORITHM_SELECTOR,
}


class Finding(NamedTuple):
    """Something that does not hold, and who could mend it."""

    check: Check
    text: str
    role: Role | None


def finding(check: Check, text: str) -> Finding:
    """Return a finding that goes to whoever mends what its check looks at."""
    return Finding(check, text[:_LONGEST], MENDED_BY[check])


class Objection(NamedTuple):
    """What is held against a plan, and where to begin again; nowhere if nobody could mend it."""

    texts: tuple[str, ...] = ()
    target: Role | None = None
    told: Mapping[Role, tuple[str, ...]] = {}
    """What each role that is asked again is told."""


def objection(findings: Iterable[Finding], opinion: Opinion) -> Objection:
    """Weigh what was found and what the reviewer thinks: findings decide, else its opinion does."""
    findings = tuple(findings)
    told: dict[Role, tuple[str, ...]] = {}
    for found in findings:
        if found.role is not None:
            told[found.role] = (*told.get(found.role, ()), found.text)
    opposed = _opposed(opinion)
    target = next((role for role in Role if role in told), None)
    if target is None and opposed and opinion.retry_target:
        target = Role(opinion.retry_target)
    if target is not None:
        told[target] = told.get(target, ()) + opposed
    return Objection(tuple(f.text for f in findings) + opposed, target, told)


def _opposed(opinion: Opinion) -> tuple[str, ...]:
    if opinion.status == "pass":
        return ()
    issues = [i.strip()[:_LONGEST] for i in (*opinion.issues, opinion.reason) if i.strip()]
    return tuple(dict.fromkeys(issues)) or ("the reviewer gave no reason",)


def problem_findings(parsed: Parsed) -> list[Finding]:
    """Say what is missing in P."""
    wanted = {
        "title": parsed.title.strip(),
        "description": parsed.description.strip(),
        "input format": parsed.input_format.strip(),
        "output format": parsed.output_format.strip(),
        "limits and data ranges": parsed.ranges or parsed.limits.seconds or parsed.limits.memory_mb,
        "samples": parsed.samples,
    }
    missing = [name for name, known in wanted.items() if not known]
    if not missing:
        return []
    return [finding(Check.PROBLEM, f"unknown of the problem: {', '.join(missing)}")]


def cost_findings(overall: Cost, leaves: Mapping[str, Cost]) -> list[Finding]:
    """Say which leaves may cost more than the whole; what cannot be compared is let be."""
    most = _growth(overall.time)
    return [
        finding(Check.COST, f"{name} may cost {cost.time}, but all of it only {overall.time}")
        for name, cost in leaves.items()
        if most is not None and (_growth(cost.time) or 0) > most
    ]


_GROWTHS = ("1", "logn", "n", "nlogn", "n^2", "n^3", "2^n", "n!")
"""From the slowest growth to the fastest."""


def _growth(text: str) -> int | None:
    """Return a cost's place among the growths; None if it is none of them."""
    plain = text.lower().replace("**", "^").replace("²", "^2").replace("³", "^3")
    plain = re.sub(r"[\s*·()]", "", plain).removeprefix("o").replace("lgn", "logn")
    return _GROWTHS.index(plain) if plain in _GROWTHS else None


def coverage_findings(samples: int, edges: int) -> list[Finding]:
    """Say which tests are too few: a sample that nobody gave cannot be asked for."""
    found = []
    if not samples:
        found.append(Finding(Check.TESTS, "there is no sample to test with", None))
    if edges < 2:
        found.append(finding(Check.TESTS, f"there are {edges} usable edge cases; give at least 3"))
    return found


def reasoning_findings(chain: Iterable[str]) -> list[Finding]:
    """Say whether the reasoning is missing; whether it convinces is the reviewer's to say."""
    if any(step.strip() for step in chain):
        return []
    return [finding(Check.REASONING, "the reasoning chain from observations to choice is empty")]
