"""Asks a model for the cause of a failure before code is written again."""

from enum import Enum

import msgspec

from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.evidence import Evidence
from auditcoder.domain.graph import named_in
from auditcoder.domain.ids import NodeId
from auditcoder.domain.targets import Target
from auditcoder.domain.usage import Phase
from auditcoder.domain.values import Value
from auditcoder.lifecycle.failure_report import failure_text
from auditcoder.lifecycle.planning.sketch_writer import described
from auditcoder.lifecycle.response_formats import JsonValue
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.lifecycle.token_limits import ROOT_CAUSE
from auditcoder.prompts import answer_schema


class RootCause(Enum):
    """The kind of a failure's cause; the paper's failure modes."""

    IMPLEMENTATION = "implementation"
    ALGORITHM = "algorithm"
    INTERFACE = "interface"
    DECOMPOSITION = "decomposition"
    GLOBAL = "global"


class CauseAnalysis(Value):
    """A model's analysis of a failure."""

    cause: RootCause
    explanation: str
    hints: tuple[str, ...]
    cost: str
    """The time cost that the node should have; empty if it stays."""
    signature: str
    """The header that the function should have; empty if it stays."""


UNKNOWN_CAUSE = CauseAnalysis(
    cause=RootCause.IMPLEMENTATION, explanation="nobody could say", hints=(), cost="", signature=""
)
PASSED_WITH_SUBSTITUTE = msgspec.structs.replace(
    UNKNOWN_CAUSE, explanation="with another implementation in its place, every check passed"
)


def analyse_cause(context: RunContext, target: Target, failing: Evidence) -> CauseAnalysis:
    """Ask the model for the cause of a failure at a target; NOTHING_SAID if no reply is usable."""
    node = first_node(target)
    ledger = context.recorder.ledger
    code = ledger.working.code.get(node)
    try:
        return context.ask(
            "replan_node",
            JsonValue(CauseAnalysis, answer_schema("replan_node")),
            Phase.PLANNING,
            ROOT_CAUSE,
            role="task replanner",
            node=node,
            statement=context.statement,
            about=described(ledger.graph.by_id[node]),
            code=context.recorder.text(code.digest).strip() if code else "",
            failure=failure_text(context, failing),
        ).value
    except ReplyUnusable:
        return UNKNOWN_CAUSE


def first_node(target: Target) -> NodeId:
    """Return the first node that a target names."""
    return named_in(target)[0]
