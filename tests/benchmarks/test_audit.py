"""The audit benchmark measures legal records of every kind."""

import json
import sys
from contextlib import closing

import audit
import pytest

from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.trace import fold
from auditcoder.domain.verification import verify


def test_every_record_is_legal_and_ends_as_its_kind_says() -> None:
    with closing(SqliteStore(":memory:")) as store:
        known = audit.records(store)
        assert len(known) == audit.RECORDS
        for number, kept in enumerate(known):
            report = verify(kept.bodies, store.blob)
            assert report.holds, report.findings
            finish = fold(kept.bodies, store.blob).finish
            ending = audit.ENDINGS[number % len(audit.ENDINGS)]
            assert (finish.outcome if finish else None) is audit.OUTCOMES.get(ending)


def test_one_size_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["audit.py", "--one", "36"])
    audit.main()
    assert json.loads(capsys.readouterr().out)["records"] == 36
