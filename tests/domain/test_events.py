"""Events: stable tags, the blobs that an event names, and replies as they were given."""

import msgspec
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.drafts import CheckResult, DraftPart
from auditcoder.domain.events import (
    Assembled,
    CodeWritten,
    DraftChosen,
    DraftsCommitted,
    DraftWritten,
    Event,
    ReplyRecorded,
    RunFinished,
    RunOutcome,
    VariantTried,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import NodeId
from auditcoder.domain.request import Attempt, FinishReason
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import CheckId, digest, encode
from tests.support.histories import improved
from tests.support.record_builders import RUN
from tests.support.records import take

TAGS = {
    "adjudicated",
    "assembled",
    "brief_committed",
    "check_dropped",
    "check_ran",
    "code_written",
    "draft_chosen",
    "draft_written",
    "drafts_committed",
    "exception_raised",
    "graph_committed",
    "graph_revised",
    "located",
    "reply_recorded",
    "rolled_back",
    "run_finished",
    "run_resumed",
    "run_started",
    "transaction_decided",
    "transaction_opened",
    "variant_tried",
}
REPLY = ReplyRecorded(
    role="math",
    scope=Scope.INITIAL,
    phase=Phase.GENERATION,
    request=digest(b"request"),
    reply=digest(b"reply"),
    model="m-1",
    usage=Usage(calls=1, prompt_tokens=7),
    finish="length",
    milliseconds=1500,
    attempts=(Attempt(problem="model.timeout"),),
)
PART = DraftPart(node=NodeId("S1"), code=digest(b"code"))
TRIED = VariantTried(
    versions={NodeId("S1"): 1},
    program=digest(b"program"),
    results={
        CheckId("one"): CheckResult(verdict=Verdict.PASSED, observed=digest(b"observed")),
        CheckId("two"): CheckResult(verdict=Verdict.CRASH),
    },
    outputs=digest(b"outputs"),
    judge="test",
)


def test_every_event_keeps_its_tag() -> None:
    kinds = msgspec.inspect.type_info(Event)
    assert isinstance(kinds, msgspec.inspect.UnionType)
    assert {k.tag for k in kinds.types if isinstance(k, msgspec.inspect.StructType)} == TAGS


def test_the_events_of_a_run_are_read_back_whole(store: SqliteStore) -> None:
    improved(store).decide()
    events = take(store, RUN).events()
    assert [msgspec.json.decode(encode(event), type=Event) for event in events] == events


def test_an_event_with_an_unknown_tag_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(b'{"type":"invented"}', type=Event)


@pytest.mark.parametrize(
    ("event", "names"),
    [
        (REPLY, [b"request", b"reply"]),
        (CodeWritten(node=NodeId("S1"), code=digest(b"code"), units=()), [b"code"]),
        (Assembled(program=digest(b"program"), segments=()), [b"program"]),
        (RunFinished(outcome=RunOutcome.PASSED, program=digest(b"program")), [b"program"]),
        (DraftsCommitted(nodes=(), slots=(), inputs=digest(b"inputs")), [b"inputs"]),
        (DraftWritten(slot=1, reply=1, parts=(PART,)), [b"code"]),
        (TRIED, [b"program", b"outputs", b"observed"]),
        (DraftChosen(versions={NodeId("S1"): 1}, reason=""), []),
        (RunFinished(outcome=RunOutcome.STOPPED, program=None), []),
    ],
)
def test_an_event_names_the_blobs_that_it_needs(event: Event, names: list[bytes]) -> None:
    assert event.blobs() == tuple(digest(name) for name in names)


def test_a_recorded_reply_is_given_back_as_it_was() -> None:
    reply = REPLY.answer("the text")
    assert (reply.text, reply.finish, reply.model) == ("the text", FinishReason.LENGTH, "m-1")
    assert (reply.usage, reply.seconds, reply.attempts) == (REPLY.usage, 1.5, REPLY.attempts)


def test_a_reply_of_unknown_duration_took_no_counted_time() -> None:
    assert msgspec.structs.replace(REPLY, milliseconds=None).answer("").seconds == 0.0
