"""The context of a run: its task, options, recorder, model client and sandbox."""

from collections.abc import Callable
from dataclasses import dataclass

from auditcoder.domain.ids import NodeId
from auditcoder.domain.task import ClassForm, Task
from auditcoder.domain.usage import Phase, Scope
from auditcoder.lifecycle.model_client import ModelAnswer, ModelClient, ModelQuestion
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.ports import Sandbox
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.response_formats import ResponseFormat, T
from auditcoder.lifecycle.task_forms import root_of, shown_examples
from auditcoder.prompts import Prompt, load


@dataclass(frozen=True)
class RunContext:
    """Everything that is fixed for a run. What changes is in its record."""

    task: Task
    options: Options
    recorder: Recorder
    client: ModelClient
    sandbox: Sandbox
    parallel: int = 1
    """Maximum number of requests that the model serves at once."""
    on_difference: Callable[[str], None] | None = None
    """While replaying with a sandbox: receives every check whose result differs from the record.

    None otherwise; then a recorded check does not run again.
    """

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
        prompt: str | Prompt,
        shape: ResponseFormat[T],
        phase: Phase,
        max_tokens: int,
        *,
        role: str,
        node: NodeId | tuple[NodeId, ...] | None = None,
        temperature: str = "",
        **values: str,
    ) -> ModelAnswer[T]:
        """Ask what a role's prompt asks, on behalf of a node, in the scope that the run is in.

        Several nodes can be asked about at once, to verify them.
        """
        chosen = load(prompt) if isinstance(prompt, str) else prompt
        repairing = self.recorder.ledger.assembled
        again = repairing and phase is Phase.GENERATION
        usual = self.options.repair_temperature if again else self.options.temperature
        return self.client.ask(
            ModelQuestion(
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
