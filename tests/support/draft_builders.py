"""Builders of drafts: their plan, their replies, the runs of their variants, and the choice."""

import json
from collections.abc import Iterator, Mapping, Sequence

from auditcoder.domain.drafts import CheckResult, DraftPart, DraftSlot, Sufficiency, best
from auditcoder.domain.events import (
    CodeWritten,
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    ReplyRecorded,
    VariantTried,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT, NodeId
from auditcoder.domain.laws.draft_laws import deciding_checks, event_of, variant
from auditcoder.domain.ledger import Drafting
from auditcoder.domain.request import Message, Request, Speaker
from auditcoder.domain.task import example_content
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import CheckId, digest, encode
from auditcoder.lifecycle.ports import TraceStore
from auditcoder.lifecycle.recorder import Recorder
from tests.support.record_builders import S1, S1_1, S2, code, started

PROMPT = digest(b"the prompt of a draft")
DRAFTED = (S1_1, S2, S1)
"""Every node below the root."""
INPUTS = ("3\n", "5\n")


def slots(count: int) -> tuple[DraftSlot, ...]:
    """Return slots of one prompt; only the first is sampled without chance."""
    return tuple(
        DraftSlot(prompt=PROMPT, temperature=0.8 if n else 0.0, seed=n) for n in range(count)
    )


def plan_of(
    recorder: Recorder,
    nodes: Sequence[NodeId] = DRAFTED,
    count: int = 3,
    inputs: Sequence[str] = INPUTS,
    enough: Sufficiency | None = None,
) -> DraftsCommitted:
    """Return the event that plans drafts."""
    return DraftsCommitted(
        nodes=tuple(nodes),
        slots=slots(count),
        inputs=recorder.put(json.dumps(inputs)),
        enough=enough or Sufficiency(),
    )


def planned(store: TraceStore, count: int = 3) -> Recorder:
    """Return a run whose root has code, with drafts of all other nodes planned."""
    recorder = started(store)
    recorder.write_code(ROOT, code(ROOT))
    recorder.record(plan_of(recorder, count=count))
    return recorder


def request_of(slot: DraftSlot, *texts: str) -> Request:
    """Return a request as a slot plans it."""
    return Request(
        messages=tuple(Message(speaker=Speaker.USER, text=text) for text in texts or ("please",)),
        max_tokens=100,
        temperature=slot.temperature,
        seed=slot.seed,
        prompt=slot.prompt,
    )


def reply_to(
    recorder: Recorder,
    request: Request | str,
    text: str,
    phase: Phase = Phase.GENERATION,
    node: NodeId | None = None,
    rejected: str = "",
) -> ReplyRecorded:
    """Return the event of a reply to a request before there is a program."""
    sent = request if isinstance(request, str) else encode(request)
    return ReplyRecorded(
        role="drafter",
        scope=Scope.INITIAL,
        phase=phase,
        request=recorder.put(sent),
        reply=recorder.put(f"```python\n{text}```\n"),
        node=node,
        usage=Usage(calls=1),
        rejected=rejected,
    )


def body(value: int) -> str:
    """Return the body of a function that tells drafts apart."""
    return f"return x + {value}"


def codes(value: int, nodes: Sequence[NodeId] = DRAFTED) -> dict[NodeId, str]:
    """Return the code of a draft."""
    return {node: code(node, body(value)) for node in nodes}


def draft_of(
    recorder: Recorder,
    slot: int,
    drafted: Mapping[NodeId, str],
    *,
    reply: int | None = None,
    stubs: Sequence[NodeId] = (),
) -> DraftWritten:
    """Record the reply of a slot, unless it is given, and return the event of its draft."""
    if reply is None:
        request = request_of(drafting(recorder).slots[slot - 1])
        reply = recorder.record(reply_to(recorder, request, "\n".join(drafted.values())))
    return DraftWritten(
        slot=slot,
        reply=reply,
        parts=tuple(
            DraftPart(node=node, code=recorder.put(source), is_stub=node in stubs)
            for node, source in drafted.items()
        ),
    )


def write_draft(recorder: Recorder, slot: int, drafted: Mapping[NodeId, str] | None = None) -> int:
    """Record a draft and its reply; return the number of the reply."""
    event = draft_of(recorder, slot, codes(slot) if drafted is None else drafted)
    recorder.record(event)
    return event.reply


def trial_of(
    recorder: Recorder,
    versions: Mapping[NodeId, int],
    *verdicts: Verdict,
    outputs: Sequence[str | None] | None = None,
) -> VariantTried:
    """Return the run of a variant; checks without a verdict fail, in the order of their names."""
    made = variant(recorder.ledger, versions, recorder.read)
    text = "no program" if made is None else made.text
    given = dict(zip(sorted(deciding_checks(recorder.ledger)), verdicts, strict=False))
    return VariantTried(
        versions=dict(versions),
        program=recorder.put(text),
        results={
            check: result_of(recorder, check, given.get(check, Verdict.FAILED))
            for check in deciding_checks(recorder.ledger)
        },
        outputs=recorder.put(
            json.dumps([None] * drafting(recorder).inputs if outputs is None else outputs)
        ),
        judge="test",
    )


def result_of(recorder: Recorder, check: CheckId, verdict: Verdict) -> CheckResult:
    """Return a result that agrees with its verdict."""
    expected = example_content(recorder.ledger.examples[check]).expected
    assert expected is not None
    seen = {Verdict.PASSED: expected, Verdict.FAILED: f"not {expected}"}.get(verdict)
    return CheckResult(verdict=verdict, observed=None if seen is None else recorder.put(seen))


def whole(recorder: Recorder, slot: int) -> dict[NodeId, int]:
    """Return the versions of a whole draft."""
    return dict.fromkeys(drafting(recorder).drafts[slot].parts, slot)


def drafted(
    recorder: Recorder,
    slot: int,
    *verdicts: Verdict,
    outputs: Sequence[str | None] | None = None,
) -> None:
    """Record a draft, and the run of the program that is made of it."""
    write_draft(recorder, slot)
    recorder.record(trial_of(recorder, whole(recorder, slot), *verdicts, outputs=outputs))


def choice_of(recorder: Recorder) -> DraftChosen:
    """Return the event of the legal choice."""
    tried = drafting(recorder).tried
    return DraftChosen(versions=tried[best(tried)].versions, reason="it ranks highest")


def chosen_code(recorder: Recorder) -> Iterator[CodeWritten]:
    """Yield the events that write the chosen variant; each must be recorded before the next."""
    chosen = drafting(recorder).chosen
    assert chosen is not None
    for node, slot in sorted(chosen.versions.items()):
        draft = drafting(recorder).drafts[slot]
        yield event_of(recorder.ledger, draft.parts[node], draft.reply, recorder.read)


def write_choice(recorder: Recorder) -> None:
    """Record the choice and its code."""
    recorder.record(choice_of(recorder))
    for event in chosen_code(recorder):
        recorder.record(event)


def drafting(recorder: Recorder) -> Drafting:
    """Return the drafts of a run."""
    assert recorder.ledger.drafting is not None
    return recorder.ledger.drafting
