"""The record format: entries are read back as written, by this version and by later ones."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

from auditcoder.adapters.stores.bundle import BundleFile
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, FORMAT, EntryReader, entry_schema, seal
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import RunStarted
from auditcoder.domain.trace import fold
from auditcoder.lifecycle.export_import import verify_run
from tests.support.record_builders import RUN, TASK, repairing
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


def test_an_older_reader_reports_a_newer_record() -> None:
    _, body, _ = seal(EMPTY, RunStarted(format=FORMAT + 1, run=RUN, task=TASK), NOW)
    with pytest.raises(RecordUnreadable) as newer:
        EntryReader().read(body)
    assert newer.value.code == "record.newer-format"
    assert newer.value.advice


def test_a_newer_reader_reads_older_entries_through_its_upgrades(store: SqliteStore) -> None:
    """Suppose format 2 counted from a thousand and format 3 does not: old bytes are still read."""
    repairing(store)
    written = list(store.read(RUN))

    def from_one(entry: dict[str, Any]) -> dict[str, Any]:
        return entry | {"seq": entry["seq"] + 1000}

    def from_two(entry: dict[str, Any]) -> dict[str, Any]:
        return entry | {"seq": entry["seq"] - 1000}

    newer = EntryReader(current=3, upgrades={1: from_one, 2: from_two})
    plain = EntryReader()
    assert [newer.read(body) for body in written] == [plain.read(body) for body in written]
    with pytest.raises(RecordUnreadable):
        EntryReader(current=3, upgrades={2: from_two}).read(written[0])


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
