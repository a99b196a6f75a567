"""Reports are counted from verified records, and written in every format."""

import json

import pytest
from msgspec.structs import replace

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.judgement import Judgement
from auditcoder.domain.table import Row, Table
from auditcoder.domain.trace import Trace
from auditcoder.domain.usage import Usage
from auditcoder.domain.values import Digest, RunId
from auditcoder.interfaces.reports import (
    FORMS,
    audit_report,
    cost_charts,
    judgement_at,
    repair_charts,
    summarise_runs,
    write_report,
)
from auditcoder.lifecycle.recorder import Recorder
from auditcoder.metrics.trace_metrics import Ratio
from tests.support.histories import improved, reply
from tests.support.record_builders import RUN, TASK, ticking

OTHER = RunId("another-run")


@pytest.fixture
def repaired(store: SqliteStore) -> SqliteStore:
    """A store with a run that was repaired, and one that has just begun."""
    improved(store).decide()
    Recorder.start(store, OTHER, TASK, ticking())
    return store


def _judge(store: SqliteStore, head: Digest) -> Judgement:
    judgement = Judgement(run=RUN, head=head, suite="toys", results={})
    store.keep_judgement(judgement)
    return judgement


def test_a_summary_counts_every_run(repaired: SqliteStore) -> None:
    found = summarise_runs(repaired, [RUN, OTHER])
    assert found.runs == 2
    counted = {run for table in found.tables for row in table.rows for run in row.runs}
    assert counted == {RUN, OTHER}
    assert found.audit.localisation_coverage.counted == Ratio(part=1, whole=1)


def test_a_summary_of_some_runs_leaves_out_the_others(repaired: SqliteStore) -> None:
    found = summarise_runs(repaired, [OTHER])
    assert found.runs == 1
    assert {run for table in found.tables for row in table.rows for run in row.runs} == {OTHER}
    assert found.audit.localisation_coverage.counted == Ratio(part=0, whole=0)


def test_a_summary_of_no_runs_is_empty(store: SqliteStore) -> None:
    found = summarise_runs(store, [])
    assert found.runs == 0
    assert found.audit.graph_integrity.counted == Ratio(part=0, whole=0)


def test_judged_runs_are_passed_on_with_their_judgement(repaired: SqliteStore) -> None:
    judgement = _judge(repaired, repaired.head(RUN).digest)
    judged: list[tuple[RunId, Judgement]] = []

    def collect(trace: Trace, found: Judgement) -> None:
        judged.append((trace.run, found))

    summarise_runs(repaired, [RUN, OTHER], collect)
    assert judged == [(RUN, judgement)]


def test_a_judgement_of_an_earlier_record_does_not_count(store: SqliteStore) -> None:
    recorder = improved(store)
    early = store.head(RUN).digest
    old = _judge(store, early)
    recorder.decide()
    now = store.head(RUN).digest
    assert judgement_at(store, RUN, early) == old
    assert judgement_at(store, RUN, now) is None
    new = _judge(store, now)
    assert judgement_at(store, RUN, now) == new


def test_a_report_lists_the_same_tables_in_every_format(repaired: SqliteStore) -> None:
    report = summarise_runs(repaired, [RUN])
    first, *others = [table.title for table in report.tables]
    titles = [first, report.replays.title, *others]
    for form in (*FORMS, "html"):
        written = audit_report(repaired, [RUN], form)
        if form != "csv":
            assert [title for title in titles if title not in written] == [], form
    tables = json.loads(audit_report(repaired, [RUN], "json"))["tables"]
    assert [table["title"] for table in tables] == titles


def test_a_page_has_the_number_of_runs_and_the_charts(store: SqliteStore) -> None:
    recorder = improved(store)
    usage = Usage(calls=1, prompt_tokens=10, completion_tokens=5)
    recorder.record(replace(reply(recorder), usage=usage))
    recorder.decide()
    page = audit_report(store, [RUN], "html")
    assert "1 runs" in page
    assert page.count("<svg") == 2


def test_charts_are_titled_after_the_suite(repaired: SqliteStore) -> None:
    found = summarise_runs(repaired, [RUN])
    assert [title for title, _ in repair_charts("toys", found)] == ["Locating and repair, toys"]
    assert [title for title, _ in cost_charts("toys", found)] == ["Tokens by phase, toys"]
    assert [title for title, _ in repair_charts("", found)] == ["Locating and repair"]


def test_charts_are_drawn_in_pages_only() -> None:
    table = Table(name="t", title="Totals", columns=("x",), rows=(Row(cells=("a",)),))
    drawn = [("A chart", "<svg></svg>")]
    assert "A chart" in write_report("html", "Title", "about", [table], drawn)
    for form in FORMS:
        assert "A chart" not in write_report(form, "Title", "about", [table], drawn)


def test_an_unknown_format_is_an_error() -> None:
    with pytest.raises(KeyError):
        write_report("xml", "Title", "about", [], [])
