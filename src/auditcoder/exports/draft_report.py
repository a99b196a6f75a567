"""The drafts of the first code: how many were requested, which was chosen, and how they differ."""

from msgspec.structs import replace

from auditcoder.domain.drafting_record import DraftingRecord
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws import ReadBlob
from auditcoder.domain.repair import Rank
from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import CheckId, Digest, Value
from auditcoder.exports.repair_report import code_diff, text_of


class ChosenVariant(Value):
    """The chosen variant, and why it was chosen."""

    event: int
    versions: dict[NodeId, int]
    """The draft that each node's code is taken from."""
    reason: str
    verdicts: dict[CheckId, Verdict]
    rank: Rank
    votes: int


class DraftSummary(Value):
    """The drafts of a run in numbers, and the choice."""

    event: int
    """The event that planned them."""
    nodes: tuple[NodeId, ...]
    slots: int
    """The maximum number of drafts."""
    requested: int
    written: int
    """The number of requests with a usable reply."""
    variants: int
    """The number of programs that were tried: whole drafts and combinations."""
    combined: int
    """The number of variants that combine several drafts."""
    inputs: int
    """The number of inputs without an expected result, on which drafts may agree."""
    chosen: ChosenVariant | None
    """None if the record ends before the choice, or if no draft could be used."""


class NodeDraft(Value):
    """The code of one node in one draft. Checks and votes are those of the draft as a whole."""

    draft: int
    """The number of its slot."""
    temperature: float
    seed: int | None
    prompt: str
    """The name of the prompt, or its digest if the manifest does not name it."""
    usage: Usage
    """The cost of the request, including rejected replies."""
    replies: tuple[int, ...]
    """The events of all replies."""
    rejected: tuple[str, ...] = ()
    """Why replies were rejected."""
    event: int | None = None
    """The event of the draft; None if no reply could be used."""
    chosen: bool = False
    """Whether its code was chosen for this node."""
    verdicts: dict[CheckId, Verdict] | None = None
    """The verdict of each check; None if it could not be run."""
    rank: Rank | None = None
    votes: int | None = None
    """For each input, the number of whole drafts with the same output, itself included."""
    code: Digest | None = None
    """None if the draft has no code for this node."""
    source: str | None = None
    is_stub: bool = False
    losses: tuple[str, ...] = ()
    note: str = ""
    same_as: int | None = None
    """The draft with the same code: the chosen one, or else the first."""
    diff: str = ""
    """A unified diff from the chosen code to this one; empty if nothing differs or was chosen."""


def draft_summary(trace: Trace) -> DraftSummary | None:
    """Return the drafts of a run in numbers; None if none were planned."""
    record = trace.drafting
    if record is None:
        return None
    return DraftSummary(
        event=record.seq,
        nodes=record.nodes,
        slots=len(record.slots),
        requested=len(record.requested),
        written=record.written,
        variants=len(record.variants),
        combined=sum(variant.tried.slot is None for variant in record.variants),
        inputs=record.compared,
        chosen=_chosen(record),
    )


def _chosen(record: DraftingRecord) -> ChosenVariant | None:
    if record.choice is None or record.chosen is None:
        return None
    rank = record.ranks[record.chosen]
    return ChosenVariant(
        event=record.choice.seq,
        versions=record.choice.versions,
        reason=record.choice.reason,
        verdicts=record.variants[record.chosen].verdicts,
        rank=rank.checks,
        votes=rank.votes,
    )


def drafted_nodes(trace: Trace) -> tuple[NodeId, ...]:
    """Return the nodes with code in drafts, including a root whose code a draft completes."""
    if trace.drafting is None:
        return ()
    drafts = trace.drafting.requested.values()
    others = {node for draft in drafts for node in draft.parts}
    return tuple(sorted({*trace.drafting.nodes, *others}))


def node_drafts(trace: Trace, node: NodeId, read: ReadBlob) -> tuple[NodeDraft, ...]:
    """Return every requested draft of a node, in the order of their slots."""
    record = trace.drafting
    if record is None:
        return ()
    parts = {
        slot: draft.parts[node]
        for slot, draft in sorted(record.requested.items())
        if node in draft.parts
    }
    first = {part.code: slot for slot, part in reversed(parts.items())}
    chosen = record.choice.versions.get(node) if record.choice else None
    base = None
    if chosen is not None:
        first[parts[chosen].code] = chosen
        base = text_of(read(parts[chosen].code))
    drafts = []
    for slot in sorted(record.requested):
        draft = _as_requested(trace, record, slot)
        if part := parts.get(slot):
            source = text_of(read(part.code))
            draft = replace(
                draft,
                chosen=slot == chosen,
                code=part.code,
                source=source,
                is_stub=part.is_stub,
                losses=part.losses,
                note=part.note,
                same_as=first[part.code] if first[part.code] != slot else None,
                diff="" if base is None else code_diff(base, source),
            )
        drafts.append(draft)
    return tuple(drafts)


def _as_requested(trace: Trace, record: DraftingRecord, slot: int) -> NodeDraft:
    """Return a draft without its code: how it was requested, and how it did as a whole."""
    planned, draft, index = record.slots[slot - 1], record.requested[slot], record.whole(slot)
    names = {digest: name for name, digest in trace.manifest.prompts.items()}
    return NodeDraft(
        draft=slot,
        temperature=planned.temperature,
        seed=planned.seed,
        prompt=names.get(planned.prompt, planned.prompt),
        usage=trace.draft_usage(slot),
        replies=draft.replies,
        rejected=draft.rejected,
        event=draft.seq,
        verdicts=None if index is None else record.variants[index].verdicts,
        rank=None if index is None else record.ranks[index].checks,
        votes=None if index is None else record.ranks[index].votes,
    )
