"""Asks a model for a verdict on each function of a failing program; the weakest evidence."""

from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import AtNode
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, Value
from auditcoder.lifecycle.failure_report import failure_text
from auditcoder.lifecycle.response_formats import JsonValue
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import VERDICTS
from auditcoder.lifecycle.validation.check_recorder import (
    CheckObservation,
    CheckSpec,
    record_unless_dropped,
)
from auditcoder.prompts import answer_schema

_WORDS = {
    **dict.fromkeys(("reject", "rejected", "wrong", "incorrect"), Verdict.FAILED),
    **dict.fromkeys(("accept", "accepted", "right", "correct"), Verdict.PASSED),
}
"""What a reviewer may call its verdict."""


class ReviewOpinion(Value):
    """The reviewer's verdict on one function."""

    function: str
    verdict: str
    reason: str


class Opinions(Value):
    """The reviewer's verdicts."""

    opinions: tuple[ReviewOpinion, ...]


def review(context: RunContext, failing: Evidence) -> list[Evidence]:
    """Ask for a verdict on every function that ran in a failing case, and record the answers."""
    ledger = context.recorder.ledger
    suspects = [n for n in failing.ran or () if ledger.graph.by_id[n].contract]
    if not context.options.review or len(suspects) < 2:
        return []  # an opinion on the only function that ran adds nothing
    names = {c.name: n for n in suspects if (c := ledger.graph.by_id[n].contract)}
    try:
        answer = context.ask(
            "verdict",
            JsonValue(Opinions, answer_schema("verdict")),
            Phase.VERIFICATION,
            VERDICTS,
            role="verifier",
            statement=context.statement,
            program=context.program.strip(),
            failure=failure_text(context, failing),
            functions=", ".join(f"`{name}`" for name in names),
        )
    except ReplyUnusable:
        return []
    opinions = {o.function.strip("`() "): o for o in reversed(answer.value.opinions)}
    seen: list[Evidence] = []
    for name, node in names.items():
        if name in opinions:
            seen += _evidence(context, node, opinions[name])
    return seen


def _evidence(context: RunContext, node: NodeId, opinion: ReviewOpinion) -> list[Evidence]:
    verdict = _WORDS.get(opinion.verdict.strip().lower())
    if verdict is None:
        return []  # neither side is taken, so there is no opinion
    check = CheckSpec(
        CheckId(f"{node}.review"),
        AtNode(node=node),
        CheckKind.REVIEW,
        Trust.GENERATED,
        "a model that looks at a failing case finds nothing wrong with it",
    )
    return record_unless_dropped(
        context, check, lambda: CheckObservation(verdict, opinion.reason, judge="verifier")
    )
