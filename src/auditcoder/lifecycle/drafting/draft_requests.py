"""Requests drafts: whole programs, as a direct request would give them, or all functions."""

from dataclasses import replace
from typing import NamedTuple

from auditcoder.domain.drafts import DraftPart, DraftSlot
from auditcoder.domain.errors import ReplyUnusable
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.task import ClassForm
from auditcoder.domain.usage import Phase
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.import_completion import without_stars
from auditcoder.lifecycle.model_client import ModelAnswer
from auditcoder.lifecycle.recorder import plain_lines
from auditcoder.lifecycle.reply_splitter import SplitReply
from auditcoder.lifecycle.response_formats import PythonBlock
from auditcoder.lifecycle.run_context import RunContext, Sampling
from auditcoder.lifecycle.task_forms import stated, wanted
from auditcoder.lifecycle.token_limits import WHOLE_PROGRAM, code_size
from auditcoder.prompts import Prompt, load

ROLE = "drafter"
PLAIN = "draft"
"""The prompt of a direct request."""
REASONED = "draft_reasoned"
_PLAIN_SLOTS = 6


class Draft(NamedTuple):
    """A draft, ready to be recorded."""

    reply: int
    parts: tuple[DraftPart, ...]


def is_whole(context: RunContext, nodes: list[NodeId]) -> bool:
    """Whether one node is the whole program, so that a reply is taken as it is."""
    graph = context.recorder.ledger.graph
    of_class = isinstance(context.task.form, ClassForm)
    return nodes == [graph.whole if of_class else graph.whole or graph.sole]


def prompts(context: RunContext, nodes: list[NodeId], count: int) -> list[Prompt]:
    """Return the prompt of each slot; the first is what a direct request would use.

    The last slots of a whole program have another prompt: what fails again and again under one
    wording may pass under another.
    """
    if not is_whole(context, nodes):
        of_class = isinstance(context.task.form, ClassForm)
        return [load(PLAIN if of_class else code_builder.joint_prompt(context, nodes)[0])] * count
    plain = min(count, _PLAIN_SLOTS)
    return [load(PLAIN)] * plain + [load(REASONED)] * (count - plain)


def request_draft(
    context: RunContext, nodes: list[NodeId], slot: DraftSlot, prompt: Prompt
) -> Draft | None:
    """Request the draft of a slot; return None if no reply is usable."""
    context = replace(context, sampling=Sampling(slot.temperature, slot.seed))
    try:
        if is_whole(context, nodes):
            return _whole(context, nodes[0], prompt)
        answer = _joint(context, nodes, prompt)
    except ReplyUnusable:
        return None
    return Draft(answer.seq, tuple(_parts(context, nodes, answer.value)))


def _whole(context: RunContext, node: NodeId, prompt: Prompt) -> Draft:
    answer = context.ask(
        prompt,
        PythonBlock(),
        Phase.GENERATION,
        WHOLE_PROGRAM,
        role=ROLE,
        node=node,
        statement=stated(context.task),
        wanted=wanted(context.task),
    )
    text, note = without_stars(plain_lines(answer.value))
    return Draft(answer.seq, (DraftPart(node=node, code=context.recorder.put(text), note=note),))


def _joint(context: RunContext, nodes: list[NodeId], prompt: Prompt) -> ModelAnswer[SplitReply]:
    shape = code_builder.draft_shape(context, nodes)
    if isinstance(context.task.form, ClassForm):
        return context.ask(
            prompt,
            shape,
            Phase.GENERATION,
            WHOLE_PROGRAM,
            role=ROLE,
            node=None,
            statement=stated(context.task),
            wanted=wanted(context.task),
        )
    _, values = code_builder.joint_prompt(context, nodes)
    return context.ask(
        prompt,
        shape,
        Phase.GENERATION,
        code_size(nodes),
        role=ROLE,
        node=None,
        statement=context.statement,
        advice=code_builder.hints_for(context, nodes),
        **values,
    )


def _parts(context: RunContext, nodes: list[NodeId], split: SplitReply) -> list[DraftPart]:
    """Return the code of each node, a stub where the reply has none; losses go with the first."""
    recorder, graph = context.recorder, context.recorder.ledger.graph
    lost = (*split.losses, *(f"another version of {other}" for other in sorted(split.crossing)))
    parts = []
    if split.shared:
        root = recorder.text(recorder.ledger.working.code[ROOT].digest)
        source = plain_lines(f"{split.shared}\n{root}")
        parts.append(DraftPart(node=ROOT, code=recorder.put(source)))
    for node in nodes:
        piece = split.pieces.get(node)
        if piece is None:
            reason = split.missing.get(node, "the reply does not have it")
            stub = recorder.put(code_builder.stub_of(graph.by_id[node], reason))
            scope = code_builder.scope_of(context, node)
            parts.append(DraftPart(node=node, code=stub, scope=scope, is_stub=True, losses=lost))
        else:
            source = plain_lines(code_builder.with_main(context, node, piece.source))
            parts.append(
                DraftPart(
                    node=node,
                    code=recorder.put(source),
                    scope=code_builder.scope_of(context, node),
                    losses=(*piece.losses, *lost),
                    note=piece.note,
                )
            )
        lost = ()
    return parts
