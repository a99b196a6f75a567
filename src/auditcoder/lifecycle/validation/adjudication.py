"""Decides who is wrong when a generated check fails: the program or the check.

A ruling needs the text of the task, or two opinions that agree: an independent implementation that
was written without sight of program and check, and a model that is asked which of two results is
right and is not told whose they are. Otherwise the question stays open.
"""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import NamedTuple

from auditcoder.domain.contract import Contract, signature_faults
from auditcoder.domain.errors import BudgetExceeded, ReplyUnusable
from auditcoder.domain.events import Adjudicated, CheckDropped, Opinion, Ruling
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.execution import CallFunction, Execution
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.common import still_standing
from auditcoder.domain.targets import AtNode, AtProgram
from auditcoder.domain.task import (
    CallExample,
    ClassForm,
    Example,
    example_content,
)
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, Value, digest, whole
from auditcoder.lifecycle.import_completion import completing
from auditcoder.lifecycle.planning.sketch_writer import described
from auditcoder.lifecycle.response_formats import FormatMismatch, JsonValue, ParsedPython
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.task_forms import root_of
from auditcoder.lifecycle.token_limits import ADJUDICATION, INDEPENDENT_CODE
from auditcoder.lifecycle.validation.check_recorder import CheckObservation
from auditcoder.lifecycle.validation.function_calls import shared_code
from auditcoder.lifecycle.validation.program_checks import action_for, bounds, checks, judge
from auditcoder.lifecycle.validation.promise_checks import held_before, is_weak
from auditcoder.lifecycle.validation.statement_opinion import (
    STATEMENT,
    statement_opinion,
    with_result,
)
from auditcoder.prompts import answer_schema

IMPLEMENTATION, MODEL = "independent implementation", "model"
EXAMPLE_RUNS = "example runs"
_THE_OTHER = f"the {IMPLEMENTATION}"
_ADJUDICATED_KINDS = frozenset({CheckKind.EXAMPLE, CheckKind.BOUNDARY})
_MAX_SHOWN = 2000
"""Maximum number of characters of each input and result that a model is shown."""
_MAX_REASON = 600


class Doubt(NamedTuple):
    """A failing check that was not given with the task, and the example that it runs."""

    seq: int
    """Sequence number of the failing evidence."""
    evidence: Evidence
    example: Example
    got: str | None
    """The result of the program; None if it has none."""
    contract: Contract | None
    """The function that the example is about; None for a class."""
    node: NodeId | None = None
    """The node of a local check; None for a check of the program."""

    @property
    def check(self) -> CheckId:
        """The id of the failing check."""
        return self.evidence.check


class Side(Enum):
    """The answer of a model that compares two results."""

    A = "A"
    B = "B"
    NEITHER = "neither"
    UNCLEAR = "unclear"


class ResultComparison(Value):
    """Which of two results is right according to a model."""

    derivation: str
    right: Side


class Implementation(NamedTuple):
    """An independent implementation: its source, and the event number of the reply."""

    source: str
    seq: int


class ModelAnswers(NamedTuple):
    """What models replied about a doubt; None where no reply was usable."""

    implementation: Implementation | None = None
    judgement: tuple[ResultComparison, int] | None = None
    shortage: str = ""
    """Why not everything was asked: the budget; empty if it was."""


class Adjudicator:
    """Rules on the failing checks of one run, each once."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._ruled: dict[CheckId, Ruling] = {}
        self._written: dict[NodeId | None, Implementation | None] = {}

    def next_doubt(self) -> Doubt | None:
        """Return the next failing check to rule on, those of the program first; None if none."""
        return next((d for d in doubts(self._context) if d.check not in self._ruled), None)

    def confirmed(self) -> Doubt | None:
        """Return a failing check of the program that was ruled right; None if there is none."""
        return next(
            (
                d
                for d in doubts(self._context)
                if d.node is None and self._ruled.get(d.check) is Ruling.PROGRAM_WRONG
            ),
            None,
        )

    def rule(self, doubt: Doubt) -> Ruling:
        """Collect opinions, record the ruling, and drop the check if it is wrong."""
        context = self._context
        settled = statement_opinion(context.task, doubt.example, doubt.evidence.trust, doubt.got)
        answers = ModelAnswers() if settled else self._ask(doubt)

        def ruled() -> Adjudicated:
            opinions = (settled,) if settled else tuple(self._opinions(doubt, answers))
            ruling, reason = decide(opinions)
            return Adjudicated(
                check=doubt.check,
                evidence=doubt.seq,
                ruling=ruling,
                reason=answers.shortage or reason,
                opinions=opinions,
            )

        event = context.recorder.recall_ruling()
        if event is None:
            event = ruled()
        elif context.on_difference is not None and (again := ruled().ruling) is not event.ruling:
            context.on_difference(f"{doubt.check}: {event.ruling.value}, {again.value} now")
        context.recorder.record(event)
        self._ruled[doubt.check] = event.ruling
        if event.ruling is Ruling.CHECK_WRONG and doubt.evidence.trust is Trust.GENERATED:
            self._drop(doubt, event.reason)
        return event.ruling

    def _drop(self, doubt: Doubt, reason: str) -> None:
        """Drop a check, and those of single nodes with the same input and expected result."""
        ledger = self._context.recorder.ledger
        content = doubt.evidence.input, doubt.evidence.expected
        same = [
            check
            for check, known in sorted(ledger.checks.items())
            if known.trust is Trust.GENERATED and (known.input, known.expected) == content
        ]
        for check in same:
            self._context.recorder.record(CheckDropped(check=check, reason=reason))

    def _implementation(self, doubt: Doubt) -> Implementation | None:
        """Return the independent implementation, requested once for the program and each node."""
        if doubt.contract is None:
            return None
        if doubt.node not in self._written:
            self._written[doubt.node] = _request(self._context, doubt.contract, doubt.node)
        return self._written[doubt.node]

    def _ask(self, doubt: Doubt) -> ModelAnswers:
        """Request an independent implementation and a judgement, as far as the budget allows."""
        answers = ModelAnswers()
        try:
            answers = answers._replace(implementation=self._implementation(doubt))
            return answers._replace(judgement=_judgement(self._context, doubt))
        except BudgetExceeded as exceeded:
            return answers._replace(shortage=str(exceeded))

    def _opinions(self, doubt: Doubt, answers: ModelAnswers) -> Iterator[Opinion]:
        if (written := answers.implementation) is not None:
            ruling, reason = self._compare(doubt, written.source)
            yield Opinion(source=IMPLEMENTATION, ruling=ruling, reason=reason, reply=written.seq)
        if answers.judgement is not None:
            judgement, seq = answers.judgement
            yield Opinion(
                source=MODEL,
                ruling=_ruling_of(judgement.right, swapped=_swapped(doubt)),
                reason=whole(judgement.derivation)[:_MAX_REASON],
                reply=seq,
            )

    def _compare(self, doubt: Doubt, source: str) -> tuple[Ruling, str]:
        """Run an independent implementation on the disputed input, after the given examples."""
        if doubt.node is None:
            for check, example in checks(self._context):
                given = check.trust is Trust.GIVEN
                if given and self._run(doubt, source, example).verdict is not Verdict.PASSED:
                    return Ruling.UNDECIDED, f"{_THE_OTHER} fails {check.id} itself"
        seen = self._run(doubt, source, doubt.example)
        if seen.verdict is Verdict.PASSED:
            return Ruling.PROGRAM_WRONG, f"{_THE_OTHER} gives the expected result"
        if not seen.verdict.clean:
            return Ruling.UNDECIDED, f"{_THE_OTHER} has no result: {seen.message}"[:_MAX_REASON]
        ours = with_result(doubt.example, doubt.got)
        if ours is not None and self._run(doubt, source, ours).verdict is Verdict.PASSED:
            return Ruling.CHECK_WRONG, f"{_THE_OTHER} gives the result of the program"
        return Ruling.UNDECIDED, f"{_THE_OTHER} gives a third result: {seen.observed}"[:_MAX_REASON]

    def _run(self, doubt: Doubt, source: str, example: Example) -> CheckObservation:
        context = self._context
        action = action_for(context.task, example)
        if doubt.node is not None and isinstance(example, CallExample) and doubt.contract:
            action = CallFunction(calls=(f"{doubt.contract.name}({example.arguments})",))
        outcome = context.sandbox.run(
            Execution(source=source, action=action, bounds=bounds(context.task))
        )
        return judge(context, example, outcome)


def decide(opinions: Sequence[Opinion]) -> tuple[Ruling, str]:
    """Return the ruling and its reason: the text of the task decides, or two others that agree."""
    if len(opinions) == 1 and opinions[0].source == STATEMENT:
        return opinions[0].ruling, opinions[0].reason
    said = {o.ruling for o in opinions}
    texts = "; ".join(f"{o.source}: {_SAID[o.ruling]}, {o.reason}" for o in opinions)
    if len(opinions) > 1 and len(said) == 1 and said != {Ruling.UNDECIDED}:
        return said.pop(), texts
    return Ruling.UNDECIDED, texts or "no usable opinion"


_SAID = {
    Ruling.PROGRAM_WRONG: "the program is wrong",
    Ruling.CHECK_WRONG: "the check is wrong",
    Ruling.UNDECIDED: "undecided",
}


def doubts(context: RunContext) -> Iterator[Doubt]:
    """Yield the failing checks that can be ruled on, those of the program first."""
    ledger, history = context.recorder.ledger, context.recorder.history
    planned = {check.id: example for check, example in checks(context)}
    failing = [
        (s.seq, history.evidence(s.seq))
        for s in still_standing(ledger.working).values()
        if s.verdict.failing and s.kind in _ADJUDICATED_KINDS and s.trust is not Trust.GIVEN
    ]
    for seq, evidence in sorted(failing, key=lambda f: (_place(f[1]), f[1].check)):
        got = context.recorder.text(evidence.observed) if evidence.observed else None
        match evidence.subject:
            case AtProgram():
                contract = _root_contract(context)
                yield Doubt(seq, evidence, planned[evidence.check], got, contract)
            case AtNode(node=node) if evidence.trust is Trust.GENERATED:
                assert evidence.input is not None
                assert evidence.expected is not None
                texts = [context.recorder.text(b) for b in (evidence.input, evidence.expected)]
                example = CallExample(arguments=texts[0], result=texts[1])
                contract = ledger.graph.by_id[node].contract
                yield Doubt(seq, evidence, example, got, contract, node)
            case _:
                pass


def drop_overbroad_promises(context: RunContext) -> None:
    """Drop promises that hold in the example runs and fail only for inputs unlike those.

    No model is asked. The program stays as it is: such an input may be one that it never gets.
    """
    ledger, history = context.recorder.ledger, context.recorder.history
    for standing in sorted(still_standing(ledger.working).values(), key=lambda s: s.seq):
        evidence = history.evidence(standing.seq)
        if not evidence.verdict.failing or not is_weak(evidence) or not held_before(evidence):
            continue
        opinion = Opinion(source=EXAMPLE_RUNS, ruling=Ruling.CHECK_WRONG, reason=evidence.message)
        context.recorder.record(
            Adjudicated(
                check=evidence.check,
                evidence=standing.seq,
                ruling=opinion.ruling,
                reason=f"{EXAMPLE_RUNS}: {opinion.reason}",
                opinions=(opinion,),
            )
        )
        context.recorder.record(CheckDropped(check=evidence.check, reason=opinion.reason))


def _place(evidence: Evidence) -> bool:
    return not isinstance(evidence.subject, AtProgram)


def _root_contract(context: RunContext) -> Contract | None:
    """Return the function that the task asks for; None for a class."""
    if isinstance(context.task.form, ClassForm):
        return None
    root = root_of(context.task)
    if root.fixed:
        return root.contract
    nodes = context.recorder.ledger.graph.nodes
    planned = (n.contract for n in nodes if n.contract and n.contract.name == root.contract.name)
    return next(planned, root.contract)


def _request(context: RunContext, contract: Contract, node: NodeId | None) -> Implementation | None:
    """Request an implementation without showing the program or the check."""

    def module(text: str) -> str:
        if faults := signature_faults(contract, text):
            raise FormatMismatch(faults[0])
        root = root_of(context.task)
        shared = _definitions(context, node)
        parts = (shared, root.given, text, root.main if node is None else "")
        source = "\n\n".join(part.strip() for part in parts if part.strip())
        return "\n".join([*completing(source, set()), source, ""])

    try:
        answer = context.ask(
            "independent",
            ParsedPython(module),
            Phase.VERIFICATION,
            INDEPENDENT_CODE,
            role="independent implementation",
            node=node,
            statement=context.statement,
            about=_about(context, node),
            header=contract.header(),
        )
    except ReplyUnusable:
        return None
    return Implementation(answer.value, answer.seq)


def _judgement(context: RunContext, doubt: Doubt) -> tuple[ResultComparison, int] | None:
    """Ask a model which result is right; the order of the results follows from a digest."""
    content = example_content(doubt.example)
    got = doubt.got if doubt.got is not None else f"an error: {doubt.evidence.message}"
    pair = content.expected or "", got
    first, second = reversed(pair) if _swapped(doubt) else pair
    try:
        answer = context.ask(
            "adjudicator",
            JsonValue(ResultComparison, answer_schema("adjudicator")),
            Phase.VERIFICATION,
            ADJUDICATION,
            role="adjudicator",
            node=doubt.node,
            statement=context.statement,
            about=_about(context, doubt.node),
            given=_shown(content.input),
            first=_shown(first),
            second=_shown(second),
        )
    except ReplyUnusable:
        return None
    return answer.value, answer.seq


def _about(context: RunContext, node: NodeId | None) -> str:
    if node is None:
        return ""
    text = described(context.recorder.ledger.graph.by_id[node])
    shared = _definitions(context, node)
    known = f"\n\nThe program defines:\n```python\n{shared}\n```" if shared else ""
    return f"It is about one function of the program:\n{text}{known}\n\n"


def _definitions(context: RunContext, node: NodeId | None) -> str:
    """Return the shared definitions that an example of a node names; empty if there are none."""
    contract = context.recorder.ledger.graph.by_id[node].contract if node else None
    calls = [e for e in contract.examples if isinstance(e, CallExample)] if contract else []
    texts = " ".join(f"{e.arguments} {e.result}" for e in calls)
    return (shared_code(context, texts) or "").strip()


def _shown(text: str) -> str:
    if not text.strip():
        return "(empty)"
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}\n[...]"


def _swapped(doubt: Doubt) -> bool:
    """Whether the result of the program is shown first."""
    return int(digest(f"{doubt.check}\n{doubt.example}".encode("utf-8", "replace"))[0], 16) % 2 == 1


def _ruling_of(right: Side, *, swapped: bool) -> Ruling:
    match right:
        case Side.A:
            return Ruling.CHECK_WRONG if swapped else Ruling.PROGRAM_WRONG
        case Side.B:
            return Ruling.PROGRAM_WRONG if swapped else Ruling.CHECK_WRONG
        case Side.NEITHER | Side.UNCLEAR:
            return Ruling.UNDECIDED
