"""What planning fixed beside the graph and before any code: P, B and Q."""

from functools import cached_property

from auditcoder.domain.contract import Clause, CostBudget
from auditcoder.domain.evidence import Trust
from auditcoder.domain.task import Example, Limits
from auditcoder.domain.values import CheckId, Digest, Value, digest_of


class DataRange(Value):
    """The values a variable of the task may take; an unset end is unknown."""

    variable: str
    minimum: float | None = None
    maximum: float | None = None


class Parsed(Value):
    """P: the constraints read out of the statement."""

    title: str = ""
    description: str = ""
    input_format: str = ""
    output_format: str = ""
    limits: Limits = Limits()
    ranges: tuple[DataRange, ...] = ()
    samples: tuple[Example, ...] = ()


class Trap(Value):
    """A tempting reading or approach, and why it fails."""

    trap: str
    why: str = ""


class AlgorithmCandidate(Value):
    """One family of solutions that was considered."""

    family: str
    pros: str = ""
    cons: str = ""


class AlgorithmChoice(Value):
    """One algorithm that was chosen, who carries it out, and for what."""

    algorithm: str
    agent: str = ""
    subtask: str = ""
    reason: str = ""


class Approach(Value):
    """B: the assumptions and targets that the whole plan rests on."""

    category: str = ""
    nature: str = ""
    """What makes the problem hard, in a sentence."""
    observations: tuple[str, ...] = ()
    insights: tuple[str, ...] = ()
    traps: tuple[Trap, ...] = ()
    considered: tuple[AlgorithmCandidate, ...] = ()
    questions: tuple[str, ...] = ()
    """Open questions that the statement left."""
    strategy: str = ""
    choices: tuple[AlgorithmChoice, ...] = ()
    reasoning: tuple[str, ...] = ()
    """The chain from observations to strategy, a step each."""
    assumptions: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    """What the constraints allow or forbid."""
    cost: CostBudget = CostBudget()


class PlannedCheck(Value):
    """A program-level check that planning asks for."""

    id: CheckId
    trust: Trust
    example: Example
    description: str = ""


class Requirements(Value):
    """Q: how the whole program will be judged."""

    checks: tuple[PlannedCheck, ...] = ()
    invariants: tuple[Clause, ...] = ()


class Brief(Value, dict=True):
    """P, B and Q. A later version is a new event with its reason, never an edit."""

    parsed: Parsed = Parsed()
    approach: Approach = Approach()
    requirements: Requirements = Requirements()

    @cached_property
    def digest(self) -> Digest:
        """What names this very brief."""
        return digest_of(self)
