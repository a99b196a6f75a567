"""The context of a run: its task, options, recorder, model client and sandbox."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import TIGHT, TokenLimits
from auditcoder.domain.task import ClassForm, Task
from auditcoder.domain.usage import Phase, Scope
from auditcoder.lifecycle.model_client import (
    OPINIONS,
    ModelAnswer,
    ModelClient,
    ModelQuestion,
)
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.response_formats import ResponseFormat, T
from auditcoder.lifecycle.task_forms import (
    root_of,
    shown_examples,
    shown_limits,
    shown_tests,
)
from auditcoder.lifecycle.token_limits import ReplySize, quoted_characters, room_for
from auditcoder.prompts import Prompt, load


class Sampling(NamedTuple):
    """How a reply is sampled."""

    temperature: float
    seed: int | None


@dataclass(frozen=True)
class RunContext:
    """Everything that is fixed for a run; its changing state is in the recorder's ledger."""

    task: Task
    options: Options
    recorder: Recorder
    client: ModelClient
    sandbox: Sandbox
    parallel: int = 1
    """Maximum number of requests that the model serves at once."""
    limits: TokenLimits = TIGHT
    """The token limits of the model's replies."""
    opinion_limits: TokenLimits | None = None
    """Those of the model for second opinions; None if it is the run's model."""
    sampling: Sampling | None = None
    """How replies are sampled; None if the options decide."""
    on_difference: Callable[[str], None] | None = None
    """While replaying with a sandbox: receives every check whose result differs from the record.

    None otherwise; then a recorded check does not run again.
    """

    @property
    def statement(self) -> str:
        """The task as prompts show it.

        Examples and limits that its text lacks, tests that the user lets it show, and the calling
        convention of the root are added.
        """
        about_root = "" if isinstance(self.task.form, ClassForm) else root_of(self.task).about
        shown = (shown_examples(self.task), shown_tests(self.task), shown_limits(self.task))
        parts = (self.task.statement, *shown, about_root)
        return "\n\n".join(text for text in parts if text)

    @property
    def quoted(self) -> int:
        """Maximum number of characters of each input, output and message in a prompt."""
        return quoted_characters(self.limits)

    def _limits_of(self, role: str) -> TokenLimits:
        return self.opinion_limits or self.limits if role in OPINIONS else self.limits

    @property
    def program(self) -> str:
        """The source of the last assembled program."""
        assembly = self.recorder.ledger.working.assembly
        assert assembly is not None
        return self.recorder.text(assembly.program)

    def ask(
        self,
        prompt: str | Prompt,
        shape: ResponseFormat[T],
        phase: Phase,
        size: ReplySize,
        *,
        role: str,
        node: NodeId | tuple[NodeId, ...] | None = None,
        **values: str,
    ) -> ModelAnswer[T]:
        """Fill a prompt with `values`, send it on behalf of a role, and return the parsed answer.

        `node` is the node, or the tuple of nodes, that the question is about.
        """
        chosen = load(prompt) if isinstance(prompt, str) else prompt
        repairing = self.recorder.ledger.assembled
        regenerating = repairing and (phase is Phase.GENERATION or role in OPINIONS)
        room = room_for(size, self._limits_of(role))
        temperatures = self.options.temperature, self.options.repair_temperature
        sampling = self.sampling or Sampling(temperatures[regenerating], self.options.seed)
        return self.client.ask(
            ModelQuestion(
                messages=chosen.fill(**values),
                shape=shape,
                role=role,
                phase=phase,
                max_tokens=room.tokens,
                room=room,
                scope=Scope.REPAIR if repairing else Scope.INITIAL,
                node=None if isinstance(node, tuple) else node,
                nodes=node if isinstance(node, tuple) else (),
                prompt=chosen.digest,
                temperature=sampling.temperature,
                seed=sampling.seed,
            )
        )
