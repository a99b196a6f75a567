"""A program as one piece: what the methods without a task graph share.

Their record has one responsibility, `S1`, for everything. It is given no contract, because such
a method commits to none: its trace coverage is honestly nought.
"""

from collections.abc import Iterable
from functools import partial
from typing import assert_never

from auditcoder.domain.brief import Approach
from auditcoder.domain.errors import RecordRefused, ReplyUnusable
from auditcoder.domain.events import BriefCommitted, GraphCommitted, Outcome
from auditcoder.domain.evidence import Evidence, Trust, Verdict
from auditcoder.domain.graph import Kind, Node, TaskGraph
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.places import AtNode
from auditcoder.domain.task import ClassForm, Example, FilesForm, FunctionForm, ProgramForm, Task
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId
from auditcoder.lifecycle.asking import Answer
from auditcoder.lifecycle.failures import failure_text
from auditcoder.lifecycle.forms import root_of, shown_examples
from auditcoder.lifecycle.imports import without_stars
from auditcoder.lifecycle.planning.plan import brief_for
from auditcoder.lifecycle.shapes import Block, Shape, T
from auditcoder.lifecycle.validating import validate_program
from auditcoder.lifecycle.validating.evidence import record
from auditcoder.lifecycle.validating.program import check_for, run_example
from auditcoder.lifecycle.workshop import Workshop

WHOLE = NodeId("S1")
MAX_TOKENS = 1200
_NOTHING = "raise NotImplementedError('no usable answer came')\n"


class Piece:
    """The program that a method works on, and everything that may be asked or tried on the way."""

    def __init__(self, workshop: Workshop, method: str) -> None:
        self._workshop = workshop
        self._method = method
        task = workshop.task
        node = Node(
            id=WHOLE, goal=task.title or "Do what the task asks", kind=Kind.GENERAL, parent=ROOT
        )
        top = Node(id=ROOT, goal="Answer the task", kind=Kind.ORCHESTRATION, dependencies=(WHOLE,))
        brief = brief_for(task, Approach(strategy=method))
        workshop.recorder.record(BriefCommitted(brief=brief))
        workshop.recorder.record(
            GraphCommitted(
                graph=TaskGraph(nodes=(top, node), order=(WHOLE,)),
                planner=method,
                granularity="one node: the method writes the program as a whole",
            )
        )
        # Where the task is itself code, what stands before the function stays the task's.
        self._given = "" if isinstance(task.form, ClassForm) else root_of(task).given
        if self._given:
            workshop.recorder.write_code(ROOT, self._given, agent="form")

    @property
    def code(self) -> str:
        """The code as it stands."""
        recorder = self._workshop.recorder
        return recorder.text(recorder.ledger.working.code[WHOLE].digest)

    def ask(
        self,
        prompt: str,
        shape: Shape[T],
        phase: Phase,
        max_tokens: int,
        **values: str,
    ) -> Answer[T] | None:
        """Ask one of the method's questions; None if no usable answer came."""
        try:
            return self._workshop.ask(
                f"methods/{prompt}",
                shape,
                phase,
                max_tokens,
                role=prompt,
                node=WHOLE,
                statement=statement(self._workshop.task),
                **values,
            )
        except ReplyUnusable:
            return None

    def write(self, prompt: str, **values: str) -> None:
        """Ask for code and keep it; what was there stays if no usable answer comes."""
        wanted = wanted_of(self._workshop.task)
        answer = self.ask(prompt, Block(), Phase.GENERATION, MAX_TOKENS, wanted=wanted, **values)
        if answer is not None:
            self._keep(answer.value, prompt, answer.seq)
        elif WHOLE not in self._workshop.recorder.ledger.working.code:
            self._keep(_NOTHING, "degraded", None)

    def _keep(self, source: str, agent: str, reply: int | None) -> None:
        text = source.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "")
        text, note = without_stars(text)
        try:
            self._workshop.recorder.write_code(WHOLE, text, agent=agent, reply=reply, note=note)
        except RecordRefused as refused:
            # Such as a star import of an unknown module: nobody could say whose its names are.
            if WHOLE not in self._workshop.recorder.ledger.working.code:
                self._workshop.recorder.write_code(
                    WHOLE, _NOTHING, agent="degraded", note=str(refused)
                )

    def try_out(self) -> Evidence | None:
        """Put the task's own examples to the code; return the first that it fails."""
        return self.check(
            (f"S1.example-{number}", example, Trust.DERIVED)
            for number, example in enumerate(self._workshop.task.examples, start=1)
        )

    def check(self, cases: Iterable[tuple[str, Example, Trust]]) -> Evidence | None:
        """Put cases to the code; return the first that it fails. All of them run."""
        workshop, code = self._workshop, f"{self._given}{self.code}"
        failing = None
        for name, example, trust in cases:
            check = check_for(CheckId(name), AtNode(node=WHOLE), trust, example)
            seen = record(workshop, check, partial(run_example, workshop, code, example))
            if seen.verdict is not Verdict.PASSED and failing is None:
                failing = seen
        return failing

    def retry(self) -> None:
        """Where the code fails the task's examples, have it written once more."""
        failing = self.try_out()
        if failing is not None:
            self.write("again", code=self.code, failure=self.report(failing))

    def report(self, failing: Evidence) -> str:
        """Say to a model what went wrong."""
        return failure_text(self._workshop, failing)

    def finish(self) -> tuple[Outcome, str]:
        """Assemble what was kept, and see what the task's examples say of it."""
        workshop = self._workshop
        workshop.recorder.assemble()
        validate_program(workshop)
        ledger = workshop.recorder.ledger
        if ledger.working.rank(ledger.program_checks()).full:
            return Outcome.PASSED, ""
        return Outcome.FAILED, "the program fails, and the method ends here"


def statement(task: Task) -> str:
    """Return the task as a model reads it, with examples that its text does not show."""
    shown = shown_examples(task)
    return f"{task.statement}\n\n{shown}" if shown else task.statement


def wanted_of(task: Task) -> str:
    """Say what is to be written, as the task's form has it."""
    match task.form:
        case ProgramForm():
            return "the complete program, which reads standard input and writes standard output"
        case FunctionForm(entry=entry, signature=signature):
            return f"the function `{signature or entry}` with everything that it needs"
        case ClassForm(name=name):
            return f"the complete class `{name}` with all of its methods and imports"
        case FilesForm(inputs=inputs, artefacts=artefacts):
            return (
                f"the complete program, which reads {', '.join(inputs) or 'the input files'} from"
                f" the current folder and writes {', '.join(artefacts) or 'its results'} there"
            )
        case _:
            assert_never(task.form)
