"""A model's verdict on each function of a failing program: the weakest evidence there is."""

from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import CheckKind, Evidence, Trust, Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.places import AtNode
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import CheckId, Value
from auditcoder.lifecycle.failures import failure_text
from auditcoder.lifecycle.shapes import Structured
from auditcoder.lifecycle.validating.evidence import Check, Seen, record
from auditcoder.lifecycle.workshop import Workshop

_MAX_TOKENS = 400


class Opinion(Value):
    """What the reviewer says of one function."""

    function: str
    verdict: str
    reason: str


class Opinions(Value):
    """What the reviewer says."""

    opinions: tuple[Opinion, ...]


def review(workshop: Workshop, failing: Evidence) -> list[Evidence]:
    """Ask for a verdict on every function that took part in a failing case."""
    ledger = workshop.recorder.ledger
    suspects = [n for n in failing.ran or () if ledger.graph.by_id[n].contract]
    if not workshop.options.review or len(suspects) < 2:
        return []  # where only one took part, an opinion adds nothing
    names = {c.name: n for n in suspects if (c := ledger.graph.by_id[n].contract)}
    try:
        answer = workshop.ask(
            "verdict",
            Structured(Opinions),
            Phase.VERIFICATION,
            _MAX_TOKENS,
            role="verifier",
            statement=workshop.statement,
            program=workshop.program.strip(),
            failure=failure_text(workshop, failing),
            functions=", ".join(f"`{name}`" for name in names),
        )
    except ReplyUnusable:
        return []  # both answers are on record
    said = {o.function.strip("`() "): o for o in reversed(answer.value.opinions)}
    return [_evidence(workshop, node, said[name]) for name, node in names.items() if name in said]


def _evidence(workshop: Workshop, node: NodeId, opinion: Opinion) -> Evidence:
    rejected = opinion.verdict.strip().lower() in {"reject", "rejected", "wrong", "incorrect"}
    check = Check(
        CheckId(f"{node}.review"),
        AtNode(node=node),
        CheckKind.REVIEW,
        Trust.GENERATED,
        "a model that looks at a failing case finds nothing wrong with it",
    )
    verdict = Verdict.FAILED if rejected else Verdict.PASSED
    return record(workshop, check, lambda: Seen(verdict, opinion.reason, judge="verifier"))
