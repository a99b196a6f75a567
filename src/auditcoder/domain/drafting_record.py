"""The drafts of a run, folded from its events: requests, drafts, variants and the choice."""

from functools import cached_property

import msgspec
from msgspec.structs import replace

from auditcoder.domain.drafts import (
    CheckResult,
    DraftPart,
    DraftSlot,
    Sufficiency,
    TriedVariant,
    VariantRank,
    ranks,
)
from auditcoder.domain.events import (
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    Event,
    ReplyRecorded,
    VariantTried,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.ledger import Ledger
from auditcoder.domain.request import Request
from auditcoder.domain.values import NO_DIGEST, CheckId, Digest, Value


class RequestedDraft(Value):
    """What came of the request for the draft of a slot."""

    replies: tuple[int, ...] = ()
    """The events of all replies for it, including rejected ones."""
    rejected: tuple[str, ...] = ()
    """Why replies were rejected."""
    seq: int | None = None
    """The event of the draft; None if no reply gave one."""
    reply: int | None = None
    """The event of the reply that it comes from."""
    parts: dict[NodeId, DraftPart] = {}


class RecordedVariant(Value):
    """A variant that ran, with its results."""

    tried: TriedVariant
    program: Digest
    results: dict[CheckId, CheckResult]
    outputs: Digest
    """A JSON array: the output for each input as text, or null if there was none."""

    @property
    def verdicts(self) -> dict[CheckId, Verdict]:
        """The verdict of each check of the program."""
        return {check: result.verdict for check, result in self.results.items()}


class DraftChoice(Value):
    """The choice of a variant."""

    seq: int
    versions: dict[NodeId, int]
    """The slot of the draft that each node's code is taken from."""
    reason: str


class DraftingRecord(Value, dict=True):
    """The drafts of some nodes, from their plan to the choice."""

    seq: int
    """The event that fixed the slots and the inputs."""
    nodes: tuple[NodeId, ...]
    slots: tuple[DraftSlot, ...]
    inputs: Digest
    """A JSON array of texts, on which drafts may agree."""
    compared: int
    """The number of these inputs."""
    enough: Sufficiency
    requested: dict[int, RequestedDraft] = {}
    """By slot, counted from 1; a slot that was never requested is absent."""
    variants: tuple[RecordedVariant, ...] = ()
    choice: DraftChoice | None = None
    """None if the record ends before it, or if no draft could be used."""

    @cached_property
    def ranks(self) -> tuple[VariantRank, ...]:
        """The rank of each variant among all that ran."""
        return ranks([variant.tried for variant in self.variants])

    @property
    def written(self) -> int:
        """The number of drafts; a request without a usable reply gave none."""
        return sum(draft.seq is not None for draft in self.requested.values())

    @property
    def chosen(self) -> int | None:
        """The index of the chosen variant; None without a choice."""
        tried = [variant.tried.versions for variant in self.variants]
        return tried.index(self.choice.versions) if self.choice else None

    def whole(self, slot: int) -> int | None:
        """Return the index of the variant that is the draft of a slot; None if it did not run."""
        slots = [variant.tried.slot for variant in self.variants]
        return slots.index(slot) if slot in slots else None

    def slot_of(self, node: NodeId, code: Digest, reply: int | None) -> int | None:
        """Return the slot of the draft that some code of a node is; None if it is no draft."""
        if self.choice is None:
            return None
        chosen = self.choice.versions.get(node)
        for slot in sorted(self.requested, key=lambda slot: (slot != chosen, slot)):
            draft = self.requested[slot]
            part = draft.parts.get(node)
            if part and part.code == code and reply == (None if part.is_stub else draft.reply):
                return slot
        return None


def with_event(
    record: DraftingRecord | None, event: Event, ledger: Ledger, read: ReadBlob
) -> DraftingRecord | None:
    """Return the drafts after a legal event; `ledger` is the state after it."""
    seq = ledger.seq - 1
    match event:
        case DraftsCommitted() if ledger.drafting is not None:
            return DraftingRecord(
                seq=seq,
                nodes=event.nodes,
                slots=event.slots,
                inputs=event.inputs,
                compared=ledger.drafting.inputs,
                enough=event.enough,
            )
        case _ if record is None or ledger.drafting is None or ledger.assembled:
            return record
        case ReplyRecorded() if record.choice is None:
            return _with_reply(record, seq, event, read)
        case DraftWritten():
            return _with_draft(record, seq, event)
        case VariantTried():
            variant = RecordedVariant(
                tried=ledger.drafting.tried[-1],
                program=event.program,
                results=event.results,
                outputs=event.outputs,
            )
            return replace(record, variants=(*record.variants, variant))
        case DraftChosen():
            choice = DraftChoice(seq=seq, versions=event.versions, reason=event.reason)
            return replace(record, choice=choice)
        case _:
            return record


def _with_reply(
    record: DraftingRecord, seq: int, event: ReplyRecorded, read: ReadBlob
) -> DraftingRecord:
    """File a reply under the next slot that was planned with the settings of its request."""
    try:
        request = msgspec.json.decode(read(event.request), type=Request)
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError):
        return record
    settings = DraftSlot(
        prompt=request.prompt or NO_DIGEST, temperature=request.temperature, seed=request.seed
    )
    for number, slot in enumerate(record.slots, start=1):
        draft = record.requested.get(number, RequestedDraft())
        if slot == settings and draft.seq is None:
            rejected = (event.rejected,) if event.rejected else ()
            return _with_slot(
                record,
                number,
                replace(
                    draft,
                    replies=(*draft.replies, seq),
                    rejected=(*draft.rejected, *rejected),
                ),
            )
    return record


def _with_draft(record: DraftingRecord, seq: int, event: DraftWritten) -> DraftingRecord:
    """Add a draft; its reply belongs to its slot, whatever its settings suggested."""
    parts = {part.node: part for part in event.parts}
    for number, other in record.requested.items():
        if number != event.slot and event.reply in other.replies:
            rest = tuple(reply for reply in other.replies if reply != event.reply)
            record = _with_slot(record, number, replace(other, replies=rest))
    draft = record.requested.get(event.slot, RequestedDraft())
    replies = tuple(sorted({*draft.replies, event.reply}))
    return _with_slot(
        record,
        event.slot,
        replace(draft, replies=replies, seq=seq, reply=event.reply, parts=parts),
    )


def _with_slot(record: DraftingRecord, number: int, draft: RequestedDraft) -> DraftingRecord:
    return replace(record, requested=record.requested | {number: draft})
