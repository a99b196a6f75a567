"""Drafting: the first code is chosen by execution among several drafts.

The slots and the inputs for the comparison are recorded before the first request. Drafts are
requested one after another until one suffices; parts of several drafts are recombined; the variant
with the highest rank becomes the code.
"""

import json

from auditcoder.domain.drafts import DraftSlot, Sufficiency, best, is_enough, ranks
from auditcoder.domain.errors import BudgetExceeded, RecordRefused
from auditcoder.domain.events import DraftChosen, DraftsCommitted, DraftWritten
from auditcoder.domain.evidence import Trust
from auditcoder.domain.ids import NodeId
from auditcoder.domain.laws.draft_laws import deciding_checks, event_of
from auditcoder.domain.ledger import Drafting
from auditcoder.lifecycle import code_builder
from auditcoder.lifecycle.drafting.comparison_inputs import comparison_inputs
from auditcoder.lifecycle.drafting.draft_requests import Draft, prompts, request_draft
from auditcoder.lifecycle.drafting.recombination import recombine
from auditcoder.lifecycle.drafting.variant_runs import try_variant
from auditcoder.lifecycle.options import Options
from auditcoder.lifecycle.run_context import RunContext
from auditcoder.prompts import Prompt

DEFAULT = Sufficiency()


def write_first_code(
    context: RunContext, nodes: list[NodeId], enough: Sufficiency = DEFAULT
) -> None:
    """Write the first code of `nodes`, chosen among drafts; stubs if no reply is usable."""
    recorder = context.recorder
    inputs = comparison_inputs(context.task, recorder.ledger.working.brief)
    planned = prompts(context, nodes, context.options.drafts or 1)
    slots = _slots(context.options, planned)
    recorder.record(
        DraftsCommitted(
            nodes=tuple(nodes),
            slots=slots,
            inputs=recorder.put(json.dumps(inputs)),
            enough=enough,
        )
    )
    try:
        for number, (slot, prompt) in enumerate(zip(slots, planned, strict=True), start=1):
            draft = request_draft(context, nodes, slot, prompt)
            if draft is not None and _record(context, number, draft):
                versions = {part.node: number for part in draft.parts}
                try_variant(context, versions, inputs)
            if _suffices(context):
                break
    except BudgetExceeded:
        if not _drafting(context).tried:
            raise
    if not _drafting(context).tried:
        for node in nodes:
            code_builder.degrade(context, node, "no draft could be used")
        return
    recombine(context, inputs, context.options.max_search_runs)
    _choose(context)


def _slots(options: Options, planned: list[Prompt]) -> tuple[DraftSlot, ...]:
    """Return the slots; the first is sampled like the first answer of any method."""
    return tuple(
        DraftSlot(
            prompt=prompt.digest,
            temperature=options.draft_temperature if number else options.temperature,
            seed=(options.seed or 0) + number if number else options.seed,
        )
        for number, prompt in enumerate(planned)
    )


def _record(context: RunContext, slot: int, draft: Draft) -> bool:
    """Record a draft; return False if the laws do not allow its code."""
    try:
        context.recorder.record(DraftWritten(slot=slot, reply=draft.reply, parts=draft.parts))
    except RecordRefused:
        return False
    return True


def _suffices(context: RunContext) -> bool:
    drafting = _drafting(context)
    given = len(context.task.examples)
    others = len(deciding_checks(context.recorder.ledger)) - given
    return is_enough(drafting.tried, given, others, drafting.enough)


def _choose(context: RunContext) -> None:
    """Record the choice, and the code of the chosen variant."""
    recorder = context.recorder
    drafting = _drafting(context)
    versions = drafting.tried[best(drafting.tried)].versions
    recorder.record(DraftChosen(versions=versions, reason=_reason(context, drafting)))
    for node, slot in sorted(versions.items()):
        draft = drafting.drafts[slot]
        recorder.record(event_of(recorder.ledger, draft.parts[node], draft.reply, recorder.read))


def _reason(context: RunContext, drafting: Drafting) -> str:
    """Return why a variant was chosen, in one sentence."""
    index = best(drafting.tried)
    rank, chosen = ranks(drafting.tried)[index], drafting.tried[index]
    ledger = context.recorder.ledger
    checks = deciding_checks(ledger)
    given = sum(ledger.checks[check].trust is Trust.GIVEN for check in checks)
    parts = [f"{rank.checks.external_passes} of {given} given checks pass"] if given else []
    if others := len(checks) - given:
        parts.append(f"{rank.checks.internal_passes} of {others} other checks pass")
    whole = sum(variant.slot is not None for variant in drafting.tried)
    if whole > 1 and drafting.inputs:
        parts.append(
            f"{rank.votes} outputs agree, over {drafting.inputs} inputs and {whole} drafts"
        )
    slots = sorted(set(chosen.versions.values()))
    name = (
        f"draft {slots[0]}" if len(slots) == 1 else f"parts of drafts {', '.join(map(str, slots))}"
    )
    tried = (
        "the only one tried" if len(drafting.tried) == 1 else f"best of {len(drafting.tried)} tried"
    )
    return f"{name}, {tried}: {'; '.join(parts) or 'there is nothing to compare'}"


def _drafting(context: RunContext) -> Drafting:
    drafting = context.recorder.ledger.drafting
    assert drafting is not None
    return drafting
