"""Specification of the replayer: every event is compared with the record, in any order of threads.

The tests with threads do not sleep: a thread that waits for ever would make its test hang.
"""

import threading
from collections.abc import Callable
from datetime import datetime

import pytest
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EntryReader
from auditcoder.domain.errors import EndOfRecord, NotFound, RecordRefused, ReplayDiverged
from auditcoder.domain.events import (
    CheckDropped,
    Event,
    GraphCommitted,
    Manifest,
    ReplyRecorded,
    RunResumed,
    RunStarted,
)
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.request import FinishReason, Message, Request, Speaker
from auditcoder.domain.usage import Phase, Scope, Usage
from auditcoder.domain.values import CheckId, Digest, digest, encode
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.lifecycle.replayer import Charge, Replayer, ReplayLog, is_skipped
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1_1,
    S2,
    check_node,
    code,
    started,
    ticking,
)
from tests.support.records import take

RESUMPTION = Manifest(model="another")


def request(text: str) -> Request:
    message = Message(speaker=Speaker.USER, text=text)
    return Request(messages=(message,), max_tokens=50, temperature=0.0)


def reply_to(
    recorder: Recorder, text: str, finish: FinishReason = FinishReason.STOP, calls: int = 1
) -> ReplyRecorded:
    """Return the event of a reply to the request `text`; the reply is the text in capitals."""
    return ReplyRecorded(
        role="planner",
        scope=Scope.INITIAL,
        phase=Phase.PLANNING,
        request=recorder.put(encode(request(text))),
        reply=recorder.put(text.upper()),
        model="scripted",
        usage=Usage(calls=calls),
        finish=finish.value,
    )


def record_replies(store: SqliteStore, *texts: str) -> Recorder:
    """Write a run with a graph and replies to these requests, in this order."""
    recorder = started(store)
    for text in texts:
        recorder.record(reply_to(recorder, text))
    return recorder


def log_of(store: SqliteStore) -> ReplayLog:
    """Return the entries of the run as a log."""
    reader = EntryReader()
    return ReplayLog(reader.read(body) for body in store.read(RUN))


def opened(
    store: SqliteStore, resume_with: Manifest | None = None, charge: Charge = lambda *_: None
) -> Replayer:
    """Return a replayer at the beginning of the run."""
    return Replayer.open(store, RUN, ticking(), resume_with, charge)


def past_graph(store: SqliteStore, resume_with: Manifest | None = None) -> Replayer:
    """Return a replayer that has replayed the graph of the run."""
    replayer = opened(store, resume_with)
    replayer.record(GraphCommitted(graph=GRAPH))
    return replayer


def answering(replayer: Replayer) -> Callable[[str], str]:
    """Return a worker that recalls the reply to a request and records it again."""

    def work(text: str) -> str:
        recalled = replayer.recall_reply(request(text).digest)
        replayer.record(reply_to(replayer, text))
        return recalled.text if recalled else ""

    return work


class TestReplayLog:
    def test_entries_are_taken_in_their_order(self, store: SqliteStore) -> None:
        started(store)
        log = log_of(store)
        first = log.next()
        assert first is not None
        assert isinstance(first.event, RunStarted)
        assert log.take() is first
        assert log.is_next(GraphCommitted(graph=GRAPH))
        assert not log.is_next(RunResumed(manifest=Manifest()))
        log.take()
        assert not log
        assert log.next() is None
        assert not log.is_next(GraphCommitted(graph=GRAPH))

    def test_equal_requests_get_their_replies_in_order_and_each_once(
        self, store: SqliteStore
    ) -> None:
        recorder = record_replies(store, "a")
        recorder.record(replace(reply_to(recorder, "a"), reply=recorder.put("second")))
        log = log_of(store)
        asked = request("a").digest
        replies = [log.reply_to(asked) for _ in range(3)]
        assert [r and recorder.text(r.reply) for r in replies] == ["A", "second", None]

    def test_a_failed_call_has_no_reply_to_recall(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.record(reply_to(recorder, "a", FinishReason.FAILED))
        assert log_of(store).reply_to(request("a").digest) is None


def test_only_resumptions_and_failed_calls_are_no_steps(store: SqliteStore) -> None:
    recorder = started(store)
    events: list[tuple[Event, bool]] = [
        (RunResumed(manifest=Manifest()), True),
        (reply_to(recorder, "a", FinishReason.FAILED), True),
        (reply_to(recorder, "a"), False),
        (GraphCommitted(graph=GRAPH), False),
    ]
    for event, expected in events:
        assert is_skipped(event) is expected


class TestReplaying:
    def test_replay_gives_every_event_its_number_and_writes_nothing(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.write_code(S1_1, code(S1_1))
        check_node(recorder, S1_1, Verdict.PASSED)
        before = take(store, RUN)
        replayer = opened(store)
        seen: list[int] = []
        replayer.watch = lambda seq, _event: seen.append(seq)
        assert replayer.record(GraphCommitted(graph=GRAPH)) == 1
        assert replayer.write_code(S1_1, code(S1_1)) == 2
        replaying = [replayer.replaying]
        assert check_node(replayer, S1_1, Verdict.PASSED) == 3
        assert [*replaying, replayer.replaying] == [True, False]
        assert seen == [1, 2, 3]
        assert replayer.head == recorder.head
        assert replayer.history.versions(S1_1) == recorder.history.versions(S1_1)
        assert take(store, RUN) == before

    def test_replay_refuses_a_run_that_does_not_exist(self, store: SqliteStore) -> None:
        with pytest.raises(NotFound, match="no run"):
            opened(store)

    def test_replay_raises_at_an_event_that_differs_from_the_record(
        self, store: SqliteStore
    ) -> None:
        started(store).write_code(S1_1, code(S1_1))
        replayer = past_graph(store, RESUMPTION)
        with pytest.raises(ReplayDiverged, match="at event 2: CodeWritten is recorded") as raised:
            replayer.write_code(S1_1, code(S1_1, "return 2"))
        assert raised.value.code == "replay.diverged"
        assert len(take(store, RUN).bodies) == 3

    def test_replay_refuses_an_illegal_event_as_the_recorder_did(self, store: SqliteStore) -> None:
        started(store).write_code(S1_1, code(S1_1))
        replayer = past_graph(store)
        with pytest.raises(RecordRefused, match="is refused"):
            replayer.record(GraphCommitted(graph=GRAPH))
        assert replayer.write_code(S1_1, code(S1_1)) == 2

    def test_replay_ends_at_the_end_of_the_record(self, store: SqliteStore) -> None:
        started(store)
        replayer = past_graph(store)
        with pytest.raises(EndOfRecord):
            replayer.write_code(S1_1, code(S1_1))
        with pytest.raises(EndOfRecord):
            replayer.recall_reply(request("a").digest)
        assert len(take(store, RUN).bodies) == 2


class TestResuming:
    def test_a_resumed_run_records_its_resumption_once_and_continues(
        self, store: SqliteStore
    ) -> None:
        started(store)
        replayer = past_graph(store, RESUMPTION)
        assert replayer.recall_reply(request("a").digest) is None
        assert replayer.write_code(S1_1, code(S1_1)) == 3
        assert replayer.write_code(S2, code(S2)) == 4
        raw = take(store, RUN)
        assert raw.verify().holds
        assert raw.events()[2] == RunResumed(manifest=RESUMPTION)
        assert [type(e) for e in raw.events()].count(RunResumed) == 1

    def test_replay_skips_earlier_resumptions(self, store: SqliteStore) -> None:
        started(store)
        past_graph(store, RESUMPTION).write_code(S1_1, code(S1_1))
        replayer = past_graph(store)
        assert replayer.write_code(S1_1, code(S1_1)) == 3
        assert replayer.head == store.head(RUN)

    def test_replay_charges_every_failed_call_once_in_order(self, store: SqliteStore) -> None:
        recorder = started(store)
        for text, calls in (("a", 2), ("b", 3)):
            recorder.record(reply_to(recorder, text, FinishReason.FAILED, calls))
        recorder.record(reply_to(recorder, "a"))
        charged: list[tuple[Request, int]] = []
        replayer = opened(store, charge=lambda asked, usage: charged.append((asked, usage.calls)))
        assert charged == []
        replayer.record(GraphCommitted(graph=GRAPH))
        replayer.skip_failed_calls()
        assert charged == [(request("a"), 2), (request("b"), 3)]
        assert answering(replayer)("a") == "A"
        assert len(charged) == 2


class TestRecalling:
    def test_a_reply_is_recalled_as_it_was_recorded(self, store: SqliteStore) -> None:
        record_replies(store, "a")
        reply = past_graph(store).recall_reply(request("a").digest)
        assert reply is not None
        assert (reply.text, reply.model, reply.usage) == ("A", "scripted", Usage(calls=1))
        assert reply.finish is FinishReason.STOP

    def test_recalling_a_request_that_is_not_on_record_raises(self, store: SqliteStore) -> None:
        record_replies(store, "a")
        with pytest.raises(ReplayDiverged) as raised:
            past_graph(store).recall_reply(request("b").digest)
        assert raised.value.code == "replay.miss"

    def test_evidence_is_recalled_only_for_the_same_check_on_the_same_code(
        self, store: SqliteStore
    ) -> None:
        recorder = started(store)
        recorder.write_code(S1_1, code(S1_1))
        seq = check_node(recorder, S1_1, Verdict.PASSED)
        evidence = recorder.history.evidence(seq)
        replayer = past_graph(store)
        assert replayer.recall_evidence(evidence.check, evidence.against) is None
        replayer.write_code(S1_1, code(S1_1))
        assert replayer.recall_evidence(CheckId("other"), evidence.against) is None
        assert replayer.recall_evidence(evidence.check, digest(b"other")) is None
        assert replayer.recall_evidence(evidence.check, evidence.against) == evidence
        assert replayer.recall_drop() is None
        check_node(replayer, S1_1, Verdict.PASSED)
        assert replayer.recall_evidence(evidence.check, evidence.against) is None
        assert replayer.recall_drop() is None

    def test_a_dropped_check_is_recalled_only_when_it_comes_next(self, store: SqliteStore) -> None:
        recorder = started(store)
        recorder.write_code(S1_1, code(S1_1))
        check_node(recorder, S1_1, Verdict.FAILED)
        drop = CheckDropped(check=CheckId("S1_1.generated"), reason="it was wrong")
        recorder.record(drop)
        replayer = past_graph(store)
        replayer.write_code(S1_1, code(S1_1))
        assert replayer.recall_drop() is None
        check_node(replayer, S1_1, Verdict.FAILED)
        assert replayer.recall_drop() == drop


class TestThreads:
    @pytest.mark.parametrize("order", ["abcd", "dcba", "cadb"])
    def test_threads_replay_replies_in_any_recorded_order(
        self, store: SqliteStore, order: str
    ) -> None:
        recorder = record_replies(store, *order)
        replayer = past_graph(store)
        results = replayer.run_in_threads(answering(replayer), "abcd", 4)
        assert results == ["A", "B", "C", "D"]
        assert replayer.head == recorder.head
        assert not replayer.replaying

    def test_threads_replay_more_items_than_threads(self, store: SqliteStore) -> None:
        # As two threads record it: the first is slow, the second does all the others meanwhile.
        recorder = record_replies(store, *"bcdea")
        replayer = past_graph(store)
        results = replayer.run_in_threads(answering(replayer), "abcde", 2)
        assert results == ["A", "B", "C", "D", "E"]
        assert replayer.head == recorder.head

    def test_threads_replay_workers_that_record_several_replies(self, store: SqliteStore) -> None:
        recorder = record_replies(store, "b1", "a1", "b2", "a2")
        replayer = past_graph(store)
        answer = answering(replayer)
        results = replayer.run_in_threads(lambda n: answer(f"{n}1") + answer(f"{n}2"), "ab", 2)
        assert results == ["A1A2", "B1B2"]
        assert replayer.head == recorder.head

    def test_threads_can_run_again_after_they_ended(self, store: SqliteStore) -> None:
        recorder = record_replies(store, *"badc")
        replayer = past_graph(store)
        for items in ("ab", "cd"):
            replayer.run_in_threads(answering(replayer), items, 2)
        assert replayer.head == recorder.head

    def test_threads_diverge_at_once_when_all_of_them_wait(self, store: SqliteStore) -> None:
        record_replies(store, *"xabc")
        replayer = past_graph(store)
        with pytest.raises(ReplayDiverged) as raised:
            replayer.run_in_threads(answering(replayer), "abc", 3)
        assert raised.value.code == "replay.diverged"
        assert len(take(store, RUN).bodies) == 6

    def test_threads_diverge_at_once_when_the_last_of_them_waits(self, store: SqliteStore) -> None:
        record_replies(store, *"axb")
        replayer = past_graph(store)
        with pytest.raises(ReplayDiverged) as raised:
            replayer.run_in_threads(answering(replayer), "ab", 2)
        assert raised.value.code == "replay.diverged"

    def test_threads_diverge_at_a_request_that_is_not_on_record(self, store: SqliteStore) -> None:
        record_replies(store, *"abx")
        replayer = past_graph(store)
        with pytest.raises(ReplayDiverged) as raised:
            replayer.run_in_threads(answering(replayer), "abc", 3)
        assert raised.value.code == "replay.miss"

    def test_threads_end_at_the_end_of_a_read_only_record(self, store: SqliteStore) -> None:
        record_replies(store, *"b")
        replayer = past_graph(store)
        with pytest.raises(EndOfRecord):
            replayer.run_in_threads(answering(replayer), "abc", 2)

    def test_threads_continue_writing_after_the_end_of_the_record(self, store: SqliteStore) -> None:
        record_replies(store, *"cb")
        replayer = past_graph(store, RESUMPTION)
        results = replayer.run_in_threads(answering(replayer), "abcd", 3)
        assert results == ["", "B", "C", ""]
        raw = take(store, RUN)
        assert raw.verify().holds
        replies = [e.request for e in raw.events() if isinstance(e, ReplyRecorded)]
        asked: list[Digest] = [request(text).digest for text in "cbad"]
        assert replies[:2] == asked[:2]
        assert sorted(replies[2:]) == sorted(asked[2:])

    @pytest.mark.parametrize("items", ["ab", "ba"])
    def test_threads_are_released_when_a_worker_fails(self, store: SqliteStore, items: str) -> None:
        record_replies(store, *"ba")
        recording = threading.Event()
        main = threading.current_thread()
        ticks = ticking()

        def clock() -> datetime:
            if threading.current_thread() is not main:
                recording.set()  # the thread holds the lock until it waits for its turn
            return ticks()

        replayer = Replayer.open(store, RUN, clock, None, lambda *_: None)
        replayer.record(GraphCommitted(graph=GRAPH))
        answer = answering(replayer)

        def work(text: str) -> str:
            if text == "a":
                return answer("a")
            assert recording.wait(60)
            replayer.skip_failed_calls()  # returns when the other thread waits
            raise OSError("the disk is gone")

        with pytest.raises(OSError, match="the disk is gone"):
            replayer.run_in_threads(work, items, 2)
