"""Conformance suite of the trace store port; every store must pass it.

class TestMyStore(TraceStoreConformance):
    @pytest.fixture
    def open_store(self) -> Callable[[], TraceStore]: ...   # opens the same place each time
"""

import threading
from collections.abc import Callable, Iterator

import pytest

from auditcoder.domain.chain import EMPTY, Head
from auditcoder.domain.errors import NotFound, StoreConflict
from auditcoder.domain.values import Digest, RunId, digest
from auditcoder.lifecycle.export_import import ImportResult, copy_run, verify_run
from auditcoder.lifecycle.ports import JudgedStore, TraceStore
from auditcoder.lifecycle.recorder import Recorder
from tests.support.record_builders import (
    RUN,
    S2,
    TASK,
    code,
    failing,
    repairing,
    replayed,
    started,
    ticking,
)
from tests.support.records import take


def chained(after: Head, *bodies: bytes) -> Head:
    """Return the head once `bodies` follow `after`."""
    return Head(entries=after.entries + len(bodies), digest=digest(bodies[-1]))


class TraceStoreConformance:
    """The suite; a subclass provides the fixture `open_store`."""

    @pytest.fixture
    def store(self, open_store: Callable[[], TraceStore]) -> Iterator[TraceStore]:
        opened = open_store()
        yield opened
        opened.close()

    def test_an_empty_store_has_no_runs(self, store: TraceStore) -> None:
        assert store.runs() == []
        assert store.head(RUN) == EMPTY
        assert list(store.read(RUN)) == []

    def test_appended_entries_are_read_back_byte_for_byte(self, store: TraceStore) -> None:
        bodies = [b"{}", "ünïcode ☃".encode(), bytes(range(256)), b""]
        store.append(RUN, EMPTY, bodies, chained(EMPTY, *bodies))
        assert list(store.read(RUN)) == bodies

    def test_a_blob_is_found_by_its_digest_and_may_be_stored_twice(self, store: TraceStore) -> None:
        content = bytes(range(256)) * 50
        for n, after in enumerate((EMPTY, chained(EMPTY, b"0"))):
            body = str(n).encode()
            store.append(RUN, after, [body], chained(after, body), {digest(content): content})
        assert store.blob(digest(content)) == content

    def test_an_unknown_blob_is_not_found(self, store: TraceStore) -> None:
        for name in (digest(b"nothing"), Digest("not a digest"), Digest("")):
            with pytest.raises(NotFound) as missing:
                store.blob(name)
            assert missing.value.code == "blob.missing"

    def test_reading_can_start_at_any_entry(self, store: TraceStore) -> None:
        bodies = [str(n).encode() for n in range(1300)]
        store.append(RUN, EMPTY, bodies, chained(EMPTY, *bodies))
        assert list(store.read(RUN, 1290)) == bodies[1290:]
        assert list(store.read(RUN, 1300)) == []
        assert list(store.read(RUN, 9999)) == []
        assert list(store.read(RUN)) == bodies

    def test_runs_are_listed_oldest_first_and_kept_apart(self, store: TraceStore) -> None:
        names = [RunId("zebra"), RunId("ant"), RunId("ünïcode ☃ run")]
        for name in names:
            store.append(name, EMPTY, [name.encode()], chained(EMPTY, name.encode()))
        assert store.runs() == names
        for name in names:
            assert list(store.read(name)) == [name.encode()]

    def test_an_append_after_another_head_is_refused(self, store: TraceStore) -> None:
        first = chained(EMPTY, b"1")
        store.append(RUN, EMPTY, [b"1"], first)
        wrong = [EMPTY, Head(entries=1, digest=digest(b"x")), Head(entries=2, digest=first.digest)]
        for after in wrong:
            with pytest.raises(StoreConflict):
                store.append(RUN, after, [b"2"], chained(after, b"2"), {digest(b"b"): b"b"})
        assert list(store.read(RUN)) == [b"1"]
        with pytest.raises(NotFound):
            store.blob(digest(b"b"))

    def test_an_append_after_an_entry_of_an_unknown_run_is_refused(self, store: TraceStore) -> None:
        with pytest.raises(StoreConflict):
            store.append(RUN, chained(EMPTY, b"1"), [b"2"], chained(EMPTY, b"1", b"2"))
        assert store.runs() == []

    def test_an_append_is_atomic(self, store: TraceStore) -> None:
        def interrupted() -> Iterator[bytes]:
            yield b"1"
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            store.append(RUN, EMPTY, interrupted(), chained(EMPTY, b"1"), {digest(b"b"): b"b"})
        assert store.head(RUN) == EMPTY
        assert list(store.read(RUN)) == []
        store.append(RUN, EMPTY, [b"1"], chained(EMPTY, b"1"))
        assert list(store.read(RUN)) == [b"1"]

    def test_appended_entries_are_readable_when_the_store_is_opened_again(
        self, store: TraceStore, open_store: Callable[[], TraceStore]
    ) -> None:
        failing(store)
        again = open_store()
        assert verify_run(again, RUN).holds
        assert take(again, RUN) == take(store, RUN)
        again.close()

    def test_the_second_of_two_writers_gets_a_conflict(
        self, store: TraceStore, open_store: Callable[[], TraceStore]
    ) -> None:
        first = started(store)
        elsewhere = open_store()
        second = Recorder.resume(elsewhere, RUN, ticking())
        first.write_code(S2, code("S2"))
        with pytest.raises(StoreConflict):
            second.write_code(S2, code("S2", "return 0"))
        assert verify_run(store, RUN).holds
        resumed = Recorder.resume(elsewhere, RUN, ticking())
        resumed.write_code(S2, code("S2", "return 0"))
        assert verify_run(store, RUN).holds
        elsewhere.close()

    def test_many_threads_may_write_through_one_recorder(self, store: TraceStore) -> None:
        recorder = started(store)

        def write() -> None:
            for n in range(10):
                recorder.write_code(S2, code("S2", f"return {n} + {threading.get_ident()}"))

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert recorder.head.entries == 42
        assert verify_run(store, RUN).holds

    def test_many_runs_may_be_written_at_once(
        self, store: TraceStore, open_store: Callable[[], TraceStore]
    ) -> None:
        faults: list[BaseException] = []

        def write_run(name: RunId) -> None:
            mine = open_store()
            try:
                recorder = Recorder.start(mine, name, TASK, ticking())
                for n in range(15):
                    recorder.put(f"shared {n}")
                    recorder._store.append(
                        name,
                        recorder.head,
                        [f"{n}".encode()],
                        head := chained(recorder.head, f"{n}".encode()),
                        {digest(f"shared {n}".encode()): f"shared {n}".encode()},
                    )
                    recorder._head = head
            except BaseException as fault:
                faults.append(fault)
            finally:
                mine.close()

        names = [RunId(f"run-{n}") for n in range(4)]
        threads = [threading.Thread(target=write_run, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not faults
        assert sorted(store.runs()) == names
        assert [store.head(name).entries for name in names] == [16] * 4

    def test_a_run_can_be_verified_and_copied_while_it_is_written(
        self, store: TraceStore, open_store: Callable[[], TraceStore]
    ) -> None:
        from auditcoder.adapters.stores.sqlite import SqliteStore

        recorder = started(store)
        done = threading.Event()

        def write() -> None:
            while not done.is_set() and recorder.head.entries < 150:
                recorder.write_code(S2, code("S2", f"return {recorder.head.entries}"))

        writer = threading.Thread(target=write)
        writer.start()
        reader = open_store()
        try:
            for _ in range(15):
                report = verify_run(reader, RUN)
                assert report.holds, report.findings
                target = SqliteStore(":memory:")
                copy_run(reader, RUN, target)
                assert verify_run(target, RUN).holds
                target.close()
        finally:
            done.set()
            writer.join()
            reader.close()

    def test_an_entry_after_the_head_is_found(self, store: TraceStore) -> None:
        recorder = started(store)
        behind = take(store, RUN).bodies[-1]
        real = store.read

        def more(run: RunId, start: int = 0) -> Iterator[bytes]:
            yield from real(run, start)
            if start <= recorder.head.entries:
                yield behind

        store.read = more  # type: ignore[method-assign]
        assert "head.mismatch" in {f.code for f in verify_run(store, RUN).findings}

    def test_a_run_can_be_resumed_where_it_stopped(self, store: TraceStore) -> None:
        recorder = repairing(store)
        resumed = Recorder.resume(store, RUN, ticking())
        assert resumed.ledger == recorder.ledger
        assert resumed.head == recorder.head
        resumed.decide()
        assert verify_run(store, RUN).holds

    def test_an_unknown_run_cannot_be_resumed(self, store: TraceStore) -> None:
        with pytest.raises(NotFound):
            Recorder.resume(store, RUN, ticking())

    def test_a_longer_record_of_the_same_run_extends_it(
        self, store: TraceStore, open_store: Callable[[], TraceStore]
    ) -> None:
        from auditcoder.adapters.stores.sqlite import SqliteStore

        source = SqliteStore(":memory:")
        recorder = started(source)
        assert copy_run(source, RUN, store) is ImportResult.COPIED
        assert copy_run(source, RUN, store) is ImportResult.ALREADY_THERE
        recorder.write_code(S2, code("S2"))
        assert copy_run(source, RUN, store) is ImportResult.EXTENDED
        assert take(store, RUN) == take(source, RUN)
        source.close()

    def test_another_history_of_the_same_run_is_refused(self, store: TraceStore) -> None:
        from auditcoder.adapters.stores.sqlite import SqliteStore

        mine = started(store)
        mine.write_code(S2, code("S2"))
        source = SqliteStore(":memory:")
        theirs = started(source)
        theirs.write_code(S2, code("S2", "return 0"))
        before = take(store, RUN)
        with pytest.raises(StoreConflict):
            copy_run(source, RUN, store)
        assert take(store, RUN) == before
        source.close()


class ReplaysConformance:
    """The suite of the port for results of replays; a subclass provides `open_store`."""

    def test_every_replay_is_kept_with_its_head_oldest_first(
        self, open_store: Callable[[], JudgedStore]
    ) -> None:
        store = open_store()
        failing(store)
        assert store.replays(RUN) == []
        before = take(store, RUN)
        first, second = replayed(store), replayed(store, hour=4, same=False)
        for result in (second, first, first):
            store.keep_replay(result)
        store.close()
        again = open_store()
        assert again.replays(RUN) == [first, second]
        assert again.replays(RunId("another")) == []
        assert take(again, RUN) == before
        again.close()
