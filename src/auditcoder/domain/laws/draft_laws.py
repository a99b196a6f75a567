"""The laws of drafts: planned before the first, compared on fixed terms, chosen by results.

From the plan of the drafts to the choice, neither the rest of the program nor its checks change.
The first program is then the one that was chosen.
"""

from collections.abc import Mapping
from typing import NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from auditcoder.domain.assembly import AssemblyConflict, assemble, is_readable
from auditcoder.domain.code import read_bundle, units_of
from auditcoder.domain.drafts import DraftPart, TriedVariant, best, is_stub
from auditcoder.domain.events import (
    Assembled,
    CodeWritten,
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    VariantTried,
)
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws.code_laws import code_written, taken_names
from auditcoder.domain.laws.common import (
    IllegalHistory,
    Law,
    ReadBlob,
    committed_graph,
    listed,
    refuse,
)
from auditcoder.domain.laws.verdict_laws import refuse_false_result
from auditcoder.domain.ledger import Drafting, Ledger, UsableReply, WrittenDraft, change
from auditcoder.domain.repair import rank
from auditcoder.domain.request import Request
from auditcoder.domain.values import CheckId, Digest, digest

T = TypeVar("T")

MOST_SLOTS = 64
MOST_INPUTS = 200
MOST_MIXED = 1_000
"""Maximum number of variants that combine several drafts."""
_MOST_BYTES = 8 << 20
"""Maximum size of an array of inputs or outputs."""
DRAFTER = "drafter"
"""The agent of code that is a draft."""
STUB = "degraded"
"""The agent of a stub that stands in for code that is missing."""


class AssembledVariant(NamedTuple):
    """A program that takes each drafted node's code from a draft."""

    text: str
    readable: bool
    """Whether it parses; otherwise no check can count as clean."""


def drafts_committed(ledger: Ledger, event: DraftsCommitted, read: ReadBlob) -> Ledger:
    """Register planned drafts: they come before any request for code."""
    graph = committed_graph(ledger)
    if ledger.format < 4:
        refuse(Law.OUT_OF_PLACE, ledger, "drafts exist since format 4")
    if ledger.drafting is not None or ledger.assembled:
        refuse(Law.OUT_OF_PLACE, ledger, "drafts are planned once, before the first program")
    if ledger.code_requested:
        refuse(Law.WRONG_DRAFT, ledger, "code was requested before the drafts were planned")
    nodes = frozenset(event.nodes)
    if not nodes or len(nodes) != len(event.nodes) or not nodes <= graph.ids - {ROOT}:
        refuse(Law.MISDECLARED, ledger, "the drafted nodes are not nodes of this run")
    if written := nodes & ledger.working.code.keys():
        refuse(Law.OUT_OF_PLACE, ledger, f"{listed(written)} has code already")
    if missing := set(graph.leaves) - nodes - ledger.working.code.keys():
        refuse(Law.MISDECLARED, ledger, f"{listed(missing)} would have neither code nor drafts")
    if not 1 <= len(event.slots) <= MOST_SLOTS:
        refuse(Law.MISDECLARED, ledger, f"there are 1 to {MOST_SLOTS} drafts")
    if min(event.enough.examples, event.enough.others, event.enough.agreeing) < 1:
        refuse(Law.MISDECLARED, ledger, "no draft suffices without a check or an agreement")
    inputs = _texts(ledger, event.inputs, read, list[str])
    if len(inputs) > MOST_INPUTS or len(set(inputs)) != len(inputs):
        refuse(Law.MISDECLARED, ledger, "the inputs are too many, or one stands twice")
    drafting = Drafting(nodes=nodes, slots=event.slots, inputs=len(inputs), enough=event.enough)
    return change(ledger, drafting=drafting)


def draft_written(ledger: Ledger, event: DraftWritten, read: ReadBlob) -> Ledger:
    """Register a draft: its reply was sampled as planned, and could be the code of the nodes."""
    drafting = open_drafting(ledger)
    if not max(drafting.drafts, default=0) < event.slot <= len(drafting.slots):
        refuse(Law.WRONG_DRAFT, ledger, f"slot {event.slot} is not one that comes next")
    reply = ledger.replies.get(event.reply)
    used = {draft.reply for draft in drafting.drafts.values()}
    if reply is None or reply.plans or event.reply in used:
        refuse(Law.MISDECLARED, ledger, f"event {event.reply} is not the reply of a draft")
    _refuse_other_sampling(ledger, event, drafting, reply, read)
    parts = {part.node: part for part in event.parts}
    own = parts.keys() - {ROOT}
    if len(parts) != len(event.parts) or own != drafting.nodes:
        refuse(Law.MISDECLARED, ledger, f"a draft has code for {listed(drafting.nodes)}")
    stubs = {part.node for part in event.parts if part.is_stub}
    if own <= stubs or not all(is_stub(_text(read, parts[node].code)) for node in stubs):
        refuse(Law.MISDECLARED, ledger, "a stub is code, or the reply gives nothing else")
    draft = WrittenDraft(reply=event.reply, parts=parts)
    after = replace(drafting, drafts=drafting.drafts | {event.slot: draft})
    with_draft = change(ledger, drafting=after)
    in_place(with_draft, dict.fromkeys(parts, event.slot), read)
    return with_draft


def _refuse_other_sampling(
    ledger: Ledger, event: DraftWritten, drafting: Drafting, reply: UsableReply, read: ReadBlob
) -> None:
    slot = drafting.slots[event.slot - 1]
    try:
        request = msgspec.json.decode(read(reply.request), type=Request)
    except (ValueError, RecursionError):
        refuse(Law.MISDECLARED, ledger, "the request of a draft cannot be read")
    sampled = (request.prompt, request.temperature, request.seed)
    if sampled != (slot.prompt, slot.temperature, slot.seed):
        refuse(Law.WRONG_DRAFT, ledger, f"slot {event.slot} was planned with other settings")


def variant_tried(ledger: Ledger, event: VariantTried, read: ReadBlob) -> Ledger:
    """Register a variant: it is assembled from drafts, and its results follow from its runs."""
    drafting = open_drafting(ledger)
    if any(event.versions == variant.versions for variant in drafting.tried):
        refuse(Law.MISDECLARED, ledger, "this variant was tried before")
    made = variant(ledger, event.versions, read)
    if made is None or event.program != digest(made.text.encode()):
        refuse(Law.UNFAITHFUL_ASSEMBLY, ledger, "the program is not made of these drafts")
    if event.results.keys() != deciding_checks(ledger):
        refuse(Law.WRONG_DRAFT, ledger, "a variant runs every check of the program")
    if not event.judge:
        refuse(Law.FALSE_VERDICT, ledger, "nobody is named who ran the variant")
    for check, result in event.results.items():
        refuse_false_result(ledger, check, result, read)
        if result.verdict.clean and not made.readable:
            refuse(Law.FALSE_VERDICT, ledger, "the variant has code that cannot be read")
    outputs = _texts(ledger, event.outputs, read, list[str | None])
    if len(outputs) != drafting.inputs:
        refuse(Law.WRONG_DRAFT, ledger, "a variant runs on every input that was planned")
    pinned = {check: ledger.checks[check].trust for check in event.results}
    tried = TriedVariant(
        seq=ledger.seq,
        versions=event.versions,
        program=event.program,
        rank=rank({c: result.verdict for c, result in event.results.items()}, pinned),
        outputs=tuple(None if text is None else digest(text.encode()) for text in outputs),
    )
    return change(ledger, drafting=replace(drafting, tried=(*drafting.tried, tried)))


def draft_chosen(ledger: Ledger, event: DraftChosen, read: ReadBlob) -> Ledger:
    """Register the choice: the variant with the highest rank, the earliest of several."""
    drafting = open_drafting(ledger)
    if untried := _untried(ledger, drafting, read):
        refuse(Law.WRONG_DRAFT, ledger, f"the drafts of slots {listed(untried)} did not run")
    if not drafting.tried:
        refuse(Law.WRONG_DRAFT, ledger, "no draft was tried")
    chosen = drafting.tried[best(drafting.tried)]
    if event.versions != chosen.versions:
        refuse(Law.WRONG_DRAFT, ledger, f"the variant of event {chosen.seq} ranks higher or equal")
    return change(ledger, drafting=replace(drafting, chosen=chosen))


def _untried(ledger: Ledger, drafting: Drafting, read: ReadBlob) -> list[int]:
    """Return the slots whose whole draft could run and did not."""
    tried = [variant.versions for variant in drafting.tried]
    whole = {slot: dict.fromkeys(draft.parts, slot) for slot, draft in drafting.drafts.items()}
    return [
        slot
        for slot, versions in whole.items()
        if versions not in tried and variant(ledger, versions, read) is not None
    ]


def compared(ledger: Ledger) -> Drafting | None:
    """Return the drafts that are being compared; None once one is chosen, or stubs are written."""
    drafting = ledger.drafting
    if drafting is None or drafting.chosen is not None or ledger.assembled:
        return None
    return None if drafting.nodes & ledger.working.code.keys() else drafting


def open_drafting(ledger: Ledger) -> Drafting:
    """Return the drafts that are being compared; there must be some."""
    drafting = compared(ledger)
    if drafting is None:
        refuse(Law.OUT_OF_PLACE, ledger, "no drafts are being compared")
    return drafting


def deciding_checks(ledger: Ledger) -> frozenset[CheckId]:
    """Return the checks of the program that every variant runs."""
    return frozenset(ledger.examples) - ledger.dropped


def refuse_other_checks(ledger: Ledger) -> None:
    """Refuse that checks are planned or dropped while drafts are compared by them."""
    if compared(ledger) is not None:
        refuse(Law.WRONG_DRAFT, ledger, "the checks change while drafts are compared")


def refuse_other_draft(ledger: Ledger, event: CodeWritten, read: ReadBlob) -> None:
    """Refuse other code than the chosen drafts, until there is a program.

    If no draft can run, every drafted node has a stub.
    """
    drafting, node = ledger.drafting, event.node
    if drafting is None or ledger.assembled:
        return
    if drafting.chosen is not None:
        slot = drafting.chosen.versions.get(node, 0)
        part = drafting.part(node, slot)
        if part is None:
            refuse(Law.WRONG_DRAFT, ledger, f"the chosen variant has no code for {node}")
        if event != event_of(ledger, part, drafting.drafts[slot].reply, read):
            refuse(Law.WRONG_DRAFT, ledger, f"the code of {node} is not its chosen draft")
        return
    drafted = node in drafting.nodes
    if compared(ledger) is not None and (
        not drafted or drafting.tried or _untried(ledger, drafting, read)
    ):
        refuse(Law.WRONG_DRAFT, ledger, f"the code of {node} is written before a draft is chosen")
    if drafted and (event.reply is not None or not is_stub(_text(read, event.code))):
        refuse(Law.WRONG_DRAFT, ledger, f"no draft can be used, so {node} has a stub")


def refuse_other_program(ledger: Ledger, event: Assembled) -> None:
    """Refuse another first program than the chosen variant."""
    drafting = ledger.drafting
    if drafting is None or ledger.assembled:
        return
    if compared(ledger) is not None:
        refuse(Law.WRONG_DRAFT, ledger, "no draft is chosen yet")
    if drafting.chosen is not None and event.program != drafting.chosen.program:
        refuse(Law.WRONG_DRAFT, ledger, "the program is not the chosen variant")


def event_of(ledger: Ledger, part: DraftPart, reply: int, read: ReadBlob) -> CodeWritten:
    """Return the event that makes a part of a draft the code of its node."""
    source = _text(read, part.code)
    taken = taken_names(ledger, part.node)
    return CodeWritten(
        node=part.node,
        code=part.code,
        units=units_of(read_bundle(source), part.node, part.scope, taken),
        scope=part.scope,
        agent=STUB if part.is_stub else DRAFTER,
        reply=None if part.is_stub else reply,
        losses=part.losses,
        note=part.note,
    )


def in_place(ledger: Ledger, versions: Mapping[NodeId, int], read: ReadBlob) -> Ledger:
    """Return the state in which the versions are the code; raise IllegalHistory if impossible."""
    drafting, after = ledger.drafting, change(ledger, drafting=None)
    assert drafting is not None
    for node, slot in sorted(versions.items()):
        part = drafting.part(node, slot)
        if part is None:
            refuse(Law.MISDECLARED, ledger, f"slot {slot} has no code for {node}")
        event = event_of(after, part, drafting.drafts[slot].reply, read)
        after = code_written(after, event, read)
    return after


def variant(
    ledger: Ledger, versions: Mapping[NodeId, int], read: ReadBlob
) -> AssembledVariant | None:
    """Return the program that takes each node's code from a draft; None if it is impossible."""
    drafting = ledger.drafting
    if drafting is None or versions.keys() - {ROOT} != drafting.nodes:
        return None
    slots = set(versions.values())
    if len(slots) > 1 and len(drafting.tried) >= MOST_MIXED:
        return None
    for draft in (drafting.drafts.get(slot) for slot in slots):
        # A draft without its part of the root would count as a second one.
        if draft is None or (len(slots) == 1 and draft.parts.keys() != versions.keys()):
            return None
    try:
        working = in_place(ledger, versions, read).working
        text = assemble(ledger.graph, working.code, working.bundles).text
    except (IllegalHistory, AssemblyConflict):
        return None
    return AssembledVariant(text, is_readable(text, working.code, working.bundles))


def _text(read: ReadBlob, name: Digest) -> str:
    return read(name).decode("utf-8", "replace")


def _texts(ledger: Ledger, name: Digest, read: ReadBlob, kind: type[T]) -> T:
    content = read(name)
    if len(content) > _MOST_BYTES:
        refuse(Law.MISDECLARED, ledger, f"inputs or outputs have more than {_MOST_BYTES} bytes")
    try:
        return msgspec.json.decode(content, type=kind)
    except (ValueError, RecursionError):
        refuse(Law.MISDECLARED, ledger, "inputs and outputs are JSON arrays of texts")
