"""Verifying a stored run, and copying it to another store.

The conformance suite of the stores copies runs between every pair of kinds; here is what must hold
wherever the run is kept.
"""

from collections.abc import Iterator

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.errors import NotFound, RecordUnreadable
from auditcoder.domain.values import RunId, digest
from auditcoder.lifecycle.export_import import (
    ImportResult,
    copy_run,
    verified_head,
    verified_trace,
    verify_run,
)
from tests.support.record_builders import RUN, S2, code, failing, started
from tests.support.records import forge, take


@pytest.fixture
def target() -> Iterator[SqliteStore]:
    opened = SqliteStore(":memory:")
    yield opened
    opened.close()


@pytest.fixture
def forged(store: SqliteStore) -> Iterator[SqliteStore]:
    """A store whose run has a consistent chain, but code before its graph."""
    failing(store)
    original = take(store, RUN)
    events = original.events()
    events[1], events[2] = events[2], events[1]
    raw = forge(original, events)
    opened = SqliteStore(":memory:")
    opened.append(RUN, opened.head(RUN), raw.bodies, raw.head, raw.blobs)
    yield opened
    opened.close()


def test_an_unknown_run_is_not_found(store: SqliteStore) -> None:
    with pytest.raises(NotFound, match="no-such-run"):
        verify_run(store, RunId("no-such-run"))


def test_an_expected_head_must_match(store: SqliteStore) -> None:
    failing(store)
    head = store.head(RUN).digest
    assert verify_run(store, RUN, head).holds
    assert not verify_run(store, RUN, digest(b"another history")).holds


def test_the_verified_head_is_the_stored_one(store: SqliteStore) -> None:
    failing(store)
    assert verified_head(store, RUN) == store.head(RUN)


def test_a_forged_run_is_not_copied(forged: SqliteStore, target: SqliteStore) -> None:
    with pytest.raises(RecordUnreadable) as refused:
        copy_run(forged, RUN, target)
    assert refused.value.code == "record.unverified"
    assert target.runs() == []


def test_a_forged_run_is_not_read(forged: SqliteStore) -> None:
    with pytest.raises(RecordUnreadable) as refused:
        verified_trace(forged, RUN)
    assert refused.value.code == "record.unverified"


def test_a_run_that_is_altered_after_its_verification_is_not_read(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(store)
    assert verified_trace(store, RUN).head == store.head(RUN)
    honest = list(store.read(RUN))
    readings = iter([honest, [], honest[:-1]])  # the second one looks for surplus entries
    monkeypatch.setattr(store, "read", lambda *_: iter(next(readings)))
    with pytest.raises(RecordUnreadable) as refused:
        verified_trace(store, RUN)
    assert refused.value.code == "record.unverified"


def test_a_trace_ends_where_the_verification_ended(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = started(store)
    before = store.head(RUN)
    honest = store.read

    def read(run: RunId, start: int = 0) -> Iterator[bytes]:
        monkeypatch.setattr(store, "read", honest)
        recorder.write_code(S2, code("S2"))
        return honest(run, start)

    monkeypatch.setattr(store, "read", read)
    assert verified_trace(store, RUN).head == before
    assert store.head(RUN) != before


def test_a_copy_is_the_same_record(store: SqliteStore, target: SqliteStore) -> None:
    failing(store)
    assert copy_run(store, RUN, target) is ImportResult.COPIED
    assert take(target, RUN) == take(store, RUN)


def test_only_the_missing_entries_are_copied(store: SqliteStore, target: SqliteStore) -> None:
    recorder = started(store)
    copy_run(store, RUN, target)
    before = list(target.read(RUN))
    recorder.write_code(S2, code("S2"))
    assert copy_run(store, RUN, target) is ImportResult.EXTENDED
    assert list(target.read(RUN))[: len(before)] == before
    assert copy_run(store, RUN, target) is ImportResult.ALREADY_THERE
