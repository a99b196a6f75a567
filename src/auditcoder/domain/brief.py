"""The brief: constraints (P), strategy (B) and required checks (Q), fixed before any code."""

from functools import cached_property

from auditcoder.domain.contract import Clause, CostBudget
from auditcoder.domain.evidence import Trust
from auditcoder.domain.task import Example, Limits
from auditcoder.domain.values import CheckId, Digest, Value, digest_of


class DataRange(Value):
    """The range of a variable of the task; an unset bound is unknown."""

    variable: str
    minimum: float | None = None
    maximum: float | None = None


class Parsed(Value):
    """P: the constraints that the task statement gives."""

    title: str = ""
    description: str = ""
    input_format: str = ""
    output_format: str = ""
    limits: Limits = Limits()
    ranges: tuple[DataRange, ...] = ()
    samples: tuple[Example, ...] = ()


class Trap(Value):
    """A plausible but wrong reading or approach, and why it fails."""

    trap: str
    why: str = ""


class AlgorithmCandidate(Value):
    """One family of algorithms that was considered."""

    family: str
    pros: str = ""
    cons: str = ""


class AlgorithmChoice(Value):
    """One chosen algorithm, the agent that implements it, and the subtask that it solves."""

    algorithm: str
    agent: str = ""
    subtask: str = ""
    reason: str = ""


class Approach(Value):
    """B: the analysis, assumptions and strategy behind the plan."""

    category: str = ""
    nature: str = ""
    """The main difficulty of the problem, in one sentence."""
    observations: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()
    traps: tuple[Trap, ...] = ()
    considered: tuple[AlgorithmCandidate, ...] = ()
    questions: tuple[str, ...] = ()
    """Questions that the statement leaves open."""
    strategy: str = ""
    choices: tuple[AlgorithmChoice, ...] = ()
    reasoning: tuple[str, ...] = ()
    """The steps of reasoning from observations to strategy."""
    assumptions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    """Consequences of the constraints, such as what they allow or forbid."""
    cost: CostBudget = CostBudget()


class PlannedCheck(Value):
    """A check of the program that planning requires."""

    id: CheckId
    trust: Trust
    example: Example
    description: str = ""


class Requirements(Value):
    """Q: the checks and invariants that the whole program must meet."""

    checks: tuple[PlannedCheck, ...] = ()
    invariants: tuple[Clause, ...] = ()


class Brief(Value, dict=True):
    """P, B and Q. A revision is a new event with a reason."""

    parsed: Parsed = Parsed()
    approach: Approach = Approach()
    requirements: Requirements = Requirements()

    @cached_property
    def digest(self) -> Digest:
        """The digest of this brief."""
        return digest_of(self)
