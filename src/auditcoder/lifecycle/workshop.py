"""Where a run is made: its record, its model, its sandbox, and how it was asked to work."""

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from auditcoder.domain.contract import Contract
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.execution import Outcome
from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import ClassForm, Task
from auditcoder.domain.usage import Phase, Scope
from auditcoder.domain.values import Digest, Value
from auditcoder.lifecycle.asking import Answer, Asker, Question
from auditcoder.lifecycle.budget import Budget
from auditcoder.lifecycle.forms import root_of, shown_examples
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.shapes import Shape, T
from auditcoder.prompts import Prompt, load


class Planner(Enum):
    """How the task graph is made."""

    SKETCH = "sketch"
    """One call; the plan is Python stubs."""
    STAGED = "staged"
    """The paper's eight roles, one after another."""


class Build(Enum):
    """How code is asked for."""

    JOINT = "joint"
    """All functions in one call, split by owner."""
    NODE = "node"
    """One call a node, to the specialist of its kind."""


class WhichLocator(Enum):
    """Who says which part is at fault."""

    WEIGHED = "weighed"
    """Weighs all evidence, and asks for more while it is open."""
    PAPER_RULES = "paper-rules"
    """R1 to R4."""
    TRACEBACK = "traceback"
    OCHIAI = "ochiai"
    TARANTULA = "tarantula"
    DSTAR = "dstar"


class Options(Value):
    """How a run works. All of it goes into the record: together with it, it decides the run."""

    planner: Planner = Planner.SKETCH
    build: Build = Build.JOINT
    max_repairs: int = 3
    """K: the most repair transactions."""
    fallback: bool = False
    """Whether an abstention may be followed by a graph-wide repair, counted apart."""
    differential: bool = False
    """Whether a slow reference is asked for, to compare every function with."""
    review: bool = True
    """Whether the paper's rules ask for a model's verdict where nothing points anywhere."""
    locator: WhichLocator = WhichLocator.WEIGHED
    second_opinions: bool = True
    """Whether another implementation is asked for where it is open which part is at fault."""
    specialists: bool = True
    """Whether code that is asked for node by node goes to the specialist of the node's kind."""
    budget: Budget = Budget()
    seed: int | None = None
    temperature: str = "0"
    """Of the first try; as text, since a digest depends on it."""
    repair_temperature: str = "0.5"
    """Of code that is written again: what failed must not simply be said once more."""


class SecondOpinion(NamedTuple):
    """How somebody who did not see a node's code would write it."""

    source: str = ""
    """Empty if no answer could be used."""
    seq: int | None = None
    """Where the reply stands in the record."""


@dataclass(frozen=True)
class Workshop:
    """Everything that a run needs, in one place."""

    task: Task
    options: Options
    recorder: Recorder
    asker: Asker
    sandbox: Sandbox
    parallel: int = 1
    """How many requests the model can usefully answer at once."""
    differences: list[str] | None = None
    """While replaying: where a check that ran again saw something else. None otherwise."""
    witnessed: dict[int, Evidence] = field(default_factory=dict)
    """All evidence so far, by where it stands in the record."""
    versions: dict[NodeId, list[Digest]] = field(default_factory=dict)
    """Every code that was written for a node."""
    opinions: dict[tuple[NodeId, Contract | None], SecondOpinion] = field(default_factory=dict)
    """What somebody else would write for a node, where that was tried in its place."""
    heard: dict[tuple[NodeId, Contract | None], SecondOpinion] = field(default_factory=dict)
    """All that was said when second opinions were asked for, tried or not."""
    references: dict[tuple[NodeId, Contract | None], str] = field(default_factory=dict)
    """Slow references that nodes were compared with."""
    tried: dict[Digest, Outcome] = field(default_factory=dict)
    """How programs with other code in some node's place ended, by what was run."""

    @property
    def statement(self) -> str:
        """The task as a model reads it: with what its text does not show.

        These are examples, and how the root is called.
        """
        called = "" if isinstance(self.task.form, ClassForm) else root_of(self.task).about
        told = (self.task.statement, shown_examples(self.task), called)
        return "\n\n".join(text for text in told if text)

    @property
    def program(self) -> str:
        """The program as it was last put together."""
        assembly = self.recorder.ledger.working.assembly
        assert assembly is not None
        return self.recorder.text(assembly.program)

    def ask(
        self,
        prompt: str,
        shape: Shape[T],
        phase: Phase,
        max_tokens: int,
        *,
        role: str,
        node: NodeId | tuple[NodeId, ...] | None = None,
        temperature: str = "",
        **values: str,
    ) -> Answer[T]:
        """Ask what a role's prompt asks, on behalf of a node, in the scope that the run is in.

        Several nodes can be asked about at once, to verify them.
        """
        chosen: Prompt = load(prompt)
        repairing = self.recorder.ledger.assembled
        again = repairing and phase is Phase.GENERATION
        usual = self.options.repair_temperature if again else self.options.temperature
        return self.asker.ask(
            Question(
                messages=chosen.fill(**values),
                shape=shape,
                role=role,
                phase=phase,
                max_tokens=max_tokens,
                scope=Scope.REPAIR if repairing else Scope.INITIAL,
                node=None if isinstance(node, tuple) else node,
                nodes=node if isinstance(node, tuple) else (),
                prompt=chosen.digest,
                temperature=float(temperature or usual),
                seed=self.options.seed,
            )
        )
