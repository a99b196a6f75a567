"""Common parts of the methods that write the program as a whole, without a task graph.

Their record has a single node, `S1`, without a contract, because such a method commits to none.
Therefore their trace coverage is zero.
"""

from collections.abc import Iterable
from functools import partial

from auditcoder.domain.brief import Approach
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import BriefCommitted, GraphCommitted, RunOutcome
from auditcoder.domain.evidence import Evidence, Trust
from auditcoder.domain.graph import Node, NodeKind, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.targets import AtNode
from auditcoder.domain.task import ClassForm, Example
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.failure_report import failure_text
from auditcoder.lifecycle.import_completion import without_stars
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.planning.plan import brief_for
from auditcoder.lifecycle.response_formats import PythonBlock, ResponseFormat, T
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import root_of, stated, wanted
from auditcoder.lifecycle.token_limits import WHOLE_PROGRAM, ReplySize
from auditcoder.lifecycle.validation import validate_program
from auditcoder.lifecycle.validation.check_recorder import record
from auditcoder.lifecycle.validation.program_checks import check_for, run_example
from auditcoder.prompts import load

PROMPTS = "auditcoder_bench.prompts"
"""The package that holds the prompts of the compared methods."""
WHOLE = NodeId("S1")
DIRECT = "direct"
"""Asks for the whole program: the prompt of the first draft of AuditCoder."""
_PLACEHOLDER = "raise NotImplementedError('no usable answer came')\n"


class SingleProgram:
    """The program that a method writes, with the requests and checks that it may use."""

    def __init__(self, context: RunContext, method: str) -> None:
        self._context = context
        self._method = method
        task = context.task
        node = Node(
            id=WHOLE, goal=task.title or "Do what the task asks", kind=NodeKind.GENERAL, parent=ROOT
        )
        top = Node(
            id=ROOT, goal="Answer the task", kind=NodeKind.ORCHESTRATION, dependencies=(WHOLE,)
        )
        brief = brief_for(task, Approach(strategy=method))
        context.recorder.record(BriefCommitted(brief=brief))
        context.recorder.record(
            GraphCommitted(
                graph=TaskGraph(nodes=(top, node), order=(WHOLE,)),
                planner=method,
                granularity="one node: the method writes the program as a whole",
            )
        )
        # If the task is itself code, the code before the function is part of the task.
        self._given = "" if isinstance(task.form, ClassForm) else root_of(task).given
        if self._given:
            context.recorder.write_code(ROOT, self._given, agent="form")

    @property
    def code(self) -> str:
        """The current code."""
        recorder = self._context.recorder
        return recorder.text(recorder.ledger.working.code[WHOLE].digest)

    def ask(
        self,
        prompt: str,
        shape: ResponseFormat[T],
        phase: Phase,
        size: ReplySize,
        **values: str,
    ) -> ModelAnswer[T] | None:
        """Send one of the method's prompts; return None if there is no usable reply."""
        try:
            return self._context.ask(
                load("draft") if prompt == DIRECT else load(f"methods/{prompt}", PROMPTS),
                shape,
                phase,
                size,
                role=prompt,
                node=WHOLE,
                statement=stated(self._context.task),
                **values,
            )
        except ReplyUnusable:
            return None

    def write(self, prompt: str, **values: str) -> None:
        """Ask for code and store it; the code stays as it is if there is no usable reply."""
        text = wanted(self._context.task)
        answer = self.ask(
            prompt, PythonBlock(), Phase.GENERATION, WHOLE_PROGRAM, wanted=text, **values
        )
        if answer is not None:
            self._write_code(answer.value, prompt, answer.seq)
        elif WHOLE not in self._context.recorder.ledger.working.code:
            self._write_code(_PLACEHOLDER, "degraded", None)

    def _write_code(self, source: str, agent: str, reply: int | None) -> None:
        text = source.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
        text, note = without_stars(text)
        try:
            self._context.recorder.write_code(WHOLE, text, agent=agent, reply=reply, note=note)
        except RecordRefused as refused:
            # For example a star import of an unknown module, whose names are unknown.
            if WHOLE not in self._context.recorder.ledger.working.code:
                self._context.recorder.write_code(
                    WHOLE, _PLACEHOLDER, agent="degraded", note=str(refused)
                )

    def try_out(self) -> Evidence | None:
        """Run the examples of the task; return the first failure, or None."""
        return self.check(
            (f"S1.example-{number}", example, Trust.DERIVED)
            for number, example in enumerate(self._context.task.examples, start=1)
        )

    def check(self, cases: Iterable[tuple[str, Example, Trust]]) -> Evidence | None:
        """Run all these cases; return the first failure, or None."""
        context, code = self._context, f"{self._given}{self.code}"
        failing = None
        for name, example, trust in cases:
            check = check_for(CheckId(name), AtNode(node=WHOLE), trust, example)
            evidence = record(context, check, partial(run_example, context, code, example))
            if evidence.verdict.failing and failing is None:
                failing = evidence
        return failing

    def retry(self) -> None:
        """If the code fails an example of the task, ask once for a new version."""
        failing = self.try_out()
        if failing is not None:
            self.write("again", code=self.code, failure=self.report(failing))

    def report(self, failing: Evidence) -> str:
        """Describe a failure for a model."""
        return failure_text(self._context, failing)

    def finish(self) -> tuple[RunOutcome, str]:
        """Assemble the program and validate it with the examples of the task."""
        context = self._context
        context.recorder.assemble()
        validate_program(context)
        if context.recorder.ledger.passes():
            return RunOutcome.PASSED, ""
        return RunOutcome.FAILED, "the program fails, and the method ends here"
