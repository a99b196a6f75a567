"""The record format: entries are read back as written, by this version and by later ones."""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, FORMAT, MAX_DEPTH, EntryReader, entry_schema, seal
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import Manifest, RunStarted
from auditcoder.domain.trace import fold
from auditcoder.lifecycle.export_import import verify_run
from auditcoder.lifecycle.recorder import Recorder
from tests.support.record_builders import RUN, TASK, repairing, started, ticking
from tests.support.records import take

ROOT = Path(__file__).parents[2]
NOW = datetime(2026, 1, 2, tzinfo=UTC)


def test_the_published_schema_matches_the_code() -> None:
    published = ROOT / "docs" / "reference" / f"trace-{FORMAT}.schema.json"
    generated = json.loads(msgspec.json.encode(entry_schema()))
    assert json.loads(published.read_text("utf-8")) == generated, "run `make schema`"


def test_every_entry_that_is_written_fits_the_published_schema(store: SqliteStore) -> None:
    repairing(store).decide()
    validator = jsonschema.Draft202012Validator(
        msgspec.json.decode(msgspec.json.encode(entry_schema()))
    )
    for body in store.read(RUN):
        validator.validate(json.loads(body))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate({"seq": 0})


def test_an_entry_holds_its_number_and_the_digest_of_the_entry_before(store: SqliteStore) -> None:
    repairing(store)
    bodies = list(store.read(RUN))
    entries = [json.loads(body) for body in bodies]
    assert [entry["seq"] for entry in entries] == list(range(len(entries)))
    before = [hashlib.sha256(body).hexdigest() for body in bodies]
    assert [entry["prev"] for entry in entries] == ["0" * 64, *before[:-1]]
    assert store.head(RUN).digest == before[-1]
    assert not any(b"\n" in body for body in bodies)


FIRST = b'{"seq":0,"prev":"' + b"0" * 64 + b'",'
OTHER_ENCODINGS: dict[str, tuple[bytes, bytes]] = {
    "a space": (FIRST, FIRST.replace(b":0", b": 0", 1)),
    "a line end": (FIRST, b"\n" + FIRST),
    "another order of keys": (FIRST, b'{"prev":"' + b"0" * 64 + b'","seq":0,'),
    "a repeated key": (FIRST, FIRST + b'"seq":0,'),
    "a default value": (b'"format":4,', b'"format":4,"manifest":{},'),
    "an escaped letter": (b'"a-run"', b'"\\u0061-run"'),
}


@pytest.mark.parametrize("name", OTHER_ENCODINGS)
def test_the_same_content_in_another_encoding_is_not_an_entry(
    store: SqliteStore, name: str
) -> None:
    started(store)
    body = next(store.read(RUN))
    old, new = OTHER_ENCODINGS[name]
    assert body.count(old) == 1
    altered = body.replace(old, new)
    with pytest.raises(RecordUnreadable, match="canonical"):
        EntryReader().read(altered)


def test_an_older_reader_reports_a_newer_record() -> None:
    _, body, _ = seal(EMPTY, RunStarted(format=FORMAT + 1, run=RUN, task=TASK), NOW)
    with pytest.raises(RecordUnreadable) as newer:
        EntryReader().read(body)
    assert newer.value.code == "record.newer-format"
    assert newer.value.advice


def test_a_newer_reader_reads_older_entries_through_its_upgrades(store: SqliteStore) -> None:
    """Suppose the next format counts from a thousand and the one after it does not."""
    repairing(store)
    written = list(store.read(RUN))

    def to_next(entry: dict[str, Any]) -> dict[str, Any]:
        return entry | {"seq": entry["seq"] + 1000}

    def to_the_one_after(entry: dict[str, Any]) -> dict[str, Any]:
        return entry | {"seq": entry["seq"] - 1000}

    later = FORMAT + 2
    newer = EntryReader(current=later, upgrades={FORMAT: to_next, FORMAT + 1: to_the_one_after})
    plain = EntryReader()
    assert [newer.read(body) for body in written] == [plain.read(body) for body in written]
    with pytest.raises(RecordUnreadable):
        EntryReader(current=later, upgrades={FORMAT + 1: to_the_one_after}).read(written[0])
    spaced = written[0].replace(b'{"seq":0,', b'{ "seq":0,')
    fresh = EntryReader(current=later, upgrades={FORMAT: to_next, FORMAT + 1: to_the_one_after})
    with pytest.raises(RecordUnreadable):
        fresh.read(spaced)


def test_the_keys_of_a_map_have_one_order(store: SqliteStore) -> None:
    settings = {"b": "2", "a": "1"}
    recorder = Recorder.start(store, RUN, TASK, ticking(), Manifest(settings=settings))
    assert recorder.ledger.run == RUN
    (written,) = store.read(RUN)
    assert b'"settings":{"a":"1","b":"2"}' in written
    EntryReader().read(written)
    swapped = written.replace(b'{"a":"1","b":"2"}', b'{"b":"2","a":"1"}')
    with pytest.raises(RecordUnreadable, match="canonical"):
        EntryReader().read(swapped)
    older = swapped.replace(f'"format":{FORMAT}'.encode(), b'"format":1')
    EntryReader().read(older)  # format 1 left the order to the writer


@pytest.mark.parametrize("path", sorted((ROOT / "tests" / "data").glob("format-*.acb")))
def test_records_of_every_released_format_still_verify(path: Path) -> None:
    bundle = BundleFile(path)
    run = bundle.manifest.run
    report = verify_run(bundle, run)
    assert report.holds, report.findings
    trace = fold(bundle.read(run), bundle.blob)
    assert trace.finish is not None
    assert [t.decision.value for t in trace.history if t.decision] == ["accepted", "rejected"]
    bundle.close()


def test_there_is_a_record_of_every_format() -> None:
    kept = {p.stem for p in (ROOT / "tests" / "data").glob("format-*.acb")}
    assert kept == {f"format-{n}" for n in range(1, FORMAT + 1)}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"{}",
        b'{"seq":0}',
        b"\xff",
        b"[" * 100_000,
        b'{"event":{"format":1}}',
        b'{"event":{"format":0}}',
        b'{"event":{"format":-1}}',
        b'{"event":{"format":"1"}}',
    ],
)
def test_bytes_that_are_not_an_entry_are_refused(body: bytes) -> None:
    with pytest.raises(RecordUnreadable):
        EntryReader().read(body)


def test_an_unknown_field_is_refused(store: SqliteStore) -> None:
    repairing(store)
    for body in store.read(RUN):
        plain = msgspec.json.decode(body)
        reader = EntryReader()
        reader._format = FORMAT
        with pytest.raises(RecordUnreadable):
            reader.read(msgspec.json.encode(plain | {"smuggled": 1}))


def test_times_are_recorded_in_utc(store: SqliteStore) -> None:
    repairing(store)
    assert all(b"2026-01-02T03:" in body for body in take(store, RUN).bodies)


def test_an_entry_may_be_nested_64_levels_deep() -> None:
    deep = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert MAX_DEPTH == 64
    with pytest.raises(RecordUnreadable, match="not the start of a run"):
        EntryReader().read(deep)


@pytest.mark.parametrize("levels", [65, 500, 1000, 5000, 1_000_000])
def test_an_entry_that_is_nested_deeply_is_refused_before_it_is_decoded(levels: int) -> None:
    deep = b"[" * levels + b"]" * levels
    for body in (deep, b'{"event":{"format":2},"unknown":' + deep + b"}", b'{"a":' * levels):
        with pytest.raises(RecordUnreadable, match="levels deep") as refused:
            EntryReader().read(body)
        assert refused.value.code == "record.malformed"
