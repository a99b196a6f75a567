"""Verification: every alteration of a record is found, with its place and a stable code."""

from datetime import UTC, datetime

import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, FORMAT, Head, seal
from auditcoder.domain.errors import RecordUnreadable
from auditcoder.domain.events import RunStarted
from auditcoder.domain.values import Digest, RunId, digest
from auditcoder.domain.verification import Aspect, Report, verify
from tests.support.histories import improved
from tests.support.record_builders import RUN, TASK
from tests.support.records import Raw, deletions, edits, forge, insertions, swaps, take


@pytest.fixture
def raw(store: SqliteStore) -> Raw:
    """The record of a run whose repair was accepted."""
    improved(store).decide()
    return take(store, RUN)


def codes(report: Report) -> set[str]:
    """Return the codes of the findings."""
    return {finding.code for finding in report.findings}


def test_an_unaltered_record_holds(raw: Raw) -> None:
    report = raw.verify()
    assert report.holds
    assert (report.run, report.entries, report.judged) == (RUN, len(raw.bodies), len(raw.bodies))
    assert report.head == raw.head.digest
    assert report.finished is False
    assert report.blobs >= len(raw.blobs)


def test_every_deletion_swap_edit_and_insertion_is_found(raw: Raw) -> None:
    for altered in (
        *deletions(raw.bodies),
        *swaps(raw.bodies, 2),
        *edits(raw.bodies, 3),
        *insertions(raw),
    ):
        assert not raw.verify(altered).holds


def test_a_changed_blob_is_found_where_it_is_named(raw: Raw) -> None:
    name = next(iter(raw.blobs))
    report = raw._replace(blobs=raw.blobs | {name: b"something else"}).verify()
    assert codes(report) == {"blob.mismatch"}
    assert {f.aspect for f in report.findings} == {Aspect.BLOBS}
    assert report.finished is None, "the laws after a lost blob cannot be judged"


def test_a_missing_blob_is_found(raw: Raw) -> None:
    name = next(iter(raw.blobs))
    report = raw._replace(blobs={k: v for k, v in raw.blobs.items() if k != name}).verify()
    assert codes(report) == {"blob.missing"}


def test_a_forged_history_with_a_valid_chain_breaks_a_law(raw: Raw) -> None:
    events = raw.events()
    report = forge(raw, [*events[:3], events[-1]]).verify()
    assert {f.aspect for f in report.findings} == {Aspect.LAWS}
    assert (report.findings[0].seq, report.judged) == (3, 3)


def test_an_unreadable_entry_is_reported_and_the_rest_is_still_read(raw: Raw) -> None:
    report = raw.verify([*raw.bodies[:2], b"{}", *raw.bodies[3:]])
    assert {"chain.unreadable", "chain.broken"} <= codes(report)
    assert report.entries == len(raw.bodies)
    assert report.judged == 2


def test_a_record_without_entries_is_not_whole() -> None:
    report = verify([], lambda _: b"")
    assert codes(report) == {"chain.empty"}
    assert (report.run, report.entries) == (None, 0)


def test_a_head_other_than_the_claimed_one_is_found(raw: Raw) -> None:
    claimed = Head(entries=raw.head.entries, digest=digest(b"another"))
    assert codes(verify(raw.bodies, raw.blob, claimed=claimed)) == {"head.mismatch"}


def test_a_record_that_is_kept_under_another_name_is_found(raw: Raw) -> None:
    assert codes(verify(raw.bodies, raw.blob, named=RunId("another"))) == {"head.run"}


def test_an_expected_head_may_be_any_earlier_entry(raw: Raw) -> None:
    report = verify(raw.bodies, raw.blob, expected=digest(raw.bodies[4]))
    assert report.holds
    assert report.known_head == 4


def test_an_expected_head_that_no_entry_has_is_found(raw: Raw) -> None:
    report = verify(raw.bodies, raw.blob, expected=Digest("0" * 64))
    assert codes(report) == {"head.unknown"}
    assert report.known_head is None


def test_a_record_cut_off_by_a_forger_holds_only_without_a_head_from_elsewhere(raw: Raw) -> None:
    shorter = forge(raw, raw.events()[:-1])
    assert shorter.verify().holds, "whoever keeps the only copy can adjust its head"
    report = verify(shorter.bodies, shorter.blob, claimed=shorter.head, expected=raw.head.digest)
    assert codes(report) == {"head.unknown"}


def test_a_long_list_of_findings_is_cut(raw: Raw) -> None:
    report = verify([raw.bodies[0], *[b"{}"] * 300], raw.blob)
    assert report.truncated
    assert len(report.findings) == 100
    assert report.entries == 301


def test_a_record_of_a_newer_version_cannot_be_judged() -> None:
    start = RunStarted(format=FORMAT + 1, run=RUN, task=TASK)
    _, body, _ = seal(EMPTY, start, datetime(2026, 1, 2, tzinfo=UTC))
    with pytest.raises(RecordUnreadable) as newer:
        verify([body], lambda _: b"")
    assert newer.value.code == "record.newer-format"
