"""The recorder of a run. The laws that it applies are specified in tests/domain/laws."""

from datetime import UTC, datetime

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.errors import NotFound, RecordRefused, RecordUnreadable
from auditcoder.domain.events import CodeWritten, Event, GraphCommitted, RunFinished, RunOutcome
from auditcoder.domain.evidence import Verdict
from auditcoder.domain.ids import ROOT
from auditcoder.domain.repair import Decision
from auditcoder.domain.values import digest
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.recorder import Recorder
from tests.support.record_builders import (
    GRAPH,
    RUN,
    S1_1,
    S2,
    TASK,
    built,
    check_program,
    code,
    failing,
    repairing,
    started,
    ticking,
)
from tests.support.records import take


class TestAppending:
    def test_an_event_is_in_the_store_when_record_returns(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, ticking())
        assert recorder.record(GraphCommitted(graph=GRAPH)) == 1
        assert store.head(RUN) == recorder.head
        assert recorder.head.entries == 2

    def test_an_illegal_event_is_refused_and_nothing_is_written(self, store: SqliteStore) -> None:
        recorder = Recorder.start(store, RUN, TASK, ticking())
        before = take(store, RUN)
        with pytest.raises(RecordRefused) as refused:
            recorder.write_code(S2, code("S2"))
        assert refused.value.code.startswith("law.")
        assert take(store, RUN) == before

    def test_an_event_that_cannot_be_encoded_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        before = take(store, RUN)
        with pytest.raises(RecordRefused) as refused:
            recorder.record(
                RunFinished(outcome=RunOutcome.FAILED, program=None, reason="half \ud800")
            )
        assert refused.value.code == "record.unwritable"
        assert take(store, RUN) == before

    def test_an_event_that_names_unknown_content_is_refused(self, store: SqliteStore) -> None:
        recorder = started(store)
        with pytest.raises(NotFound):
            recorder.record(CodeWritten(node=S2, code=digest(b"never put"), units=()))
        assert recorder.head.entries == 2

    def test_a_watcher_receives_each_event_once_it_is_durable(self, store: SqliteStore) -> None:
        recorder = started(store)
        seen: list[tuple[int, Event, int]] = []
        recorder.watch = lambda seq, event: seen.append((seq, event, store.head(RUN).entries))
        recorder.write_code(S2, code("S2"))
        ((seq, event, stored),) = seen
        assert (seq, stored) == (2, 3)
        assert isinstance(event, CodeWritten)


class TestContent:
    def test_content_can_be_read_before_and_after_it_is_stored(self, store: SqliteStore) -> None:
        recorder = built(store)
        name = recorder.put("staged")
        assert recorder.text(name) == "staged"
        recorder.assemble()
        written = recorder.ledger.working.code[S2].digest
        assert recorder.text(written) == code("S2")

    def test_content_that_no_event_names_is_not_stored(self, store: SqliteStore) -> None:
        recorder = started(store)
        name = recorder.put("never named")
        recorder.write_code(S2, code("S2"))
        with pytest.raises(NotFound):
            store.blob(name)

    def test_unpaired_surrogates_are_replaced(self, store: SqliteStore) -> None:
        recorder = started(store)
        assert recorder.text(recorder.put("half \ud800")) == "half ?"


def test_code_is_stored_with_line_feeds(store: SqliteStore) -> None:
    recorder = started(store)
    recorder.write_code(S2, code("S2").replace("\n", "\r\n"))
    assert recorder.text(recorder.ledger.working.code[S2].digest) == code("S2")


class TestHistory:
    def test_the_history_keeps_versions_that_were_rolled_back(self, store: SqliteStore) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 0"))
        recorder.assemble()
        for name in ("example-1", "example-2"):
            check_program(recorder, name, Verdict.FAILED)
        assert recorder.decide() is Decision.REJECTED
        versions = [recorder.text(v.code) for v in recorder.history.versions(S1_1)]
        assert versions == [code("S1_1"), code("S1_1", "return 0")]
        assert recorder.text(recorder.ledger.working.code[S1_1].digest) == code("S1_1")

    def test_evidence_is_found_by_its_number(self, store: SqliteStore) -> None:
        recorder = failing(store)
        for check, current in recorder.ledger.working.evidence.items():
            assert recorder.history.evidence(current.seq).check == check

    def test_a_resumed_recorder_has_the_same_history(self, store: SqliteStore) -> None:
        recorder = failing(store)
        resumed = Recorder.resume(store, RUN, ticking())
        assert resumed.history.versions(ROOT) == recorder.history.versions(ROOT)
        assert resumed.ledger == recorder.ledger


class TestResuming:
    def test_an_unknown_run_is_not_found(self, store: SqliteStore) -> None:
        with pytest.raises(NotFound, match=RUN):
            Recorder.resume(store, RUN, ticking())

    def test_a_broken_chain_is_not_continued(self, store: SqliteStore) -> None:
        failing(store)
        raw = take(store, RUN)
        bodies = raw.bodies[:2] + raw.bodies[3:]
        damaged = SqliteStore(":memory:")
        head = Head(entries=len(bodies), digest=digest(bodies[-1]))
        damaged.append(RUN, EMPTY, bodies, head, raw.blobs)
        with pytest.raises(RecordUnreadable, match="broken at entry 2"):
            Recorder.resume(damaged, RUN, ticking())
        damaged.close()

    def test_a_rejected_repair_whose_rollback_was_not_written_is_rolled_back(
        self, store: SqliteStore
    ) -> None:
        recorder = repairing(store)
        recorder.write_code(S1_1, code("S1_1", "return 0"))
        recorder.assemble()
        for name in ("example-1", "example-2"):
            check_program(recorder, name, Verdict.FAILED)
        recorder.decide()
        raw = take(store, RUN)
        cut = SqliteStore(":memory:")
        head = Head(entries=len(raw.bodies) - 1, digest=digest(raw.bodies[-2]))
        cut.append(RUN, EMPTY, raw.bodies[:-1], head, raw.blobs)
        resumed = Recorder.resume(cut, RUN, ticking())
        assert resumed.decide() is Decision.REJECTED
        assert resumed.ledger.transaction is None
        assert verify_run(cut, RUN).holds
        cut.close()


def test_times_come_from_the_clock(store: SqliteStore) -> None:
    moment = datetime(2026, 5, 4, tzinfo=UTC)
    Recorder.start(store, RUN, TASK, lambda: moment)
    assert b"2026-05-04T00:00:00" in next(store.read(RUN))
